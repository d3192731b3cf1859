"""The report page's content, read as a browser's parser would read it but without running it."""

import html.parser
import json
import re

import numpy as np
import pandas as pd
import pytest

import eluder
from eluder.report import colours, page, statistics
from eluder.report.series import Series, as_series, checkpoints, groups, last_common
from eluder.report.xray import TERMS, to_data, xray

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}"


class Page(html.parser.HTMLParser):
    """All tags with their attributes, and all text outside scripts and styles."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if self.inside and tag == self.inside[-1]:
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)
        elif self.inside[-1] == "script":
            self.scripts.append(data)


def data_of(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


@pytest.fixture(scope="module")
def river():
    return eluder.environments.riverswim(states=4, horizon=8)


@pytest.fixture(scope="module")
def results(river):
    agents = [eluder.agents.UCRLWVTR(river.linear_mixture()), eluder.agents.Random()]
    return [eluder.simulate(river, agent, episodes=40, paths=6, seed=1) for agent in agents]


def test_curves_and_table_show_the_results_numbers(results):
    text = page.render(page.Report("Two agents", results))
    shown = data_of(text)["series"]
    assert [one["agent"] for one in shown] == [result.agent for result in results]
    for one, result in zip(shown, results, strict=True):
        curves = np.cumsum(result.regret, axis=1)
        assert one["episodes"] == list(range(1, 41))
        assert np.allclose(one["regret"]["mean"], curves.mean(axis=0), rtol=1e-5)
        low, high = one["regret"]["bands"]["std"]
        assert np.allclose(high, curves.mean(axis=0) + curves.std(axis=0, ddof=1), rtol=1e-5)
        assert np.allclose(low, curves.mean(axis=0) - curves.std(axis=0, ddof=1), rtol=1e-5, atol=1e-5)
        average = np.cumsum(result.returns, axis=1) / np.arange(1, 41)
        assert np.allclose(one["average"]["mean"], average.mean(axis=0), rtol=1e-5)
        assert set(one["regret"]["bands"]) == set(statistics.BANDS)
        assert f"{curves[:, -1].mean():.4g}" in text


def test_the_table_names_the_best_agent_and_the_paired_test(results):
    parsed = Page(page.render(page.Report("Two agents", results)))
    finals = [result.regret.sum(axis=1) for result in results]
    test = statistics.paired_tests({"a": finals[0], "b": finals[1]})[0]
    assert any(tag == "tr" and attrs.get("class") == "best" for tag, attrs in parsed.tags)
    assert any(f"{abs(test.difference):.4g}" in text for text in parsed.text)
    assert any(f"{test.adjusted:.4g}" in text for text in parsed.text)


def test_hostile_names_stay_text(results):
    hostile = [Series.of(results[0], experiment=HOSTILE, agent=HOSTILE)._replace(environment=HOSTILE)]
    report = page.Report(
        HOSTILE,
        hostile,
        spec=HOSTILE,
        provenance={HOSTILE: HOSTILE},
        verdicts=[dict.fromkeys(("claim", "expected", "measured", "verdict"), HOSTILE)],
        notes=[HOSTILE],
    )
    honest = Page(page.render(page.Report("x", results[:1])))
    text = page.render(report)
    parsed = Page(text)
    count = [sum(tag == "script" for tag, _ in p.tags) for p in (parsed, honest)]
    assert count[0] == count[1]  # none came with a name
    assert not any(tag == "img" for tag, _ in parsed.tags)
    assert not any(name.startswith("on") for _, attrs in parsed.tags for name in attrs)
    assert "49" not in "".join(parsed.text)  # the template engine did not run {{7*7}}
    assert "".join(parsed.text).count(HOSTILE) >= 8
    assert data_of(text)["series"][0]["agent"] == HOSTILE


def test_the_policy_forbids_every_script_and_request_that_is_not_the_pages_own(results):
    import base64
    import hashlib

    text = page.render(page.Report("x", results))
    parsed = Page(text)
    policy = next(attrs["content"] for tag, attrs in parsed.tags if attrs.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    run = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in run} == allowed
    assert not [a for _, a in parsed.tags if a.get("src") or str(a.get("href", "#"))[:1] not in ("#", "d")]


def test_a_live_page_may_ask_its_own_server_only(results):
    text = page.render(page.Report("x", results), version="7")
    policy = next(attrs["content"] for _, attrs in Page(text).tags if attrs.get("http-equiv"))
    assert "connect-src 'self';" in policy
    assert '<html lang="en" data-version="7">' in text


def test_accessible_structure(results, river):
    x = xray(river, eluder.agents.Random(), episodes=3, paths=1)
    parsed = Page(page.render(page.Report("x", results, xrays=[x])))
    tags = parsed.tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in tags:  # every reference has its target
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert attrs.get(name, ids[0]) in ids
    assert ("html", {"lang": "en"}) in tags
    assert sum(tag == "h1" for tag, _ in tags) == 1
    assert all("scope" in attrs for tag, attrs in tags if tag == "th")
    assert all("aria-labelledby" in attrs for tag, attrs in tags if attrs.get("role") == "img")


def test_paths_are_written_whole_or_not_at_all(results, tmp_path):
    target = page.write(tmp_path / "deep" / "report.html", page.Report("x", results))
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in target.parent.iterdir()] == ["report.html"]
    with pytest.raises(ValueError, match="nothing to report"):
        page.write(target, page.Report("x", []))
    assert target.stat().st_size > 1e6


def test_checkpoints_have_both_ends_and_few_points():
    assert checkpoints(5).tolist() == [1, 2, 3, 4, 5]
    points = checkpoints(100_000)
    assert points[0] == 1
    assert points[-1] == 100_000
    assert len(points) <= 300
    assert (np.diff(points) > 0).all()


def test_series_from_results_are_exact_sums(river):
    rng = np.random.default_rng(0)
    result = eluder.simulate(river, eluder.agents.Random(), episodes=2, paths=2)
    regret = rng.random((3, 5000))
    series = Series.of(result._replace(regret=regret, returns=2 * regret))
    sums = np.cumsum(regret, axis=1)[:, series.episodes - 1]
    assert np.allclose(series.regret, sums, rtol=1e-12)
    assert np.allclose(series.average_return, 2 * sums / series.episodes, rtol=1e-12)


def test_series_from_a_table_equal_those_from_results(results):
    rows = []
    for result in results:
        for path in range(6):
            for episode in range(40):
                regret, collected = result.regret[path, episode], result.returns[path, episode]
                rows.append((result.environment, 8, result.agent, path, episode + 1, regret, collected))
    names = ["environment", "horizon", "agent", "path", "episode", "regret", "return"]
    table = pd.DataFrame(rows, columns=names).sample(frac=1, random_state=0)
    found = {one.agent: one for one in as_series(table)}
    for result in results:
        one, truth = found[result.agent], Series.of(result)
        assert np.allclose(one.regret, truth.regret)
        assert np.allclose(one.returns, truth.returns)
    with pytest.raises(ValueError, match="some paths lack episodes"):
        as_series(table.iloc[1:])
    with pytest.raises(ValueError, match="lacks the column 'agent'"):
        as_series(table.drop(columns="agent"))


def test_series_under_way_are_compared_where_all_have_come(results):
    whole, half = Series.of(results[0]), Series.of(results[1])
    half = half._replace(episodes=half.episodes[:10], regret=half.regret[:, :10], returns=half.returns[:, :10])
    assert last_common([whole, half]) == 10
    assert np.array_equal(whole.final_regret(10), whole.regret[:, 9])
    assert [len(group) for group in groups([whole, half]).values()] == [2]
    twice = groups([whole, half._replace(agent=whole.agent)])
    assert len({one.agent for one in next(iter(twice.values()))}) == 2


def test_looks_are_the_same_everywhere_and_differ_within_a_panel():
    river = eluder.environments.riverswim()
    labels = [eluder.agents.make(name, river).label for name in eluder.agents.names()]
    alone = [colours.look(label) for label in labels]
    assert len(set(alone)) == len(set(labels))  # no two agents of the library look the same
    assert list(colours.looks(labels).values()) == alone
    variants = colours.looks(["UCRL-WVTR", "UCRL-WVTR (multiplier = 0.1)", "UCRL-WVTR (multiplier = 0.2)"])
    assert len(set(variants.values())) == 3
    assert len({look.colour for look in variants.values()}) == 1


def test_xray_is_the_run_itself(river):
    """Against an independent record of everything: `simulate` with `Trace`."""
    agent = eluder.agents.UCRLWVTR(river.linear_mixture())
    truth = eluder.simulate(river, agent, episodes=60, paths=3, seed=5, record=[eluder.recording.Trace(river)])
    data = to_data(xray(river, agent, episodes=60, paths=2, seed=5))
    solution = river.solve()
    assert data["steps"] == list(range(1, 9))
    assert np.allclose(data["optimal"], solution.values[:-1], rtol=1e-5)
    for path in range(2):
        assert [view["episode"] for view in data["paths"][path]][-1] == 60
        for view in data["paths"][path]:
            k = view["episode"] - 1
            record = {name: values[path, k] for name, values in truth.records.items()}
            assert view["regret"] == pytest.approx(truth.regret[path, k], rel=1e-5, abs=1e-9)
            assert view["state"] == record["state"].tolist()
            assert view["action"] == record["action"].tolist()
            assert view["policy"] == record["policy"].tolist()
            assert np.allclose(view["values"], river.reward_scale * record["values"][:-1], rtol=1e-5, atol=1e-6)
            assert np.allclose(view["weights"], record["weights"].T, rtol=1e-5)
            assert np.allclose(view["bonus"], record["bonus"][:, 0], rtol=1e-5)
            states = truth.records["state"][path, : k + 1].ravel()
            actions = truth.records["action"][path, : k + 1].ravel()
            visits = np.zeros((4, 2), dtype=int)
            np.add.at(visits, (states, actions), 1)
            assert view["visits"] == visits.tolist()
            moves = np.stack([states, truth.records["next_state"][path, : k + 1].ravel()], axis=1)
            counted = [int((moves == edge).all(axis=1).sum()) for edge in data["edges"]]
            assert view["edge_visits"] == counted
            assert sum(counted) == 8 * (k + 1)
            chosen = np.take_along_axis(np.asarray(solution.q_values), record["policy"][..., None], axis=-1)[..., 0]
            assert np.allclose(view["loss"], np.asarray(solution.values)[:-1] - chosen, atol=1e-5)
            for level, row in enumerate(view["terms"]):
                for h, term in enumerate(row):  # the term named is the weight
                    assert record[TERMS[term]][h, level] == record["weights"][h, level]


def test_xray_of_a_large_environment_keeps_the_visited_states():
    deep = eluder.environments.deep_sea(17)
    data = to_data(xray(deep, eluder.agents.Random(), episodes=5, paths=1))
    assert data["all_states"] == deep.states > 120
    assert len(data["state_names"]) == 120
    visited = set().union(*(view["state"] for view in data["paths"][0]))
    assert visited <= set(data["state_numbers"])
    assert data["paths"][0][0]["bonus"] is None
    with pytest.raises(ValueError, match="too large for an x-ray"):
        xray(eluder.environments.deep_sea(100), eluder.agents.Random(), episodes=1)


def test_notebooks_show_a_table_and_a_picture(results, river):
    shown = Page(results[0]._repr_html_())
    assert f"{results[0].regret.sum(axis=1).mean():.4g}" in shown.text
    assert sum(tag == "img" and attrs["src"].startswith("data:image/png;base64,") for tag, attrs in shown.tags) == 1
    shown = Page(river._repr_html_())
    value = float(river.solve().values[0, 0])
    assert f"{value:.4g}" in shown.text
    assert "d = 3" in shown.text
    assert sum(tag == "img" for tag, _ in shown.tags) == 1


def test_notebooks_escape_names_and_leave_out_graphs_that_are_too_large(results):
    text = results[0]._replace(agent=HOSTILE, environment=HOSTILE)._repr_html_()
    parsed = Page(text)
    assert not any(tag == "script" or "onerror" in attrs for tag, attrs in parsed.tags)
    assert f"{HOSTILE} on {HOSTILE}" in "".join(parsed.text)
    large = Page(eluder.environments.deep_sea(12)._repr_html_())
    assert not any(tag == "img" for tag, _ in large.tags)


def test_notebooks_fall_back_to_text_without_the_extra(results, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "eluder.report.jupyter", None)
    assert results[0]._repr_html_() is None
