"""Bring your own MDP: from arrays, from a dictionary, or from an edge list in a CSV or Parquet file.

All three accept negative rewards (costs). A constant is then added to the reward of every step in every state,
which changes no policy's regret in a fixed number of steps; it is kept as `reward_offset`, and
`FiniteMDP.original_value` takes it off again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import ArrayLike

from eluder import _validate as validate
from eluder.environments._common import choice, non_negative, tight_scale
from eluder.mdp import FiniteMDP

Label = Hashable
Start = Label | Mapping[Any, float] | None


class Edge(NamedTuple):
    """One possible outcome of one action."""

    state: Label
    action: Label
    next_state: Label
    probability: float
    reward: float
    terminated: bool  # whether the episode ends with it: nothing is paid afterwards
    where: str  # where the user wrote it, for error messages


def from_arrays(
    kernel: ArrayLike,
    rewards: ArrayLike,
    *,
    horizon: int,
    start: ArrayLike | int = 0,
    reward_scale: float | None = None,
    name: str = "arrays",
    **options: Any,
) -> FiniteMDP:
    """An MDP from a kernel `P[s, a, s']` of shape (S, A, S).

    `rewards` have the shape (S, A), (S,) when the action does not matter, (H, S, A) when they change with the step,
    or (S, A, S) when they belong to a transition: their expectation is taken. `options` are those of `FiniteMDP`.
    """
    dense = validate.finite(kernel, "kernel")
    if dense.ndim == 3 and dense.shape[1] == dense.shape[2] != dense.shape[0]:
        raise ValueError(
            f"kernel has the shape {dense.shape}, as if actions came first: pass np.swapaxes(kernel, 0, 1), "
            "so that kernel[s, a] is the distribution of the next state."
        )
    successors, probs = validate.slots_from_dense(dense)
    states, actions, _ = dense.shape
    horizon = validate.positive_integer(horizon, "horizon")
    values = validate.finite(rewards, "rewards")
    if values.shape == (states, actions, states):
        if values.shape == (horizon, states, actions):
            raise ValueError(
                f"rewards of shape {values.shape} could belong to transitions (S, A, S) or to steps (H, S, A): "
                "for the first pass (kernel * rewards).sum(axis=-1), for the second use FiniteMDP.from_dense."
            )
        values = (dense * values).sum(axis=-1)
    elif values.shape == (states,):
        values = np.broadcast_to(values[:, None], (states, actions))
    values, offset = non_negative(values)
    values = validate.rewards(values, horizon, states, actions)
    scale = tight_scale(successors, probs, values, horizon) if reward_scale is None else reward_scale
    fixed = {"horizon": horizon, "start": start, "reward_scale": scale, "reward_offset": offset, "name": name}
    return FiniteMDP(successors, probs, values, **(options | fixed))


def from_dict(
    table: Mapping[Label, Mapping[Label, Iterable[tuple]]],
    *,
    horizon: int,
    start: Start = None,
    reward_scale: float | None = None,
    missing_actions: str = "error",
    name: str = "dictionary",
) -> FiniteMDP:
    """An MDP from `table[state][action] = [(probability, next state, reward), ...]`.

    An outcome may have a fourth entry, whether the episode ends with it (Gymnasium's form). States and
    actions may be called anything; see `from_edges` for how they are numbered and for the other arguments.
    """
    edges = []
    if not isinstance(table, Mapping):
        raise ValueError(f"table must be a dictionary of states, but is {type(table).__name__}.")
    for state, by_action in table.items():
        if not isinstance(by_action, Mapping):
            raise ValueError(f"table[{state!r}] must be a dictionary of actions, but is {type(by_action).__name__}.")
        for action, outcomes in by_action.items():
            where = f"table[{state!r}][{action!r}]"
            if isinstance(outcomes, str | Mapping) or not isinstance(outcomes, Iterable):
                raise ValueError(f"{where} must be a list of outcomes (probability, next state, reward).")
            for outcome in outcomes:
                if not isinstance(outcome, tuple | list) or len(outcome) not in (3, 4):
                    raise ValueError(
                        f"{where} holds {outcome!r}: an outcome is (probability, next state, reward), and may have "
                        "a fourth entry, whether the episode ends with it."
                    )
                probability, after, reward, *ends = outcome
                edges.append(Edge(state, action, after, probability, reward, bool(ends and ends[0]), where))
    return assemble(
        edges,
        horizon=horizon,
        start=start,
        reward_scale=reward_scale,
        missing_actions=missing_actions,
        name=name,
        states=table.keys(),
    )


def assemble(
    edges: Iterable[Edge],
    *,
    horizon: int,
    start: Start,
    reward_scale: float | None,
    missing_actions: str,
    name: str,
    states: Iterable[Label] = (),
) -> FiniteMDP:
    """The MDP of a list of edges; `states` are named even if no edge leaves them."""
    horizon = validate.positive_integer(horizon, "horizon")
    choice(missing_actions, ("error", "repeat"), "missing_actions")
    edges = [edge for edge in edges if _checked(edge).probability > 0]
    if not edges:
        raise ValueError("There is no edge with a positive probability: give at least one (state, action, next state).")
    labels = _ordered([*states, *(label for edge in edges for label in (edge.state, edge.next_state))])
    actions = _ordered([edge.action for edge in edges])
    starts = _start(start, edges[0].state, labels)
    edges, labels = _absorb(edges, labels, starts)
    number = {label: s for s, label in enumerate(labels)}
    action_number = {label: a for a, label in enumerate(actions)}

    # Outcomes that lead to the same state are merged; a reward is expected over all outcomes of its pair.
    merged: dict[tuple[int, int], dict[int, float]] = {}
    rewards = np.zeros((len(labels), len(actions)))
    for edge in edges:
        pair = number[edge.state], action_number[edge.action]
        after = merged.setdefault(pair, {})
        after[number[edge.next_state]] = after.get(number[edge.next_state], 0.0) + edge.probability
        rewards[pair] += edge.probability * edge.reward
    successors = np.zeros((len(labels), len(actions), max(len(after) for after in merged.values())), dtype=int)
    probs = np.zeros(successors.shape)
    acting = {s for s, _ in merged}
    for s, label in enumerate(labels):
        own = [a for a in range(len(actions)) if (s, a) in merged]
        for a, action in enumerate(actions):
            if s not in acting:  # the end of the story: one stays, and nothing is paid
                successors[s, a], probs[s, a, 0] = s, 1
                continue
            if a not in own and missing_actions == "error":
                raise ValueError(
                    f"State {label!r} has no outcome for action {action!r}: every state needs the same actions. "
                    "Add it, or pass missing_actions='repeat' to let it do what the state's first action does."
                )
            after = merged[s, a if a in own else own[0]]
            total = sum(after.values())
            if abs(total - 1) > validate.TOLERANCE:
                raise ValueError(
                    f"The probabilities of state {label!r}, action {action!r} must sum to 1, but sum to {total:.6g}: "
                    "add the missing outcomes, or divide each by the sum."
                )
            successors[s, a] = next(iter(after))
            successors[s, a, : len(after)] = list(after)
            probs[s, a, : len(after)] = np.array(list(after.values())) / total
            rewards[s, a] = rewards[s, a if a in own else own[0]]
    rewards, offset = non_negative(rewards)
    return FiniteMDP(
        successors,
        probs,
        rewards,
        horizon=horizon,
        start=np.array([starts.get(label, 0.0) for label in labels]),
        reward_scale=tight_scale(successors, probs, rewards, horizon) if reward_scale is None else reward_scale,
        reward_offset=offset,
        name=name,
        state_names=[str(label) for label in labels],
        action_names=[str(label) for label in actions],
    )


def _checked(edge: Edge) -> Edge:
    for field in ("probability", "reward"):
        value = getattr(edge, field)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise ValueError(f"{edge.where}: {field} must be a finite number, but is {value!r}.")
    if not -validate.TOLERANCE <= edge.probability <= 1 + validate.TOLERANCE:
        raise ValueError(f"{edge.where}: probability must be between 0 and 1, but is {edge.probability!r}.")
    for field in ("state", "action", "next_state"):
        label = getattr(edge, field)
        if not isinstance(label, Hashable) or label is None or label == "" or label != label:
            raise ValueError(f"{edge.where}: {field.replace('_', ' ')} must be a name or a number, but is {label!r}.")
    return edge


def _ordered(labels: Iterable[Label]) -> list[Label]:
    """Each label once: whole numbers in their order, anything else in the order of appearance."""
    unique = list(dict.fromkeys(labels))
    if all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in unique):
        return sorted(unique)  # type: ignore[type-var]
    return unique


def _start(start: Start, default: Label, labels: list[Label]) -> dict[Label, float]:
    """The start distribution by label."""
    if not isinstance(start, Mapping) and not isinstance(start, Hashable):
        raise ValueError(f"start must be a state or a dictionary from states to chances, but is {start!r}.")
    chances = dict(start) if isinstance(start, Mapping) else {default if start is None else start: 1.0}
    for label in chances:
        if label not in set(labels):
            raise ValueError(f"start names the state {label!r}, which no edge mentions.")
    validate.distributions(validate.finite(np.array(list(chances.values())), "start"), "start")
    return chances


def _absorb(edges: list[Edge], labels: list[Label], starts: Mapping) -> tuple[list[Edge], list[Label]]:
    """Edges in which an ended episode stays where it ended.

    Tables often say how to go on from a state in which an episode has ended. Such a state becomes absorbing
    when no episode under way can visit it; otherwise the endings in it go to one more state, "end".
    """
    onward: dict[Label, list[Label]] = {}
    for edge in edges:
        if not edge.terminated:
            onward.setdefault(edge.state, []).append(edge.next_state)
    under_way = {label for label, chance in starts.items() if chance > 0}
    queue = list(under_way)
    while queue:
        for after in onward.get(queue.pop(), ()):
            if after not in under_way:
                under_way.add(after)
                queue.append(after)
    ended = {edge.next_state for edge in edges if edge.terminated}
    absorbing = ended - under_way
    if ended & under_way:
        end = "end"
        while end in labels:
            end += "_"
        labels = [*labels, end]
        edges = [e._replace(next_state=end) if e.terminated and e.next_state in under_way else e for e in edges]
    return [edge for edge in edges if edge.state not in absorbing], labels
