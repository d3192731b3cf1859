"""`eluder report` on real stores: what the page shows is what `eluder.load` returns; the server that follows a run."""

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import eluder
from eluder.cli import console
from eluder.cli.app import app
from eluder.experiments.run import prepare, run
from eluder.experiments.spec import Part, Spec
from eluder.report import page, serve
from eluder.report.stored import StoredReport, _xray

SPEC = Spec(
    name="small",
    title="A small <river>",
    environments=(Part.of("riverswim", states=4, horizon=6),),
    agents=(Part.of("random"), Part.of("ucrl-wvtr")),
    episodes=12,
    paths=3,
    record=(),
)


def data_of(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    run(prepare(SPEC, str(folder)))
    return folder / "small"


def test_the_page_shows_what_load_returns(store):
    report = StoredReport(store, xrays=1).report()
    text = page.render(report)
    table = eluder.load(store)
    for one in data_of(text)["series"]:
        rows = table[table.agent == one["agent"]]
        truth = rows.groupby("episode")["cumulative_regret"].mean()
        assert one["episodes"] == truth.index.tolist()
        assert np.allclose(one["regret"]["mean"], truth.to_numpy(), rtol=1e-5)
    assert report.title == "A small <river>"
    assert "A small &lt;river&gt;" in text
    assert report.spec is not None
    assert Spec.from_toml(report.spec) == SPEC
    assert {"eluder", "jax", "backend", "precision", "finished"} <= report.provenance.keys()
    assert report.notes == []


def test_the_xray_is_of_the_stored_paths(store):
    (x,) = StoredReport(store, xrays=1).report().xrays
    assert x.agent == "UCRL-WVTR"  # Random is not worth one
    table = eluder.load(store)
    for path, views in enumerate(x.paths):
        rows = table[(table.agent == x.agent) & (table.path == path)].set_index("episode")
        for view in views:
            assert view.regret == rows.regret[view.episode]  # the same bits


def test_a_run_under_way_says_so(store, tmp_path):
    run(prepare(SPEC.replace(agents=(Part.of("random"),), episodes=6), str(tmp_path)))
    longer = SPEC.replace(agents=(Part.of("random"),), episodes=12)
    prepare(longer, str(tmp_path))  # writes the spec, computes nothing
    report = StoredReport(tmp_path, xrays=0).report()
    assert "1 of 1 series are not complete" in report.notes[0]
    assert data_of(page.render(report))["series"][0]["episodes"][-1] == 6


def test_damage_is_told_and_the_rest_is_shown(store, tmp_path):
    run(prepare(SPEC, str(tmp_path)))
    victim = sorted((tmp_path / "small").glob("cells/*/*/*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-7])
    report = StoredReport(tmp_path, xrays=0).report()
    assert "is damaged" in " ".join(report.notes)
    assert len(data_of(page.render(report))["series"]) == 1


def test_recorded_diagnostics_become_verdicts(tmp_path):
    spec = SPEC.replace(agents=(Part.of("ucrl-wvtr"),), record=("diagnostics",), episodes=4)
    run(prepare(spec, str(tmp_path)))
    report = StoredReport(tmp_path, xrays=0).report()
    table = eluder.load(tmp_path)
    covered = np.stack(table["covered"].to_list()).all(axis=1)
    paths = sum(covered[table.path == path].all() for path in range(3))
    claims = {row["claim"].split(": ")[1]: row for row in report.verdicts}
    assert claims["f* stays in every confidence set"]["measured"] == f"{paths} of 3 paths covered throughout"
    assert claims["V is never below V*"]["verdict"] == ("holds" if (table.pessimistic == 0).all() else "fails")


def test_environments_from_elsewhere_are_not_opened_for_an_xray(tmp_path):
    """A store may come from a stranger: its spec must not make the report read other files or import modules."""
    (series,) = SPEC.replace(agents=(Part.of("ucrl-wvtr"),)).series()
    assert "read from elsewhere" in _xray(replace(series, environment="from-gymnasium"))
    huge = replace(series, environment_params=(("states", 10**9),))
    assert "too large" in _xray(huge)


def test_an_empty_folder_gets_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="holds no results yet"):
        StoredReport(tmp_path).report()


@pytest.fixture
def server(tmp_path):
    run(prepare(SPEC.replace(agents=(Part.of("random"),), episodes=5), str(tmp_path)))
    with serve.Server(StoredReport(tmp_path, xrays=0)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server, tmp_path
        server.shutdown()
        thread.join()


def fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()


def test_the_server_follows_the_store(server, monkeypatch):
    server, folder = server
    monkeypatch.setattr(serve, "_SECONDS", 0.0)
    assert server.address.startswith("http://127.0.0.1:")
    first = fetch(server.address)
    version = fetch(server.address + "version")
    assert f'data-version="{version}"' in first
    assert data_of(first)["series"][0]["episodes"][-1] == 5
    run(prepare(SPEC.replace(agents=(Part.of("random"),), episodes=9), str(folder)))
    assert fetch(server.address + "version") != version
    assert data_of(fetch(server.address))["series"][0]["episodes"][-1] == 9


def test_the_server_answers_this_machine_and_its_two_addresses_only(server):
    server, _ = server

    def status(path: str, host: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        connection.request("GET", path, headers={"Host": host})
        with connection.getresponse() as answer:
            answer.read()
        connection.close()
        return answer.status

    own = f"127.0.0.1:{server.server_port}"
    assert status("/version", own) == 200
    assert status("/version", "evil.example") == 403  # a name that was pointed here
    assert status("/../../etc/passwd", own) == 404
    assert server.server_address[0] == "127.0.0.1"


def test_the_command_serves_until_interrupted(store):
    command = [sys.executable, "-m", "eluder.cli", "report", str(store), "--serve", "--port", "0", "--xray", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
            assert "A small &lt;river&gt;" in fetch(address)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0
    assert out.strip() == "Stopped."
    assert errors == ""


def test_the_command_writes_the_page_and_json(store, tmp_path):
    out = tmp_path / "page.html"
    command = [sys.executable, "-m", "eluder.cli", "report", str(store), "--xray", "0", "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"page": str(out), "bytes": out.stat().st_size}
    quiet = CliRunner().invoke(app, ["--quiet", "report", str(store), "--xray", "0", "--out", str(out)])
    assert (quiet.exit_code, quiet.output) == (0, "")
    console.set_output(quiet=False, json=False)
    missing = subprocess.run([*command[:4], str(tmp_path / "none")], capture_output=True, text=True, check=False)
    assert missing.returncode == 2
    assert "holds no results yet" in " ".join(missing.stderr.split())
    assert "Traceback" not in missing.stderr
