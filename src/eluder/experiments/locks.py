"""Claims on work: a lock file says who computes a block of paths, and a claim whose holder died is taken over.

A lock holds its owner's host, process and a counter that the owner raises while it lives. It is stale when its process
is known to be dead, or when its counter has not moved for a minute of *this* process's own clock: clocks of
different machines are never compared. Should two processes ever hold one claim all the same (a machine that slept
through its minute), they write the same bytes to the same names: work is lost, results are not.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from functools import cache
from typing import Any

from eluder.experiments.files import Files

BEAT_SECONDS = 10.0
STALE_SECONDS = 60.0


class Locks:
    """The claims of one process on one store."""

    def __init__(self, files: Files, folder: str = "locks"):
        self._files, self._folder = files, folder
        self._held: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, tuple[bytes, float]] = {}  # others' locks, and since when they look like that
        self._mutex = threading.Lock()
        self._stop = threading.Event()
        self._heart: threading.Thread | None = None

    def claim(self, name: str) -> bool:
        """Takes the claim if it is free or its holder is gone; whether it did."""
        mine = {**_process(), "token": uuid.uuid4().hex, "beat": 0}
        taken = self._files.create(self._file(name), _bytes(mine))
        if not taken and self._break_if_stale(name):
            taken = self._files.create(self._file(name), _bytes(mine))
        if not taken:
            return False
        with self._mutex:
            self._held[name] = mine
            if self._heart is None:
                self._heart = threading.Thread(target=self._beat, daemon=True)
                self._heart.start()
        return True

    def holds(self, name: str) -> bool:
        with self._mutex:
            return name in self._held

    def release(self, name: str) -> None:
        with self._mutex:
            mine = self._held.pop(name, None)
            if mine is not None and self._is_mine(name, mine):
                self._files.remove(self._file(name))

    def release_all(self) -> None:
        self._stop.set()
        with self._mutex:
            names = list(self._held)
        for name in names:
            with contextlib.suppress(OSError):
                self.release(name)

    def _file(self, name: str) -> str:
        return f"{self._folder}/{name}.lock"

    def _is_mine(self, name: str, mine: dict[str, Any]) -> bool:
        try:
            return json.loads(self._files.read(self._file(name))).get("token") == mine["token"]
        except (OSError, ValueError, AttributeError):
            return False

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            with self._mutex:
                for name, mine in list(self._held.items()):
                    with contextlib.suppress(OSError):
                        if not self._is_mine(name, mine):
                            del self._held[name]  # taken over: this process was thought dead
                            continue
                        mine["beat"] += 1
                        self._files.write(self._file(name), _bytes(mine))

    def _break_if_stale(self, name: str) -> bool:
        """Whether there was a stale lock, which is now gone."""
        file = self._file(name)
        found = self._read(file)
        if found is None:
            return True  # released in the meantime
        if not self._stale(name, found):
            return False
        # Only one process may break a lock, and only the lock that it judged.
        with self._files.guard(f"{self._folder}/breaking"):
            if self._read(file) != found:
                return False
            self._files.remove(file)
        return True

    def _read(self, file: str) -> bytes | None:
        try:
            return self._files.read(file)
        except FileNotFoundError:
            return None

    def _stale(self, name: str, found: bytes) -> bool:
        now = time.monotonic()
        if name not in self._seen or self._seen[name][0] != found:
            self._seen[name] = (found, now)
        try:
            owner = json.loads(found)
            if owner["host"] == _host():
                return not _alive(int(owner["pid"]), owner["started"])
        except (ValueError, TypeError, KeyError):
            pass  # damaged: nobody raises its counter any more
        return now - self._seen[name][1] > STALE_SECONDS


def _bytes(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


@cache
def _host() -> str:
    """This machine since it was started, and this container on it: within them, process numbers mean something."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id") as file:
            parts.append(file.read().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _process() -> dict[str, Any]:
    return {"host": _host(), "pid": os.getpid(), "started": _started(os.getpid())}


def _started(pid: int) -> int | None:
    """When a process began, in the kernel's ticks: a process number used again is not the same process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _alive(pid: int, started: Any) -> bool:
    if os.path.exists("/proc/self/stat"):
        return _started(pid) is not None and _started(pid) == started
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
