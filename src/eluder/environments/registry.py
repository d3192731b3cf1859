"""Environments by name, for specs, the command line and the gallery."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from eluder.environments.deep_sea import deep_sea
from eluder.environments.grid_world import grid_world
from eluder.environments.hard_tree import hard_tree
from eluder.environments.inventory import inventory
from eluder.environments.lower_bound import lower_bound
from eluder.environments.queue import queue
from eluder.environments.random_mdps import garnet, random_mixture
from eluder.environments.riverswim import riverswim
from eluder.environments.two_state import two_state
from eluder.environments.wide_tree import wide_tree
from eluder.mdp import FiniteMDP

_ENVIRONMENTS: dict[str, Callable[..., FiniteMDP]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        riverswim,
        deep_sea,
        lower_bound,
        two_state,
        hard_tree,
        wide_tree,
        random_mixture,
        garnet,
        grid_world,
        queue,
        inventory,
    )
}


def names() -> tuple[str, ...]:
    """The names that `make` knows. All of these environments can be made without parameters."""
    return tuple(_ENVIRONMENTS)


def parameters(name: str) -> dict[str, Any]:
    """The parameters of an environment and their defaults."""
    return {key: parameter.default for key, parameter in inspect.signature(_function(name)).parameters.items()}


def make(name: str, **params: Any) -> FiniteMDP:
    """The environment of that name, e.g. make("riverswim", states=6, horizon=20). "_" and "-" are the same in names."""
    function = _function(name)
    known = parameters(name)
    for key in params:
        if key not in known:
            raise ValueError(
                f"The environment {name!r} has no parameter {key!r}{_suggestion(key, known)}: "
                f"it takes {', '.join(known)}."
            )
    return function(**params)


def _function(name: str) -> Callable[..., FiniteMDP]:
    try:
        return _ENVIRONMENTS[name.replace("_", "-")]
    except (KeyError, AttributeError):
        message = f"There is no environment {name!r}{_suggestion(str(name), _ENVIRONMENTS)}"
        raise ValueError(f"{message}: the names are {', '.join(_ENVIRONMENTS)}.") from None


def _suggestion(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
