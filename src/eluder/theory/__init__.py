"""The paper's theory as functions: what the theorem promises on an instance, with which constants."""

from eluder.theory.bounds import RegretBound as RegretBound
from eluder.theory.bounds import corollary_bound as corollary_bound
from eluder.theory.bounds import regret_bound as regret_bound
from eluder.theory.covering import log_covering as log_covering
from eluder.theory.dimension import elliptical_potential as elliptical_potential
from eluder.theory.dimension import eluder_bound as eluder_bound
from eluder.theory.dimension import greedy_lower_bound as greedy_lower_bound
from eluder.theory.geometry import Geometry as Geometry
from eluder.theory.geometry import geometry as geometry
from eluder.theory.instance import Instance as Instance
from eluder.theory.instance import instance as instance
from eluder.theory.parameters import Parameters as Parameters
from eluder.theory.parameters import theorem as theorem
from eluder.theory.promise import Audit as Audit
from eluder.theory.promise import Promise as Promise
from eluder.theory.promise import audit as audit
from eluder.theory.promise import promise as promise
from eluder.theory.radius import Radius as Radius
from eluder.theory.radius import concentration_radius as concentration_radius
from eluder.theory.radius import hoeffding_radius as hoeffding_radius
from eluder.theory.radius import iota as iota

__all__ = [
    "Audit",
    "Geometry",
    "Instance",
    "Parameters",
    "Promise",
    "Radius",
    "RegretBound",
    "audit",
    "concentration_radius",
    "corollary_bound",
    "elliptical_potential",
    "eluder_bound",
    "geometry",
    "greedy_lower_bound",
    "hoeffding_radius",
    "instance",
    "iota",
    "log_covering",
    "promise",
    "regret_bound",
    "theorem",
]
