"""The experiments that come with the library: specs in TOML, in the folder `specs` beside this file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from eluder._validate import suggestion
from eluder.experiments.spec import Spec, SpecError

# The paper's agents, in the order in which its figures name them.
PAPER_AGENTS = ("UCRL-WVTR", "UCRL-WVTR without HOME", "UCRL-VTR", "Random")


def names() -> list[str]:
    """The names of the catalogue's specs."""
    folder = resources.files("eluder.experiments") / "specs"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def catalogue() -> dict[str, Spec]:
    """The catalogue's specs by name."""
    return {name: get(name) for name in names()}


def get(name: str) -> Spec:
    """A spec of the catalogue."""
    if name not in names():
        raise SpecError(f"There is no experiment {name!r}{suggestion(name, names())}: choose one of {_choices()}.")
    text = (resources.files("eluder.experiments") / "specs" / f"{name}.toml").read_text(encoding="utf-8")
    return Spec.from_toml(text, f"{name}.toml")


def find(name_or_file: str) -> Spec:
    """A spec of the catalogue by its name, or one from a TOML file."""
    if name_or_file in names():
        return get(name_or_file)
    if name_or_file.endswith(".toml") or "/" in name_or_file or Path(name_or_file).is_file():
        return Spec.read(name_or_file)
    close = suggestion(name_or_file, names())
    raise SpecError(f"There is no spec {name_or_file!r}{close}: give a .toml file, or one of {_choices()}.")


def _choices() -> str:
    return ", ".join(names())
