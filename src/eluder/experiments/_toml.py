"""TOML with line numbers: where each key of a file is written, and a file written back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'  # strings may hold anything that looks like structure
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}\n]"
    r"|[^\[\]{}\n\"'#]+",
    re.DOTALL,
)
_KEY_PART = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[A-Za-z0-9_-]+')


def key_lines(text: str) -> dict[Path, int]:
    """The line, from 1, on which each key and table of a valid TOML text is written.

    Elements of arrays of tables are numbered from 0: `("agent", 1, "beta")`.
    """
    lines: dict[Path, int] = {}
    counts: dict[tuple[str, ...], int] = {}
    table: Path = ()
    for number, line in _statements(text):
        if line.startswith("["):
            names = _key(line.strip("[] \t"))
            if line.startswith("[["):
                counts[names] = counts.get(names, -1) + 1
            table = tuple(_numbered(names, counts))
            lines.setdefault(table, number)
        else:
            path = table + _key(line)
            for length in range(len(table) + 1, len(path) + 1):
                lines.setdefault(path[:length], number)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each table header whole and each `key = …` up to its equals sign, with the line it begins on."""
    number, depth, began, head = 1, 0, 1, ""
    for match in _TOKEN.finditer(text + "\n"):
        token = match.group()
        if token == "\n" and depth == 0:
            if head.strip():
                header = head.lstrip().startswith("[")
                yield began, head.strip() if header else _before_equals(head)
            head = ""
        elif not token.startswith("#"):
            if not head.strip():
                began, head = number, ""
            depth += (token in "[{") - (token in "]}") if len(token) == 1 else 0
            head += token
        number += token.count("\n")


def _before_equals(statement: str) -> str:
    end = 0
    while match := re.compile(r"\s*(?:" + _KEY_PART.pattern + r")\s*\.?").match(statement, end):
        end = match.end()
        if not match.group().endswith("."):
            break
    return statement[:end].strip()


def _key(text: str) -> tuple[str, ...]:
    parts = _KEY_PART.findall(text)
    return tuple(tomllib.loads(f"x = {p}")["x"] if p[0] in "\"'" else p for p in parts)


def _numbered(names: tuple[str, ...], counts: Mapping[tuple[str, ...], int]) -> Iterator[str | int]:
    for length, name in enumerate(names, start=1):
        yield name
        if names[:length] in counts:
            yield counts[names[:length]]


def dumps(table: Mapping[str, Any]) -> str:
    """A table of values, and of lists of tables, as TOML."""
    plain = {key: value for key, value in table.items() if not _is_tables(value)}
    parts = ["".join(f"{_name(key)} = {_value(value)}\n" for key, value in plain.items())]
    for key, value in table.items():
        if _is_tables(value):
            parts += [f"[[{_name(key)}]]\n" + dumps(element) for element in value]
    return "\n".join(parts)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_name(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)
