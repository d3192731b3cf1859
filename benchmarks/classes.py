"""Every model class: is time per episode flat, how fast is it, how does its regret compare with the linear mixture's?

python benchmarks/classes.py flat     last 100 of 2,000 episodes beside episodes 100 to 200, time and memory
python benchmarks/classes.py regret   1,000 episodes on the 5-state river with H = 20, beside the linear mixture
python benchmarks/classes.py neural   share of V* over the last 100 of 500 episodes, 10 states, H = 50
"""

from __future__ import annotations

import argparse
import resource
import time

import jax
import numpy as np

from eluder.agents import UCRLWVTR
from eluder.environments import riverswim
from eluder.experiments import classes
from eluder.models import Neural
from eluder.simulation import simulate


def flat(paths: int, names: list[str]) -> None:
    river = riverswim(5, 20)
    for name in names:
        times: list[tuple[int, float, float]] = []

        def note(done: int, times=times) -> None:
            held = sum(array.nbytes for array in jax.live_arrays())
            # Processor time, so that what else runs on the machine does not count.
            times.append((done, time.process_time(), held))

        simulate(river, UCRLWVTR(classes.river_classes(river)[name]), episodes=2000, paths=paths, progress=note)
        done, clock, held = (np.array(column) for column in zip(*times, strict=True))

        def between(first: int, last: int, done=done, clock=clock) -> float:
            moments = np.interp([first, last], done, clock)
            return float(moments[1] - moments[0]) / (last - first) / paths

        early, late = between(100, 200), between(1900, 2000)
        print(
            f"{name:16s} {1e3 * late:8.3f} ms (processor) an episode and path, late/early {late / early:.3f}, "
            f"arrays held {held[0] / 2**20:.1f} -> {held[-1] / 2**20:.1f} MiB, "
            f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB",
            flush=True,
        )


def regret(paths: int, names: list[str]) -> None:
    _, rows = classes.run(1000, paths, names=("linear mixture", *[n for n in names if n != "linear mixture"]))
    for row in rows:
        print(
            f"{row.name:16s} regret {row.regret:8.1f} ± {row.standard_error:6.1f}, "
            f"{row.regret / rows[0].regret:.2f} of the linear mixture's; "
            f"{1e3 * row.seconds:.2f} ms an episode and path, {row.oracle_calls:.1f} oracle calls an episode, "
            f"{row.oracle_failures:.1f} failures",
            flush=True,
        )


def neural(paths: int) -> None:
    river = riverswim(10, 50)
    result = simulate(river, UCRLWVTR(Neural(river)), episodes=500, paths=paths)
    share = 1 - result.regret[:, -100:].mean(axis=1) / result.optimal_value[:, -100:].mean(axis=1)
    print(f"neural, 10 states, H = 50: {np.round(share, 4)} of V* by path, mean {share.mean():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=["flat", "regret", "neural"])
    parser.add_argument("--paths", type=int, default=10)
    parser.add_argument("--classes", nargs="+", default=list(classes.NAMES), choices=classes.NAMES)
    arguments = parser.parse_args()
    if arguments.question == "flat":
        flat(arguments.paths, arguments.classes)
    elif arguments.question == "regret":
        regret(arguments.paths, arguments.classes)
    else:
        neural(arguments.paths)


if __name__ == "__main__":
    main()
