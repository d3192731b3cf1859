"""The paper's experiments as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eluder.agents import UCRLVTR, UCRLWVTR, Agent, Random, without_home
from eluder.environments import riverswim
from eluder.mdp import FiniteMDP

# The paper's table of hyper-parameters: the agents' defaults.
PAPER_AGENTS: dict[str, Callable[[FiniteMDP], Agent]] = {
    "UCRL-WVTR": lambda river: UCRLWVTR(river.linear_mixture()),
    "UCRL-WVTR without HOME": lambda river: without_home(river.linear_mixture()),
    "UCRL-VTR": lambda river: UCRLVTR(river.linear_mixture()),
    "Random": lambda _: Random(),
}
LEARNERS = tuple(name for name in PAPER_AGENTS if name != "Random")


@dataclass(frozen=True)
class Setting:
    """One river of an experiment, and the agents that are run on it."""

    states: int
    horizon: int
    episodes: int
    agents: tuple[str, ...] = tuple(PAPER_AGENTS)
    normalised: bool = False  # rewards scaled so that no trajectory collects more than 1

    def environment(self) -> FiniteMDP:
        river = riverswim(states=self.states, horizon=self.horizon)
        return river.normalised() if self.normalised else river


@dataclass(frozen=True)
class Experiment:
    """A figure of the paper, or one of our own."""

    name: str
    title: str
    settings: tuple[Setting, ...]


def catalogue(full: bool = False) -> dict[str, Experiment]:
    """The experiments by name. `full` adds the settings that take long."""
    horizons = (10, 30, 100, 300, 1000, *((3000,) if full else ()))
    experiments = (
        Experiment(
            "figure-2",
            "Cumulative regret on the 5-state river",
            tuple(Setting(states=5, horizon=h, episodes=5000) for h in (20, 100)),
        ),
        Experiment(
            "figure-4",
            "Regret and average reward on longer rivers",
            tuple(Setting(states=s, horizon=100, episodes=1000) for s in (6, 8, 10)),
        ),
        Experiment(
            "horizon",
            "Regret at total reward 1 against the horizon",
            tuple(Setting(states=5, horizon=h, episodes=500, agents=LEARNERS, normalised=True) for h in horizons),
        ),
    )
    return {experiment.name: experiment for experiment in experiments}
