"""A queue: whom to let in, and how fast to serve."""

from __future__ import annotations

import numpy as np

from eluder import _validate as validate
from eluder.environments._common import chance, non_negative, tight_scale
from eluder.mdp import FiniteMDP

# Actions, as (let the customer in, serve fast).
ACTIONS = {"refuse, slow": (0, 0), "admit, slow": (1, 0), "refuse, fast": (0, 1), "admit, fast": (1, 1)}


def queue(
    capacity: int = 6,
    horizon: int = 30,
    arrival: float = 0.5,
    slow: float = 0.3,
    fast: float = 0.6,
    holding_cost: float = 0.05,
    fast_cost: float = 0.1,
) -> FiniteMDP:
    """Admission and service control of one server, in discrete time.

    A state is the number of customers in the system, 0 … `capacity`, and whether one more stands at the door. A
    step first lets the one at the door in or sends it away (a full system always does), which pays 1 for a
    customer let in; each customer then inside costs `holding_cost`, and serving fast costs `fast_cost`. If
    anyone is inside, the service ends with chance `slow` or `fast`; and a new customer comes to the door
    with chance `arrival`. Episodes start empty, with nobody at the door.

    Costs make some rewards negative: a constant is added to every step's, see `FiniteMDP.original_value`.

    As a linear mixture, d = 6: the chances of (arrival, none) × (either speed is done, only the fast one, neither).
    """
    capacity = validate.positive_integer(capacity, "capacity")
    horizon = validate.positive_integer(horizon, "horizon")
    arrival = chance(arrival, "arrival")
    slow = chance(slow, "slow")
    fast = chance(fast, "fast", low=slow)
    for name, cost in (("holding_cost", holding_cost), ("fast_cost", fast_cost)):
        if not (np.isfinite(cost) and cost >= 0):
            raise ValueError(f"{name} must be a number of at least 0, but is {cost!r}.")
    events = np.outer((arrival, 1 - arrival), (slow, fast - slow, 1 - fast)).ravel()  # θ
    states = [(inside, door) for door in (0, 1) for inside in range(capacity + 1)]
    number = {state: s for s, state in enumerate(states)}
    successors = np.zeros((len(states), 4, 4), dtype=int)
    features = np.zeros((len(states), 4, 4, 6))
    rewards = np.zeros((len(states), 4))
    for s, (inside, door) in enumerate(states):
        for a, (admit, quick) in enumerate(ACTIONS.values()):
            entered = int(door and admit and inside < capacity)
            now = inside + entered
            rewards[s, a] = entered - holding_cost * now - fast_cost * quick
            for event in range(6):
                comes, done = event < 3, event % 3 <= quick  # 0: either speed is done, 1: only the fast one, 2: neither
                slot = 2 * comes + done
                successors[s, a, slot] = number[max(now - done, 0), int(comes)]
                features[s, a, slot, event] = 1
    rewards, offset = non_negative(rewards)
    probs = features @ events
    return FiniteMDP(
        successors,
        probs,
        rewards,
        horizon=horizon,
        features=features,
        reward_scale=tight_scale(successors, probs, rewards, horizon),
        reward_offset=offset,
        name=f"queue-{capacity}",
        state_names=[f"{inside}{'+1' * door}" for inside, door in states],
        action_names=list(ACTIONS),
    )
