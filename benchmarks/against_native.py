"""Against a scalar compiled loop of the same algorithm, one path per core: the honest competitor (`native.c`).

UCRL-WVTR with M = 3, d = 3 on the 5-state river with H = 100: environment steps per second on all cores.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from against_literal import library_rate

import eluder
from eluder.simulation import cores

HORIZON, STATES = 100, 5


def build(folder: str, *liberties: str) -> ctypes.CDLL:
    library = Path(folder) / f"native{len(liberties)}.so"
    source = Path(__file__).with_name("native.c")
    flags = ["-O3", "-march=native", *liberties, "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def native_regret(library: ctypes.CDLL, episodes: int, seed: int) -> float:
    values = np.zeros(episodes)
    library.run(
        ctypes.c_int(STATES),
        ctypes.c_int(HORIZON),
        ctypes.c_int(episodes),
        ctypes.c_uint64(seed),
        ctypes.c_double(0.005),
        values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
    )
    optimum = float(eluder.environments.riverswim(horizon=HORIZON).solve().values[0, 0])
    return float((optimum - values * HORIZON).sum())


def native_rate(library: ctypes.CDLL, episodes: int = 1500) -> float:
    """Steps per second with one path on each core; calls through ctypes run outside Python's lock."""
    workers = cores()
    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda seed: native_regret(library, episodes, seed), range(workers)))
    return workers * episodes * HORIZON / (time.perf_counter() - began)


def main() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)
        # The same algorithm: the same regret, up to its spread over paths.
        native = np.array([native_regret(library, 300, seed) for seed in range(40)])
        river = eluder.environments.riverswim(horizon=HORIZON)
        agent = eluder.agents.UCRLWVTR(river.linear_mixture())
        ours = eluder.simulate(river, agent, episodes=300, paths=40).regret.sum(axis=1)
        error = np.hypot(native.std(), ours.std()) / np.sqrt(40)
        print(f"regret of 300 episodes: native {native.mean():.0f}, library {ours.mean():.0f}, ± {error:.0f}")
        if abs(native.mean() - ours.mean()) > 4 * error:
            raise SystemExit("the two do not run the same algorithm")
        rate = max(native_rate(library) for _ in range(3))
        # Every liberty a C programmer might take with the arithmetic; the library takes none.
        free = build(folder, "-ffast-math")
        free_rate = max(native_rate(free) for _ in range(3))
    print(f"native loop on {cores()} cores: {rate:,.0f} steps/s; {free_rate:,.0f} with -ffast-math")
    rows = []
    for paths, episodes, wanted in [(10, 2000, None), (64, 600, None), (256, 300, 2.0), (1024, 100, None)]:
        batched = library_rate(paths, episodes)
        rows.append({"paths": paths, "steps_per_second": batched, "ratio": batched / rate, "wanted": wanted})
        goal = f" (wanted: {wanted:g})" if wanted else ""
        ratios = f"{batched / rate:.2f} times the native loop{goal}, {batched / free_rate:.2f} with -ffast-math"
        print(f"{paths:>5} paths: {batched:,.0f} steps/s, {ratios}")
    return rows


if __name__ == "__main__":
    main()
