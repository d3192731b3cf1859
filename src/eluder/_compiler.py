"""How the runner's programs are compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
        return eqx.filter_jit(function, compiler_options=_options())

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
