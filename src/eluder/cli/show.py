"""`eluder list` and `eluder show`: what there is, and what a spec will run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eluder.cli.console import console, emit
from eluder.cli.run import EpisodesOption, PathsOption, SeedOption, SpecArgument
from eluder.cli.study import STUDIES

if TYPE_CHECKING:
    from eluder.experiments.build import Built
    from eluder.experiments.spec import Series

_TRIAL_SECONDS = 0.3


def list_catalogue() -> None:
    """List the specs of the catalogue, and the environments and agents that specs can name."""
    from eluder.experiments import build
    from eluder.experiments.catalogue import catalogue

    table = Table("spec", "title", "series", "paths", "episodes", box=None, pad_edge=False)
    for name, spec in catalogue().items():
        episodes = spec.episodes if isinstance(spec.episodes, int) else "…".join(map(str, spec.episodes.values))
        table.add_row(escape(name), escape(spec.title), str(len(spec.series())), str(spec.paths), str(episodes))
    console.print(table, "")
    for name, title in STUDIES.items():
        console.print(f"eluder study {name}: {title}", markup=False, highlight=False)
    console.print("eluder verify: one experiment for each claim of the paper", "", markup=False, highlight=False)
    for kind in ("environment", "agent"):
        console.print(f"{kind}s: {', '.join(build.names(kind))}", markup=False, highlight=False)
    titles = {name: spec.title for name, spec in catalogue().items()}
    emit({"specs": titles, "environments": build.names("environment"), "agents": build.names("agent")})


def show(
    spec: SpecArgument,
    paths: PathsOption = None,
    episodes: EpisodesOption = None,
    seed: SeedOption = None,
    estimate: Annotated[bool, typer.Option(help="Time a short trial of each agent.")] = True,
) -> None:
    """Show what a spec will run, how many steps that is, and about how long it takes here."""
    from eluder.experiments import catalogue, devices
    from eluder.experiments.run import build_all
    from eluder.experiments.spec import overridden
    from eluder.simulation import cores

    chosen = overridden(catalogue.find(spec), {"paths": paths, "episodes": episodes, "seed": seed})
    series = chosen.series()
    built = build_all(series)
    block = min(devices.block_size(built, chosen.paths), chosen.paths)
    rates = _rates(series, built, block) if estimate else {}
    table = Table(box=None, pad_edge=False)
    for name in ("environment", "agent"):
        table.add_column(name)
    for name in ("states", "H", "episodes", "paths", "M steps", *(["seconds"] if estimate else [])):
        table.add_column(name, justify="right")
    steps, seconds = 0, 0.0
    for one, parts in zip(series, built, strict=True):
        own = one.episodes * one.paths * parts.environment.horizon
        steps += own
        sizes = (parts.environment.states, parts.environment.horizon, one.episodes, one.paths)
        cells = [one.environment_label(parts), one.agent_label(parts), *map(str, sizes), f"{own / 1e6:.3g}"]
        if estimate:
            seconds += own / rates[_kind(one, parts)]
            cells.append(f"{own / rates[_kind(one, parts)]:.3g}")
        table.add_row(*map(escape, cells))
    console.print(f"{chosen.name}: {chosen.title}", style="bold", markup=False, highlight=False)
    console.print(table)
    total = f"{len(series)} series, {steps / 1e6:.3g} M steps"
    if estimate:
        workers = max(1, min(cores(), len(series) * -(-chosen.paths // block)))
        total += f", about {_span(seconds / workers)} on this machine's {workers} cores"
    console.print(total + ".", markup=False, highlight=False)
    emit({"name": chosen.name, "series": len(series), "steps": steps, "seconds": seconds if estimate else None})


def _kind(series: Series, built: Built) -> tuple:
    """Series that run about as many steps a second: the horizon and the seed hardly matter."""
    return series.agent, dict(series.agent_params).get("model"), built.environment.states, built.environment.actions


def _rates(series: list[Series], built: list[Built], paths: int) -> dict[tuple, float]:
    """Environment steps a second of each kind, from a trial on its shortest horizon, compilation not counted."""
    from eluder.simulation import Run, chunks

    shortest: dict[tuple, tuple[Series, Built]] = {}
    for one, parts in zip(series, built, strict=True):
        kind = _kind(one, parts)
        if kind not in shortest or parts.environment.horizon < shortest[kind][1].environment.horizon:
            shortest[kind] = (one, parts)
    rates = {}
    for kind, (one, parts) in shortest.items():
        run = Run.start(parts.environment, parts.agent, parts.recorders, range(paths), one.seed, 1)
        began, first = None, 0
        for advanced, _ in chunks(run, 10**9):
            if began is None:
                began, first = time.perf_counter(), advanced.episodes
            elif time.perf_counter() - began > _TRIAL_SECONDS:
                elapsed = time.perf_counter() - began
                rates[kind] = (advanced.episodes - first) * parts.environment.horizon * paths / elapsed
                break
    return rates


def _span(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} seconds"
