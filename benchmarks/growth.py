"""How the time of an episode grows with k, H, S, A, d, M and the number of paths, with fitted exponents.

Each curve is measured in one run on one core and fitted on log axes over its upper half, where the cost of a call no
longer matters. Memory against k is the size of the run's state, which does not change.
"""

from __future__ import annotations

import time

import jax
import numpy as np

import eluder
from eluder.agents import UCRLWVTR
from eluder.simulation import Run, chunks


def episode_seconds(environment, agent, paths: int, seconds: float = 0.6) -> float:
    """Seconds of an episode of all paths, compilation aside: the best of several chunks."""
    run = Run.start(environment, agent, (), range(paths), 0, 1)
    best, last, began = np.inf, (0, time.perf_counter()), 0.0
    for current, _ in chunks(run, 1_000_000):
        now = time.perf_counter()
        if current.episodes >= 9:
            began = began or now
            best = min(best, (now - last[1]) / (current.episodes - last[0])) if last[0] >= 9 else best
            if now - began > seconds and np.isfinite(best):
                return best
        last = (current.episodes, now)
    raise AssertionError("the run is longer than any measurement")


def exponent(sizes, times) -> float:
    upper = slice(len(sizes) // 2 - 1, None)
    return float(np.polyfit(np.log(sizes[upper]), np.log(times[upper]), 1)[0])


def against_k(model: str) -> tuple[float, float]:
    """The exponent of an episode's time in its number k, and the ratio of the state's size at the end and the start."""
    river = eluder.environments.riverswim(horizon=50)
    agent = UCRLWVTR(river.linear_mixture() if model == "linear mixture" else eluder.models.Tabular(river))
    run = Run.start(river, agent, (), range(16), 0, 1)
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(run.states))
    marks, last = [], (0, time.perf_counter())
    for current, _ in chunks(run, 6000):
        now = time.perf_counter()
        if last[0] >= 9:
            marks.append(((current.episodes + last[0]) / 2, (now - last[1]) / (current.episodes - last[0])))
        last, run = (current.episodes, now), current
    number, seconds = np.array(marks).T
    # Medians over stretches of k: single chunks carry the noise of the machine.
    groups = np.array_split(np.arange(len(number)), 6)
    middles, medians = [np.median(number[g]) for g in groups], [np.median(seconds[g]) for g in groups]
    return float(np.polyfit(np.log(middles), np.log(medians), 1)[0]), _bytes(run) / size


def _bytes(run: Run) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(run.states))


def river_time(states: int = 5, horizon: int = 50, levels: int = 3, paths: int = 64) -> float:
    river = eluder.environments.riverswim(states=states, horizon=horizon)
    return episode_seconds(river, UCRLWVTR(river.linear_mixture(), levels=levels), paths)


def mixture_time(dim: int = 3, actions: int = 2, horizon: int = 30) -> float:
    mdp = eluder.environments.make("random-mixture", dim=dim, states=8, actions=actions, horizon=horizon)
    return episode_seconds(mdp, UCRLWVTR(mdp.linear_mixture()), 64)


CURVES = {
    "H": ([100, 200, 400, 800], lambda x: river_time(horizon=x), 1.0),
    "S": ([16, 32, 64, 128], lambda x: river_time(states=x), 1.0),
    "A": ([4, 8, 16, 32], lambda x: mixture_time(actions=x), 1.0),
    "d": ([4, 8, 16, 32], lambda x: mixture_time(dim=x), 2.0),
    "M": ([3, 6, 12, 24], lambda x: river_time(levels=x), 1.0),
    "paths": ([64, 128, 256, 512], lambda x: river_time(paths=x), 1.0),
}


def main() -> list[dict]:
    rows = []
    for model in ("linear mixture", "tabular"):
        slope, memory = against_k(model)
        rows.append({"in": "k", "class": model, "exponent": slope, "wanted": 0.02, "memory_ratio": memory})
        print(f"k ({model}): exponent {slope:+.3f} (at most 0.02), state grows by a factor {memory:g}")
    for name, (sizes, measure, wanted) in CURVES.items():
        times = np.array([measure(size) for size in sizes])
        slope = exponent(np.array(sizes), times)
        rows.append({"in": name, "sizes": sizes, "seconds": times.tolist(), "exponent": slope, "wanted": wanted})
        print(f"{name}: exponent {slope:.2f} (at most {wanted:g} expected), {sizes} → {np.round(times * 1e3, 2)} ms")
    return rows


if __name__ == "__main__":
    main()
