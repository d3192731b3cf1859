"""The whole reproduction in fresh processes: from an empty cache of compiled programs and from a warm one.

Counts the programs that were compiled and the time it took, from JAX's own monitoring events.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

_CHILD = """
import json, sys, time
began = time.perf_counter()
import jax
events = []
jax.monitoring.register_event_duration_secs_listener(lambda name, seconds, **_: events.append((name, seconds)))
sys.argv = ["eluder", "reproduce", "all", "--out", sys.argv[1], *sys.argv[2:]]
from eluder.cli import main
try:
    main()
except SystemExit as done:
    if done.code:
        raise
compiled = [seconds for name, seconds in events if name.endswith("backend_compile_duration")]
traced = [seconds for name, seconds in events if name.endswith("jaxpr_trace_duration")]
print("MEASURED", json.dumps({"programs": len(compiled), "large": sum(s > 0.3 for s in compiled),
      "compile_seconds": sum(compiled), "trace_seconds": sum(traced), "wall": time.perf_counter() - began}))
"""


def reproduce(cache: str) -> dict:
    with tempfile.TemporaryDirectory() as out:
        environment = {**os.environ, "ELUDER_CACHE": cache}
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, out], env=environment, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr)
    measured = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("MEASURED"))[9:])
    return {**measured, "seconds": seconds}


def main() -> list[dict]:
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name in ("empty cache", "warm cache"):
            row = {"start": name, **reproduce(cache)}
            rows.append(row)
            share = row["compile_seconds"] / row["seconds"]
            print(
                f"{name}: {row['seconds']:.1f} s, {row['large']} large programs of {row['programs']}, "
                f"compiling {row['compile_seconds']:.1f} s of thread time ({share:.0%} of the wall time)"
            )
    return rows


if __name__ == "__main__":
    main()
