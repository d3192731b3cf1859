"""Environments: functions that return a `FiniteMDP`, also by name with `make`.

Bring your own with `from_arrays`, `from_dict`, `from_edges` and `from_gymnasium`. The way back to Gymnasium is
`eluder.environments.gymnasium_bridge`, which needs gymnasium.
"""

from eluder.environments.deep_sea import deep_sea as deep_sea
from eluder.environments.from_data import from_arrays as from_arrays
from eluder.environments.from_data import from_dict as from_dict
from eluder.environments.from_edges import from_edges as from_edges
from eluder.environments.from_edges import to_edges as to_edges
from eluder.environments.from_gymnasium import from_gymnasium as from_gymnasium
from eluder.environments.grid_world import MAPS as grid_world_maps
from eluder.environments.grid_world import grid_world as grid_world
from eluder.environments.hard_tree import hard_tree as hard_tree
from eluder.environments.inventory import inventory as inventory
from eluder.environments.lower_bound import lower_bound as lower_bound
from eluder.environments.queue import queue as queue
from eluder.environments.random_mdps import garnet as garnet
from eluder.environments.random_mdps import random_mixture as random_mixture
from eluder.environments.registry import make as make
from eluder.environments.registry import names as names
from eluder.environments.registry import parameters as parameters
from eluder.environments.riverswim import riverswim as riverswim
from eluder.environments.two_state import two_state as two_state
from eluder.environments.wide_tree import wide_tree as wide_tree

__all__ = [
    "deep_sea",
    "from_arrays",
    "from_dict",
    "from_edges",
    "from_gymnasium",
    "garnet",
    "grid_world",
    "grid_world_maps",
    "hard_tree",
    "inventory",
    "lower_bound",
    "make",
    "names",
    "parameters",
    "queue",
    "random_mixture",
    "riverswim",
    "to_edges",
    "two_state",
    "wide_tree",
]
