"""How the runner's programs are compiled."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax

# Measured on the batched step: the older loop emitters give faster code for many small fused loops than
# XLA's newer ones (by a quarter) and compile it in half the time; wide vectors add a tenth where the chip has them.
_CPU_OPTIONS = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_prefer_vector_width": 512}


def compiled(function: Callable) -> Callable[..., Any]:
    """`eqx.filter_jit` with the options that suit the device, which is not known before the first call."""

    @functools.cache
    def jitted():
        _keep_programs()
        return eqx.filter_jit(function, compiler_options=_options())  # type: ignore[call-overload]

    @functools.wraps(function)
    def call(*arguments):
        return jitted()(*arguments)

    call.jitted = jitted  # type: ignore[attr-defined]
    return call


@functools.cache
def _options() -> dict[str, Any] | None:
    """The options that this version of XLA knows; none on accelerators."""
    if jax.default_backend() != "cpu":
        return None
    try:
        jax.jit(lambda x: x + 1, compiler_options=_CPU_OPTIONS).lower(1.0).compile()
    except Exception:  # XLA names no narrower error for an option it does not know
        return None
    return _CPU_OPTIONS


@functools.cache
def _keep_programs() -> None:
    """Keeps compiled programs on disk, unless the user has told JAX where to, or ELUDER_CACHE is "off"."""
    wanted = os.environ.get("ELUDER_CACHE", "")
    if wanted == "off" or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(wanted) if wanted else home / "eluder" / _machine()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written to costs time, not results
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


def _machine() -> str:
    """A name for this kind of processor: programs for one must not be loaded on another that shares the home."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        facts = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        facts = platform.processor() + platform.machine()
    return "programs-" + hashlib.sha256(facts.encode()).hexdigest()[:12]
