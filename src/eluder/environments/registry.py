"""Environments by name, for specs, the command line and the gallery."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from eluder._validate import suggestion
from eluder.environments.deep_sea import deep_sea
from eluder.environments.from_edges import from_edges
from eluder.environments.from_gymnasium import from_gymnasium
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

# Environments that are read from elsewhere: they have no defaults.
_LOADERS: dict[str, Callable[..., FiniteMDP]] = {"from-edges": from_edges, "from-gymnasium": from_gymnasium}


def names() -> tuple[str, ...]:
    """The names of all environments that can be made without parameters.

    Beside them `make` knows "from-edges" and "from-gymnasium".
    """
    return tuple(_ENVIRONMENTS)


def parameters(name: str) -> dict[str, Any]:
    """The parameters of an environment and their defaults (`inspect.Parameter.empty` for those without)."""
    return {key: parameter.default for key, parameter in _signature(name).items() if not _open(parameter)}


def make(name: str, /, **params: Any) -> FiniteMDP:
    """The environment of that name, e.g. make("riverswim", states=6, horizon=20). "_" and "-" are the same in names."""
    known = parameters(name)
    if not any(_open(parameter) for parameter in _signature(name).values()):
        for key in params:
            if key not in known:
                raise ValueError(
                    f"The environment {name!r} has no parameter {key!r}{suggestion(key, known)}: "
                    f"it takes {', '.join(known)}."
                )
    missing = [key for key, default in known.items() if default is inspect.Parameter.empty and key not in params]
    if missing:
        raise ValueError(f"The environment {name!r} needs the parameter {missing[0]!r}.")
    return _function(name)(**params)


def _signature(name: str) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(_function(name)).parameters


def _open(parameter: inspect.Parameter) -> bool:
    """Whether a parameter stands for any others (**options)."""
    return parameter.kind is inspect.Parameter.VAR_KEYWORD


def _function(name: str) -> Callable[..., FiniteMDP]:
    known = _ENVIRONMENTS | _LOADERS
    try:
        return known[name.replace("_", "-")]
    except (KeyError, AttributeError):
        message = f"There is no environment {name!r}{suggestion(str(name), known)}"
        raise ValueError(f"{message}: the names are {', '.join(known)}.") from None
