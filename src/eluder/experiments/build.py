"""From the names in a spec to the things they name: environments, agents, recorders and radii."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from eluder import agents, environments
from eluder._validate import suggestion
from eluder.agents.base import Agent
from eluder.mdp import FiniteMDP
from eluder.recording import Recorder, Trace

# A parameter that must be given.
REQUIRED = inspect.Parameter.empty


class Built(NamedTuple):
    """What a series runs."""

    environment: FiniteMDP
    agent: Agent
    recorders: tuple[Recorder, ...]


def _theorem(environment: FiniteMDP, agent: Agent, episodes: int) -> Any:
    from eluder import theory

    model = getattr(agent, "model", None)
    if model is None:
        raise ValueError(f"The agent {agent.label!r} has no model class, so the theorem gives it no radius.")
    return theory.theorem(model, episodes=episodes, horizon=environment.horizon).radius


def _diagnose(environment: FiniteMDP, agent: Agent) -> list[Recorder]:
    from eluder import diagnostics

    if not isinstance(agent, agents.UCRLWVTR):
        raise ValueError(f"The record 'diagnostics' is for UCRL-WVTR, not for {agent.label!r}.")
    return diagnostics.diagnose(environment, agent)


# Radii that a spec may name instead of giving the number `beta`.
RADII: dict[str, Callable[[FiniteMDP, Agent, int], Any]] = {"theorem": _theorem}

RECORDERS: dict[str, Callable[[FiniteMDP, Agent], list[Recorder]]] = {
    "trace": lambda environment, agent: [Trace(environment)],
    "diagnostics": _diagnose,
}


def names(kind: str) -> tuple[str, ...]:
    """The names of all environments or all agents."""
    return environments.names() if kind == "environment" else agents.names()


def parameters(kind: str, name: str) -> dict[str, Any]:
    """The parameters of an environment or agent, and their defaults."""
    return environments.parameters(name) if kind == "environment" else agents.parameters(name)


def make_environment(name: str, params: Mapping[str, Any]) -> FiniteMDP:
    params = dict(params)
    normalised = params.pop("normalised", False)
    environment = environments.make(name, **params)
    return environment.normalised() if normalised else environment


def make_agent(name: str, environment: FiniteMDP, params: Mapping[str, Any], episodes: int) -> Agent:
    """The agent; a radius given by name is computed for this environment and number of episodes."""
    params = dict(params)
    if isinstance(params.get("beta"), str):
        radius = known(RADII, params["beta"], "radius")
        params["beta"] = radius(environment, agents.make(name, environment, **(params | {"beta": 1.0})), episodes)
    return agents.make(name, environment, **params)


def make_recorders(names: tuple[str, ...], environment: FiniteMDP, agent: Agent) -> tuple[Recorder, ...]:
    return tuple(r for name in names for r in known(RECORDERS, name, "record")(environment, agent))


def known(table: Mapping[str, Any], name: str, kind: str) -> Any:
    """The entry of that name; otherwise an error that suggests one."""
    if name not in table:
        raise ValueError(f"There is no {kind} {name!r}{suggestion(name, table)}: choose one of {', '.join(table)}.")
    return table[name]
