"""Weighted regression: what is kept of the data, the estimate f̂ and the uncertainty D_F."""

from eluder.regression.base import Regression as Regression
from eluder.regression.linear import LinearRegression as LinearRegression
from eluder.regression.linear import Point as Point
from eluder.regression.linear import Weighted as Weighted

__all__ = ["LinearRegression", "Point", "Regression", "Weighted"]
