"""Runs the benchmarks one after another and writes `RESULTS.md` beside this file.

Every claim is a ratio measured in one run, because absolute times on shared machines are noise; the accelerator's
rates come from `gpu.py` and `large.py`, run by hand on a dedicated device.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import platform
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import jax
import numpy as np

HERE = Path(__file__).parent
# One claim a script, the quick ones first.
SCRIPTS = ("against_literal", "against_native", "large", "growth", "compile_time")


def measure(name: str) -> str:
    """What a benchmark printed."""
    printed, began = io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(printed):
        try:
            importlib.import_module(name).main()
        except SystemExit as stopped:
            print(f"stopped: {stopped}")
    print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return printed.getvalue()


def machine() -> str:
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    versions = f"Python {platform.python_version()}, JAX {jax.__version__}, NumPy {np.__version__}"
    return f"{model}, {os.cpu_count()} cores; {versions}; {date.today()}"


def main() -> None:
    sys.path.insert(0, str(HERE))
    chosen = sys.argv[1:] or SCRIPTS
    sys.argv = sys.argv[:1]
    parts = [f"# Benchmark results\n\n{machine()}. Rebuilt by `make bench`.\n"]
    for name in chosen:
        title = (importlib.import_module(name).__doc__ or name).strip().splitlines()[0]
        parts.append(f"## {name}\n\n{title}\n\n```text\n{measure(name)}```\n")
    with tempfile.NamedTemporaryFile("w", dir=HERE, suffix=".md", delete=False, encoding="utf-8") as file:
        file.write("\n".join(parts))
    os.chmod(file.name, 0o644)
    os.replace(file.name, HERE / "RESULTS.md")
    print((HERE / "RESULTS.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
