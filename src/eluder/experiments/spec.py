"""Experiments as data: a TOML file, checked and turned into a frozen `Spec`.

```toml
name = "figure-2"
episodes = 5000
paths = 10

[[environment]]
name = "riverswim"
horizon = { grid = [20, 100] }

[[agent]]
name = "ucrl-wvtr"
```

Every combination of environment, agent and grid values is one series of results. `Spec.series` lists them with all
defaults filled in; what a series computes is named by the hash of exactly that.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eluder.experiments import _toml, build
from eluder.models.base import REALISABLE

# Part of every hash: raised when a change of the library changes the numbers that a spec stands for.
NUMBERS_VERSION = 1

Params = tuple[tuple[str, Any], ...]


class SpecError(ValueError):
    """A spec that cannot be run: one sentence, with the file and line where it has them."""


@dataclass(frozen=True)
class Grid:
    """Several values of one field: one run for each."""

    values: tuple[Any, ...]

    def __init__(self, values):
        object.__setattr__(self, "values", tuple(values))


@dataclass(frozen=True)
class Part:
    """An environment or an agent of a spec: its name and the parameters that were given, which may be grids."""

    name: str
    params: Params = ()
    label: str | None = None
    line: int | None = field(default=None, compare=False)

    @classmethod
    def of(cls, name: str, label: str | None = None, **params: Any) -> Part:
        return cls(name, tuple(params.items()), label)


@dataclass(frozen=True)
class Series:
    """One environment and agent with one value for every field, defaults filled in: what is run and stored."""

    experiment: str
    environment: str
    environment_params: Params
    agent: str
    agent_params: Params
    seed: int
    episodes: int
    paths: int
    record: tuple[str, ...] = ()
    allow_misspecified: bool = False
    labels: tuple[str | None, str | None] = (None, None)  # of environment and agent, where the spec gives them
    gridded: tuple[Params, Params] = ((), ())  # the values that their grids took
    lines: tuple[int | None, int | None] = field(default=(None, None), compare=False)

    @property
    def identity(self) -> dict[str, Any]:
        """All that its numbers depend on: neither how many paths and episodes there are, nor what they are called."""
        identity = {
            "version": NUMBERS_VERSION,
            "environment": {"name": self.environment, **dict(self.environment_params)},
            "agent": {"name": self.agent, **dict(self.agent_params)},
            "seed": self.seed,
            "record": list(self.record),
        }
        if isinstance(dict(self.agent_params).get("beta"), str):
            identity["episodes"] = self.episodes  # the theory sets its radius for a number of episodes
        return identity

    @property
    def id(self) -> str:
        return hashlib.sha256(canonical(self.identity)).hexdigest()[:32]

    def build(self) -> build.Built:
        """The environment, agent and recorders; raises `SpecError` when they cannot be made or do not fit."""
        line = self.lines[0]
        try:
            environment = build.make_environment(self.environment, dict(self.environment_params))
            line = self.lines[1]
            agent = build.make_agent(self.agent, environment, dict(self.agent_params), self.episodes)
            agent.check(environment, allow_misspecified=self.allow_misspecified)
            return build.Built(environment, agent, build.make_recorders(self.record, environment, agent))
        except MemoryError:
            raise SpecError(f"{self._at(line)}does not fit into this machine's memory: make it smaller.") from None
        except (ValueError, TypeError, ArithmeticError, AttributeError, IndexError, KeyError) as error:
            raise SpecError(f"{self._at(line)}{_sentence(error)}") from None

    def _at(self, line: int | None) -> str:
        where = f", line {line}" if line else ""
        return f"{self.experiment}{where}: {self.agent} on {self.environment}: "

    def agent_label(self, built: build.Built) -> str:
        label = _labelled(self.labels[1] or built.agent.label, self.gridded[1])
        if self.allow_misspecified and built.agent.check(built.environment, allow_misspecified=True) > REALISABLE:
            label += " (misspecified)"  # wherever its results are shown
        return label

    def environment_label(self, built: build.Built) -> str:
        # States and horizon have columns of their own.
        shown = tuple((key, value) for key, value in self.gridded[0] if key not in ("states", "horizon"))
        return _labelled(self.labels[0] or built.environment.name, shown)


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 500 else text[:500] + " …"


def _labelled(base: str, values: Params) -> str:
    return f"{base} ({', '.join(f'{key} = {value}' for key, value in values)})" if values else base


def canonical(value: Any) -> bytes:
    """JSON in one form only: sorted keys, no spaces, floats by their shortest exact digits."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


@dataclass(frozen=True)
class Spec:
    """An experiment. Made here or read with `Spec.read`, it is checked in the same way."""

    name: str
    environments: tuple[Part, ...]
    agents: tuple[Part, ...]
    episodes: int | Grid
    paths: int = 10
    seed: int | Grid = 0
    title: str = ""
    record: tuple[str, ...] = ()

    def __post_init__(self):
        from eluder.experiments.reading import parse  # reading builds on this module

        for name in ("environments", "agents", "record"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        parse(self._table(), {}, f"The spec {self.name!r}", fields_only=True)

    @classmethod
    def read(cls, path: str | Path) -> Spec:
        """A spec from a TOML file."""
        from eluder.experiments.reading import read

        return cls.from_toml(read(Path(path)), Path(path).name)

    @classmethod
    def from_toml(cls, text: str, file: str = "spec") -> Spec:
        """A spec from TOML text; errors name `file` and the line."""
        from eluder.experiments.reading import load, parse

        return cls(**parse(load(text, file), _toml.key_lines(text), file))

    def to_toml(self) -> str:
        """The spec as TOML that `from_toml` reads back to an equal spec."""
        return _toml.dumps(self._table())

    def _table(self) -> dict[str, Any]:
        def plain(value: Any) -> Any:
            return {"grid": list(value.values)} if isinstance(value, Grid) else value

        def part(p: Part) -> dict[str, Any]:
            named = {"name": p.name} | ({} if p.label is None else {"label": p.label})
            return named | {key: plain(value) for key, value in p.params}

        table: dict[str, Any] = {"name": self.name, "title": self.title, "episodes": plain(self.episodes)}
        table |= {"paths": self.paths, "seed": plain(self.seed), "record": list(self.record)}
        return table | {"environment": [part(e) for e in self.environments], "agent": [part(a) for a in self.agents]}

    def replace(self, **changes: Any) -> Spec:
        """The spec with other values of some fields."""
        return replace(self, **changes)

    def series(self) -> list[Series]:
        """Every combination of environment, agent and grid values, each once."""
        found: dict[tuple[str, int], Series] = {}
        choices = itertools.product(
            ((part, *choice) for part in self.environments for choice in _expand("environment", part)),
            ((part, *choice) for part in self.agents for choice in _expand("agent", part)),
            values_of(self.seed),
            values_of(self.episodes),
        )
        for (world, world_params, world_grid), (player, player_params, player_grid), seed, episodes in choices:
            params = dict(player_params)
            # Grids over the whole experiment show in the agent's label too, so that no two series are called the same.
            shared = (("seed", self.seed, seed), ("episodes", self.episodes, episodes))
            player_grid += tuple((name, value) for name, given, value in shared if isinstance(given, Grid))
            allow = params.pop("allow_misspecified", False)
            if "episodes" in params and "episodes" not in dict(player.params):
                params["episodes"] = like(params["episodes"], episodes)  # an agent that has to know K beforehand
            series = Series(
                experiment=self.name,
                environment=world.name,
                environment_params=tuple(sorted(world_params.items())),
                agent=player.name,
                agent_params=tuple(sorted(params.items())),
                seed=seed,
                episodes=episodes,
                paths=self.paths,
                record=self.record,
                allow_misspecified=bool(allow),
                labels=(world.label, player.label),
                gridded=(world_grid, player_grid),
                lines=(world.line, player.line),
            )
            found.setdefault((series.id, series.episodes), series)
        return list(found.values())


def values_of(value: Any) -> tuple[Any, ...]:
    return value.values if isinstance(value, Grid) else (value,)


def _expand(kind: str, part: Part) -> Iterator[tuple[dict[str, Any], Params]]:
    """For each combination of a part's grid values: all parameters with their defaults, and the gridded ones."""
    defaults = {k: _frozen(v) for k, v in build.parameters(kind, part.name).items() if v is not build.REQUIRED}
    given = dict(part.params)
    for values in itertools.product(*(values_of(value) for value in given.values())):
        chosen = dict(zip(given, values, strict=True))
        full = defaults | {key: like(defaults.get(key), value) for key, value in chosen.items()}
        if full.get("normalised") is False:
            del full["normalised"]  # the default
        yield full, tuple((key, chosen[key]) for key, value in part.params if isinstance(value, Grid))


def like(default: Any, value: Any) -> Any:
    """A whole number where a real one is expected is that real number: 1 and 1.0 are the same spec."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, tuple) and isinstance(value, list | tuple) and len(default) == len(value):
        return tuple(like(d, v) for d, v in zip(default, value, strict=True))
    return _frozen(value)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list | tuple) else value


def overridden(spec: Spec, changes: Mapping[str, Any]) -> Spec:
    """The spec with those fields replaced that are not None."""
    return spec.replace(**{key: value for key, value in changes.items() if value is not None})
