"""Edge lists: one row per outcome, in a CSV or Parquet file, a data frame, or a dictionary of columns."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eluder.environments.from_data import Edge, Start, assemble
from eluder.mdp import FiniteMDP

COLUMNS = ("state", "action", "next_state", "probability", "reward")
_OPTIONAL = "terminated"
_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


def from_edges(
    source: str | Path | Mapping[str, Any] | Any,
    *,
    horizon: int,
    start: Start = None,
    reward_scale: float | None = None,
    missing_actions: str = "error",
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
) -> FiniteMDP:
    """An MDP from an edge list.

    **Arguments:**

    - `source`: a .csv, .tsv, .parquet or .pq file, a pandas data frame, or a dictionary of columns. Its columns
      are state, action, next_state, probability and reward, and may be followed by terminated (whether the
      episode ends with this edge). Rows that lead to the same state are added up.
    - `horizon`: the number of steps H of an episode.
    - `start`: the first state, or a dictionary from states to chances; by default the state of the first row.
    - `reward_scale`: a bound on the total reward of any trajectory; the tightest one by default.
    - `missing_actions`: "error" if a state must have all actions, "repeat" if a missing one does the same as the
      state's first. A state without any action absorbs and pays nothing.
    - `columns`: other column names, e.g. {"state": "from", "next_state": "to"}.

    States that are called by whole numbers are numbered in that order, others as they appear; the names are
    kept in `state_names` and `action_names`.
    """
    label = str(source) if isinstance(source, str | Path) else "edges"
    table, place = _read(source)
    renamed = dict(columns or {})
    for ours in renamed:
        if ours not in (*COLUMNS, _OPTIONAL):
            raise ValueError(f"columns renames {ours!r}, which is not one of {', '.join((*COLUMNS, _OPTIONAL))}.")
    taken = {}
    for ours in (*COLUMNS, _OPTIONAL):
        theirs = renamed.get(ours, ours)
        if theirs in table:
            taken[ours] = table[theirs]
        elif ours != _OPTIONAL or ours in renamed:
            close = difflib.get_close_matches(theirs, [other for other in table if other not in COLUMNS], n=1)
            hint = f" (did you mean {close[0]!r}? Then pass columns={{{ours!r}: {close[0]!r}}})" if close else ""
            raise ValueError(f"{label} has no column {theirs!r}{hint}: its columns are {', '.join(map(str, table))}.")
    lengths = {len(column) for column in taken.values()}
    if len(lengths) > 1:
        raise ValueError(f"The columns of {label} must have the same length, but have {sorted(lengths)}.")
    rows = lengths.pop()
    states = _whole([*taken["state"], *taken["next_state"]])
    taken |= {"state": states[:rows], "next_state": states[rows:], "action": _whole(taken["action"])}
    taken.setdefault(_OPTIONAL, [False] * rows)
    edges = []
    for row, values in enumerate(zip(*(taken[ours] for ours in (*COLUMNS, _OPTIONAL)), strict=True)):
        where = f"{label}, {place} {row + (2 if place == 'line' else 0)}"
        state, action, after, probability, reward, ends = values
        edges.append(Edge(state, action, after, _number(probability), _number(reward), _truth(ends, where), where))
    return assemble(
        edges,
        horizon=horizon,
        start=start,
        reward_scale=reward_scale,
        missing_actions=missing_actions,
        name=name or (Path(source).stem if isinstance(source, str | Path) else label),
    )


def to_edges(mdp: FiniteMDP) -> dict[str, list]:
    """The edge list of an MDP with rewards that do not change with the step, in original reward units.

    A dictionary of columns, to look at or to write with `pandas.DataFrame(...).to_csv(..., index=False)`.
    """
    if mdp.rewards.shape[0] > 1:
        raise ValueError(f"The rewards of {mdp.name!r} change with the step, which an edge list cannot say.")
    states, actions = mdp.state_names or range(mdp.states), mdp.action_names or range(mdp.actions)
    table: dict[str, list] = {name: [] for name in COLUMNS}
    kernel, rewards = mdp.dense_kernel(), np.asarray(mdp.rewards[0])
    for s, a, after in zip(*np.nonzero(kernel), strict=True):
        reward = float(rewards[s, a]) - mdp.reward_offset
        for name, value in zip(
            COLUMNS, (states[s], actions[a], states[after], float(kernel[s, a, after]), reward), strict=True
        ):
            table[name].append(value)
    return table


def _read(source: Any) -> tuple[Mapping[str, Any], str]:
    """Columns by name, and what their rows are called in messages."""
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            raise ValueError(f"There is no file {str(source)!r}.")
        if path.suffix in (".csv", ".tsv"):
            return _read_csv(path), "line"
        if path.suffix in (".parquet", ".pq"):
            return _read_parquet(path), "row"
        raise ValueError(f"{str(source)!r} must end in .csv, .tsv, .parquet or .pq, to say what it is.")
    if isinstance(source, Mapping):
        return {name: list(column) for name, column in source.items()}, "row"
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        return {name: source[name].tolist() for name in source.columns}, "row"
    raise ValueError(
        f"An edge list must be the path of a file, a data frame or a dictionary of columns, "
        f"but is {type(source).__name__}."
    )


def _read_csv(path: Path) -> dict[str, list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{str(path)!r} is not a readable UTF-8 text table: {error}.") from None
    lines = [[cell.strip() for cell in line] for line in lines]
    while lines and not any(lines[-1]):
        lines.pop()
    if not lines:
        raise ValueError(f"{str(path)!r} is empty: its first line must name the columns {', '.join(COLUMNS)}.")
    header, *rows = lines
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(f"{path}, line {number}: there are {len(row)} cells, but {len(header)} columns.")
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def _read_parquet(path: Path) -> dict[str, list]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("Reading Parquet files needs pyarrow: pip install 'eluder[cli]'.") from None
    try:
        return parquet.read_table(path).to_pydict()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{str(path)!r} is not a readable Parquet file: {str(error).splitlines()[0]}") from None


def _whole(labels: list) -> list:
    """Names as whole numbers, when all of them are: a text file holds nothing but text."""
    if all(isinstance(label, int) or (isinstance(label, str) and _WHOLE.fullmatch(label)) for label in labels):
        return [int(label) for label in labels]
    return labels


def _number(value: Any) -> Any:
    """A number, where it is one; otherwise the value itself, for the message."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _truth(value: Any, where: str) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    word = str(value).strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise ValueError(f"{where}: terminated must be true or false, but is {value!r}.")
    return word in _TRUE
