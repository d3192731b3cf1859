"""Runs a spec into a store: what is missing, on all cores, several processes at once if there are several."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax

from eluder.experiments import devices
from eluder.experiments.build import Built
from eluder.experiments.files import StoreError
from eluder.experiments.locks import Locks
from eluder.experiments.spec import Series, Spec
from eluder.experiments.store import Store
from eluder.experiments.work import CHECKPOINT_SECONDS, Control, Stopped, work_on_block
from eluder.simulation import cores

_POLL_SECONDS = 0.25
# After Ctrl-C, the time that running chunks have to save their work: a user waits no longer than a second in all.
_GRACE_SECONDS = 0.7


@dataclass
class Events:
    """What a run tells while it is under way. Called from any thread."""

    advanced: Callable[[int], None] = lambda steps: None
    finished: Callable[[], None] = lambda: None  # one more block is complete
    waiting: Callable[[int], None] = lambda blocks: None  # so many blocks are with other processes
    damaged: Callable[[str], None] = lambda sentence: None


@dataclass(frozen=True)
class Task:
    """A block of paths of one series."""

    series: Series
    built: Built = field(repr=False)
    block: int
    paths: int

    @property
    def steps(self) -> int:
        return self.series.episodes * self.built.environment.horizon * self.paths


Item = tuple[Task, Store, Locks]


@dataclass
class Job:
    """A spec bound to its store: what there is to do."""

    spec: Spec
    store: Store
    series: list[Series]
    built: list[Built]
    tasks: list[Task]

    @property
    def steps(self) -> int:
        """Environment steps of the whole experiment."""
        return sum(task.steps for task in self.tasks)

    def missing(self) -> int:
        """Environment steps that no finished or saved result covers, by the names of files."""
        steps = 0
        for task in self.tasks:
            paths = range(task.block * self.store.block, task.block * self.store.block + task.paths)
            for part in self.store.split(task.series.id, paths):
                done = self.store.cell(task.series.id, part).covered()
                steps += max(0, task.series.episodes - done) * task.built.environment.horizon * len(part)
        return steps

    @property
    def address(self) -> str:
        return self.store.files.address


def prepare(spec: Spec, out: str, *, block: int | None = None, damaged: Callable[[str], None] | None = None) -> Job:
    """Checks that everything can be built, then opens the experiment's store under `out`."""
    series = spec.series()
    built = build_all(series)
    backend = jax.default_backend()
    size = block or devices.block_size(built, spec.paths)
    address = join_address(out, spec.name)
    store = Store.create(address, backend=backend, block=size, on_damage=damaged)
    tasks = []
    for one, parts in zip(series, built, strict=True):
        for number in range(math.ceil(one.paths / store.block)):
            paths = min(store.block, one.paths - number * store.block)
            tasks.append(Task(one, parts, number, paths))
    job = Job(spec, store, series, built, tasks)
    if store.backend != backend and job.missing():
        raise StoreError(
            f"The results in {address} were computed on {store.backend}, this run would use {backend}, and their bits "
            f"differ: use another --out, or --device {store.backend}"
        )
    store.experiment()  # damaged: reported, set aside and written anew
    store.write_experiment(spec, contents(series, built))
    return job


def build_all(series: list[Series]) -> list[Built]:
    """What each series runs; series on the same environment share it."""
    return [one.build() for one in series]


def join_address(out: str, name: str) -> str:
    return f"{str(out).rstrip('/')}/{name}"


def contents(series: list[Series], built: list[Built]) -> list[dict[str, Any]]:
    """The store's table of contents: each series with its labels and sizes."""
    pairs = list(zip(series, built, strict=True))
    agent_params = [{"name": s.agent, **dict(s.agent_params)} for s in series]
    world_params = [{"name": s.environment, **dict(s.environment_params)} for s in series]
    agents = _told_apart([s.agent_label(b) for s, b in pairs], agent_params)
    worlds = _told_apart([s.environment_label(b) for s, b in pairs], world_params)
    return [
        {
            "id": one.id,
            "environment": worlds[index],
            "agent": agents[index],
            "environment_params": world_params[index],
            "agent_params": agent_params[index],
            "states": parts.environment.states,
            "actions": parts.environment.actions,
            "horizon": parts.environment.horizon,
            "reward_scale": float(parts.environment.reward_scale),
            "seed": one.seed,
            "episodes": one.episodes,
            "paths": one.paths,
        }
        for index, (one, parts) in enumerate(pairs)
    ]


def _told_apart(labels: list[str], params: list[dict[str, Any]]) -> list[str]:
    """Labels, with the parameters in which things of the same label differ; those that show elsewhere left out."""
    result = []
    for label, own in zip(labels, params, strict=True):
        namesakes = [other for name, other in zip(labels, params, strict=True) if name == label]
        differ = [key for key in own if any(other.get(key) != own[key] for other in namesakes)]
        shown = [f"{key} = {own[key]}" for key in differ if key not in ("states", "horizon", "episodes")]
        shown = [text for text in shown if text not in label]
        result.append(f"{label} ({', '.join(shown)})" if shown else label)
    return result


def run(
    job: Job,
    events: Events | None = None,
    *,
    workers: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    stop: threading.Event | None = None,
) -> bool:
    """Computes what is missing, on `workers` threads. False when `stop` was set.

    Ctrl-C saves what was done and passes on.
    """
    return run_jobs([job], events, workers=workers, checkpoint_seconds=checkpoint_seconds, stop=stop)


def run_jobs(
    jobs: list[Job],
    events: Events | None = None,
    *,
    workers: int | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    stop: threading.Event | None = None,
) -> bool:
    """Several jobs as one, so that the end of one leaves no core idle."""
    workers = workers or (cores() if jax.default_backend() == "cpu" else 1)
    return _Crew(jobs, events or Events(), workers, checkpoint_seconds, stop or threading.Event()).work()


class _Crew:
    """Threads that take tasks until none is left. Compiled programs run outside Python's lock.

    Cells side by side use the cores better than each cell's paths side by side: batches stay large.
    """

    def __init__(self, jobs: list[Job], events: Events, workers: int, checkpoint_seconds: float, stop: threading.Event):
        self.events = events
        tasks = [(task, job.store, locks) for job in jobs for locks in [Locks(job.store.files)] for task in job.tasks]
        # The largest first: a long one started last would leave a core idle.
        self.todo = deque(sorted(tasks, key=lambda item: -item[0].steps))
        self.waiting: list[Item] = []  # with other processes, as of the last look
        self.locks = {id(locks): locks for _, _, locks in tasks}.values()
        self.control = Control(stop, events.advanced, checkpoint_seconds, max(1, workers // max(1, len(tasks))))
        self.errors: list[BaseException] = []
        self.mutex = threading.Lock()
        self.threads = [threading.Thread(target=self._thread, daemon=True) for _ in range(min(workers, len(tasks)))]

    def work(self) -> bool:
        try:
            for thread in self.threads:
                thread.start()
            while any(thread.is_alive() for thread in self.threads):
                for thread in self.threads:
                    thread.join(_POLL_SECONDS / len(self.threads))
        except KeyboardInterrupt:
            self.control.stop.set()
            deadline = time.monotonic() + _GRACE_SECONDS
            for thread in self.threads:
                if thread.is_alive():
                    thread.join(max(0.0, deadline - time.monotonic()))
            raise
        finally:
            for locks in self.locks:
                locks.release_all()
        if self.errors:
            raise self.errors[0]
        return not self.control.stop.is_set()

    def _thread(self) -> None:
        while (item := self._next()) is not None:
            task, store, locks = item
            try:
                done = work_on_block(store, task.series, task.built, task.block, locks, self.control)
            except Stopped:
                return
            except BaseException as error:
                self.errors.append(error)
                self.control.stop.set()
                return
            if done:
                self.events.finished()
            else:
                with self.mutex:
                    self.waiting.append(item)

    def _next(self) -> Item | None:
        """A task to try. Those that others hold are tried again, in turn, until they are done or free."""
        while not self.control.stop.is_set():
            with self.mutex:
                if self.todo:
                    return self.todo.popleft()
                again, self.waiting = self.waiting, []
            if not again:
                return None
            self.events.waiting(len(again))
            self.control.stop.wait(_POLL_SECONDS)
            with self.mutex:
                self.todo.extend(again)
        return None


def run_spec(spec: Spec, out: str, *, events: Events | None = None, block: int | None = None, **options: Any) -> bool:
    """`prepare` and `run` in one."""
    events = events or Events()
    return run(prepare(spec, out, block=block, damaged=events.damaged), events, **options)
