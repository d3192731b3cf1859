"""What all commands share: JSON for scripts, silence on request, one sentence and an exit code for each error."""

import json
import os
import subprocess
import sys

import pytest

from eluder import agents, environments
from eluder.cli import console
from eluder.cli.app import app


@pytest.fixture
def eluder(monkeypatch, capsys):
    """Runs a command line as the program would: its exit code, standard output and standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["eluder", *words])
        with pytest.raises(SystemExit) as ended:
            console.run_app(app)
        console.set_output(quiet=False, json=False)
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def test_json_is_one_object_wherever_the_option_stands(eluder):
    code, out, err = eluder("list", "--json")
    assert (code, err) == (0, "")
    content = json.loads(out)
    assert tuple(content["agents"]) == agents.names()
    assert tuple(content["environments"]) == environments.names()
    assert "figure-2" in content["specs"]
    assert eluder("--json", "list") == (0, out, "")


def test_json_of_a_spec(eluder):
    code, out, _ = eluder("show", "figure-2", "--no-estimate", "--json")
    assert code == 0
    # 2 horizons × 4 agents × 10 paths × 5000 episodes.
    assert json.loads(out) == {"name": "figure-2", "series": 8, "steps": 4 * 10 * 5000 * (20 + 100), "seconds": None}


def test_quiet_says_nothing(eluder):
    assert eluder("list", "--quiet") == (0, "", "")
    assert eluder("-q", "show", "figure-2", "--no-estimate") == (0, "", "")


def test_words_behind_two_dashes_are_not_options(eluder):
    code, _, err = eluder("show", "--", "--json")
    assert code == console.BAD_INPUT
    assert "There is no spec '--json'" in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("show", "figure-3"), "There is no spec 'figure-3' (did you mean 'figure-"),
        (("reproduce", "figure-9"), "There is no experiment 'figure-9'"),
        (("report", "no-such-folder"), "holds no results yet"),
    ],
)
def test_wrong_input_gets_a_sentence_and_code_2(eluder, words, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = eluder(*words)
    assert code == console.BAD_INPUT == 2
    assert out == ""
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err


def test_numbers_that_json_has_no_word_for_are_null(capsys):
    console.set_output(quiet=False, json=True)
    console.emit({"a": [float("nan"), 1.5, {"b": float("inf")}]})
    console.set_output(quiet=False, json=False)
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5, {"b": None}]}


def test_no_color_is_respected():
    """With colours forced on, errors are red; NO_COLOR has the last word."""
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    script = "from eluder.cli.console import errors; errors.print('wrong', style='red')"

    def shown(**variables: str) -> str:
        command = [sys.executable, "-c", script]
        environment = plain | {"TERM": "xterm-256color", "FORCE_COLOR": "1"} | variables
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr

    assert "\x1b[31m" in shown()
    assert "\x1b[31m" not in shown(NO_COLOR="1")
