"""`eluder study`: experiments that are programs rather than specs, each ending in a figure and a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.table import Table

from eluder._validate import suggestion
from eluder.cli.console import console, emit, stoppable

STUDIES = {
    "classes": "UCRL-WVTR on the 5-state river with every model class, oracle calls and time beside regret",
    "oracle": "Algorithm 3's value against the exact D over random problems, with its proven band",
}


def study(
    name: Annotated[str, typer.Argument(help="classes or oracle.")],
    out: Annotated[Path, typer.Option(help="Where the figure and the table go.")] = Path("results"),
    episodes: Annotated[int, typer.Option(min=1, help="Episodes, of classes.")] = 1000,
    paths: Annotated[int, typer.Option(min=2, help="Paths, of classes.")] = 10,
    problems: Annotated[int, typer.Option(min=1, help="Random problems, of oracle.")] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
) -> None:
    """Run an experiment on general model classes and draw its figure."""
    from eluder.experiments import classes, oracle_accuracy
    from eluder.report import style, tables

    if name not in STUDIES:
        raise ValueError(f"There is no study {name!r}{suggestion(name, list(STUDIES))}: choose classes or oracle.")
    with stoppable("Stopped before the end; nothing was written."), console.status(f"{name} …"):
        if name == "classes":
            results, rows = classes.run(episodes, paths, seed=seed)
            table, figure = pd.DataFrame(rows), classes.figure(results)
        else:
            comparison = oracle_accuracy.run(problems, seed)
            table, figure = oracle_accuracy.table(comparison), oracle_accuracy.figure(comparison)
    written = [*style.save(figure, out / name)]
    written.append(tables.write(out / f"{name}-table.csv", lambda path: table.to_csv(path, index=False)))
    _print(table.describe().reset_index() if name == "oracle" else table)
    console.print("Files:", *map(str, written), sep="\n  ", markup=False)
    emit({"files": written, "table": table.to_dict("records")})


def _print(table: pd.DataFrame) -> None:
    view = Table(*map(str, table.columns), box=None, pad_edge=False)
    for row in table.itertuples(index=False):
        view.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row))
    console.print(view)
