"""`eluder reproduce`: the paper's experiments, from one command to their figures."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.markup import escape
from rich.table import Table

from eluder.cli.console import complain, console, emit, following, stoppable

_EXPERIMENTS = ("figure-2", "figure-4", "horizon")


def reproduce(
    what: Annotated[str, typer.Argument(help="figure-2, figure-4, horizon, or all of them: all.")] = "all",
    paths: Annotated[int, typer.Option(min=1, help="Independent paths per agent and setting.")] = 10,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for figures, tables and the stored results.")] = Path("results"),
    full: Annotated[bool, typer.Option("--full", help="Add horizon H = 3000.")] = False,
) -> None:
    """Run the paper's experiments and draw their figures.

    Writes a PNG and a PDF per experiment, summary.csv with one row per environment and agent, and
    episodes.parquet with the regret and return of every episode. Results are stored as they come: stopped or killed,
    the same command goes on from there.
    """
    from eluder.experiments import catalogue
    from eluder.experiments.results import curves
    from eluder.experiments.run import prepare, run_jobs
    from eluder.report import figures, style, tables

    if what not in (*_EXPERIMENTS, "all"):
        raise ValueError(f"There is no experiment {what!r}: choose one of {', '.join(_EXPERIMENTS)}, all.")
    names = _EXPERIMENTS if what == "all" else (what,)
    specs = [catalogue.get("horizon-full" if full and name == "horizon" else name) for name in names]
    began = time.perf_counter()
    with stoppable(f"Stopped; what was computed is in {out}. To go on, run the same command again."):
        jobs = [prepare(spec.replace(paths=paths, seed=seed), str(out), damaged=complain) for spec in specs]
        with following(f"reproduce {what}", jobs) as events:
            run_jobs(jobs, events)
    results = [one for job in jobs for one in curves(job.store)]
    table = tables.summary(results)
    written = [tables.write(out / "summary.csv", lambda path: table.to_csv(path, index=False))]
    frame = tables.episodes(results)
    written.append(tables.write(out / "episodes.parquet", lambda path: frame.to_parquet(path, index=False)))
    for spec in specs:
        written += style.save(figures.draw(spec.name, results), out / spec.name)
    _print_summary(table)
    console.print(f"{time.perf_counter() - began:.0f} s in all. Files:", *map(str, written), sep="\n  ", markup=False)
    emit({"files": written, "summary": table.to_dict("records")})


def _print_summary(table: pd.DataFrame) -> None:
    """The table, one block per environment so that it fits a narrow terminal."""
    rows = table.to_dict("records")
    for _, group in itertools.groupby(rows, key=lambda row: (row["experiment"], row["environment"], row["horizon"])):
        block = list(group)
        first = block[0]
        heading = f"{first['experiment']}: {first['environment']}, {first['states']} states, H = {first['horizon']}, "
        heading += f"{first['episodes']} episodes, {first['paths']} paths, optimal value {first['optimal_value']:.4g}"
        view = Table(
            title=escape(heading), title_justify="left", title_style="bold", box=None, pad_edge=False, min_width=78
        )
        view.add_column("agent")
        for column in ("regret mean", "std", "average return", "seconds", "M steps/s"):
            view.add_column(column, justify="right")
        for row in block:
            view.add_row(
                escape(str(row["agent"])),
                f"{row['regret_mean']:.4g}",
                f"{row['regret_std']:.3g}",
                f"{row['average_return']:.4g}",
                f"{row['seconds']:.1f}",
                f"{row['steps_per_second'] / 1e6:.2f}",
            )
        console.print(view, "")
