"""The agent x-ray: what an agent believed, did and learned in chosen episodes of a few paths.

A path's numbers depend on the environment, the agent, the seed and the path's number alone. So nothing has to be
recorded in advance: `xray` plays the first paths of a run again, to the same bits, and keeps what the page shows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eluder import diagnostics
from eluder._validate import positive_integer
from eluder.agents import UCRLWVTR
from eluder.agents.base import Agent
from eluder.mdp import FiniteMDP, Solution
from eluder.recording import Recorder, Trace
from eluder.report.layout import edges, positions
from eluder.report.series import checkpoints
from eluder.simulation import Run, chunks, problem_of

# The three terms of σ̄² (Alg. 2, line 6), in the order of the numbers in `terms`.
TERMS = ("moment", "floor", "uncertainty")

_VIEWS = 40  # episodes kept
_STATES = 120  # states shown, the most visited ones
_NUMBERS = 150_000  # of values kept per path, about: more episodes or states mean fewer steps
_BYTES = 2**29  # what one call of the runner may hold


class View(NamedTuple):
    """One episode of one path. Rewards and values are in the environment's own units."""

    episode: int  # counted from 1
    regret: float
    collected: float
    values: np.ndarray  # V_{k,h}(s) (steps, states)
    policy: np.ndarray  # the action at (steps, states)
    state: np.ndarray  # (steps,)
    action: np.ndarray
    visits: np.ndarray  # of (states, actions), up to the end of this episode
    edge_visits: np.ndarray  # of each edge, likewise
    bonus: np.ndarray | None  # (steps,), in units in which the total reward is at most 1
    weights: np.ndarray | None  # σ̄² (levels, steps)
    terms: np.ndarray | None  # which of TERMS set it (levels, steps)
    distance: np.ndarray | None  # how far f_* is from the centre of the confidence set, by level
    radius: float | None
    covered: np.ndarray | None  # whether f_* is in the confidence set, by level


class Xray(NamedTuple):
    """Chosen episodes of a few paths of one agent."""

    environment: FiniteMDP
    agent: str
    solution: Solution
    states: np.ndarray  # the states shown, in their order
    steps: np.ndarray  # the steps shown, counted from 0
    positions: np.ndarray  # of the states shown (states, 2)
    edges: np.ndarray  # (edges, 2), by place in `states`
    paths: list[list[View]]
    seed: int


def xray(
    environment: FiniteMDP, agent: Agent, *, episodes: int, paths: int = 2, seed: int = 0, label: str | None = None
) -> Xray:
    """Plays the first `paths` paths of a run for `episodes` episodes and keeps about forty episodes of each.

    `label` is what the page calls the agent; its own name by default.
    """
    episodes, paths = positive_integer(episodes, "episodes"), positive_integer(paths, "paths")
    needed = 256 * max(paths, 2) * environment.horizon * environment.states * 8
    if needed > _BYTES:
        raise ValueError(
            f"{environment.name!r} is too large for an x-ray: {environment.states} states and {environment.horizon} "
            f"steps would need {needed / 2**30:.1f} GiB."
        )
    recorders: tuple[Recorder, ...] = (Trace(environment), *_coverage(environment, agent))
    chosen = set(checkpoints(episodes, _VIEWS).tolist())
    source, target = edges(environment)
    keys = source * environment.states + target
    counts = _Counts(
        np.zeros((paths, environment.states, environment.actions), dtype=int), np.zeros((paths, keys.size), dtype=int)
    )
    found: list[list[tuple[int, dict[str, np.ndarray], _Counts]]] = [[] for _ in range(paths)]
    run = Run.start(environment, agent, recorders, range(paths), seed, 1)
    for run, recorded in chunks(run, episodes):  # noqa: B020
        first = run.episodes - recorded["regret"].shape[1] + 1
        for index in range(recorded["regret"].shape[1]):
            for path in range(paths):
                one = {name: values[path, index] for name, values in recorded.items()}
                np.add.at(counts.pairs[path], (one["state"], one["action"]), 1)
                taken = np.searchsorted(keys, one["state"] * environment.states + one["next_state"])
                np.add.at(counts.edges[path], taken, 1)
                if first + index in chosen:
                    kept = _Counts(counts.pairs[path].copy(), counts.edges[path].copy())
                    found[path].append((first + index, {k: v.copy() for k, v in one.items()}, kept))
    states = _shown(environment, counts.pairs.sum(axis=(0, 2)))
    steps = _steps(environment.horizon, states.size, len(chosen))
    at = positions(environment)[states]
    inside = np.isin(source, states) & np.isin(target, states)
    unit = float(problem_of(environment, per_step=agent.per_step).unit)
    views = [
        [_view(number, one, count, states, steps, inside, unit) for number, one, count in of_path] for of_path in found
    ]
    shown_edges = np.searchsorted(states, np.stack([source, target], axis=1)[inside])
    return Xray(environment, label or agent.label, environment.solve(), states, steps, at, shown_edges, views, seed)


class _Counts(NamedTuple):
    pairs: np.ndarray  # visits of (s, a)
    edges: np.ndarray  # of s → s'


def _coverage(environment: FiniteMDP, agent: Agent) -> tuple[Recorder, ...]:
    """The check that f_* is in the confidence set, for agents and classes that have one."""
    if not isinstance(agent, UCRLWVTR):
        return ()
    try:
        return (diagnostics.Coverage(environment, agent),)
    except TypeError:  # the class's true parameters are not known
        return ()


def _shown(environment: FiniteMDP, visits: np.ndarray) -> np.ndarray:
    if environment.states <= _STATES:
        return np.arange(environment.states)
    return np.sort(np.argsort(-visits, kind="stable")[:_STATES])


def _steps(horizon: int, states: int, views: int) -> np.ndarray:
    wanted = int(np.clip(_NUMBERS // (2 * states * views), 8, 60))
    return np.unique(np.linspace(0, horizon - 1, min(wanted, horizon)).round().astype(int))


def _view(number: int, one: dict[str, np.ndarray], counts: _Counts, states, steps, inside, unit: float) -> View:
    def by_level(name: str) -> np.ndarray | None:
        return one[name][steps].T if name in one and one[name].ndim == 2 else None

    terms = [by_level(name) for name in TERMS]
    active = None if any(term is None for term in terms) else np.argmax(np.stack(terms), axis=0)  # type: ignore[arg-type]
    bonus = one.get("bonus")
    return View(
        episode=number,
        regret=float(one["regret"]),
        collected=float(one["returns"]),
        values=unit * one["values"][np.ix_(steps, states)],
        policy=one["policy"][np.ix_(steps, states)],
        state=one["state"][steps],
        action=one["action"][steps],
        visits=counts.pairs[states],
        edge_visits=counts.edges[inside],
        bonus=None if bonus is None else (bonus[steps, 0] if bonus.ndim == 2 else bonus[steps]),
        weights=by_level("weights"),
        terms=active,
        distance=one.get("distance"),
        radius=float(one["radius"]) if "radius" in one else None,
        covered=one.get("covered"),
    )


def to_data(x: Xray) -> dict[str, Any]:
    """What the page's script reads, as plain lists and numbers."""
    mdp, q_values = x.environment, np.asarray(x.solution.q_values)
    names = mdp.state_names or tuple(map(str, range(mdp.states)))
    optimal = np.asarray(x.solution.values)[np.ix_(x.steps, x.states)]
    grid_steps, grid_states = np.ix_(x.steps, x.states)

    def view(one: View) -> dict[str, Any]:
        loss = optimal - q_values[grid_steps, grid_states, one.policy]
        data = one._asdict() | {"loss": np.maximum(loss, 0)}
        return {key: plain(value) for key, value in data.items()}

    return {
        "agent": x.agent,
        "environment": mdp.name,
        "horizon": mdp.horizon,
        "seed": x.seed,
        "all_states": mdp.states,
        "state_numbers": x.states.tolist(),
        "state_names": [names[s] for s in x.states],
        "action_names": list(mdp.action_names or map(str, range(mdp.actions))),
        "steps": (x.steps + 1).tolist(),  # people count from 1
        "positions": plain(x.positions),
        "edges": x.edges.tolist(),
        "optimal": plain(optimal),
        "optimal_policy": np.asarray(x.solution.policy)[grid_steps, grid_states].tolist(),
        "terms": list(TERMS),
        "paths": [[view(one) for one in path] for path in x.paths],
    }


def plain(value: Any) -> Any:
    """Numbers with six significant digits, arrays as lists: what JSON holds. NaN and infinities become null."""
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return [plain(item) for item in value] if value.ndim > 1 else [plain(float(v)) for v in value]
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value
