"""The paper's empirical claims over many paths: who has less regret than whom, and by how many standard errors.

Prints one line per comparison with the verdict that the numbers give. `--paths 100` (the default) takes a few
minutes on two cores; the comparison at H = 20, where the first two agents are close, uses four times as many.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

import eluder
from eluder.agents import UCRLVTR, UCRLWVTR, Random, without_home

AGENTS = {
    "UCRL-WVTR": lambda model: UCRLWVTR(model),
    "without HOME": lambda model: without_home(model),
    "UCRL-VTR": lambda model: UCRLVTR(model),
    "Random": lambda model: Random(),
}


def final_regret(environment, agent, episodes: int, paths: int) -> tuple[np.ndarray, float]:
    """The regret of each path, and the share of the mean that the last tenth of the episodes added."""
    regret = eluder.simulate(environment, agent, episodes=episodes, paths=paths).regret
    total = regret.sum(axis=1)
    return total, regret[:, -episodes // 10 :].sum(axis=1).mean() / total.mean()


def compare(title: str, finals: dict[str, np.ndarray]) -> None:
    print(f"\n{title}")
    names = list(finals)
    for name in names:
        error = finals[name].std(ddof=1) / np.sqrt(len(finals[name]))
        print(f"  {name:<13} {finals[name].mean():>11.5g} ± {error:.3g} (standard error, {len(finals[name])} paths)")
    for lower, higher in itertools.pairwise(names):
        gap = finals[higher].mean() - finals[lower].mean()
        error = np.hypot(*(finals[n].std(ddof=1) / np.sqrt(len(finals[n])) for n in (lower, higher)))
        verdict = "holds" if gap > error else "fails"
        print(f"  {lower} < {higher}: gap {gap:.4g}, {gap / error:.1f} standard errors: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=100)
    paths = parser.parse_args().paths
    for states, horizon, episodes in [(5, 20, 5000), (5, 100, 5000), (6, 100, 1000), (8, 100, 1000), (10, 100, 1000)]:
        river = eluder.environments.riverswim(states=states, horizon=horizon)
        count = 4 * paths if horizon == 20 else paths
        results = {n: final_regret(river, make(river.linear_mixture()), episodes, count) for n, make in AGENTS.items()}
        finals = {name: final for name, (final, _) in results.items()}
        compare(f"{states} states, H = {horizon}, {episodes} episodes", finals)
        late = results["UCRL-WVTR"][1]
        print(f"  UCRL-WVTR's last tenth of the episodes adds {late:.3%} of its regret")
        if horizon == 20:
            for name in ("UCRL-WVTR", "without HOME"):
                print(f"  {name} / UCRL-VTR = {finals[name].mean() / finals['UCRL-VTR'].mean():.3f} (under 1/3)")
    river = eluder.environments.riverswim(states=5, horizon=1000).normalised()
    learners = {name: make for name, make in AGENTS.items() if name != "Random"}
    finals = {n: final_regret(river, make(river.linear_mixture()), 500, paths)[0] for n, make in learners.items()}
    compare("5 states, H = 1000, total reward at most 1, 500 episodes", finals)
    ours = finals["UCRL-WVTR"].mean()
    print(f"  UCRL-WVTR / without HOME = {ours / finals['without HOME'].mean():.3f} (under 2/3)")
    print(f"  UCRL-WVTR / UCRL-VTR = {ours / finals['UCRL-VTR'].mean():.3f} (under 1/10)")


if __name__ == "__main__":
    main()
