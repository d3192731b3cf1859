"""Model classes: the sets of transition kernels an agent learns within."""

from eluder.models.base import LinearModel as LinearModel
from eluder.models.base import Model as Model
from eluder.models.linear_mixture import LinearMixture as LinearMixture
from eluder.models.tabular import Tabular as Tabular

__all__ = ["LinearMixture", "LinearModel", "Model", "Tabular"]
