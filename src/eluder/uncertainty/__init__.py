"""The uncertainty D_F of a class of models, behind one protocol."""

from eluder.uncertainty.base import Uncertainty as Uncertainty
from eluder.uncertainty.base import Value as Value
from eluder.uncertainty.dinkelbach import Dinkelbach as Dinkelbach
from eluder.uncertainty.elliptical import Elliptical as Elliptical
from eluder.uncertainty.enumeration import Enumeration as Enumeration
from eluder.uncertainty.linearised import Linearised as Linearised
from eluder.uncertainty.oracle_search import OracleSearch as OracleSearch
from eluder.uncertainty.simplex_program import SimplexProgram as SimplexProgram

__all__ = [
    "Dinkelbach",
    "Elliptical",
    "Enumeration",
    "Linearised",
    "OracleSearch",
    "SimplexProgram",
    "Uncertainty",
    "Value",
]
