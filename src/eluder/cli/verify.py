"""`eluder verify`: every claim of the paper against an experiment, with a verdict."""

from __future__ import annotations

import csv
import io
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eluder.cli.console import FAILED, console, emit, stoppable

if TYPE_CHECKING:
    from eluder.experiments.claims import Row

_COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def verify(
    full: Annotated[bool, typer.Option("--full", help="The real experiments instead of small versions.")] = False,
    out: Annotated[Path, typer.Option(help="Where figures and the table go.")] = Path("verify"),
    only: Annotated[list[str] | None, typer.Option(help="Run this experiment only; may be given repeatedly.")] = None,
) -> None:
    """Check the paper's claims by experiment and print a table of verdicts."""
    from eluder.experiments.claims import EXPERIMENTS
    from eluder.report.style import save

    unknown = [name for name in only or () if name not in EXPERIMENTS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no experiment: choose from {', '.join(EXPERIMENTS)}.")
    size = "full" if full else "small"
    rows: list[Row] = []
    out.mkdir(parents=True, exist_ok=True)
    for name, experiment in EXPERIMENTS.items():
        if only and name not in only:
            continue
        began = time.perf_counter()
        with stoppable(f"Stopped; what was done is in {out}."), console.status(f"{name} …"):
            outcome = experiment(size)
            save(outcome.draw(), out / name)
            rows += outcome.rows
            # Written after each experiment, so that a run that is stopped leaves what it has.
            _write(out / "verdicts.csv", rows)
        console.print(f"{name}: {time.perf_counter() - began:.0f} s", style="dim")
    console.print(_table(rows))
    console.print(f"Figures and verdicts.csv are in {out}.", markup=False, highlight=False, soft_wrap=True)
    emit({"verdicts": [row._asdict() for row in rows], "folder": out})
    if any(row.verdict == "fails" for row in rows):
        raise typer.Exit(FAILED)


def _table(rows: list[Row]) -> Table:
    table = Table("experiment", "claim", "expected", "measured", "verdict")
    for row in rows:
        table.add_row(*map(escape, row[:-1]), f"[{_COLOURS[row.verdict]}]{row.verdict}[/]")
    return table


def _write(path: Path, rows: list[Row]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["experiment", "claim", "expected", "measured", "verdict"])
    writer.writerows(rows)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".csv", delete=False, encoding="utf-8") as temporary:
        temporary.write(text.getvalue())
    Path(temporary.name).chmod(0o644)
    os.replace(temporary.name, path)
