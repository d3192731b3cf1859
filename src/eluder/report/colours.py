"""The same colour and dash for the same agent, in every figure and on every page."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import NamedTuple

# Okabe & Ito's palette, in an order in which neighbours differ in lightness too.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6BB1")

# A dash for each colour, so that lines differ on a grey printer as well.
_OWN_DASH = tuple(range(len(PALETTE)))

# Colour and dash by agent. Agents that are compared with each other most have different colours.
_FIXED: dict[str, tuple[int, int]] = {
    name: (colour, dash)
    for dash, names in enumerate(
        (
            ("UCRL-WVTR", "UCRL-WVTR without HOME", "UCRL-VTR", "Random", "UCBVI-BF", "PSRL", "Optimal", "EULER"),
            ("HF-UCRL-VTR+", "UCRL-VTR+", "UCRL-MNL", "Greedy", "UCBVI-CH", "RLSVI", "", "MVP"),
            ("UCRL-VTR (weighted)", "UCRL-VTR (log-det)", "UCRL2", "ε-greedy", "UCBVI-simplified"),
            ("Q-learning (Hoeffding)", "Q-learning (Bernstein)"),
        )
    )
    for colour, name in enumerate(names)
    if name
}


def is_fixed(name: str) -> bool:
    """Whether it is one of the library's own agents."""
    return name in _FIXED


class Look(NamedTuple):
    """How a line looks: a colour, and a dash as an index into the tables of the figures and of the page."""

    colour: str
    dash: int


def look(name: str) -> Look:
    """An agent's look: fixed for the library's own, and from the name itself for any other."""
    colour, row = _FIXED.get(name) or divmod(zlib.crc32(name.encode()) % 32, 4)
    return Look(PALETTE[colour], (_OWN_DASH[colour] + 3 * row) % len(PALETTE))


def looks(names: Iterable[str]) -> dict[str, Look]:
    """The looks of lines that share a panel: where two would look the same, the later one gets another dash.

    Variants of an agent, such as "UCRL-WVTR (multiplier = 0.1)", keep its colour.
    """
    result: dict[str, Look] = {}
    for name in dict.fromkeys(names):
        base = name if name in _FIXED else name.split(" (")[0].split(",")[0]
        colour, dash = look(base)
        free = (Look(colour, (dash + shift) % len(PALETTE)) for shift in range(len(PALETTE)))
        result[name] = next((candidate for candidate in free if candidate not in result.values()), Look(colour, dash))
    return result
