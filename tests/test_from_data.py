"""Bring your own: arrays, dictionaries and edge lists become the MDP they describe, or get one clear sentence."""

import csv

import numpy as np
import pytest

import eluder
from eluder import environments
from eluder.environments import from_arrays, from_dict, from_edges, to_edges

# A machine: run it or mend it. Written with costs, names, and two ways to the same place.
MACHINE = {
    "good": {"run": [(0.9, "good", 3.0), (0.1, "worn", 3.0)], "mend": [(1.0, "good", -1.0)]},
    "worn": {
        "run": [(0.5, "worn", 2.0), (0.2, "broken", 2.0), (0.3, "broken", -8.0)],
        "mend": [(0.8, "good", -2.0), (0.2, "worn", -1.0)],
    },
    "broken": {"run": [(1.0, "broken", -0.5)], "mend": [(1.0, "good", -6.0)]},
}


def machine_by_hand():
    """The same as dense arrays, by hand: good, worn, broken; run, mend."""
    kernel = np.array(
        [
            [[0.9, 0.1, 0.0], [1.0, 0.0, 0.0]],
            [[0.0, 0.5, 0.5], [0.8, 0.2, 0.0]],
            [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        ]
    )
    # worn, run: 0.5·2 + 0.2·2 − 0.3·8 = −1; worn, mend: −0.8·2 − 0.2·1 = −1.8
    rewards = np.array([[3.0, -1.0], [-1.0, -1.8], [-0.5, -6.0]])
    return kernel, rewards


def value_by_hand(kernel, rewards, horizon):
    value = np.zeros(len(kernel))
    for _ in range(horizon):
        value = np.max(rewards + kernel @ value, axis=1)
    return value


def assert_is_the_machine(mdp, horizon):
    kernel, rewards = machine_by_hand()
    np.testing.assert_allclose(mdp.dense_kernel(), kernel, atol=1e-12)
    np.testing.assert_allclose(np.asarray(mdp.rewards[0]) - mdp.reward_offset, rewards, atol=1e-12)
    assert mdp.reward_offset == pytest.approx(6.0)
    expected = value_by_hand(kernel, rewards, horizon)
    np.testing.assert_allclose(mdp.original_value(mdp.solve().values[0]), expected, atol=1e-12)


def test_arrays():
    kernel, rewards = machine_by_hand()
    assert_is_the_machine(from_arrays(kernel, rewards, horizon=5), 5)
    by_transition = np.broadcast_to(rewards[..., None], kernel.shape) + np.where(kernel > 0, 0.0, 99.0)
    assert_is_the_machine(from_arrays(kernel, by_transition, horizon=5), 5)
    by_step = np.stack([rewards * h for h in range(4)])
    mdp = from_arrays(kernel, by_step, horizon=4)
    np.testing.assert_allclose(np.asarray(mdp.rewards) - mdp.reward_offset, by_step, atol=1e-12)
    by_state = from_arrays(kernel, [1.0, 2.0, 0.0], horizon=3)
    np.testing.assert_array_equal(by_state.rewards[0], [[1, 1], [2, 2], [0, 0]])
    assert by_state.reward_offset == 0.0


def test_dictionary():
    mdp = from_dict(MACHINE, horizon=7, start="worn")
    assert_is_the_machine(mdp, 7)
    assert mdp.state_names == ("good", "worn", "broken")
    assert mdp.action_names == ("run", "mend")
    np.testing.assert_array_equal(mdp.start, [0, 1, 0])
    # The luckiest machine never wears: 3 a step, and the 6 that every reward was raised by.
    assert mdp.reward_scale == pytest.approx(7 * (3.0 + 6.0))


def rows_of_the_machine():
    return [
        (state, action, after, p, reward)
        for state, by_action in MACHINE.items()
        for action, outcomes in by_action.items()
        for p, after, reward in outcomes
    ]


def write_csv(path, rows, header=("state", "action", "next_state", "probability", "reward"), delimiter=","):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def test_edge_lists(tmp_path):
    import pandas

    rows = rows_of_the_machine()
    frame = pandas.DataFrame(rows, columns=["state", "action", "next_state", "probability", "reward"])
    frame.to_parquet(tmp_path / "machine.parquet")
    renamed = ("from", "what", "to", "chance", "paid")
    sources = [
        (write_csv(tmp_path / "machine.csv", rows), None),
        (str(write_csv(tmp_path / "machine.tsv", rows, delimiter="\t")), None),
        (tmp_path / "machine.parquet", None),
        (frame, None),
        (frame.to_dict("list"), None),
        (
            write_csv(tmp_path / "other.csv", rows, renamed),
            dict(zip(frame.columns, renamed, strict=True)),
        ),
    ]
    for source, columns in sources:
        mdp = from_edges(source, horizon=6, columns=columns)
        assert_is_the_machine(mdp, 6)
        assert mdp.state_names == ("good", "worn", "broken")
        np.testing.assert_array_equal(mdp.start, [1, 0, 0])
    assert from_edges(tmp_path / "machine.csv", horizon=6).name == "machine"
    again = from_edges(to_edges(from_dict(MACHINE, horizon=6)), horizon=6, start={"good": 0.25, "broken": 0.75})
    assert_is_the_machine(again, 6)
    np.testing.assert_array_equal(again.start, [0.25, 0, 0.75])


@pytest.mark.parametrize("name", ["riverswim", "queue", "grid-world"])
def test_edge_lists_round_trip(name):
    mdp = environments.make(name)
    labels = mdp.state_names or tuple(range(mdp.states))
    start = {labels[s]: float(p) for s, p in enumerate(mdp.start) if p > 0}
    again = from_edges(to_edges(mdp), horizon=mdp.horizon, start=start)
    order = [again.state_names.index(str(label)) for label in labels]
    np.testing.assert_allclose(
        again.original_value(again.solve().values[0])[np.array(order)],
        mdp.original_value(mdp.solve().values[0]),
        atol=1e-10,
    )


def test_whole_numbers_keep_their_order(tmp_path):
    rows = [(2, 1, 10, 1, 0), (10, 1, 2, 1, 0), (2, 0, 2, 1, 1), (10, 0, 10, 1, 0)]
    mdp = from_edges(write_csv(tmp_path / "numbers.csv", rows), horizon=2)
    assert mdp.state_names == ("2", "10")
    assert mdp.action_names == ("0", "1")
    np.testing.assert_array_equal(mdp.successors[..., 0], [[0, 1], [1, 0]])
    # One state that is no number makes all of them names, on both sides of the arrow.
    mixed = from_edges(write_csv(tmp_path / "mixed.csv", [*rows[:3], (10, 0, "sea", 1, 0)]), horizon=2)
    assert mixed.state_names == ("2", "10", "sea")


def test_endings():
    """A state without actions absorbs and pays nothing, and so does one in which an episode ends."""
    path = {"a": {"go": [(0.5, "b", 1.0), (0.5, "c", 1.0)]}, "b": {"go": [(1.0, "a", -2.0)]}}
    mdp = from_dict(path, horizon=4)
    # With n steps left: Vₙ(a) = 1 + Vₙ₋₁(b)/2, Vₙ(b) = −2 + Vₙ₋₁(a), Vₙ(c) = 0. By hand:
    # V₁ = (1, −2), V₂ = (0, −1), V₃ = (0.5, −2), V₄ = (0, −1.5).
    np.testing.assert_allclose(mdp.original_value(mdp.solve().values[0]), [0.0, -1.5, 0.0], atol=1e-12)
    # "c" says how to go on, but the episode is over: those words do not count, and no state is added.
    told = path | {"a": {"go": [(0.5, "b", 1.0), (0.5, "c", 1.0, True)]}, "c": {"go": [(1.0, "c", 50.0)]}}
    ended = from_dict(told, horizon=4)
    np.testing.assert_allclose(ended.original_value(ended.solve().values[0]), [0.0, -1.5, 0.0], atol=1e-12)
    assert ended.states == 3
    # Here "b" is visited under way too, so an ending there needs a place of its own.
    both = from_dict(
        {"a": {"go": [(0.5, "b", 1.0), (0.5, "b", 1.0, True)]}, "b": {"go": [(1.0, "a", -2.0)]}}, horizon=4
    )
    assert both.state_names == ("a", "b", "end")
    np.testing.assert_allclose(both.original_value(both.solve().values[0]), [0.0, -1.5, 0.0], atol=1e-12)


def test_missing_actions():
    table = {"a": {"x": [(1.0, "b", 1.0)], "y": [(1.0, "a", 0.0)]}, "b": {"y": [(1.0, "a", 2.0)]}}
    with pytest.raises(ValueError, match=r"State 'b' has no outcome for action 'x'.*missing_actions='repeat'"):
        from_dict(table, horizon=3)
    mdp = from_dict(table, horizon=3, missing_actions="repeat")
    np.testing.assert_array_equal(mdp.dense_kernel()[1], [[1, 0], [1, 0]])
    np.testing.assert_array_equal(mdp.rewards[0, 1], [2, 2])
    assert float(mdp.solve().values[0, 0]) == 4.0  # 1 + 2 + 1


def test_an_agent_runs_on_it():
    mdp = from_dict(MACHINE, horizon=5)
    result = eluder.simulate(mdp, eluder.agents.Optimal(mdp), episodes=3, paths=2)
    np.testing.assert_allclose(result.regret, 0, atol=1e-12)


KERNEL, REWARDS = machine_by_hand()


@pytest.mark.parametrize(
    ("kernel", "rewards", "message"),
    [
        (KERNEL * 0.9, REWARDS, r"Each row of kernel must sum to 1, but kernel\[0, 0\] sums to 0.9"),
        (np.swapaxes(KERNEL, 0, 1), REWARDS, "as if actions came first: pass np.swapaxes"),
        (KERNEL[0], REWARDS, r"must have the shape \(states, actions, states\)"),
        (KERNEL, REWARDS[:2], "rewards must have the shape"),
        (KERNEL, REWARDS * np.nan, r"rewards must be finite, but rewards\[0, 0\] is nan"),
        (KERNEL - 2 * (KERNEL == 1), REWARDS, "kernel must not be negative"),
        ([[[1.0], [1.0, 2.0]]], REWARDS, "kernel must be an array of numbers"),
        (np.ones((1, 1, 1)), np.ones((1, 1, 1)), r"could belong to transitions \(S, A, S\) or to steps \(H, S, A\)"),
    ],
)
def test_malformed_arrays(kernel, rewards, message):
    with pytest.raises(ValueError, match=message):
        from_arrays(kernel, rewards, horizon=1)


ONE = [(1.0, "a", 0.0)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([1, 2], "table must be a dictionary of states, but is list"),
        ({"a": ONE}, r"table\['a'\] must be a dictionary of actions"),
        ({"a": {"x": 3}}, r"table\['a'\]\['x'\] must be a list of outcomes"),
        ({"a": {"x": [(1.0, "a")]}}, r"table\['a'\]\['x'\] holds \(1.0, 'a'\)"),
        ({"a": {"x": [("1", "a", 0.0)]}}, r"table\['a'\]\['x'\]: probability must be a finite number, but is '1'"),
        ({"a": {"x": [(1.5, "a", 0.0)]}}, r"probability must be between 0 and 1, but is 1.5"),
        ({"a": {"x": [(-0.5, "a", 0.0)]}}, r"probability must be between 0 and 1, but is -0.5"),
        ({"a": {"x": [(1.0, "a", np.inf)]}}, r"reward must be a finite number, but is inf"),
        ({"a": {"x": [(1.0, None, 0.0)]}}, r"next state must be a name or a number, but is None"),
        ({"a": {"x": [(1.0, ["a"], 0.0)]}}, r"next state must be a name or a number"),
        ({"a": {"x": [(0.5, "a", 0.0)]}}, "probabilities of state 'a', action 'x' must sum to 1, but sum to 0.5"),
        ({}, "There is no edge with a positive probability"),
    ],
)
def test_malformed_dictionaries(table, message):
    with pytest.raises(ValueError, match=message):
        from_dict(table, horizon=2)


def test_a_wrong_start():
    with pytest.raises(ValueError, match="start names the state 'z', which no edge mentions"):
        from_dict({"a": {"x": ONE}}, horizon=2, start="z")
    with pytest.raises(ValueError, match="start must be a state or a dictionary from states to chances, but is"):
        from_dict({"a": {"x": ONE}}, horizon=2, start=["a"])
    with pytest.raises(ValueError, match="Each row of start must sum to 1"):
        from_dict({"a": {"x": ONE}}, horizon=2, start={"a": 0.5})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "", "is empty: its first line must name the columns state, action"),
        (
            "e.csv",
            "state,action,nextstate,probability,reward\n",
            r"no column 'next_state' \(did you mean 'nextstate'\?",
        ),
        ("e.csv", "s,action,next_state,probability,reward\n", "no column 'state'"),
        ("e.csv", "state,action,next_state,probability,reward\n", "There is no edge with a positive probability"),
        ("e.csv", "state,action,next_state,probability,reward\na,x,a,1\n", "line 2: there are 4 cells, but 5 columns"),
        (
            "e.csv",
            "state,action,next_state,probability,reward\na,x,a,1,0\na,x,b,one,0\n",
            "line 3: probability must be",
        ),
        ("e.csv", "state,action,next_state,probability,reward\na,x,a,1,\n", "line 2: reward must be a finite number"),
        ("e.csv", "state,action,next_state,probability,reward\na,x,,1,0\n", "line 2: next state must be a name"),
        ("e.csv", "state,action,next_state,probability,reward\na,x,a,nan,0\n", "line 2: probability must be a finite"),
        (
            "e.csv",
            "state,action,next_state,probability,reward,terminated\na,x,a,1,0,maybe\n",
            "terminated must be true or",
        ),
        ("e.csv", "state,action,next_state,probability,reward\na,x,b,0.4,0\n", "'a', action 'x' must sum to 1"),
        ("e.csv", b"\xff\xfe\x00bad", "is not a readable UTF-8 text table"),
        ("e.csv", 'state,action\n"a,x', "is not a readable UTF-8 text table"),
        ("e.parquet", b"PAR1 this is not it PAR1", "is not a readable Parquet file"),
        ("e.xlsx", "", "must end in .csv, .tsv, .parquet or .pq"),
    ],
)
def test_malformed_edge_lists(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        from_edges(path, horizon=2)


def test_malformed_columns(tmp_path):
    columns = {"state": ["a"], "action": ["x"], "next_state": ["a"], "probability": [1.0], "reward": [0.0, 1.0]}
    with pytest.raises(ValueError, match="must have the same length"):
        from_edges(columns, horizon=2)
    with pytest.raises(ValueError, match="columns renames 'origin'"):
        from_edges(columns, horizon=2, columns={"origin": "state"})
    with pytest.raises(ValueError, match="There is no file"):
        from_edges(tmp_path / "none.csv", horizon=2)
    with pytest.raises(ValueError, match="must be the path of a file, a data frame or a dictionary of columns"):
        from_edges(3, horizon=2)
    with pytest.raises(ValueError, match="change with the step"):
        to_edges(environments.hard_tree())


def test_edges_by_name(tmp_path):
    path = write_csv(tmp_path / "machine.csv", rows_of_the_machine())
    assert_is_the_machine(environments.make("from-edges", source=path, horizon=5), 5)
    with pytest.raises(ValueError, match="needs the parameter 'source'"):
        environments.make("from-edges", horizon=5)
