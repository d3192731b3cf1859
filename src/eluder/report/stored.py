"""The report of a result store: its curves, spec, provenance and verdicts, and x-rays of some of its runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eluder.experiments.results import Curves, curves, stores
from eluder.experiments.spec import Series as Planned
from eluder.experiments.spec import Spec, SpecError
from eluder.experiments.store import Store
from eluder.report.page import Report
from eluder.report.xray import Xray, xray

# An x-ray plays paths again: at most this many steps of each, and no environment that is read from elsewhere.
_XRAY_STEPS = 200_000
_XRAY_PARAMETER = 10_000
_LOADERS = ("from-edges", "from-gymnasium")


class StoredReport:
    """Makes reports of a folder, again and again as a run goes on; x-rays are made once."""

    def __init__(self, folder: str | Path, *, xrays: int = 3):
        self.folder = folder
        self._wanted = xrays
        self._made: dict[tuple[str, int], Xray | str] = {}  # by series and episodes; a sentence where there is none

    def fingerprint(self) -> str:
        """Changes when the stored results do: their files are named by their content."""
        names = [
            f"{store.files.address}/{folder}/{name}"
            for store in stores(self.folder)
            for series in store.files.names("cells")
            for folder in [f"cells/{series}/{paths}" for paths in store.files.names(f"cells/{series}")]
            for name in store.files.names(folder)
        ]
        return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:16]

    def report(self) -> Report:
        """The report of what is there now."""
        notes: list[str] = []
        found: list[Curves] = []
        specs: list[str] = []
        titles: list[str] = []
        made: list[Xray] = []
        origin: dict[str, str] = {}
        every = list(stores(self.folder, on_damage=notes.append))
        share = -(-self._wanted // max(len(every), 1))  # of the x-rays, rounded up
        for store in every:
            own = curves(store)
            found += own
            content = store.experiment() or {}
            titles.append(str(content.get("title") or content.get("name") or ""))
            text = _spec_text(store)
            if text is not None:
                specs.append(text)
                made += self._xrays(text, share, notes)
            origin |= _provenance(store, [entry.get("id", "") for entry in content.get("series", [])])
        if not found:
            raise ValueError(
                f"{self.folder} holds no results yet: make some with `eluder run SPEC --out {self.folder}`."
            )
        unfinished = sum(not one.complete for one in found)
        if unfinished:
            notes.insert(
                0, f"A run is under way, or was stopped: {unfinished} of {len(found)} series are not complete."
            )
        return Report(
            title=titles[0] if len(titles) == 1 else f"{len(titles)} experiments",
            series=found,
            xrays=made[: self._wanted],
            spec="\n".join(specs) or None,
            provenance=origin,
            verdicts=[row for one in found for row in verdicts(one)],
            notes=notes,
        )

    def _xrays(self, text: str, wanted: int, notes: list[str]) -> list[Xray]:
        try:
            spec = Spec.from_toml(text, "spec.toml")
        except SpecError:
            return []  # written by another version, or by hand
        made = []
        for series in _chosen(spec.series(), wanted):
            key = series.id, series.episodes
            if key not in self._made:
                self._made[key] = _xray(series)
            one = self._made[key]
            if isinstance(one, Xray):
                made.append(one)
            else:
                notes.append(one)
        return made


def verdicts(one: Curves) -> list[dict[str, str]]:
    """What recorded diagnostics say of the theory's premises in a run."""
    rows = []
    where = f"{one.agent} on {one.environment}, H = {one.horizon}"
    if "covered" in one.columns:
        covered = np.asarray(np.all(np.asarray(one.columns["covered"]).reshape(one.paths, -1), axis=1))
        rows.append(_verdict(f"{where}: f* stays in every confidence set", covered, "paths covered throughout"))
    if "pessimistic" in one.columns:
        optimistic = np.asarray(np.all(np.asarray(one.columns["pessimistic"]).reshape(one.paths, -1) == 0, axis=1))
        rows.append(_verdict(f"{where}: V is never below V*", optimistic, "paths optimistic throughout"))
    return rows


def _verdict(claim: str, holds: np.ndarray, what: str) -> dict[str, str]:
    return {
        "claim": claim,
        "expected": "on all paths, at the theorem's radius but for a small chance",
        "measured": f"{int(holds.sum())} of {holds.size} {what}",
        "verdict": "holds" if holds.all() else "fails",
    }


def _chosen(series: Sequence[Planned], wanted: int) -> list[Planned]:
    """Runs worth an x-ray: different agents on the first environment first, the paper's agent before others."""
    order = {"ucrl-wvtr": 0, "ucrl-wvtr-without-home": 1, "ucrl-vtr": 2, "optimal": 8, "random": 9}
    places = {
        key: place for place, key in enumerate(dict.fromkeys((s.environment, s.environment_params) for s in series))
    }
    ranked = sorted(series, key=lambda s: (places[s.environment, s.environment_params], order.get(s.agent, 5)))
    return [s for s in ranked if order.get(s.agent, 5) < 8][:wanted]


def _xray(series: Planned) -> Xray | str:
    """The x-ray of a series, or a sentence that says why there is none."""
    none = f"No x-ray of {series.agent} on {series.environment}: "
    if series.environment in _LOADERS:
        return none + "its environment is read from elsewhere."
    sizes = [value for _, value in series.environment_params if isinstance(value, int)]
    if max(sizes, default=0) > _XRAY_PARAMETER:
        return none + "its environment is too large."
    try:
        built = series.build()
        episodes = max(1, min(series.episodes, _XRAY_STEPS // built.environment.horizon))
        paths = min(2, series.paths)
        label = series.agent_label(built)
        return xray(built.environment, built.agent, episodes=episodes, paths=paths, seed=series.seed, label=label)
    except (ValueError, TypeError) as error:
        return none + str(error)


def _spec_text(store: Store) -> str | None:
    try:
        return store.files.read("spec.toml").decode(errors="replace")
    except FileNotFoundError:
        return None


def _provenance(store: Store, ids: Sequence[str]) -> dict[str, str]:
    """Where the results come from, as text. Values that differ between cells are all named."""
    found: dict[str, dict[str, None]] = {}
    seconds = 0.0

    def note(name: str, value: Any) -> None:
        if value is not None:
            found.setdefault(name, {})[str(value)] = None

    note("store", store.files.address)
    for series in ids:
        for cell in store.cells(str(series)):
            for content in cell.provenance():
                seconds += float(content.get("seconds", 0.0))
                for name, version in dict(content.get("versions", {})).items():
                    note(name, version)
                for name in ("backend", "device", "precision", "commit"):
                    note(name, content.get(name))
                note("finished", content.get("finished"))
    result = {name: ", ".join(values) for name, values in found.items() if name != "finished"}
    if times := sorted(found.get("finished", {})):
        result["finished"] = times[-1]
    return result | {"computed in": f"{seconds:.1f} s, summed over cells"}
