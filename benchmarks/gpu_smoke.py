"""On a GPU: blocks sized by its memory fit, its bits repeat, and its statistics agree with the CPU's.

Needs the core alone. `python benchmarks/gpu_smoke.py [--any-device]`
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import jax
import numpy as np

import eluder
from eluder import checkpoint
from eluder.experiments import devices
from eluder.experiments.build import Built
from eluder.simulation import Run, chunks

PATHS, EPISODES, HORIZON = 2000, 200, 50
STATISTICS = "--statistics"


def built() -> Built:
    river = eluder.environments.riverswim(states=5, horizon=HORIZON)
    return Built(river, eluder.agents.UCRLWVTR(river.linear_mixture()), ())


def regret(parts: Built, paths: range, episodes: int, stop_at: int | None = None) -> tuple[np.ndarray, float]:
    """Regret of paths and episodes, and steps a second; with `stop_at`, saved and restored on the way."""
    run = Run.start(parts.environment, parts.agent, (), paths, 0, None)
    recorded, began, steps = [], None, 0
    targets = [episodes] if stop_at is None else [stop_at, episodes]
    for target in targets:
        for advanced, record in chunks(run, target):
            if began is None:
                began = time.perf_counter()  # the first chunk compiles
            else:
                steps += (advanced.episodes - run.episodes) * HORIZON * len(paths)
            run = advanced
            recorded.append(record["regret"])
        fresh = Run.start(parts.environment, parts.agent, (), paths, 0, None)
        run = checkpoint.from_arrays(fresh, checkpoint.to_arrays(run), run.episodes)
    elapsed = time.perf_counter() - (began or 0.0)
    return np.concatenate(recorded, axis=1), steps / elapsed


def statistics() -> dict[str, float]:
    final = regret(built(), range(PATHS), EPISODES)[0].sum(axis=1)
    return {"mean": float(final.mean()), "error": float(final.std(ddof=1) / np.sqrt(len(final)))}


def main() -> None:
    if STATISTICS in sys.argv:
        print(json.dumps(statistics()))
        return
    backend = jax.default_backend()
    if "--any-device" not in sys.argv:
        backend = devices.choose("gpu")
    device, parts = jax.devices()[0], built()
    print(f"backend {backend}, device {device.device_kind}")

    block = devices.block_size([parts], 10**6)
    limit = (device.memory_stats() or {}).get("bytes_limit", 0)
    print(f"block {block} paths, {devices.bytes_per_path(parts)} bytes each by estimate, of {limit / 2**30:.1f} GiB")
    _, rate = regret(parts, range(block), 8)
    peak = (device.memory_stats() or {}).get("peak_bytes_in_use", 0)
    print(f"a block of {block} paths fits: peak {peak / 2**30:.2f} GiB, {rate / 1e6:.1f} M steps/s")
    assert backend == "cpu" or block >= 1000

    whole, rate = regret(parts, range(PATHS), EPISODES)
    again, _ = regret(parts, range(PATHS), EPISODES, stop_at=EPISODES // 3)
    np.testing.assert_array_equal(whole, again)
    alone, _ = regret(parts, range(PATHS // 2, PATHS // 2 + 256), EPISODES)
    np.testing.assert_array_equal(whole[PATHS // 2 : PATHS // 2 + 256], alone)
    print(f"same bits after a restart and in another block ({rate / 1e6:.1f} M steps/s with {PATHS} paths)")

    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    answer = subprocess.run(
        [sys.executable, __file__, STATISTICS], capture_output=True, text=True, check=True, env=environment
    )
    cpu = json.loads(answer.stdout.splitlines()[-1])
    final = whole.sum(axis=1)
    own = {"mean": float(final.mean()), "error": float(final.std(ddof=1) / np.sqrt(len(final)))}
    gap = abs(own["mean"] - cpu["mean"]) / np.hypot(own["error"], cpu["error"])
    print(f"mean regret {own['mean']:.4f} here, {cpu['mean']:.4f} on the CPU: {gap:.2f} standard errors apart")
    assert gap < 4


if __name__ == "__main__":
    main()
