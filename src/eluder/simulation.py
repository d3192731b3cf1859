"""Running an agent: all paths and episodes compiled, in chunks, with exact regret every episode."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eluder import _random
from eluder import _validate as validate
from eluder._arrays import look_up, pick
from eluder._compiler import compiled
from eluder.agents.base import Agent, Problem, Transition, traced
from eluder.mdp import FiniteMDP
from eluder.models.base import REALISABLE
from eluder.planning import Truth, plan_episode
from eluder.recording import Episode, Recorder

# Episodes that one call of the compiled program may hold the results of, and the most numbers per record:
# a whole buffer travels from the device after each call.
_BUFFER, _BUFFER_NUMBERS = 256, 2**20
# A chunk should take about this long: often enough for a progress bar and for Ctrl-C.
_CHUNK_SECONDS = 0.4
# Paths in one compiled batch on a CPU: enough to fill its vector units, few enough to stay in its caches.
_CPU_BLOCK = 128
# What every run records.
_ALWAYS = ("regret", "returns", "optimal_value")


class Result(NamedTuple):
    """What a simulation returns. Rewards and regret are in the MDP's own units."""

    regret: Float[np.ndarray, "paths episodes"]  # V*₁(s₁) − V^π₁(s₁) of the policy played, exact
    returns: Float[np.ndarray, "paths episodes"]  # the sum of rewards that the path collected
    optimal_value: Float[np.ndarray, "paths episodes"]  # V*₁(s₁)
    records: dict[str, np.ndarray]  # what the recorders recorded, with axes (paths, episodes, ...)
    environment: str
    agent: str
    horizon: int
    reward_scale: float
    report: dict[str, np.ndarray]  # what the agent says of itself at the end, by path (see `Agent.report`)
    misfit: float  # how far the agent's model class is from the true kernel; 0 when it is realisable
    seconds: float  # wall time, compilation included
    interrupted: bool  # whether the run was stopped before its last episode

    @property
    def cumulative_regret(self) -> Float[np.ndarray, "paths episodes"]:
        return np.cumsum(self.regret, axis=1)

    @property
    def normalised_regret(self) -> Float[np.ndarray, "paths episodes"]:
        """Regret per episode with the total reward scaled to at most 1, as the theory has it."""
        return self.regret / self.reward_scale

    @property
    def misspecified(self) -> bool:
        """Whether the agent's model class cannot represent the environment."""
        return self.misfit > 0

    @property
    def steps(self) -> int:
        """Environment steps taken, over all paths."""
        return self.regret.size * self.horizon

    def __repr__(self) -> str:
        paths, episodes = self.regret.shape
        final = self.regret.sum(axis=1)
        spread = f" ± {final.std(ddof=1):.4g}" if paths > 1 else ""
        notes = ", misspecified" * self.misspecified + ", interrupted" * self.interrupted
        return (
            f"Result({self.agent} on {self.environment}, horizon={self.horizon}, paths={paths}, episodes={episodes}, "
            f"regret={final.mean():.4g}{spread}{notes})"
        )

    def _repr_html_(self) -> str | None:
        """What a notebook shows: a table and the regret curve; the text above where figures cannot be drawn."""
        try:
            from eluder.report.jupyter import result_html
        except ModuleNotFoundError:
            return None
        return result_html(self)


def simulate(
    environment: FiniteMDP,
    agent: Agent,
    *,
    episodes: int,
    paths: int = 10,
    seed: int = 0,
    record: Sequence[Recorder] = (),
    progress: Callable[[int], Any] | None = None,
    allow_misspecified: bool = False,
    workers: int | None = None,
) -> Result:
    """Runs `paths` independent paths of `episodes` episodes each.

    Path i's numbers depend on the environment, the agent, the seed and i alone: to the bit, on one kind of
    device. Ctrl-C returns what was done so far, marked as interrupted.

    **Arguments:**

    - `environment`: a `FiniteMDP`.
    - `agent`: see `eluder.agents`.
    - `episodes`, `paths`, `seed`: how many episodes and paths, and the random seed.
    - `record`: what to record beside regret and return; see `eluder.recording`.
    - `progress`: called with the number of episodes finished on every path, now and then.
    - `allow_misspecified`: run even if the agent's model class cannot represent the environment.
    - `workers`: threads to spread the paths over; the number of cores by default, 1 on an accelerator.
    """
    episodes = validate.positive_integer(episodes, "episodes")
    paths = validate.positive_integer(paths, "paths")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not -(2**63) <= seed < 2**63:
        raise ValueError(f"seed must be a whole number of 64 bits, but is {seed!r}.")
    if workers is not None:
        workers = validate.positive_integer(workers, "workers")
    if not isinstance(environment, FiniteMDP):
        raise TypeError(f"environment must be a FiniteMDP such as riverswim(), but is {environment!r}.")
    if not isinstance(agent, Agent):
        raise TypeError(f"agent must be an agent such as eluder.agents.Random(), but is {agent!r}.")
    misfit = agent.check(environment, allow_misspecified=allow_misspecified)
    began = time.perf_counter()
    run = Run.start(environment, agent, tuple(record), range(paths), int(seed), workers)
    records: list[dict[str, np.ndarray]] = []
    interrupted = False
    try:
        for advanced, recorded in chunks(run, episodes):
            run = advanced
            records.append(recorded)
            if progress is not None:
                progress(run.episodes)
    except KeyboardInterrupt:
        interrupted = True
    empty = {name: np.empty((paths, 0)) for name in _ALWAYS}
    joined = {name: np.concatenate([r[name] for r in records], axis=1) for name in records[0]} if records else empty
    return Result(
        **{name: joined.pop(name) for name in _ALWAYS},
        records=joined,
        environment=environment.name,
        agent=agent.label,
        horizon=environment.horizon,
        reward_scale=environment.reward_scale,
        report=run.report(),
        misfit=misfit if misfit > REALISABLE else 0.0,
        seconds=time.perf_counter() - began,
        interrupted=interrupted,
    )


class Run(NamedTuple):
    """A simulation under way: everything the next chunk needs. `eluder.checkpoint` saves and restores it."""

    agent: Agent
    problem: Problem
    truth: Truth
    recorders: tuple[Recorder, ...]
    seed: Int[Array, ""]
    paths: int
    workers: int
    blocks: tuple[Int[Array, " block"], ...]  # path numbers; padding repeats a block's last path
    states: tuple[Any, ...]
    episodes: int = 0  # finished on every path

    @classmethod
    def start(
        cls,
        environment: FiniteMDP,
        agent: Agent,
        recorders: tuple[Recorder, ...],
        paths: range,
        seed: int,
        workers: int | None,
    ) -> Run:
        """Before the first episode of the paths with these numbers."""
        on_cpu = jax.default_backend() == "cpu"
        workers = 1 if agent.one_thread else workers or (cores() if on_cpu else 1)
        size = math.ceil(len(paths) / workers)
        if on_cpu:
            size = math.ceil(size / math.ceil(size / _CPU_BLOCK))
        # A batch of one compiles to other arithmetic, and a GPU's threads come in warps.
        size = max(size, 2) if on_cpu else 32 * math.ceil(size / 32)
        starts = range(paths.start, paths.stop, size)
        blocks = tuple(jnp.minimum(jnp.arange(size) + first, paths.stop - 1) for first in starts)
        agent, problem = traced(agent), problem_of(environment, per_step=agent.per_step)
        states = tuple(_init(agent, problem, size) for _ in blocks)
        truth = Truth.of(environment)
        workers = min(workers, len(blocks))
        return cls(agent, problem, truth, recorders, jnp.asarray(seed), len(paths), workers, blocks, states)

    def advance(self, pool: ThreadPoolExecutor, count: int) -> tuple[Run, dict[str, np.ndarray]]:
        """`count` more episodes on every path."""

        def one_block(block, state):
            state, record = _episodes(
                self.agent, self.problem, self.truth, self.recorders, self.seed, block, state, self.episodes, count
            )
            return state, jax.tree.map(lambda x: np.asarray(x)[:count], record)

        # Compiled programs run outside Python's lock: one thread per core keeps all of them busy.
        states, records = zip(*pool.map(one_block, self.blocks, self.states), strict=True)

        def join(*parts):
            return np.moveaxis(np.concatenate(parts, axis=-1)[..., : self.paths], -1, 0)

        joined = jax.tree.map(join, *records)
        return self._replace(states=states, episodes=self.episodes + count), joined

    def report(self) -> dict[str, np.ndarray]:
        reports = [self.agent.report(state) for state in self.states]
        return jax.tree.map(lambda *parts: np.concatenate(parts, axis=-1)[..., : self.paths], *reports)


def chunks(run: Run, episodes: int) -> Iterator[tuple[Run, dict[str, np.ndarray]]]:
    """Carries a run on until it has `episodes` episodes: after each chunk, the run and what the chunk recorded.

    Chunks are sized by the clock; no number depends on where they end.
    """
    chunk, measured = 1, False
    with ThreadPoolExecutor(run.workers) as pool:
        while run.episodes < episodes:
            count = min(chunk, _rows(run.blocks[0]), episodes - run.episodes)
            began = time.perf_counter()
            run, recorded = run.advance(pool, count)
            # The first chunk also compiles, so its time says nothing.
            if measured:
                rate = count / (time.perf_counter() - began)
                chunk = math.ceil(min(rate * _CHUNK_SECONDS, 8 * chunk))
            else:
                chunk, measured = 8, True
            yield run, recorded


def cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def problem_of(mdp: FiniteMDP, *, per_step: bool = False) -> Problem:
    """What an agent is told of an MDP, in the units of reward that its paper assumes."""
    # Arrays over steps have a length from a short list, so that horizons share compiled programs.
    max_horizon = max(32, 2 ** math.ceil(math.log2(mdp.horizon)))
    unit = jnp.asarray(float(mdp.rewards.max()) or 1.0) if per_step else jnp.asarray(mdp.reward_scale)
    return Problem(mdp.rewards[..., None] / unit, jnp.asarray(mdp.horizon), unit, max_horizon, per_step)


@eqx.filter_jit
def _init(agent: Agent, problem: Problem, paths: int):
    return agent.init(problem, paths)


def _episodes(agent, problem, truth, recorders, seed, paths, state, first: int, count: int):
    """Episodes `first` … `first + count − 1` of a block of paths; records have the axes (episode, ..., path)."""
    return _compiled(agent, problem, truth, recorders, seed, paths, state, jnp.asarray(first), jnp.asarray(count))


@compiled
def _compiled(
    agent: Agent,
    problem: Problem,
    truth: Truth,
    recorders: tuple[Recorder, ...],
    seed: Int[Array, ""],
    paths: Int[Array, " block"],
    state: Any,
    first: Int[Array, ""],
    count: Int[Array, ""],
):
    def one(state, number):
        if not recorders and jax.default_backend() == "gpu":
            from eluder.kernels import fused_episode  # ten times as fast where it fits

            if fused_episode.fits(agent, problem, state, paths.shape[0]):
                return fused_episode.episode(agent, problem, truth, seed, paths, state, number)
        return _episode(agent, problem, truth, recorders, seed, paths, state, number)

    def episode(index, carry):
        state, buffers = carry
        state, record = one(state, first + index)
        return state, jax.tree.map(lambda buffer, value: buffer.at[index].set(value), buffers, record)

    shapes: Any = dict.fromkeys(_ALWAYS, jax.ShapeDtypeStruct(paths.shape, truth.probs.dtype))
    if recorders:
        _, shapes = jax.eval_shape(one, state, first)
    buffers = jax.tree.map(lambda leaf: jnp.zeros((_rows(paths), *leaf.shape), leaf.dtype), shapes)
    return jax.lax.fori_loop(0, count, episode, (state, buffers))


def _episode(
    agent: Agent, problem: Problem, truth: Truth, recorders: tuple[Recorder, ...], seed, paths, state, number
) -> tuple[Any, dict[str, Array]]:
    """One episode of Algorithm 1: plan, then act and observe."""
    keys = _random.episode_keys(seed, paths, number)
    key = jax.random.key_data(keys).T
    agent_keys = jax.vmap(lambda k: jax.random.fold_in(k, _random.AGENT))(keys)
    plan = agent.begin(state, problem, number, agent_keys)
    planned = plan_episode(agent, plan, problem, truth, key)
    state = agent.planned(state, planned)
    successors = jnp.moveaxis(truth.successors, 0, -1).reshape(-1, truth.successors.shape[0])

    def act(step, state, at):
        action = pick(planned.policy[step], at)
        pair = at * problem.actions + action
        slot = _draw(look_up(truth.cumulative, pair), _random.uniform(key, step, _random.TRANSITION))
        next_state = pick(look_up(successors, pair), slot)
        reward = look_up(problem.reward(step)[..., 0].reshape(-1), pair)
        transition = Transition(step, at, action, reward, next_state, planned.values[step + 1])
        state, info = agent.observe(state, plan, problem, transition)
        return state, transition, info

    def step(index, carry):
        state, at, collected, recording = carry
        state, transition, info = act(index, state, at)
        recording = [r.step(c, transition, info) for r, c in zip(recorders, recording, strict=True)]
        return state, transition.next_state, collected + transition.reward, recording

    start = _draw(truth.start_cumulative[:, None], _random.uniform(key, jnp.asarray(0), _random.START))
    example = jax.eval_shape(act, jnp.asarray(0), state, start)[1:] if recorders else ()
    recording = [recorder.begin(problem, *example) for recorder in recorders]
    carry = (state, start, jnp.zeros(paths.shape), recording)
    state, _, collected, recording = jax.lax.fori_loop(0, problem.horizon, step, carry)
    state = agent.finish(state, plan, problem, number)
    optimum = truth.optimal_values[start]
    record = {
        "regret": optimum - pick(planned.policy_value, start),
        "returns": collected * problem.unit,
        "optimal_value": optimum,
    }
    finished = Episode(number, plan, planned, start)
    for recorder, seen in zip(recorders, recording, strict=True):
        record |= recorder.finish(seen, finished)
    return state, record


def _rows(block: Int[Array, " block"]) -> int:
    """How many episodes of a block of paths one call records."""
    return max(1, min(_BUFFER, _BUFFER_NUMBERS // block.size))


def _draw(cumulative: Float[Array, "slots #paths"], uniform: Float[Array, " paths"]) -> Int[Array, " paths"]:
    """The slot in which a uniform number falls."""
    return jnp.sum(uniform[None] >= cumulative, axis=0, dtype=jnp.int32)
