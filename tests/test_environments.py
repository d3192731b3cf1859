"""Every environment's exact optimum against a closed form, or a loop over rules written down here afresh."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

import eluder
from eluder import environments


def optimum(mdp):
    return float(np.asarray(mdp.start) @ np.asarray(mdp.solve().values[0]))


def original_optimum(mdp):
    return float(mdp.original_value(optimum(mdp)))


def by_rules(start, horizon, actions, outcomes):
    """V*₁(start) by plain recursion; `outcomes(state, action)` lists (chance, next state, reward)."""

    @cache
    def value(state, left):
        if not left:
            return 0.0
        return max(
            sum(p * (reward + value(after, left - 1)) for p, after, reward in outcomes(state, a) if p > 0)
            for a in actions
        )

    return value(start, horizon)


RIVERS = {  # right, stay, left; right from the first state; stay in the last one
    "paper": (0.9, 0.05, 0.05, 0.9, 0.9),
    "ayoub": (0.3, 0.6, 0.1, 0.7, 0.9),
    "osband": (0.35, 0.6, 0.05, 0.6, 0.6),
}


@pytest.mark.parametrize("variant", RIVERS)
@pytest.mark.parametrize("states", [2, 6])
def test_river(variant, states):
    right, stay, left, first, last = RIVERS[variant]

    def outcomes(s, a):
        if a == 0:
            return [(1, max(s - 1, 0), 0.005 if s == 0 else 0)]
        if s == 0:
            return [(first, 1, 0), (1 - first, 0, 0)]
        if s == states - 1:
            return [(last, s, 1), (1 - last, s - 1, 1)]
        return [(right, s + 1, 0), (stay, s, 0), (left, s - 1, 0)]

    river = environments.riverswim(states=states, horizon=15, variant=variant)
    assert optimum(river) == pytest.approx(by_rules(0, 15, (0, 1), outcomes), abs=1e-12)


def test_ayoubs_river_has_the_published_optima():
    values = [optimum(environments.riverswim(s, 4 * s, variant="ayoub")) for s in (3, 4, 5)]
    np.testing.assert_allclose(values, [5.7199, 5.6509, 5.5851], atol=5e-5)


@pytest.mark.parametrize("size", [2, 5, 20])
def test_deep_sea(size):
    plain, windy = environments.deep_sea(size), environments.deep_sea(size, windy=True)
    assert original_optimum(plain) == pytest.approx(0.99, abs=1e-12)
    q = 1 - 1 / size
    # Without a slip so far one pays 0.01/N for going right: Σ_i q^i·0.01/N = 0.01·(1 − q^N).
    assert original_optimum(windy) == pytest.approx(q ** (size - 1) - 0.01 * (1 - q**size), abs=1e-12)


def right_everywhere(mdp):
    """In DeepSea the move to the right is the one that is not paid, or the one that finds the treasure."""
    rewards = np.asarray(mdp.rewards[0, :-1])
    right = np.where(rewards.max(axis=1) == 1, rewards.argmax(axis=1), rewards.argmin(axis=1))
    return np.broadcast_to(np.append(right, 0), (mdp.horizon, mdp.states))


@pytest.mark.parametrize("windy", [False, True])
def test_deep_sea_published_optimum_is_always_going_right(windy):
    size = 7
    mdp = environments.deep_sea(size, windy=windy, seed=4)
    value = float(mdp.original_value(mdp.evaluate(right_everywhere(mdp))[0, 0]))
    success = (1 - 1 / size) ** (size - 1) if windy else 1
    assert value == pytest.approx(success - 0.01, abs=1e-12)


def test_deep_sea_by_rules_in_its_own_costs():
    size, cost = 6, 0.3

    def outcomes(cell, right):
        row, column = cell
        if not right:
            return [(1, (row + 1, max(column - 1, 0)), 0)]
        reward = (column == size - 1) - cost / size
        return [(1 - 1 / size, (row + 1, column + 1), reward), (1 / size, (row + 1, column), reward)]

    mdp = environments.deep_sea(size, windy=True, move_cost=cost)
    assert original_optimum(mdp) == pytest.approx(by_rules((0, 0), size, (0, 1), outcomes), abs=1e-12)


@pytest.mark.parametrize("windy", [False, True])
def test_deep_sea_moves(windy):
    """Every move of every cell: also those to the left, which no optimum shows."""
    size = 4
    mdp = environments.deep_sea(size, windy=windy, seed=7)
    right = right_everywhere(mdp)[0]
    number = {name: s for s, name in enumerate(mdp.state_names)}
    wind = 1 / size if windy else 0
    for row in range(size):
        for column in range(row + 1):
            below = [number.get(f"{row + 1},{c}", number["end"]) for c in (column + 1, column, max(column - 1, 0))]
            s = number[f"{row},{column}"]
            to_the_right, to_the_left = np.zeros(mdp.states), np.zeros(mdp.states)
            to_the_right[below[0]] += 1 - wind
            to_the_right[below[1]] += wind
            to_the_left[below[2]] = 1
            np.testing.assert_allclose(mdp.dense_kernel()[s, right[s]], to_the_right, atol=1e-15)
            np.testing.assert_allclose(mdp.dense_kernel()[s, 1 - right[s]], to_the_left, atol=1e-15)


def test_deep_sea_action_map_is_shuffled_by_the_seed():
    def right(seed):
        return right_everywhere(environments.deep_sea(8, seed=seed))[0, :-1]

    assert set(right(None)) == {1}
    assert set(right(0)) == {0, 1}
    assert (right(0) == right(0)).all()
    assert (right(0) != right(1)).any()


@pytest.mark.parametrize(("dim", "horizon", "episodes"), [(2, 2, 10), (4, 20, 1000), (6, 9, 5)])
def test_lower_bound(dim, horizon, episodes):
    mdp = environments.lower_bound(dim, horizon, episodes, seed=3)
    gap = np.sqrt(1 / (6 * episodes)) / (4 * np.sqrt(2))
    assert optimum(mdp) == pytest.approx((1 / 6 + (dim - 1) * gap) * (horizon - 1) / horizon, abs=1e-12)
    assert mdp.actions == 2 ** (dim - 1)
    # One action beats the rest, and the worst is its opposite.
    reach = np.sort(np.asarray(mdp.dense_kernel()[0, :, 2]))
    assert reach[0] == pytest.approx(1 / 6 - (dim - 1) * gap, abs=1e-12)
    assert np.sum(np.isclose(reach, reach[-1])) == 1
    # The published θ = (μ/β, 1/α) has ‖θ‖² = ((d−1)Δ + 1)/α² = (1 + (d−1)Δ)².
    assert np.linalg.norm(mdp.linear_mixture().fit(mdp)) == pytest.approx(1 + (dim - 1) * gap, abs=1e-9)
    # ‖φ_V‖ ≤ 1 for V in [0, 1], checked at the corners of the cube.
    for values in itertools.product((0.0, 1.0), repeat=3):
        by_slot = np.asarray(values)[np.asarray(mdp.successors)][..., None]
        assert np.linalg.norm((np.asarray(mdp.features) * by_slot).sum(axis=2), axis=-1).max() <= 1 + 1e-12


def test_lower_bound_needs_enough_episodes():
    # (6 − 1)²/(32/6) = 4.6875
    environments.lower_bound(dim=6, episodes=5)
    with pytest.raises(ValueError, match=r"episodes must be at least .* = 4.688"):
        environments.lower_bound(dim=6, episodes=4)


@pytest.mark.parametrize(
    ("actions", "delta", "epsilon", "horizon"), [(3, 0.2, 0.1, 20), (1, 0.5, 0.5, 7), (5, 0.1, 0, 3)]
)
def test_two_state(actions, delta, epsilon, horizon):
    mdp = environments.two_state(actions, horizon, delta, epsilon, best_action=actions - 1)
    share, decay = (delta + epsilon) / (2 * delta + epsilon), 1 - 2 * delta - epsilon
    assert optimum(mdp) == pytest.approx(share * (horizon - (1 - decay**horizon) / (1 - decay)), abs=1e-12)


@pytest.mark.parametrize(("depth", "actions", "waiting", "horizon"), [(3, 2, 2, 12), (1, 2, 1, 3), (2, 3, 4, 7)])
def test_hard_tree(depth, actions, waiting, horizon):
    mdp = environments.hard_tree(depth, actions, waiting, horizon, epsilon=0.2, seed=5)
    paid = horizon - waiting - depth
    assert optimum(mdp) == pytest.approx(paid * 0.7, abs=1e-12)
    # All but one of the deterministic ways through the tree toss a fair coin.
    worst = eluder.FiniteMDP(mdp.successors, mdp.probs, 1 - mdp.rewards, horizon=horizon)
    assert optimum(worst) == pytest.approx(horizon - paid / 2, abs=1e-12)
    better = np.sum(np.isclose(np.asarray(mdp.probs)[..., 0], 0.7))
    assert better == 1
    assert mdp.states == waiting * (1 + sum(actions**level for level in range(depth))) + 2


@pytest.mark.parametrize(("leaves", "success"), [(8, 1.0), (2, 0.7), (6, 0.2)])
def test_wide_tree(leaves, success):
    mdp = environments.wide_tree(leaves, success)
    assert optimum(mdp) == pytest.approx(max(success, 1 - success), abs=1e-12)
    kernel = np.asarray(mdp.dense_kernel())
    np.testing.assert_allclose(kernel[1, :, 3 : 3 + leaves // 2], 2 / leaves)
    np.testing.assert_allclose(kernel[2, :, 3 + leaves // 2 :], 2 / leaves)


def by_linear_program(mdp):
    """V*₁ as the smallest function that no Bellman backup exceeds."""
    kernel, horizon, states = np.asarray(mdp.dense_kernel()), mdp.horizon, mdp.states
    rewards = np.broadcast_to(mdp.rewards, (horizon, states, mdp.actions))
    rows, bounds = [], []
    for h, s, a in itertools.product(range(horizon), range(states), range(mdp.actions)):
        row = np.zeros((horizon + 1, states))
        row[h, s] = -1
        row[h + 1] += kernel[s, a]
        rows.append(row[:horizon].ravel())
        bounds.append(-rewards[h, s, a])
    cost = np.zeros((horizon, states))
    cost[0] = mdp.start
    return linprog(cost.ravel(), np.array(rows), bounds, bounds=(0, None)).fun


@pytest.mark.parametrize("seed", [0, 1])
def test_random_problems(seed):
    garnet = environments.garnet(states=6, actions=2, successors=2, horizon=5, rewarding=0.5, seed=seed)
    mixture = environments.random_mixture(dim=3, states=6, actions=2, successors=4, horizon=5, rewarding=0.5, seed=seed)
    for mdp, successors in ((garnet, 2), (mixture, 4)):
        assert optimum(mdp) == pytest.approx(by_linear_program(mdp), abs=1e-7)
        assert ((np.asarray(mdp.dense_kernel()) > 0).sum(axis=-1) == successors).all()
        assert (np.asarray(mdp.rewards[0]).any(axis=1)).sum() == 3


def test_random_successors_are_uniform():
    """Each state is a successor of a pair with chance N/S, each pair of states with N(N−1)/(S(S−1))."""
    from eluder.environments.random_mdps import distinct

    drawn = distinct(np.random.default_rng(0), (20_000, 2, 3), 5)
    member = (drawn[..., None] == np.arange(5)).any(axis=2).reshape(-1, 5)
    together = member.T.astype(float) @ member / len(member)
    expected = np.full((5, 5), 3 * 2 / (5 * 4)) + np.eye(5) * (3 / 5 - 3 * 2 / (5 * 4))
    # Standard errors are at most √(0.25/40000) = 0.0025.
    np.testing.assert_allclose(together, expected, atol=0.0125)


def grid_by_rules(text, slip, horizon):
    lines = text.split("\n")
    start = next((r, c) for r, line in enumerate(lines) for c, mark in enumerate(line) if mark == "S")

    def mark(cell):
        r, c = cell
        return lines[r][c] if 0 <= r < len(lines) and 0 <= c < len(lines[r]) else "#"

    def outcomes(cell, heading):
        if cell == "end" or mark(cell) in "GX":
            return [(1, "end", cell != "end" and mark(cell) == "G")]
        result = []
        for turn, chance in ((1, 1 - slip), (1j, slip / 2), (-1j, slip / 2)):
            step = heading * turn  # headings are complex numbers: north is i
            after = (cell[0] - int(step.imag), cell[1] + int(step.real))
            result.append((chance, cell if mark(after) == "#" else after, 0))
        return result

    return by_rules(start, horizon, (1, 1j, -1, -1j), outcomes)


@pytest.mark.parametrize("name", ["four-rooms", "bridge", "maze"])
@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_grid_world_maps(name, slip):
    text = environments.grid_world_maps[name]
    mdp = environments.grid_world(name, slip=slip, horizon=22)
    assert optimum(mdp) == pytest.approx(grid_by_rules(text, slip, 22), abs=1e-12)
    assert optimum(environments.grid_world(text.split("\n"), slip=slip, horizon=22)) == optimum(mdp)


def test_grid_world_by_hand():
    # In a corridor a slip runs into the wall: the goal is missed only by slipping H − 1 times.
    corridor = environments.grid_world(rows=1, columns=2, slip=0.3, horizon=5)
    assert optimum(corridor) == pytest.approx(1 - 0.3**4, abs=1e-12)
    # Without slips the goal two cells to the right is 2 moves away, 6 around the wall, and pays on the step after.
    for walls, moves in (((), 2), (((0, 1), (1, 1)), 6)):
        for horizon in (moves, moves + 1):
            mdp = environments.grid_world(rows=3, columns=3, walls=walls, goal=(0, 2), slip=0.0, horizon=horizon)
            assert optimum(mdp) == float(horizon > moves)
    two_starts = environments.grid_world("SG#S", slip=0.0, horizon=3)
    assert optimum(two_starts) == 0.5


def test_queue():
    capacity, arrival, slow, fast, holding, effort = 4, 0.45, 0.25, 0.7, 0.06, 0.11

    def outcomes(state, action):
        inside, door = state
        admit, quick = action
        reward = 0.0
        if door and admit and inside < capacity:
            inside, reward = inside + 1, 1.0
        reward -= holding * inside + effort * quick
        done = (fast if quick else slow) if inside else 0.0
        return [
            (p * q, (inside - served, comes), reward)
            for served, p in ((1, done), (0, 1 - done))
            for comes, q in ((1, arrival), (0, 1 - arrival))
        ]

    mdp = environments.queue(capacity, 12, arrival, slow, fast, holding, effort)
    actions = tuple(itertools.product((0, 1), (0, 1)))
    assert original_optimum(mdp) == pytest.approx(by_rules((0, 0), 12, actions, outcomes), abs=1e-12)


def test_inventory():
    capacity, chances, price, unit, order, holding = 4, (0.1, 0.5, 0.2, 0.2), 5.0, 2.0, 0.7, 0.3

    def outcomes(stock, ordered):
        bought = min(ordered, capacity - stock)
        cost = unit * bought + (order if bought else 0)
        result = []
        for demand, p in enumerate(chances):
            left = max(stock + bought - demand, 0)
            result.append((p, left, price * (stock + bought - left) - holding * left - cost))
        return result

    mdp = environments.inventory(capacity, 9, chances, price, unit, order, holding)
    expected = by_rules(0, 9, range(capacity + 1), outcomes)
    assert original_optimum(mdp) == pytest.approx(expected, abs=1e-12)


def test_inventory_of_one_day_is_the_newsvendor():
    """Order up to the smallest y with P(D ≤ y) ≥ (price − cost)/(price + holding)."""
    chances = (0.1, 0.2, 0.3, 0.25, 0.15)
    mdp = environments.inventory(4, 1, chances, price=3.0, unit_cost=1.2, order_cost=0.0, holding_cost=0.4)
    target = int(np.searchsorted(np.cumsum(chances), (3.0 - 1.2) / (3.0 + 0.4)))
    assert int(mdp.solve().policy[0, 0]) == target == 2
