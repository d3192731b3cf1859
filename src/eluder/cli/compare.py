"""`eluder compare`: agents × environments × horizons in one table and one figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from eluder.cli.console import console, emit, errors

_RIVERS = ("riverswim", "riverswim:states=5,horizon=20,variant=ayoub", "riverswim:states=6,horizon=20,variant=osband")


def compare(
    environments: Annotated[
        list[str] | None,
        typer.Option(
            "--environment", "-e", help="Name, or name:key=value,key=value. Repeatable; the three rivers if none."
        ),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="Name, or name:key=value,key=value. Repeatable; every agent if none."),
    ] = None,
    horizons: Annotated[
        list[int] | None, typer.Option("--horizon", help="Every environment at this horizon. Repeatable.")
    ] = None,
    multipliers: Annotated[
        str, typer.Option(help="Numbers such as 1,0.1,0.01, 'grid' for the common grid, or 'none'.")
    ] = "grid",
    episodes: Annotated[int, typer.Option(min=1, help="Episodes of every run.")] = 1000,
    paths: Annotated[int, typer.Option(min=1, help="Paths of every run.")] = 32,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder for tables and the figure.")] = None,
) -> None:
    """Compare agents on common random numbers, each at its best multiplier from a common grid.

    Prints mean regret with bootstrap intervals, and the ranking. With --out it also writes table.csv, tests.csv (paired
    tests, Holm's adjustment), ranking.csv, sweep.csv, table.md and the figure as PNG and PDF.
    """
    from eluder import comparison
    from eluder.agents import names

    with errors.status("comparing") as status:
        result = comparison.compare(
            [_spec(text) for text in environments or _RIVERS],
            [_spec(text) for text in agents or names()],
            episodes=episodes,
            paths=paths,
            seed=seed,
            horizons=horizons or None,
            multipliers=_multipliers(multipliers),
            progress=lambda line: status.update(escape(line)),
        )
    _print(result)
    if out is not None:
        _write(result, out)
        console.print(f"Tables and figure are in {out}.", markup=False)
    emit({name: getattr(result, name).to_dict("records") for name in ("table", "ranking", "tests")})


def _print(result) -> None:
    for (environment, horizon), rows in result.table.groupby(["environment", "horizon"], sort=False):
        view = Table(
            title=escape(f"{environment}, H = {horizon}, {result.episodes} episodes, {result.paths} paths"), box=None
        )
        view.add_column("agent", no_wrap=True)
        for column in ("multiplier", "regret", "± s.e.", "95 % interval", "at 1"):
            view.add_column(column, justify="right", no_wrap=True)
        for row in rows.sort_values("regret", kind="stable").to_dict("records"):
            interval = f"[{_number(row['low'])}, {_number(row['high'])}]"
            numbers = (_number(row["multiplier"]), _number(row["regret"]), _number(row["standard_error"]))
            view.add_row(escape(row["agent"]), *numbers, escape(interval), _number(row["regret_at_1"]))
        console.print(view)
    view = Table(title="Mean rank over environments, 95 % interval", box=None)
    for column in ("agent", "rank", "interval", "chance to be first"):
        view.add_column(column)
    for row in result.ranking.to_dict("records"):
        interval = escape(f"[{row['low']:.1f}, {row['high']:.1f}]")
        view.add_row(escape(row["agent"]), f"{row['rank']:.1f}", interval, f"{row['chance_first']:.2f}")
    console.print(view)


def _write(result, out: Path) -> None:
    from eluder.report import style, tables

    for name in ("table", "tests", "ranking", "sweep"):
        frame = getattr(result, name)
        tables.write(out / f"{name}.csv", lambda path, frame=frame: frame.to_csv(path, index=False))

    def markdown(path: Path) -> None:
        path.write_text(result.markdown() + "\n", encoding="utf-8")

    tables.write(out / "table.md", markdown)
    style.save(result.figure(), out / "comparison")


def _number(value: float | None) -> str:
    if value is None or value != value:
        return ""
    return f"{0.0 if abs(value) < 1e-9 else value:.4g}"  # rounding leaves the optimum a hair off zero


def _multipliers(text: str) -> list[float] | None:
    from eluder.comparison import GRID

    if text in ("grid", "none"):
        return list(GRID) if text == "grid" else None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--multipliers must be numbers with commas, 'grid' or 'none', but is {text!r}.") from None


def _spec(text: str) -> dict[str, Any]:
    """name:key=value,key=value as a mapping; values are read as JSON where they can be, else as text."""
    name, _, rest = text.partition(":")
    spec: dict[str, Any] = {"name": name}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{text!r} must look like name:key=value,key=value.")
        try:
            spec[key.strip()] = json.loads(value)
        except json.JSONDecodeError:
            spec[key.strip()] = value
    return spec
