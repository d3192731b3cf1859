"""The result store: one folder per experiment, results in cells named by what they are results of.

```
store.json                     schema, backend and block size, fixed when the store is made
spec.toml, experiment.json     the spec that was run last, and its series with their labels
cells/<series>/<paths>/        a series is named by the hash of its resolved spec and seed
    <episodes>.<sum>.parquet       finished results, written once
    <episodes>.<sum>.part          results since then, of a run under way
    <episode>.<sum>.state          the agent's state after that episode, from which a run goes on
    <episodes>.<sum>.json          where finished results come from: versions, backend, wall time
locks/, damaged/               claims of running processes; files whose checksum did not match
```

A file's name carries the checksum of its content, so that one atomic rename publishes both.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eluder.experiments import encoding
from eluder.experiments.encoding import Damaged, Records, digest
from eluder.experiments.files import Files, LocalFiles, StoreError, checked, open_files
from eluder.experiments.spec import Spec

_SERIES = re.compile(r"[0-9a-f]{32}")
_RANGE = re.compile(r"(\d{10})-(\d{10})")
_CELL_FILE = re.compile(r"(\d{10})-(\d{10})\.([0-9a-f]{32})\.(parquet|part|json)")
_STATE_FILE = re.compile(r"(\d{10})\.([0-9a-f]{32})\.state")
# How old a temporary file must be before it is taken for a dead process's.
_ABANDONED_SECONDS = 600


class Named(NamedTuple):
    """A file of a cell, as its name describes it."""

    first: int
    last: int  # episodes first … last − 1, counted from 0
    sum: str
    kind: str
    name: str


class Cell:
    """The files of one series and one range of paths."""

    def __init__(self, store: Store, series: str, paths: range):
        self.store, self.series, self.paths = store, series, paths
        self.folder = f"cells/{series}/{paths.start:010d}-{paths.stop:010d}"

    def _listed(self) -> Iterator[Named]:
        for name in self.store.files.names(self.folder):
            if match := _CELL_FILE.fullmatch(name):
                yield Named(int(match[1]), int(match[2]), match[3], match[4], f"{self.folder}/{name}")
            elif match := _STATE_FILE.fullmatch(name):
                yield Named(0, int(match[1]), match[2], "state", f"{self.folder}/{name}")

    def _read(self, file: Named, decode: Callable[[bytes], Any]) -> Any:
        """The decoded content; None, reported and set aside, when it is not what its name says."""
        try:
            data = self.store.files.read(file.name)
            if digest(data) != file.sum:
                raise Damaged("its checksum does not match")
            return decode(data)
        except FileNotFoundError:
            return None  # merged into a longer file in the meantime
        except Damaged as error:
            self.store.damaged(file.name, error)
            return None

    def _records(self, file: Named) -> Records | None:
        """The records of a file, if it holds what its name says."""
        records = self._read(file, lambda data: encoding.decode_records(data, self.paths, self.series))
        if records is None:
            return None
        inside = not records.episodes.size or file.first < records.episodes[0] <= records.episodes[-1] <= file.last
        if not inside or (not records.thinned and records.episodes.size != file.last - file.first):
            self.store.damaged(file.name, Damaged("it holds other episodes than its name says"))
            return None
        return records

    def chain(self, kind: str, start: int = 0) -> list[tuple[Named, Records]]:
        """Intact, consecutive results of one kind from episode `start` on; of alternatives, the longest."""
        found: list[tuple[Named, Records]] = []
        for file in sorted((f for f in self._listed() if f.kind == kind), key=lambda f: (f.first, -f.last)):
            if file.first == start < file.last:
                records = self._records(file)
                if records is not None:
                    found.append((file, records))
                    start = file.last
        return found

    def parts(self, first: int, last: int) -> list[Records] | None:
        """Intact parts that cover exactly episodes first … last − 1; None when there are none.

        Runs that were interrupted may have left parts that overlap: they saved at different moments.
        """
        usable = {f for f in self._listed() if f.kind == "part" and first <= f.first < f.last <= last}
        while (route := _route(usable, first, last)) is not None:
            read = {file: self._records(file) for file in route}
            whole = [records for records in read.values() if records is not None]
            if len(whole) == len(route):
                return whole
            usable -= {file for file, records in read.items() if records is None}
        return None

    def covered(self) -> int:
        """Episodes whose results are stored, finished or not, by the names of files alone."""
        end = 0
        for file in sorted(
            (f for f in self._listed() if f.kind in ("parquet", "part")), key=lambda f: (f.first, f.last)
        ):
            end = max(end, file.last) if file.first <= end else end
        return end

    def states(self, at_most: int) -> Iterator[tuple[int, dict[str, np.ndarray], dict[str, Any]]]:
        """Intact states after at most that many episodes, the latest first: the episodes, arrays and header."""
        for file in sorted((f for f in self._listed() if f.kind == "state"), key=lambda f: -f.last):
            if file.last <= at_most:
                content = self._read(file, encoding.decode_state)
                if content is not None:
                    yield file.last, *content

    def write_records(self, first: int, last: int, records: Records, kind: str) -> None:
        data = encoding.encode_records(records, self.paths, self.series)
        # Parts are followed by a state, finished results come last.
        self._write(f"{first:010d}-{last:010d}", data, kind, settle=kind == "parquet")

    def write_state(self, episodes: int, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        self._write(f"{episodes:010d}", encoding.encode_state(arrays, meta), "state", settle=True)

    def write_provenance(self, first: int, last: int, content: dict[str, Any]) -> None:
        self._write(f"{first:010d}-{last:010d}", encoding.encode_json(content), "json", settle=False)

    def _write(self, stem: str, data: bytes, kind: str, *, settle: bool) -> None:
        self.store.files.write(f"{self.folder}/{stem}.{digest(data)}.{kind}", data, settle=settle)

    def provenance(self) -> list[dict[str, Any]]:
        """Where each finished file comes from."""
        finished = {(f.first, f.last) for f in self._listed() if f.kind == "parquet"}
        found: dict[tuple[int, int], dict[str, Any]] = {}
        for file in self._listed():
            if file.kind == "json" and (file.first, file.last) in finished:
                content = self._read(file, encoding.decode_json)
                if content is not None:
                    found[file.first, file.last] = content
        return list(found.values())

    def tidy(self, finished: int, current: int) -> None:
        """Removes what is no longer needed by a run that has come to episode `current`.

        Two states stay beside that of the finished results: should the last one be damaged, little is lost.
        """
        listed = list(self._listed())
        states = sorted((f for f in listed if f.kind == "state" and f.last <= current), key=lambda f: -f.last)
        kept = {f.name for f in states[: 1 if finished == current else 2]}
        kept |= {f.name for f in states if f.last == finished}
        for file in listed:
            if (file.kind == "part" and file.first < finished) or (file.kind == "state" and file.name not in kept):
                self.store.files.remove(file.name)


def _route(files: set[Named], first: int, last: int) -> list[Named] | None:
    """Files that follow one another from `first` to `last`."""
    reached: dict[int, list[Named]] = {first: []}
    for file in sorted(files):  # by their first episode: where a file begins is settled before it is used
        if file.first in reached and file.last not in reached:
            reached[file.last] = [*reached[file.first], file]
    return reached.get(last)


class Store:
    """An experiment's folder. Made with `Store.create`, opened with `Store.open`."""

    def __init__(self, files: Files, info: dict[str, Any], on_damage: Callable[[str], None] | None, repair: bool):
        self.files, self.info = files, info
        self._on_damage, self._repair = on_damage, repair

    @classmethod
    def create(
        cls, address: str | Path, *, backend: str, block: int, on_damage: Callable[[str], None] | None = None
    ) -> Store:
        """The store at an address, made if there is none. An existing one keeps the block size it was made with."""
        files = open_files(address)
        if isinstance(files, LocalFiles):
            files.sweep(time.time() - _ABANDONED_SECONDS)
        info = {"schema": encoding.SCHEMA, "backend": backend, "block": block}
        files.create("store.json", encoding.encode_json(info))
        store = cls(files, info, on_damage, repair=True)
        store.info = store._read_json("store.json") or store._recovered(info)
        return store._checked()

    @classmethod
    def open(
        cls, address: str | Path, *, on_damage: Callable[[str], None] | None = None, repair: bool = False
    ) -> Store:
        """A store, whose `info` is empty when there is none. Damaged files stay where they are unless `repair`."""
        store = cls(open_files(address), {}, on_damage, repair)
        store.info = store._read_json("store.json") or {}
        return store._checked() if store.info else store

    def _recovered(self, info: dict[str, Any]) -> dict[str, Any]:
        """store.json was damaged and is set aside: this run's own takes its place."""
        self.files.create("store.json", encoding.encode_json(info))
        return self._read_json("store.json") or info

    def _checked(self) -> Store:
        if self.info.get("schema") != encoding.SCHEMA:
            raise StoreError(
                f"The store {self.files.address} has schema version {self.info.get('schema')!r}, but this version of "
                f"eluder reads {encoding.SCHEMA}: use the version that wrote it, or another folder"
            )
        block = self.info.get("block")
        if not isinstance(block, int) or not 1 <= block <= 10**7 or not isinstance(self.info.get("backend"), str):
            raise StoreError(f"store.json of {self.files.address} is not one of eluder's: use another folder")
        return self

    @property
    def block(self) -> int:
        return self.info["block"]

    @property
    def backend(self) -> str:
        return self.info["backend"]

    def damaged(self, name: str, error: Exception) -> None:
        """Reports a damaged file and sets it aside."""
        fate = "left where it is"
        if self._repair:
            self.files.set_aside(name, f"damaged/{time.time_ns()}-{name.replace('/', '-')[-150:]}")
            fate = "set aside in damaged/; it is computed again"
        if self._on_damage is not None:
            self._on_damage(f"{self.files.address}/{name} is damaged ({error}): {fate}.")

    def _read_json(self, name: str) -> dict[str, Any] | None:
        try:
            return encoding.decode_json(self.files.read(name))
        except FileNotFoundError:
            return None
        except Damaged as error:
            self.damaged(name, error)
            return None

    def write_experiment(self, spec: Spec, table: list[dict[str, Any]]) -> None:
        """Says what this store's results are results of. Results of earlier specs stay."""
        text = spec.to_toml().encode()
        content = {"name": spec.name, "title": spec.title, "spec": digest(text), "series": table}
        data = encoding.encode_json(content)
        for name, new in (("spec.toml", text), ("experiment.json", data)):
            try:
                same = self.files.read(name) == new
            except FileNotFoundError:
                same = False
            if not same:
                self.files.write(name, new)

    def experiment(self) -> dict[str, Any] | None:
        """What `write_experiment` wrote; None when it is missing or damaged."""
        content = self._read_json("experiment.json")
        if content is None:
            return None
        try:
            if digest(self.files.read("spec.toml")) != content["spec"]:
                self.damaged("spec.toml", Damaged("its checksum does not match"))
        except FileNotFoundError:
            pass
        return content

    def cells(self, series: str) -> list[Cell]:
        """The cells of a series, in order of paths; of overlapping ones, the first."""
        if not _SERIES.fullmatch(series):
            raise StoreError(f"{series[:80]!r} names no series.")
        found, end = [], 0
        for name in self.files.names(f"cells/{series}"):
            match = _RANGE.fullmatch(name)
            if match and end <= int(match[1]) < int(match[2]) <= 10**8:
                found.append(Cell(self, series, range(int(match[1]), int(match[2]))))
                end = int(match[2])
        return found

    def cell(self, series: str, paths: range) -> Cell:
        return Cell(self, checked(series), paths)

    def split(self, series: str, paths: range) -> list[range]:
        """A block's paths as ranges: those that the store has begun, and what lies between them."""
        ranges, at = [], paths.start
        for cell in self.cells(series):
            own = cell.paths
            if own.stop <= at or own.start >= paths.stop:
                continue
            if own.start > at:
                ranges.append(range(at, own.start))
            ranges.append(own)
            at = own.stop
        if at < paths.stop:
            ranges.append(range(at, paths.stop))
        return ranges
