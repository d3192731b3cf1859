"""Checks of what users hand in: one clear sentence for each mistake, naming the thing and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike

# Sums of probabilities typed by hand are off by rounding; more than this is a mistake.
TOLERANCE = 1e-8


def positive_integer(value, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, but is {value!r}.")
    return int(value)


def finite(array: ArrayLike, name: str) -> np.ndarray:
    try:
        result = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, all rows of the same length.") from None
    if not np.all(np.isfinite(result)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name} must be finite, but {name}{list(where)} is {result[where]}.")
    return result


def whole_numbers(array: ArrayLike, name: str) -> np.ndarray:
    result = finite(array, name)
    if np.any(result != np.floor(result)):
        raise ValueError(f"{name} must hold whole numbers.")
    return result.astype(np.int64)


def distributions(probs: np.ndarray, name: str) -> None:
    """Every row along the last axis is non-negative and sums to one."""
    if np.any(probs < 0):
        where = tuple(int(i) for i in np.argwhere(probs < 0)[0])
        raise ValueError(f"{name} must not be negative, but {name}{list(where)} is {probs[where]:g}.")
    sums = probs.sum(axis=-1)
    off = np.abs(sums - 1) > TOLERANCE
    if np.any(off):
        where = tuple(int(i) for i in np.argwhere(off)[0])
        raise ValueError(
            f"Each row of {name} must sum to 1, but {name}{list(where)} sums to {sums[where]:.6g}: "
            "add the missing mass or divide the row by its sum."
        )


def kernel(successors: ArrayLike, probs: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    successors, probs = whole_numbers(successors, "successors"), finite(probs, "probs")
    if successors.ndim != 3 or successors.shape != probs.shape or 0 in successors.shape:
        raise ValueError(
            "successors and probs must both have the shape (states, actions, slots), "
            f"but have shapes {successors.shape} and {probs.shape}."
        )
    states = successors.shape[0]
    if successors.min() < 0 or successors.max() >= states:
        raise ValueError(
            f"successors must name states from 0 to {states - 1}, "
            f"but hold values from {successors.min()} to {successors.max()}."
        )
    distributions(probs, "probs")
    return successors, probs


def slots_from_dense(dense: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    dense = finite(dense, "kernel")
    if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or 0 in dense.shape:
        raise ValueError(f"A dense kernel must have the shape (states, actions, states), but has {dense.shape}.")
    distributions(dense, "kernel")
    slots = int((dense > 0).sum(axis=-1).max())
    # A stable sort on "is zero" moves each row's successors to the front and keeps them in order of state.
    successors = np.argsort(dense == 0, axis=-1, kind="stable")[..., :slots]
    return successors, np.take_along_axis(dense, successors, axis=-1)


def rewards(values: ArrayLike, horizon: int, states: int, actions: int) -> np.ndarray:
    """Rewards as an array (1 or H, S, A)."""
    values = finite(values, "rewards")
    if values.shape == (states, actions):
        values = values[None]
    if values.shape not in ((1, states, actions), (horizon, states, actions)):
        raise ValueError(
            f"rewards must have the shape (states, actions) = {(states, actions)} or (horizon, states, actions) = "
            f"{(horizon, states, actions)}, but have {values.shape}."
        )
    if np.any(values < 0):
        raise ValueError(
            f"rewards must not be negative, but the smallest is {values.min():g}: add a constant to all of them "
            "(in a fixed number of steps this changes no policy's regret)."
        )
    return values


def start(value: ArrayLike | int, states: int) -> np.ndarray:
    """A start state or distribution as a distribution over states."""
    array = finite(value, "start")
    if array.ndim == 0:
        if array != np.floor(array) or not 0 <= array < states:
            raise ValueError(f"start must be a state from 0 to {states - 1} or a distribution, but is {value!r}.")
        return np.eye(1, states, int(array))[0]
    if array.shape != (states,):
        raise ValueError(f"start must have the shape ({states},), but has {array.shape}.")
    distributions(array, "start")
    return array


def slot_features(values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    values = finite(values, "features")
    if values.ndim != 4 or values.shape[:3] != shape or values.shape[3] == 0:
        raise ValueError(
            f"features must have the shape (states, actions, slots, dim) = {(*shape, 'dim')}, but have {values.shape}."
        )
    return values


def names(values: Sequence[str] | None, count: int, name: str) -> tuple[str, ...] | None:
    if values is None:
        return None
    result = tuple(str(value) for value in values)
    if len(result) != count or len(set(result)) != count:
        raise ValueError(f"{name} must hold {count} different names, but holds {len(set(result))}.")
    return result


def largest_return(successors: np.ndarray, probs: np.ndarray, rewards: np.ndarray, horizon: int) -> float:
    """The largest total reward of any trajectory that can happen, from any state."""
    reachable = np.where(probs > 0, 0.0, -np.inf)
    best = np.zeros(successors.shape[0])
    for step in reversed(range(horizon)):
        ahead = (best[successors] + reachable).max(axis=-1)
        best = (rewards[min(step, rewards.shape[0] - 1)] + ahead).max(axis=-1)
    return float(best.max())


def reward_scale(
    scale: float | None, successors: np.ndarray, probs: np.ndarray, rewards: np.ndarray, horizon: int
) -> float:
    if scale is None:
        return float(horizon * rewards.max()) or 1.0
    if not np.isfinite(scale) or scale <= 0:
        raise ValueError(f"reward_scale must be a positive number, but is {scale!r}.")
    largest = largest_return(successors, probs, rewards, horizon)
    if largest > scale * (1 + 1e-9):
        raise ValueError(
            f"reward_scale is {scale:g}, but a trajectory of this MDP collects {largest:g}: "
            f"pass a reward_scale of at least {largest:g}."
        )
    return float(scale)


def policy(table: ArrayLike, horizon: int, states: int, actions: int) -> np.ndarray:
    array = finite(table, "policy")
    if array.shape == (horizon, states, actions):
        distributions(array, "policy")
        return array
    if array.shape != (horizon, states):
        raise ValueError(
            f"policy must have the shape (horizon, states) = {(horizon, states)}, or with a last axis of {actions} "
            f"action chances, but has {array.shape}."
        )
    array = whole_numbers(array, "policy")
    if array.min() < 0 or array.max() >= actions:
        raise ValueError(f"policy must name actions from 0 to {actions - 1}.")
    return array


def suggestion(word: str, known: Iterable[str]) -> str:
    """(did you mean …?) where a known word is close to a misspelt one."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def state_values(values: ArrayLike, states: int) -> np.ndarray | Tracer:
    # Inside a compiled function only the shape is known.
    array = values if isinstance(values, Tracer) else finite(values, "values")
    if array.shape != (states,):
        raise ValueError(f"values must have the shape ({states},), one number per state, but have {array.shape}.")
    return array
