"""Agents by name, for specs, the command line and comparisons."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from eluder._validate import suggestion
from eluder.agents._counting import Support
from eluder.agents._linear import mixture_of
from eluder.agents.base import Agent
from eluder.agents.controls import Optimal, Random
from eluder.agents.euler import EULER
from eluder.agents.greedy import EpsilonGreedy, Greedy
from eluder.agents.hf_ucrl_vtr_plus import HFUCRLVTRPlus
from eluder.agents.mvp import MVP
from eluder.agents.psrl import PSRL
from eluder.agents.q_learning import QLearningBernstein, QLearningHoeffding
from eluder.agents.rare_replanning import RareReplanning
from eluder.agents.rlsvi import RLSVI
from eluder.agents.ucbvi import UCBVIBF, UCBVICH, UCBVISimplified
from eluder.agents.ucrl2 import UCRL2
from eluder.agents.ucrl_mnl import UCRLMNL
from eluder.agents.ucrl_vtr_ayoub import UCRLVTRAyoub
from eluder.agents.ucrl_vtr_plus import UCRLVTRPlus
from eluder.agents.ucrl_wvtr import UCRLVTR, UCRLWVTR
from eluder.agents.unknown_rewards import UnknownRewards
from eluder.mdp import FiniteMDP
from eluder.models import Model, Tabular


class _Entry(NamedTuple):
    make: Callable[..., Agent]
    told: Literal["model", "support", "environment", "nothing"]  # what the agent is told of the environment
    fixed: dict[str, Any] = {}  # noqa: RUF012


_AGENTS: dict[str, _Entry] = {
    "ucrl-wvtr": _Entry(UCRLWVTR, "model"),
    "ucrl-wvtr-without-home": _Entry(UCRLWVTR, "model", {"levels": 1}),
    "ucrl-vtr": _Entry(UCRLVTR, "model"),
    "hf-ucrl-vtr-plus": _Entry(HFUCRLVTRPlus, "model"),
    "ucrl-vtr-ayoub": _Entry(UCRLVTRAyoub, "model"),
    "ucrl-vtr-plus": _Entry(UCRLVTRPlus, "model"),
    "ucrl-mnl": _Entry(UCRLMNL, "environment"),
    "ucbvi-ch": _Entry(UCBVICH, "support"),
    "ucbvi-bf": _Entry(UCBVIBF, "support"),
    "ucbvi-simplified": _Entry(UCBVISimplified, "support"),
    "euler": _Entry(EULER, "support"),
    "mvp": _Entry(MVP, "support"),
    "ucrl2": _Entry(UCRL2, "support"),
    "psrl": _Entry(PSRL, "support"),
    "rlsvi": _Entry(RLSVI, "support"),
    "q-learning-hoeffding": _Entry(QLearningHoeffding, "nothing"),
    "q-learning-bernstein": _Entry(QLearningBernstein, "nothing"),
    "greedy": _Entry(Greedy, "support"),
    "epsilon-greedy": _Entry(EpsilonGreedy, "support"),
    "random": _Entry(Random, "nothing"),
    "optimal": _Entry(Optimal, "environment"),
}
_RARE = ("ucrl-wvtr", "ucrl-wvtr-without-home", "ucrl-vtr", "hf-ucrl-vtr-plus")


def names() -> tuple[str, ...]:
    """The names that `make` knows."""
    return tuple(_AGENTS)


def parameters(name: str) -> dict[str, Any]:
    """The parameters of an agent and their defaults, those of `make` among them."""
    name = _canonical(name)
    entry = _AGENTS[name]
    hidden = {"model", "support", "environment", "horizon", *entry.fixed}
    own = {
        key: parameter.default
        for key, parameter in inspect.signature(entry.make).parameters.items()
        if key not in hidden and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    if entry.told == "model":
        own["model"] = None
    if entry.told == "support":
        own["known_support"] = False
    if name in _RARE:
        own["rare_replanning"] = False
    return own | {"unknown_rewards": False}


def make(name: str, environment: FiniteMDP, **params: Any) -> Agent:
    """The agent of that name for an environment, e.g. make("ucbvi-bf", river, multiplier=0.1, episodes=2000).

    `parameters(name)` lists what an agent takes. Beside its own:

    - `model`, of agents on linear classes: "linear-mixture", "tabular" or a model class. By default the environment's
      own features where it has them, else "tabular".
    - `known_support`, of tabular agents: whether each pair's possible successors are known.
    - `unknown_rewards`: whether the agent has to learn the rewards too.
    - `rare_replanning`, of the UCRL-WVTR family: whether to plan only when a determinant has doubled.
    """
    name = _canonical(name)
    known = parameters(name)
    for key in params:
        if key not in known:
            raise ValueError(
                f"The agent {name!r} has no parameter {key!r}{suggestion(key, known)}: it takes {', '.join(known)}."
            )
    entry = _AGENTS[name]
    unknown_rewards, rare = params.pop("unknown_rewards", False), params.pop("rare_replanning", False)
    arguments = _told(entry, environment, params) | entry.fixed | params
    if "horizon" in inspect.signature(entry.make).parameters:
        arguments["horizon"] = environment.horizon
    agent = entry.make(**arguments)
    if unknown_rewards:
        agent = UnknownRewards(agent)
    return RareReplanning(agent) if rare else agent


def _told(entry: _Entry, environment: FiniteMDP, params: dict[str, Any]) -> dict[str, Any]:
    """What the agent is told of the environment; takes the parameters that say so out of `params`."""
    if entry.told == "model":
        return {"model": _model(params.pop("model", None), environment)}
    if entry.told == "support":
        return {"support": Support(environment) if params.pop("known_support", False) else None}
    return {"environment": environment} if entry.told == "environment" else {}


def _model(model: Model | str | None, environment: FiniteMDP) -> Model:
    if isinstance(model, Model):
        return model
    if model is None:
        model = "tabular" if environment.features is None else "linear-mixture"
    if model not in ("tabular", "linear-mixture"):
        raise ValueError(f"model must be 'linear-mixture', 'tabular' or a model class, but is {model!r}.")
    return Tabular(environment) if model == "tabular" else mixture_of(environment)


def _canonical(name: str) -> str:
    known = str(name).replace("_", "-").lower()
    if known not in _AGENTS:
        raise ValueError(f"There is no agent {name!r}{suggestion(known, _AGENTS)}: the names are {', '.join(_AGENTS)}.")
    return known
