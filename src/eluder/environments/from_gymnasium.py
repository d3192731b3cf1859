"""Gymnasium environments that publish their table, as exact MDPs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eluder.environments.from_data import Start, from_dict
from eluder.mdp import FiniteMDP


def from_gymnasium(
    environment: Any,
    horizon: int | None = None,
    *,
    start: Start = None,
    reward_scale: float | None = None,
    name: str | None = None,
    **options: Any,
) -> FiniteMDP:
    """The MDP of a Gymnasium environment that publishes its table `P[state][action]`, like FrozenLake or Taxi.

    **Arguments:**

    - `environment`: its id, such as "FrozenLake-v1", or the environment itself.
    - `horizon`: the number of steps H of an episode; by default the environment's own limit, where it has one.
    - `start`: a state, or a dictionary from states to chances; by default the environment's own.
    - `reward_scale`: a bound on the total reward of any trajectory; the tightest one by default.
    - `options`: handed to `gymnasium.make`, e.g. is_slippery=False.

    States and actions keep their numbers. Episodes have exactly H steps: one that ends earlier stays in an absorbing
    state that pays nothing (one state more, "end", when episodes can also pass through the state in which
    one ends). Rewards are expected over the transitions of each (s, a). If some are negative, a constant is added
    to the reward of *every* step, absorbing states included, so that no policy's regret changes: values in
    Gymnasium's units are `mdp.original_value(value)`.
    """
    if isinstance(environment, str):
        gymnasium = _gymnasium()
        try:
            made = gymnasium.make(environment, **options)
        except gymnasium.error.Error as error:
            raise ValueError(f"Gymnasium can not make {environment!r}: {' '.join(str(error).split())}") from None
        label = environment
    elif options:
        raise ValueError(f"The options {', '.join(options)} can only be given with an environment's id.")
    else:
        made, label = environment, getattr(getattr(environment, "spec", None), "id", type(environment).__name__)
    inner = getattr(made, "unwrapped", made)
    table = getattr(inner, "P", None)
    if not isinstance(table, Mapping) or not all(isinstance(row, Mapping) for row in table.values()):
        raise ValueError(
            f"{label} does not publish its table of transitions as P[state][action]: only such environments can be "
            "solved exactly. Build the MDP with environments.from_dict or from_edges instead."
        )
    if horizon is None:
        horizon = getattr(getattr(made, "spec", None), "max_episode_steps", None)
        if horizon is None:
            raise ValueError(f"{label} has no limit of steps: pass horizon=, the number of steps of an episode.")
    if start is None:
        chances = getattr(inner, "initial_state_distrib", None)
        if chances is None:
            raise ValueError(f"{label} does not publish initial_state_distrib: pass start=, the first state.")
        start = {int(s): float(p) for s, p in enumerate(np.asarray(chances)) if p > 0}
    mdp = from_dict(table, horizon=horizon, start=start, reward_scale=reward_scale, name=name or label)
    if isinstance(environment, str):
        made.close()
    return mdp


def _gymnasium():
    try:
        import gymnasium
    except ImportError:
        raise ImportError("Gymnasium environments need gymnasium: pip install 'eluder[gymnasium]'.") from None
    return gymnasium
