"""`eluder reproduce`: the paper's experiments, from one command to their figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.table import Table

from eluder.cli.console import STOPPED, console, errors, progress_bar


def reproduce(
    what: Annotated[str, typer.Argument(help="figure-2, figure-4, horizon, or all of them: all.")] = "all",
    paths: Annotated[int, typer.Option(min=1, help="Independent paths per agent and setting.")] = 10,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for figures and tables.")] = Path("results"),
    full: Annotated[bool, typer.Option("--full", help="Add horizon H = 3000.")] = False,
) -> None:
    """Run the paper's experiments and draw their figures.

    Writes a PNG and a PDF per experiment, summary.csv with one row per environment and agent, and
    episodes.parquet with the regret and return of every episode.
    """
    from eluder.experiments.catalogue import catalogue
    from eluder.experiments.run import cells, run_cells
    from eluder.report import figures, style, tables

    known = catalogue(full)
    if what != "all" and what not in known:
        raise ValueError(f"There is no experiment {what!r}: choose one of {', '.join(known)}, all.")
    chosen = list(known.values()) if what == "all" else [known[what]]
    out.mkdir(parents=True, exist_ok=True)
    work = cells(chosen)
    began = time.perf_counter()
    with progress_bar() as bar:
        task = bar.add_task(
            f"reproduce {what}", total=sum(cell.steps(paths) for cell in work), cells=f"0/{len(work)} cells"
        )
        done = 0

        def finished(cell, result):
            nonlocal done
            done += 1
            bar.update(task, cells=f"{done}/{len(work)} cells")

        results = run_cells(
            work, paths=paths, seed=seed, advanced=lambda steps: bar.advance(task, steps), finished=finished
        )
    if not results:
        errors.print("Stopped before the first result.")
        raise typer.Exit(STOPPED)
    table = tables.summary(results)
    written = [tables.write(out / "summary.csv", lambda path: table.to_csv(path, index=False))]
    frame = tables.episodes(results)
    written.append(tables.write(out / "episodes.parquet", lambda path: frame.to_parquet(path, index=False)))
    complete = [e for e in chosen if all(cell in results for cell in cells([e]))]
    for experiment in complete:
        written += style.save(figures.draw(experiment.name, results), out / experiment.name)
    _print_summary(table)
    console.print(f"{time.perf_counter() - began:.0f} s in all. Files:", *map(str, written), sep="\n  ", markup=False)
    if len(results) < len(work):
        missing = ", ".join(e.name for e in chosen if e not in complete)
        errors.print(
            f"Stopped: {len(results)} of {len(work)} cells were done and are in the tables; no figure for {missing}."
        )
        raise typer.Exit(STOPPED)


def _print_summary(table: pd.DataFrame) -> None:
    """The table, one block per environment so that it fits a narrow terminal."""
    for (name, environment, horizon), rows in table.groupby(["experiment", "environment", "horizon"], sort=False):
        first = rows.iloc[0]
        heading = f"{name}: {environment}, {first.states} states, H = {horizon}, {first.episodes} episodes, "
        view = Table(
            title=heading + f"{first.paths} paths, optimal value {first.optimal_value:.4g}",
            title_justify="left",
            title_style="bold",
            box=None,
            pad_edge=False,
            min_width=78,
        )
        view.add_column("agent")
        for column in ("regret mean", "std", "average return", "seconds", "M steps/s"):
            view.add_column(column, justify="right")
        for row in rows.itertuples():
            view.add_row(
                str(row.agent),
                f"{row.regret_mean:.4g}",
                f"{row.regret_std:.3g}",
                f"{row.average_return:.4g}",
                f"{row.seconds:.1f}",
                f"{row.steps_per_second / 1e6:.2f}",
            )
        console.print(view, "")
