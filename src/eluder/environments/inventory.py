"""An inventory with random demand and lost sales (Puterman 1994, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eluder import _validate as validate
from eluder.environments._common import non_negative, tight_scale
from eluder.mdp import FiniteMDP


def inventory(
    capacity: int = 6,
    horizon: int = 20,
    demand: Sequence[float] = (0.2, 0.4, 0.25, 0.15),
    price: float = 4.0,
    unit_cost: float = 2.0,
    order_cost: float = 1.0,
    holding_cost: float = 0.25,
) -> FiniteMDP:
    """How much to order, day by day. The state is the stock in the morning, 0 … `capacity`; action a orders a units.

    The order comes at once, cut off at the room there is, and costs `order_cost` plus `unit_cost` for each
    unit that comes. Demand is D = k with chance `demand[k]`; min(stock, D) units are sold at `price`, the rest of
    the demand is lost, and each unit left in the evening costs `holding_cost`. Episodes start with an empty stock.
    Rewards are expectations over the demand.

    Costs make some rewards negative: a constant is added to every step's, see `FiniteMDP.original_value`.

    As a linear mixture, d = len(demand): the unknown weights are the distribution of the demand.
    """
    capacity = validate.positive_integer(capacity, "capacity")
    horizon = validate.positive_integer(horizon, "horizon")
    theta = validate.finite(np.asarray(demand), "demand")
    if theta.ndim != 1 or not theta.size:
        raise ValueError(f"demand must be a list of chances of selling 0, 1, 2, … units, but has shape {theta.shape}.")
    validate.distributions(theta, "demand")
    for name, cost in (
        ("price", price),
        ("unit_cost", unit_cost),
        ("order_cost", order_cost),
        ("holding_cost", holding_cost),
    ):
        if not (np.isfinite(cost) and cost >= 0):
            raise ValueError(f"{name} must be a number of at least 0, but is {cost!r}.")
    size = capacity + 1
    wanted = np.arange(theta.size)
    morning, ordered = np.indices((size, size))
    delivered = np.minimum(ordered, capacity - morning)
    stock = (morning + delivered)[..., None]
    sold = np.minimum(stock, wanted)
    # Slot k is demand k; when demand exceeds the stock, several slots lead to the empty store.
    successors = stock - sold
    features = np.broadcast_to(np.eye(theta.size), (size, size, theta.size, theta.size))
    probs = np.broadcast_to(theta, successors.shape)
    bought = order_cost * (delivered > 0) + unit_cost * delivered
    rewards, offset = non_negative((price * sold - holding_cost * successors) @ theta - bought)
    return FiniteMDP(
        successors,
        probs,
        rewards,
        horizon=horizon,
        features=features,
        reward_scale=tight_scale(successors, probs, rewards, horizon),
        reward_offset=offset,
        name=f"inventory-{capacity}",
        action_names=[f"order {units}" for units in range(size)],
    )
