"""Against rlberry-scool's UCBVI on the 5-state river, H = 20: the same Q after the same data, and the ratio of speeds.

    python -m venv peer && peer/bin/pip install rlberry-scool
    python benchmarks/peers.py --peer peer/bin/python

The peer runs in its own interpreter, one process per core, as it does for its users; the library runs on the same cores
afterwards. Both use the bonus min(c/√n + (H − h)/n, H − h). Compilation is left out on both sides.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import numpy as np

HORIZON, STATES, SCALE = 20, 5, 1.0
WANTED = {256: 300, 10: None}  # times the peer's episodes per second, by the number of paths


def as_peer() -> None:
    """Runs in the peer's interpreter: a job as JSON on standard input, an answer on standard output."""
    import warnings

    warnings.filterwarnings("ignore")
    from rlberry.envs.finite_mdp import FiniteMDP
    from rlberry_scool.agents.dynprog.utils import backward_induction_reward_sd
    from rlberry_scool.agents.ucbvi import UCBVIAgent

    class MDP(FiniteMDP):
        def reward_fn(self, state, action, next_state):
            return self.R[state, action]

    job = json.load(sys.stdin)
    mdp = MDP(np.array(job["rewards"]), np.array(job["kernel"]), 0)
    agent = UCBVIAgent(mdp, gamma=1.0, horizon=HORIZON, bonus_scale_factor=SCALE)
    if "seconds" in job:
        agent.fit(200)  # compiles
        episodes, began, spent = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - began < job["seconds"]:
            agent.fit(200)
            episodes += 200
        seconds, spent = time.perf_counter() - began, time.process_time() - spent
        answer = {"rate": episodes / seconds, "core_rate": episodes / spent}
    else:
        for step, s, a, next_state, reward in job["data"]:
            agent._update(s, a, next_state, reward, step)
        for step in range(HORIZON):  # the peer refreshes a bonus only at the step that was just played
            for s in range(mdp.S):
                for a in range(mdp.A):
                    agent.B_sa[step, s, a] = agent._compute_bonus(agent.N_sa[s, a], step)
        bonus = agent.R_hat + agent.B_sa
        backward_induction_reward_sd(agent.Q, agent.V, bonus, agent.P_hat, 1.0, agent.v_max[0])
        answer = {"q_values": agent.Q.tolist()}
    print("ANSWER " + json.dumps(answer))


def ask(peer: str, job: dict, processes: int = 1) -> list[dict]:
    """The answers of that many peers at once."""
    command = [peer, __file__, "--as-peer"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(processes)]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(json.dumps(job))
        process.stdin.close()
        process.stdin = None
    answers = []
    for process in running:
        out, error = process.communicate()
        lines = [line for line in out.splitlines() if line.startswith("ANSWER ")]
        if process.returncode or not lines:
            raise RuntimeError(f"The peer failed: {error.strip().splitlines()[-1] if error.strip() else 'no answer'}")
        answers.append(json.loads(lines[-1].removeprefix("ANSWER ")))
    return answers


def our_q_values(river, data: list) -> np.ndarray:
    """Q after the data, by the library's agent."""
    import jax.numpy as jnp

    from eluder.agents import UCBVISimplified
    from eluder.agents._counting import Counts
    from eluder.simulation import problem_of

    outcomes = np.zeros((STATES, STATES, 2, 1))
    for _, s, a, next_state, _ in data:
        outcomes[next_state, s, a, 0] += 1
    agent, problem = UCBVISimplified(multiplier=SCALE), problem_of(river, per_step=True)
    counts = Counts(jnp.asarray(outcomes.sum(axis=0)), jnp.asarray(outcomes))
    plan = agent.begin(counts, problem, jnp.asarray(0), None)
    tables, values = [], jnp.zeros((STATES, 1))
    for step in reversed(range(HORIZON)):
        table, _ = agent.backup(plan, problem, jnp.asarray(step), values, None)
        values = jnp.max(table, axis=1)
        tables.append(np.asarray(table[..., 0]))
    return np.stack(tables[::-1])


def our_rates(river, paths: int, seconds: float) -> tuple[float, float]:
    """Episodes per second over all paths and cores, and per second of one core's time."""
    import eluder
    from eluder.agents import UCBVISimplified

    agent = UCBVISimplified(multiplier=SCALE)
    episodes = 500
    eluder.simulate(river, agent, episodes=600, paths=paths)  # compiles
    began, rates, core_rates = time.perf_counter(), [], []
    while time.perf_counter() - began < seconds:
        spent = time.process_time()
        result = eluder.simulate(river, agent, episodes=episodes, paths=paths)
        rates.append(paths * episodes / result.seconds)
        core_rates.append(paths * episodes / (time.process_time() - spent))
        episodes = int(min(20_000, 2 * episodes))
    return max(rates), max(core_rates)


def _best(*pairs: tuple[float, float]) -> tuple[float, float]:
    return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", default=sys.executable, help="a Python interpreter that has rlberry-scool")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to measure each in a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--as-peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.as_peer:
        return as_peer()
    found = subprocess.run([options.peer, "-c", "import rlberry_scool"], capture_output=True)
    if found.returncode:
        print(f"Skipped: {options.peer} has no rlberry-scool. Install it in an environment and pass --peer.")
        return None

    import eluder
    from eluder.simulation import cores

    river = eluder.environments.riverswim(states=STATES, horizon=HORIZON)
    kernel, rewards = np.asarray(river.dense_kernel()), np.asarray(river.rewards[0])
    job = {"kernel": kernel.tolist(), "rewards": rewards.tolist()}
    rng, data, s = np.random.default_rng(0), [], 0
    for count in range(2000):
        a = int(rng.integers(2)) if count % 40 < 20 else 1  # half of the episodes swim, so that all pairs are tried
        next_state = int(rng.choice(STATES, p=kernel[s, a]))
        data.append([count % HORIZON, s, a, next_state, float(rewards[s, a])])
        s = 0 if (count + 1) % HORIZON == 0 else next_state
    theirs = np.array(ask(options.peer, {**job, "data": data})[0]["q_values"])
    apart = np.abs(np.minimum(theirs, HORIZON) - our_q_values(river, data)).max()
    print(f"Q after the same {len(data)} steps: largest difference {apart:.1e}")

    # In turns, the best of each: whatever else the machine does then slows both down alike.
    peer, rates = (0.0, 0.0), dict.fromkeys(WANTED, (0.0, 0.0))
    for _ in range(options.rounds):
        answers = ask(options.peer, {**job, "seconds": options.seconds}, processes=cores())
        core_rate = max(answer["core_rate"] for answer in answers)
        peer = _best(peer, (sum(answer["rate"] for answer in answers), core_rate))
        for paths in WANTED:
            rates[paths] = _best(rates[paths], our_rates(river, paths, options.seconds))
    print(f"rlberry-scool, {cores()} processes: {peer[0]:,.0f} episodes/s, {peer[1]:,.0f} per second of a core's time")
    for paths, wanted in WANTED.items():
        goal = f" (wanted: {wanted})" if wanted else ""
        wall, core = rates[paths]
        print(f"eluder, {paths:>3} paths: {wall:,.0f} episodes/s, {core:,.0f} per second of a core's time")
        print(f"  {wall / peer[0]:,.0f} times the peer{goal}, {core / peer[1]:,.0f} times in cores' time")
    if apart > 1e-9:
        raise SystemExit("The Q values differ.")
    return None


if __name__ == "__main__":
    main()
