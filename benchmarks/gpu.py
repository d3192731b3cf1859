"""Environment steps per second on an accelerator against the number of paths.

UCRL-WVTR with M = 3, d = 3 on the 5-state river with H = 100.

Needs JAX, NumPy, Equinox and jaxtyping alone. Absolute rates mean something on a dedicated device only.
"""

from __future__ import annotations

import argparse
import json
import time

import jax

import eluder
from eluder.simulation import Run, chunks


def steps_per_second(paths: int, seconds: float, horizon: int = 100) -> float:
    """The rate over about `seconds`, compilation aside."""
    river = eluder.environments.riverswim(states=5, horizon=horizon)
    run = Run.start(river, eluder.agents.UCRLWVTR(river.linear_mixture()), (), range(paths), 0, None)
    done, began = 0, 0.0
    for current, _ in chunks(run, 1_000_000):
        jax.block_until_ready(current.states)
        if not began and current.episodes >= 9:  # compiled, and chunks have their size
            done, began = current.episodes, time.perf_counter()
        elif began and time.perf_counter() - began > seconds:
            return (current.episodes - done) * paths * horizon / (time.perf_counter() - began)
    raise AssertionError("the run is longer than any measurement")


def figure_2(paths: int) -> None:
    """Figure 2's setting with H = 100, 5000 episodes: seconds in all, compilation aside, and the regret."""
    river = eluder.environments.riverswim(states=5, horizon=100)
    agent = eluder.agents.UCRLWVTR(river.linear_mixture())
    eluder.simulate(river, agent, episodes=20, paths=paths)
    result = eluder.simulate(river, agent, episodes=5000, paths=paths)
    regret = result.regret.sum(axis=1)
    print(f"{result.steps:.2g} steps in {result.seconds:.1f} s: {result.steps / result.seconds:.3g} steps/s")
    print(f"regret {regret.mean():.1f} ± {regret.std() / paths**0.5:.1f} (standard error of {paths:,} paths)")
    few = eluder.simulate(river, agent, episodes=50, paths=100)
    print("the same bits in another batch:", bool((few.regret == result.regret[:100, :50]).all()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, nargs="+", default=[10, 100, 1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--float32", action="store_true", help="32-bit floats")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--figure-2", type=int, metavar="PATHS", help="run figure 2's long setting instead")
    options = parser.parse_args()
    if options.float32:
        jax.config.update("jax_enable_x64", False)
    if options.figure_2:
        return figure_2(options.figure_2)
    rates = {}
    for paths in options.paths:
        rates[paths] = steps_per_second(paths, options.seconds)
        print(f"{paths:>9,} paths: {rates[paths]:.3g} steps/s", flush=True)
    print(json.dumps({"device": str(jax.devices()[0]), "float32": options.float32, "rates": rates}))


if __name__ == "__main__":
    main()
