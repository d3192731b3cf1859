"""Where results come from: versions, hardware and commit."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jax

_PACKAGES = ("eluder", "jax", "jaxlib", "equinox", "numpy", "pyarrow")


def provenance(seconds: float, workers: int) -> dict[str, Any]:
    """What is written beside finished results. `seconds` is the wall time that computing them took."""
    return {
        **_machine(),
        "seconds": seconds,
        "workers": workers,
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


@cache
def _machine() -> dict[str, Any]:
    return {
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}},
        "backend": jax.default_backend(),
        "device": jax.devices()[0].device_kind,
        "processor": _processor(),
        "precision": "float64" if jax.config.read("jax_enable_x64") else "float32",
        "commit": _commit(),
    }


def _processor() -> str:
    """Processors with other vector instructions may round differently."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the source that runs, with a mark when files differ from it; None outside a checkout."""
    folder = Path(__file__).parent

    def git(*command: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(folder), *command], capture_output=True, text=True, timeout=10, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed package may lie inside some other project's checkout: that commit would say nothing.
    if not git("ls-files", "--error-unmatch", Path(__file__).name):
        return None
    commit = git("rev-parse", "HEAD")
    return f"{commit} with changes" if commit and git("status", "--porcelain", "--", str(folder.parent)) else commit
