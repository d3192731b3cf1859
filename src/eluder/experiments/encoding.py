"""The bytes of a store's files: Parquet for results, named arrays for agents' states, JSON for the rest.

Nothing here can execute anything (no pickle), and no size that a file declares is believed beyond the file itself.
"""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eluder.experiments.spec import canonical

SCHEMA = 1
_STATE_MAGIC = b"eluder-state 1\n"
_DTYPES = ("float64", "float32", "int64", "int32", "uint32", "uint8", "int8", "uint64", "int16", "uint16", "bool")
# Only these columns repeat themselves; trying the others for repeated values would take longer than all the rest.
_REPEATED: Any = ["path", "optimal_value"]
_LARGEST_TABLE = 8 * 2**30


class Damaged(ValueError):
    """A file does not hold what its name says."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


class Records(NamedTuple):
    """Results of some paths at some episodes."""

    episodes: np.ndarray  # (n,), counted from 1, ascending
    columns: dict[str, np.ndarray]  # each of shape (paths, n, ...)
    thinned: bool  # whether episodes between are left out

    def keep(self, wanted: np.ndarray, thinned: bool) -> Records:
        """Only the episodes for which `wanted` holds."""
        if wanted.all() and thinned == self.thinned:
            return self
        return Records(self.episodes[wanted], {k: v[:, wanted] for k, v in self.columns.items()}, thinned)


def join(parts: list[Records]) -> Records:
    """Consecutive parts as one."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([p.columns[name] for p in parts], axis=1) for name in parts[0].columns}
    return Records(np.concatenate([p.episodes for p in parts]), columns, any(p.thinned for p in parts))


def encode_records(records: Records, paths: range, series: str) -> bytes:
    """Parquet with one row per path and episode. Equal results give equal bytes."""
    count = len(records.episodes)
    arrays: dict[str, pa.Array] = {
        "path": pa.array(np.repeat(np.arange(paths.start, paths.stop, dtype=np.int32), count)),
        "episode": pa.array(np.tile(records.episodes.astype(np.int64), len(paths))),
    }
    shapes = {}
    for name, values in records.columns.items():
        shapes[name] = list(values.shape[2:])
        flat = pa.array(np.ascontiguousarray(values).reshape(-1))
        width = int(np.prod(values.shape[2:]))
        arrays[name] = flat if values.ndim == 2 else pa.FixedSizeListArray.from_arrays(flat, width)
    meta = {
        "schema": SCHEMA,
        "series": series,
        "paths": [paths.start, paths.stop],
        "count": count,
        "thinned": records.thinned,
        "shapes": shapes,
    }
    table = pa.table(arrays).replace_schema_metadata({"eluder": canonical(meta)})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", use_dictionary=_REPEATED)
    return sink.getvalue()


def decode_records(data: bytes, paths: range, series: str) -> Records:
    """What `encode_records` wrote for these paths and this series; `Damaged` for anything else."""
    try:
        file = pq.ParquetFile(io.BytesIO(data))
        meta = json.loads((file.schema_arrow.metadata or {})[b"eluder"])
        if meta["schema"] != SCHEMA:
            raise Damaged(f"it has the schema version {meta['schema']!r}, this version of eluder reads {SCHEMA}")
        if meta["series"] != series or meta["paths"] != [paths.start, paths.stop]:
            raise Damaged("it belongs to another cell")
        count = int(meta["count"])
        rows, groups = file.metadata.num_rows, range(file.metadata.num_row_groups)
        size = sum(file.metadata.row_group(i).total_byte_size for i in groups)
        if count < 0 or rows != count * len(paths) or size > min(_LARGEST_TABLE, 4096 * len(data) + 2**20):
            raise Damaged("it declares other sizes than it can have")
        return _from_table(file.read(), meta, len(paths), count)
    except Damaged:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise Damaged(f"it is no Parquet file of eluder ({type(error).__name__})") from None
    except (MemoryError, RecursionError):
        raise Damaged("it does not fit into memory") from None


def _from_table(table: pa.Table, meta: dict[str, Any], paths: int, count: int) -> Records:
    names = [name for name in table.column_names if name not in ("path", "episode")]
    if set(names) != set(meta["shapes"]):
        raise Damaged("it has other columns than it declares")
    columns = {}
    for name in names:
        values = table.column(name).combine_chunks()
        shape = tuple(int(n) for n in meta["shapes"][name])
        flat = values.flatten() if pa.types.is_fixed_size_list(values.type) else values
        columns[name] = flat.to_numpy(zero_copy_only=False).reshape(paths, count, *shape)
    episodes = table.column("episode").to_numpy().reshape(paths, count)
    if paths and not (np.array_equal(episodes, np.broadcast_to(episodes[0], episodes.shape))):
        raise Damaged("its rows are not in order")
    if np.any(np.diff(episodes[0]) <= 0):
        raise Damaged("its episodes are not in order")
    return Records(episodes[0], columns, bool(meta["thinned"]))


def encode_state(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> bytes:
    """Named arrays and a small header, as a line of JSON and raw little-endian bytes."""
    leaves = [{"name": n, "shape": list(a.shape), "dtype": a.dtype.name} for n, a in arrays.items()]
    header = canonical({"meta": meta, "leaves": leaves}) + b"\n"
    raw = b"".join(np.ascontiguousarray(a, a.dtype.newbyteorder("<")).tobytes() for a in arrays.values())
    return _STATE_MAGIC + header + raw


def decode_state(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `encode_state` wrote; `Damaged` for anything else."""
    try:
        if not data.startswith(_STATE_MAGIC):
            raise Damaged("it is no state of eluder")
        end = data.index(b"\n", len(_STATE_MAGIC)) + 1
        header = json.loads(data[len(_STATE_MAGIC) : end])
        arrays, offset = {}, end
        for leaf in header["leaves"]:
            if leaf["dtype"] not in _DTYPES or any(not isinstance(n, int) or n < 0 for n in leaf["shape"]):
                raise Damaged("it declares an array that no agent has")
            dtype = np.dtype(leaf["dtype"]).newbyteorder("<")
            count = int(np.prod([1, *leaf["shape"]], dtype=object))
            if offset + count * dtype.itemsize > len(data):
                raise Damaged("it is shorter than it declares")
            values = np.frombuffer(data, dtype, count, offset).reshape(leaf["shape"])
            arrays[str(leaf["name"])] = values.astype(dtype.newbyteorder("="))
            offset += count * dtype.itemsize
        if offset != len(data):
            raise Damaged("it is longer than it declares")
        return arrays, dict(header["meta"])
    except Damaged:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise Damaged(f"it is no state of eluder ({type(error).__name__})") from None


def encode_json(content: dict[str, Any]) -> bytes:
    """JSON that carries its own checksum."""
    return canonical({"checksum": digest(canonical(content)), "content": content}) + b"\n"


def decode_json(data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data)["content"]
        if not isinstance(content, dict) or data != encode_json(content):
            raise Damaged("its checksum does not match")
        return content
    except Damaged:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise Damaged(f"it is no JSON of eluder ({type(error).__name__})") from None
