"""`eluder run`: a spec into a result store."""

from __future__ import annotations

import shlex
import sys
import time
from typing import Annotated

import typer

from eluder.cli.console import complain, console, emit, following, stoppable

SpecArgument = Annotated[str, typer.Argument(help="A .toml file, or the name of a spec of the catalogue.")]
PathsOption = Annotated[int | None, typer.Option(help="Paths, instead of the spec's.", show_default=False)]
EpisodesOption = Annotated[int | None, typer.Option(help="Episodes, instead of the spec's.", show_default=False)]
SeedOption = Annotated[int | None, typer.Option(help="Random seed, instead of the spec's.", show_default=False)]


def run(
    spec: SpecArgument,
    out: Annotated[str, typer.Option(help="Folder or fsspec address (s3://…) for the results.")] = "results",
    paths: PathsOption = None,
    episodes: EpisodesOption = None,
    seed: SeedOption = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.")] = None,
    device: Annotated[str, typer.Option(help="cpu, gpu, or auto: JAX's own choice.")] = "auto",
    block: Annotated[int | None, typer.Option(min=1, help="Paths in one block of a new store.")] = None,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://host:8786.")] = None,
    checkpoint: Annotated[float, typer.Option(min=0, help="Seconds between saves of a running cell.")] = 2.0,
) -> None:
    """Run a spec; what a store already holds is not computed again.

    Killed, stopped or out of disk: the same command goes on from where it was. Several at once share the work.
    """
    from eluder.experiments import catalogue, devices
    from eluder.experiments.run import prepare
    from eluder.experiments.run import run as run_local
    from eluder.experiments.spec import overridden

    chosen = overridden(catalogue.find(spec), {"paths": paths, "episodes": episodes, "seed": seed})
    devices.choose(device)
    began = time.perf_counter()
    with stoppable(f"Stopped; what was computed is in {out}. To go on: {_command()}"):
        job = prepare(chosen, out, block=block, damaged=complain)
        missing = job.missing()
        with following(chosen.name, [job]) as events:
            if dask is None:
                run_local(job, events, workers=workers, checkpoint_seconds=checkpoint)
            else:
                from eluder.experiments.cluster import run_on_dask

                run_on_dask(job, dask, events, device=device, checkpoint_seconds=checkpoint)
    seconds = time.perf_counter() - began
    rate = f", {missing / seconds / 1e6:.2f} M steps/s" if missing else "; all of it was there already"
    console.print(
        f"{chosen.name}: {len(job.tasks)} cells, {job.steps:.3g} steps in {job.address}, {seconds:.1f} s{rate}.",
        f"Read it with eluder.load({job.address!r}).",
        sep="\n",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    emit({"name": chosen.name, "address": job.address, "cells": len(job.tasks), "steps": job.steps, "seconds": seconds})


def _command() -> str:
    """What the user typed."""
    return shlex.join(["eluder", *sys.argv[1:]])
