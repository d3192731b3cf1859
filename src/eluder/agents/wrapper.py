"""Agents around agents: whatever a wrapper does not change is the inner agent's."""

from __future__ import annotations

from eluder.agents.base import Agent, Problem, Transition
from eluder.mdp import FiniteMDP


class Wrapper(Agent):
    """An agent whose state and plan each have an `inner` field that belongs to another agent."""

    agent: Agent

    @property
    def per_step(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.agent.per_step

    @property
    def keeps_q_values(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.agent.keeps_q_values

    @property
    def one_thread(self) -> bool:
        return self.agent.one_thread

    @property
    def multiplier(self) -> float | None:
        """The inner agent's; None where it has none."""
        return getattr(self.agent, "multiplier", None)

    def check(self, mdp: FiniteMDP, *, allow_misspecified: bool = False) -> float:
        return self.agent.check(mdp, allow_misspecified=allow_misspecified)

    def extras(self, problem: Problem, paths: int):
        return self.agent.extras(problem, paths)

    def backup(self, plan, problem: Problem, step, next_values, next_extras):
        return self.agent.backup(plan.inner, problem, step, next_values, next_extras)

    def tie_key(self, plan, key):
        return self.agent.tie_key(plan.inner, key)

    def planned(self, state, planned):
        return state._replace(inner=self.agent.planned(state.inner, planned))

    def observe(self, state, plan, problem: Problem, transition: Transition):
        inner, info = self.agent.observe(state.inner, plan.inner, problem, transition)
        return state._replace(inner=inner), info

    def finish(self, state, plan, problem: Problem, episode):
        return state._replace(inner=self.agent.finish(state.inner, plan.inner, problem, episode))

    def report(self, state):
        return self.agent.report(state.inner)
