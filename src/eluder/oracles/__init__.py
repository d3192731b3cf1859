"""Regression oracles: weighted least squares over a class of models, behind one protocol."""

from eluder.oracles.base import CONVERGED as CONVERGED
from eluder.oracles.base import MESSAGES as MESSAGES
from eluder.oracles.base import NOT_FINITE as NOT_FINITE
from eluder.oracles.base import OUT_OF_STEPS as OUT_OF_STEPS
from eluder.oracles.base import Fit as Fit
from eluder.oracles.base import Oracle as Oracle
from eluder.oracles.linear import BallLeastSquares as BallLeastSquares
from eluder.oracles.linear import Enumeration as Enumeration
from eluder.oracles.linear import Ridge as Ridge
from eluder.oracles.nonlinear import FirstOrder as FirstOrder
from eluder.oracles.nonlinear import LevenbergMarquardt as LevenbergMarquardt
from eluder.oracles.simplex import SimplexLeastSquares as SimplexLeastSquares
from eluder.oracles.user import CallableOracle as CallableOracle

__all__ = [
    "CONVERGED",
    "MESSAGES",
    "NOT_FINITE",
    "OUT_OF_STEPS",
    "BallLeastSquares",
    "CallableOracle",
    "Enumeration",
    "FirstOrder",
    "Fit",
    "LevenbergMarquardt",
    "Oracle",
    "Ridge",
    "SimplexLeastSquares",
]
