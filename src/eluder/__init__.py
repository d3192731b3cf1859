"""eluder: provably efficient reinforcement learning that really runs.

Importing it switches JAX to 64-bit floats: the guarantees are about numbers that float32 cannot hold.
"""

import jax as _jax

_jax.config.update("jax_enable_x64", True)

from eluder import agents as agents  # noqa: E402
from eluder import environments as environments  # noqa: E402
from eluder import models as models  # noqa: E402
from eluder import theory as theory  # noqa: E402
from eluder.experiments import load as load  # noqa: E402
from eluder.mdp import FiniteMDP as FiniteMDP  # noqa: E402
from eluder.mdp import Solution as Solution  # noqa: E402
from eluder.simulation import Result as Result  # noqa: E402
from eluder.simulation import simulate as simulate  # noqa: E402

__version__ = "0.1.0"
__all__ = ["FiniteMDP", "Result", "Solution", "agents", "environments", "load", "models", "simulate", "theory"]
