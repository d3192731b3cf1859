"""Checks a spec's table field by field: each mistake is one sentence with its line and the fix."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from eluder._validate import suggestion
from eluder.experiments import build
from eluder.experiments._toml import Path as KeyPath
from eluder.experiments.spec import Grid, Part, SpecError, values_of

_TEXT_AT_MOST = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LARGEST = {"episodes": 10**9, "paths": 10**7}
_SERIES_AT_MOST = 10_000
_LABEL_AT_MOST = 200
_FIELDS = ("name", "title", "episodes", "paths", "seed", "record", "environment", "agent")
# What every environment or agent may be given beside its own parameters.
_OWN: dict[str, dict[str, Any]] = {
    "environment": {"normalised": False},
    "agent": {"allow_misspecified": False},
}


def read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_TEXT_AT_MOST + 1)
    except FileNotFoundError:
        raise SpecError(f"There is no spec file {str(path)!r}.") from None
    except (OSError, ValueError) as error:
        raise SpecError(f"The spec file {str(path)!r} cannot be read: {error}.") from None
    if len(raw) > _TEXT_AT_MOST:
        raise SpecError(f"{path.name} is longer than {_TEXT_AT_MOST} bytes, which no spec needs to be.")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise SpecError(f"{path.name} is not a text file in UTF-8.") from None


def load(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SpecError(f"{file} is nested too deeply to be a spec.") from None
    except ValueError as error:  # also numbers and dates that Python cannot hold
        raise SpecError(f"{file} is not valid TOML: {' '.join(str(error).split())}.") from None


def parse(table: Mapping[str, Any], lines: Mapping[KeyPath, int], file: str, fields_only: bool = False) -> dict:
    """The fields of a `Spec`. `lines` says where each key is written."""

    def wrong(path: KeyPath, message: str) -> NoReturn:
        places = (lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines)
        line = next(places, None)
        raise SpecError(f"{file}{f', line {line}' if line else ''}: {message}")

    for key in table:
        if key not in _FIELDS:
            wrong((key,), f"a spec has no field {key!r}{suggestion(key, _FIELDS)}: it has {', '.join(_FIELDS)}.")
    for key in ("name", "episodes", "environment", "agent"):
        if key not in table:
            wrong((), f"the field {key!r} is missing.")
    if not isinstance(table["name"], str) or not _NAME.fullmatch(table["name"]):
        wrong(("name",), "name must be up to 64 letters, digits, '.', '_' and '-', since it names a folder.")
    _text(table.get("title", ""), ("title",), "title", wrong)
    for key in ("episodes", "seed"):
        value = table.get(key, 0)
        for v in _grid(value, (key,), key, wrong) if isinstance(value, Mapping) else (value,):
            _whole(v, (key,), key, wrong)
    _whole(table.get("paths", 10), ("paths",), "paths", wrong)
    record = table.get("record", [])
    if not isinstance(record, list) or not all(isinstance(r, str) for r in record):
        wrong(("record",), 'record must be a list of names, such as ["trace"].')
    for name in record:
        if name not in build.RECORDERS:
            known = ", ".join(build.RECORDERS)
            wrong(("record",), f"there is no record {name!r}{suggestion(name, build.RECORDERS)}: choose from {known}.")
    parts = {kind: _parts(table[kind], kind, lines, wrong) for kind in ("environment", "agent")}
    episodes, seed = _plain(table["episodes"]), _plain(table.get("seed", 0))
    count = math.prod(len(values_of(v)) for v in (episodes, seed))
    count *= math.prod(sum(math.prod(len(values_of(v)) for _, v in p.params) for p in kind) for kind in parts.values())
    if count > _SERIES_AT_MOST:
        wrong((), f"its grids have {count} combinations, more than {_SERIES_AT_MOST}: split it into several specs.")
    if fields_only:
        return {}
    return {
        "name": table["name"],
        "title": table.get("title", ""),
        "episodes": episodes,
        "paths": table.get("paths", 10),
        "seed": seed,
        "record": tuple(record),
        "environments": parts["environment"],
        "agents": parts["agent"],
    }


Wrong = Callable[[KeyPath, str], NoReturn]


def _parts(value: Any, kind: str, lines: Mapping[KeyPath, int], wrong: Wrong) -> tuple[Part, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(v, Mapping) for v in value):
        wrong((kind,), f"{kind} must be written as one or more tables, each headed [[{kind}]].")
    return tuple(_part(table, kind, (kind, index), lines, wrong) for index, table in enumerate(value))


def _part(table: Mapping[str, Any], kind: str, at: KeyPath, lines: Mapping[KeyPath, int], wrong: Wrong) -> Part:
    name = table.get("name")
    if not isinstance(name, str):
        wrong((*at, "name"), f'each {kind} needs a name, such as name = "{build.names(kind)[0]}".')
    name = name.replace("_", "-").lower()
    names = build.names(kind)
    if name not in names:
        wrong((*at, "name"), f"there is no {kind} {name!r}{suggestion(name, names)}: the names are {', '.join(names)}.")
    label = table.get("label")
    if label is not None:
        _text(label, (*at, "label"), "label", wrong)
    known = build.parameters(kind, name) | _OWN[kind]
    params = []
    for key, value in table.items():
        if key in ("name", "label"):
            continue
        path = (*at, key)
        if key not in known:
            takes = ", ".join(["name", "label", *known])
            wrong(path, f"the {kind} {name!r} has no parameter {key!r}{suggestion(key, known)}: it takes {takes}.")
        for v in _grid(value, path, key, wrong) if isinstance(value, Mapping) else (value,):
            _fits(v, known[key], path, key, wrong)
        params.append((key, _plain(value)))
    for key, default in known.items():
        if default is build.REQUIRED and key not in table:
            wrong(at, f"the {kind} {name!r} needs the parameter {key!r}.")
    return Part(name, tuple(params), label, lines.get(at))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Grid(_plain(v) for v in value["grid"])
    return tuple(_plain(v) for v in value) if isinstance(value, list) else value


def _grid(value: Mapping[str, Any], path: KeyPath, key: str, wrong: Wrong) -> tuple[Any, ...]:
    if set(value) != {"grid"}:
        wrong(path, f"{key} must be a value, or several as {key} = {{ grid = [...] }}.")
    values = value["grid"]
    if not isinstance(values, list) or not values:
        wrong(path, f"the grid of {key} must be a list of at least one value.")
    return tuple(values)


def _text(value: Any, path: KeyPath, key: str, wrong: Wrong) -> None:
    if not isinstance(value, str) or len(value) > _LABEL_AT_MOST or not value.isprintable():
        wrong(path, f"{key} must be one line of text of at most {_LABEL_AT_MOST} characters.")


def _whole(value: Any, path: KeyPath, key: str, wrong: Wrong) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        wrong(path, f"{key} must be a whole number, but is {_shown(value)}.")
    if key == "seed" and not -(2**63) <= value < 2**63:
        wrong(path, "seed must fit into 64 bits.")
    if key in _LARGEST and not 1 <= value <= _LARGEST[key]:
        wrong(path, f"{key} must be between 1 and {_LARGEST[key]}, but is {_shown(value)}.")


def _fits(value: Any, default: Any, path: KeyPath, key: str, wrong: Wrong) -> None:
    """A value is of its default's kind."""
    if isinstance(value, list | tuple):
        if default is not None and default is not build.REQUIRED and not isinstance(default, list | tuple):
            wrong(path, f"{key} must be one value (for several, write {key} = {{ grid = [...] }}).")
        if len(value) > 10_000:
            wrong(path, f"{key} must not have more than 10000 elements.")
        for element in value:
            _fits(element, None, path, key, wrong)
        return
    if not isinstance(value, bool | int | float | str):
        wrong(path, f"{key} must be a number, a word, true or false, or a list of these, but is {_shown(value)}.")
    if isinstance(value, float) and not math.isfinite(value):
        wrong(path, f"{key} must be a finite number, but is {value}.")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        wrong(path, f"{key} must fit into 64 bits, but is {_shown(value)}.")
    if isinstance(value, str) and (len(value) > _LABEL_AT_MOST or not value.isprintable()):
        wrong(path, f"{key} must be one line of at most {_LABEL_AT_MOST} characters.")
    if default is None or default is build.REQUIRED:
        return
    if isinstance(default, bool):
        fits, kind = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        fits, kind = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif isinstance(default, float):
        fits, kind = isinstance(value, int | float) and not isinstance(value, bool), "a number"
        if key == "beta" and isinstance(value, str):
            if value in build.RADII:
                return
            kind = f"a number or one of {', '.join(map(repr, build.RADII))}{suggestion(value, build.RADII)}"
    elif isinstance(default, str):
        fits, kind = isinstance(value, str), "a word in quotes"
    else:
        fits, kind = False, f"a list, such as {list(default)}" if isinstance(default, tuple) else "left out"
    if not fits:
        wrong(path, f"{key} must be {kind}, but is {_shown(value)}.")


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a very large number"
    return text if len(text) <= 60 else text[:57] + "..."
