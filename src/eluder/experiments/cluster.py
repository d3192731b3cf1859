"""Running a spec on a Dask cluster. Needs the `cluster` extra, and a store that all workers reach.

Workers write to the store themselves, so that a lost worker costs what it had not saved yet: whoever gets its block
next goes on from the last checkpoint. The numbers are those of a local run, to the bit.
"""

from __future__ import annotations

import itertools
import socket
import time
import uuid
from collections import Counter
from functools import lru_cache
from typing import Any

from eluder.experiments import devices
from eluder.experiments.build import Built
from eluder.experiments.files import LocalFiles, StoreError
from eluder.experiments.locks import Locks
from eluder.experiments.run import Events, Job, Task
from eluder.experiments.spec import Series, Spec
from eluder.experiments.store import Store
from eluder.experiments.work import CHECKPOINT_SECONDS, Control, work_on_block

_TOPIC = "eluder"
_POLL_SECONDS = 0.5
_CONNECT_SECONDS = 20
# A block that takes so many workers with it does so itself, by its memory most likely.
_LOSSES_AT_MOST = 30


def run_on_dask(
    job: Job,
    scheduler: Any,
    events: Events | None = None,
    *,
    device: str = "auto",
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> bool:
    """Computes what is missing of a job on the workers of a scheduler: its address, or a `distributed.Client`."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise StoreError("--dask needs the package 'distributed': pip install 'eluder[cluster]'") from None
    events = events or Events()
    if isinstance(scheduler, distributed.Client):
        return _run(job, scheduler, events, device, checkpoint_seconds)
    try:
        client = distributed.Client(scheduler, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise StoreError(f"No Dask scheduler answers at {scheduler}: {error}") from None
    with client:
        return _run(job, client, events, device, checkpoint_seconds)


def _run(job: Job, client: Any, events: Events, device: str, checkpoint_seconds: float) -> bool:
    from distributed import KilledWorker, as_completed

    spec, numbers = job.spec.to_toml(), {series: index for index, series in enumerate(job.series)}
    address = _absolute(job.store)
    topic = f"{_TOPIC}-{uuid.uuid4().hex}"
    attempts = itertools.count()

    def submit(task: Task):
        # A key of its own for each attempt: Dask gives a key up after a few lost workers, for good.
        key = f"eluder-{task.series.id}-{task.block}-{next(attempts)}"
        arguments = (spec, numbers[task.series], task.block, address, device, checkpoint_seconds, topic)
        return client.submit(_work, *arguments, key=key, pure=False)

    def heard(event) -> None:
        _, news = event
        events.damaged(news) if isinstance(news, str) else events.advanced(int(news))

    client.subscribe_topic(topic, heard)
    # The largest first, as on one machine.
    pending = {submit(task): task for task in sorted(job.tasks, key=lambda task: -task.steps)}
    losses: Counter[tuple[Series, int]] = Counter()
    done = as_completed(pending)
    try:
        for future in done:
            task = pending.pop(future)
            if future.status == "finished":
                events.finished()
                continue
            error = future.exception() if future.status == "error" else None
            if error is not None and not isinstance(error, KilledWorker):
                raise error
            losses[task.series, task.block] += 1
            if losses[task.series, task.block] > _LOSSES_AT_MOST:
                raise StoreError(
                    f"{task.series.agent} on {task.series.environment}, block {task.block}, lost its worker "
                    f"{_LOSSES_AT_MOST} times: give workers more memory, or a new store smaller blocks (--block)"
                )
            again = submit(task)
            pending[again] = task
            done.add(again)
    finally:
        client.unsubscribe_topic(topic)
        client.cancel(list(pending))
    return True


def _absolute(store: Store) -> str:
    """The store's address as workers with other working folders need it."""
    return str(store.files.root.resolve()) if isinstance(store.files, LocalFiles) else store.files.address


@lru_cache(maxsize=256)
def _built(spec: str, number: int) -> tuple[Series, Built]:
    series = Spec.from_toml(spec).series()[number]
    return series, series.build()


def _work(spec: str, number: int, block: int, address: str, device: str, seconds: float, topic: str) -> None:
    """What a worker does: one block of one series."""
    from distributed import get_worker

    devices.choose(device)
    worker = get_worker()
    store = Store.open(address, on_damage=lambda sentence: worker.log_event(topic, sentence), repair=True)
    if not store.info:
        raise StoreError(
            f"The worker on {socket.gethostname()} does not see the store {address}: use a folder that all machines "
            "share, or an address such as s3://bucket/prefix"
        )
    series, built = _built(spec, number)
    locks = Locks(store.files)
    control = Control(advanced=lambda steps: worker.log_event(topic, steps), checkpoint_seconds=seconds)
    try:
        while not work_on_block(store, series, built, block, locks, control):
            time.sleep(_POLL_SECONDS)  # another process is at it
    finally:
        locks.release_all()
