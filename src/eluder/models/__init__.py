"""Model classes: the sets of transition kernels an agent learns within."""

from eluder.models.base import LinearModel as LinearModel
from eluder.models.base import Model as Model
from eluder.models.linear_mixture import LinearMixture as LinearMixture
from eluder.models.tabular import Tabular as Tabular

# isort: split
from eluder.models.ball_mixture import BallMixture as BallMixture
from eluder.models.custom import Custom as Custom
from eluder.models.finite import Finite as Finite
from eluder.models.general import GeneralModel as GeneralModel
from eluder.models.mnl import MNL as MNL
from eluder.models.neural import Neural as Neural
from eluder.models.simplex_mixture import SimplexMixture as SimplexMixture

__all__ = [
    "MNL",
    "BallMixture",
    "Custom",
    "Finite",
    "GeneralModel",
    "LinearMixture",
    "LinearModel",
    "Model",
    "Neural",
    "SimplexMixture",
    "Tabular",
]
