"""Agents, all behind the protocol in `eluder.agents.base`."""

from eluder.agents.base import Agent as Agent
from eluder.agents.base import Problem as Problem
from eluder.agents.base import Transition as Transition
from eluder.agents.controls import Optimal as Optimal
from eluder.agents.controls import Random as Random
from eluder.agents.ucrl_wvtr import UCRLVTR as UCRLVTR
from eluder.agents.ucrl_wvtr import UCRLWVTR as UCRLWVTR
from eluder.agents.ucrl_wvtr import without_home as without_home

__all__ = ["UCRLVTR", "UCRLWVTR", "Agent", "Optimal", "Problem", "Random", "Transition", "without_home"]
