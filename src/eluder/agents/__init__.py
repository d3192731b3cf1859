"""Agents, all behind the protocol in `eluder.agents.base`, also by name with `make`."""

from eluder.agents._counting import Support as Support
from eluder.agents.base import Agent as Agent
from eluder.agents.base import Problem as Problem
from eluder.agents.base import Transition as Transition
from eluder.agents.controls import Optimal as Optimal
from eluder.agents.controls import Random as Random
from eluder.agents.euler import EULER as EULER
from eluder.agents.greedy import EpsilonGreedy as EpsilonGreedy
from eluder.agents.greedy import Greedy as Greedy
from eluder.agents.hf_ucrl_vtr_plus import HFUCRLVTRPlus as HFUCRLVTRPlus
from eluder.agents.mvp import MVP as MVP
from eluder.agents.psrl import PSRL as PSRL
from eluder.agents.q_learning import QLearningBernstein as QLearningBernstein
from eluder.agents.q_learning import QLearningHoeffding as QLearningHoeffding
from eluder.agents.rare_replanning import RareReplanning as RareReplanning
from eluder.agents.registry import make as make
from eluder.agents.registry import names as names
from eluder.agents.registry import parameters as parameters
from eluder.agents.rlsvi import RLSVI as RLSVI
from eluder.agents.ucbvi import UCBVIBF as UCBVIBF
from eluder.agents.ucbvi import UCBVICH as UCBVICH
from eluder.agents.ucbvi import UCBVISimplified as UCBVISimplified
from eluder.agents.ucrl2 import UCRL2 as UCRL2
from eluder.agents.ucrl_mnl import UCRLMNL as UCRLMNL
from eluder.agents.ucrl_vtr_ayoub import UCRLVTRAyoub as UCRLVTRAyoub
from eluder.agents.ucrl_vtr_plus import UCRLVTRPlus as UCRLVTRPlus
from eluder.agents.ucrl_wvtr import UCRLVTR as UCRLVTR
from eluder.agents.ucrl_wvtr import UCRLWVTR as UCRLWVTR
from eluder.agents.ucrl_wvtr import without_home as without_home
from eluder.agents.unknown_rewards import UnknownRewards as UnknownRewards

__all__ = [
    "EULER",
    "MVP",
    "PSRL",
    "RLSVI",
    "UCBVIBF",
    "UCBVICH",
    "UCRL2",
    "UCRLMNL",
    "UCRLVTR",
    "UCRLWVTR",
    "Agent",
    "EpsilonGreedy",
    "Greedy",
    "HFUCRLVTRPlus",
    "Optimal",
    "Problem",
    "QLearningBernstein",
    "QLearningHoeffding",
    "Random",
    "RareReplanning",
    "Support",
    "Transition",
    "UCBVISimplified",
    "UCRLVTRAyoub",
    "UCRLVTRPlus",
    "UnknownRewards",
    "make",
    "names",
    "parameters",
    "without_home",
]
