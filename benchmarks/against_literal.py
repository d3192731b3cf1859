"""Against the literal NumPy transcription of Algorithms 1 and 2, on the same problem, in one run.

UCRL-WVTR with M = 3, d = 3 on the 5-state river with H = 100: environment steps per second, compilation aside.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import eluder
from eluder.agents import UCRLWVTR

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from helpers import dense_features, literal_agent
from literal import Randomness


def literal_rate(seconds: float) -> float:
    """Steps per second of the transcription, one path on one core."""
    river = eluder.environments.riverswim(horizon=100)
    model = river.linear_mixture()
    agent = literal_agent(river, dense_features(model), UCRLWVTR(model))
    kernel, start, rng = np.asarray(river.dense_kernel()), np.asarray(river.start), np.random.default_rng(0)
    episodes, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        agent.episode(100, kernel, start, Randomness(0.0, rng.random(100), rng.random((100, 5, 2))))
        episodes += 1
    return episodes * 100 / (time.perf_counter() - began)


def library_rate(paths: int, episodes: int) -> float:
    """Steps per second of the library on all cores, compilation aside."""
    river = eluder.environments.riverswim(horizon=100)
    agent = UCRLWVTR(river.linear_mixture())
    eluder.simulate(river, agent, episodes=2, paths=paths)
    return max(_rate(eluder.simulate(river, agent, episodes=episodes, paths=paths)) for _ in range(3))


def _rate(result: eluder.Result) -> float:
    return result.steps / result.seconds


def main() -> list[dict]:
    literal = max(literal_rate(2.0) for _ in range(3))
    print(f"literal transcription: {literal:,.0f} steps/s")
    rows = []
    for paths, episodes, wanted in [(10, 2000, 500), (64, 600, 1500), (256, 300, None)]:
        rate = library_rate(paths, episodes)
        rows.append({"paths": paths, "steps_per_second": rate, "ratio": rate / literal, "wanted": wanted})
        goal = f" (wanted: {wanted:,})" if wanted else ""
        print(f"{paths:>4} paths: {rate:,.0f} steps/s, {rate / literal:,.0f} times the transcription{goal}")
    return rows


if __name__ == "__main__":
    main()
