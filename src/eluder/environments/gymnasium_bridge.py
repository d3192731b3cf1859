"""Eluder's environments for other libraries' agents, and other libraries' policies scored exactly.

Importing this module registers every environment with Gymnasium as "eluder/<name>-v0". Gymnasium does the import
itself when the id carries the module:

    gymnasium.make("eluder.environments.gymnasium_bridge:eluder/riverswim-v0", states=6)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise ImportError("Gymnasium environments need gymnasium: pip install 'eluder[gymnasium]'.") from None

from eluder.environments.registry import make, names
from eluder.mdp import FiniteMDP, optimal_return


class FiniteMDPEnv(gymnasium.Env):
    """A `FiniteMDP` as a Gymnasium environment.

    Observations are states, `Discrete(S)`, and an episode is *truncated* after H steps. With `observe_step` they are
    pairs (step, state), `MultiDiscrete([H + 1, S])`, which is what a policy needs to be optimal in a fixed number of
    steps; an episode then *terminates* after H steps, since nothing that is not observed ends it. Rewards
    are the MDP's own, `reward_offset` included.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        environment: FiniteMDP | str = "riverswim",
        *,
        observe_step: bool = False,
        render_mode: str | None = None,
        **params: Any,
    ):
        """
        **Arguments:**

        - `environment`: a `FiniteMDP`, or a name for `environments.make` with its `params`.
        - `observe_step`: whether the agent sees the step, counted from 0, beside the state.
        - `render_mode`: None, or "ansi" for a line of text.
        """
        if isinstance(environment, FiniteMDP):
            if params:
                raise ValueError(f"The parameters {', '.join(params)} can only be given with an environment's name.")
            self.mdp = environment
        else:
            self.mdp = make(environment, **params)
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode must be None or 'ansi', but is {render_mode!r}.")
        self.render_mode = render_mode
        self.observe_step = observe_step
        self.action_space = spaces.Discrete(self.mdp.actions)
        self.observation_space = (
            spaces.MultiDiscrete([self.mdp.horizon + 1, self.mdp.states])
            if observe_step
            else spaces.Discrete(self.mdp.states)
        )
        self._successors, self._probs = np.asarray(self.mdp.successors), np.asarray(self.mdp.probs)
        self._rewards = np.asarray(self.mdp.rewards)
        self.initial_state_distrib = np.asarray(self.mdp.start)
        self._step, self._state, self._last = self.mdp.horizon, 0, "not started"

    @cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """The table of transitions in Gymnasium's form; an error when rewards change with the step."""
        if self._rewards.shape[0] > 1:
            raise AttributeError(f"The rewards of {self.mdp.name!r} change with the step: it has no table.")
        return {
            s: {
                a: [
                    (float(p), int(after), float(self._rewards[0, s, a]), False)
                    for after, p in zip(self._successors[s, a], self._probs[s, a], strict=True)
                    if p > 0
                ]
                for a in range(self.mdp.actions)
            }
            for s in range(self.mdp.states)
        }

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed, options=options)
        self._step = 0
        self._state = _draw(self.initial_state_distrib, self.np_random)
        self._last = "start"
        return self._observation(), {"step": 0}

    def step(self, action: Any):
        if self._step >= self.mdp.horizon:
            raise ValueError("The episode is over: call reset() before the next step.")
        if not self.action_space.contains(action):
            raise ValueError(f"action must be a whole number from 0 to {self.mdp.actions - 1}, but is {action!r}.")
        reward = float(self._rewards[min(self._step, self._rewards.shape[0] - 1), self._state, action])
        slot = _draw(self._probs[self._state, action], self.np_random)
        self._state = int(self._successors[self._state, action, slot])
        self._step += 1
        self._last = f"action {self.mdp.action_names[action] if self.mdp.action_names else action} paid {reward:g}"
        over = self._step == self.mdp.horizon
        ended, cut = over and self.observe_step, over and not self.observe_step
        return self._observation(), reward, ended, cut, {"step": self._step}

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        state = self.mdp.state_names[self._state] if self.mdp.state_names else self._state
        return f"{self.mdp.name}, step {self._step} of {self.mdp.horizon}: {self._last}, now in state {state}"

    def _observation(self):
        return np.array([self._step, self._state]) if self.observe_step else self._state


def _draw(chances: np.ndarray, rng: np.random.Generator) -> int:
    """An index with these chances; never one of chance zero, whatever the rounding."""
    possible = np.flatnonzero(chances)
    return int(possible[np.searchsorted(np.cumsum(chances[possible])[:-1], rng.random(), side="right")])


def register() -> None:
    """Registers every environment with Gymnasium as "eluder/<name>-v0"; done when this module is imported."""
    for name in names():
        if (identity := f"eluder/{name}-v0") not in gymnasium.registry:
            gymnasium.register(identity, entry_point=f"{__name__}:FiniteMDPEnv", kwargs={"environment": name})


class Score(NamedTuple):
    """The exact score of a policy, in the MDP's own reward units."""

    value: float  # E[V^π₁(s₁)]
    optimal_value: float  # E[V*₁(s₁)]
    policy: np.ndarray  # the action at each (step, state), of shape (H, S)

    @property
    def regret(self) -> float:
        return self.optimal_value - self.value


def policy_table(model: Any, mdp: FiniteMDP, *, observe_step: bool = False, batched: bool = False) -> np.ndarray:
    """The actions, of shape (H, S), of a policy with `predict(observation, deterministic=True) -> (action, memory)`.

    This is the protocol of stable-baselines3. Pass the `observe_step` of the `FiniteMDPEnv` that the policy learned in.
    With `batched`, `predict` is called once with all observations, as stable-baselines3 allows; otherwise
    once for each.
    """
    if not callable(getattr(model, "predict", None)):
        raise TypeError(f"model must have predict(observation, deterministic=True), unlike {type(model).__name__}.")
    states = np.arange(mdp.states)
    if observe_step:
        steps = np.repeat(np.arange(mdp.horizon), mdp.states)
        observations = np.stack([steps, np.tile(states, mdp.horizon)], axis=-1)
    else:
        observations = states
    if batched:
        actions, memory = _predict(model, observations)
    else:
        answers = [_predict(model, observation) for observation in observations]
        actions = np.array([np.asarray(action).reshape(-1) for action, _ in answers])
        memory = next((memory for _, memory in answers if memory is not None), None)
    if memory is not None:
        raise ValueError("This policy keeps a memory between steps: its action is no function of step and state.")
    actions = np.asarray(actions)
    if actions.size != len(observations):
        raise ValueError(f"predict must give one action per observation, but gave the shape {actions.shape}.")
    table = actions.reshape(-1, mdp.states)
    return np.broadcast_to(table, (mdp.horizon, mdp.states))


def score(model: Any, mdp: FiniteMDP, *, observe_step: bool = False, batched: bool = False) -> Score:
    """The exact value and regret of a policy given as in `policy_table`: no roll-outs, no noise."""
    policy = policy_table(model, mdp, observe_step=observe_step, batched=batched)
    value = float(np.asarray(mdp.start) @ np.asarray(mdp.evaluate(policy)[0]))
    return Score(value, optimal_return(mdp), policy)


def _predict(model: Any, observation: Any) -> tuple[Any, Any]:
    answer = model.predict(observation, deterministic=True)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise TypeError(f"predict must return (action, memory), but returned {type(answer).__name__}.")
    return answer


register()
