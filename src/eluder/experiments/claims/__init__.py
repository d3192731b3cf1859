"""One experiment for each claim of the paper: data, a figure and rows "claim, expected, measured, verdict".

Each is a function of a size ("full", or "small" to run in seconds) that returns an `Outcome`; `eluder verify` runs
them all.
"""

from eluder.experiments.claims.base import Outcome as Outcome
from eluder.experiments.claims.base import Row as Row
from eluder.experiments.claims.complexity import complexity as complexity
from eluder.experiments.claims.concentration import concentration as concentration
from eluder.experiments.claims.coverage import coverage as coverage
from eluder.experiments.claims.dimension import dimension as dimension
from eluder.experiments.claims.eluder import eluder as eluder
from eluder.experiments.claims.horizon import horizon as horizon
from eluder.experiments.claims.optimism import optimism as optimism
from eluder.experiments.claims.variance import variance as variance

EXPERIMENTS = {
    "coverage": coverage,
    "optimism": optimism,
    "concentration": concentration,
    "horizon": horizon,
    "variance": variance,
    "dimension": dimension,
    "eluder": eluder,
    "complexity": complexity,
}
