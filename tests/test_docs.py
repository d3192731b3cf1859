"""The documentation tells the truth: its code runs, its commands exist, its links lead somewhere."""

import importlib
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

import eluder
from eluder.cli import console
from eluder.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages whose code has tests of its own.
_ELSEWHERE = {"environments.md"}
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in _ELSEWHERE or page.parent != DOCS]
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *PAGES]}
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMANDS = typer.main.get_command(app)


def blocks(text: str, *kinds: str) -> list[tuple[str, str]]:
    return [(kind, code) for kind, code in FENCE.findall(text) if kind in kinds]


def command_lines(kind: str, code: str) -> list[list[str]]:
    """The commands of a block. In a console block they stand behind a prompt, if it has any."""
    if not kind and not code.startswith(("eluder ", "make ")):
        return []  # a block of some other text
    lines = code.replace("\\\n", " ").splitlines()
    if kind == "console" and any(line.startswith("$ ") for line in lines):
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def not_run(text: str, start: int) -> bool:
    """Whether a block is marked as one that cannot run here, such as a recipe for SLURM; it is compiled anyway."""
    return bool(re.search(r"<!-- not run: [^>]+ -->\s*$", text[:start]))


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if blocks(text, "python")])
def test_python_and_tutorial_commands_run(name, tmp_path, monkeypatch, capsys):
    """Every block of a page in order, in an empty folder. The tutorial's commands run word for word too."""
    monkeypatch.chdir(tmp_path)
    text, namespace = TEXTS[name], {"__name__": "page"}
    for match in FENCE.finditer(text):
        kind, code = match.groups()
        line = text[: match.start()].count("\n") + 1
        if kind == "python":
            compiled = compile("\n" * line + code, name, "exec")
            if not not_run(text, match.start()):
                exec(compiled, namespace)
        elif kind == "toml" and (told := re.search(r"`([\w.-]+\.toml)`:\s*$", text[: match.start()])):
            (tmp_path / told[1]).write_text(code, encoding="utf-8")
        elif kind == "bash" and name == "docs/tutorial.md":
            for words in command_lines(kind, code):
                if words[0] == "eluder":
                    done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
                    assert done.exit_code == 0, done.output
    console.set_output(quiet=False, json=False)


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if blocks(text, "bash", "console", "")])
def test_commands_exist(name):
    """Commands are parsed, not run: names, options and arguments exist; targets of make do too."""
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for kind, code in blocks(TEXTS[name], "bash", "console", ""):
        if kind == "bash":
            assert subprocess.run(["bash", "-n"], input=code, text=True, check=False).returncode == 0
        for words in command_lines(kind, code):
            if words[0] == "make":
                assert set(words[1:]) <= set(targets), words
            elif words[0] == "eluder":
                given = [word for word in words[1:] if word not in ("--json", "--quiet", "-q")]
                if given[0].startswith("--"):
                    known = {option for param in COMMANDS.params for option in param.opts}
                    assert given[0] in known | {"--help", "--install-completion", "--show-completion"}
                    continue
                assert given[0] in COMMANDS.commands, words
                COMMANDS.commands[given[0]].make_context(given[0], given[1:])  # raises on what does not exist


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if blocks(text, "toml")])
def test_specs_are_specs(name):
    from eluder.experiments import Spec

    for _, code in blocks(TEXTS[name], "toml"):
        if "episodes" in tomllib.loads(code):
            assert Spec.from_toml(code).series()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly: a link that leads nowhere is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", "mkdocs.yml", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


# What users import. Everything public in them must be in the reference.
PACKAGES = ("agents", "environments", "models", "oracles", "uncertainty", "theory", "experiments")
MODULES = (
    *("recording", "diagnostics", "moments", "comparison", "experiments.catalogue"),
    *(f"report.{name}" for name in ("figures", "series", "statistics", "page", "xray", "stored", "style", "jupyter")),
)


def public_names() -> list[str]:
    names = [f"eluder.{name}" for name in eluder.__all__]
    for package in PACKAGES:
        found = importlib.import_module(f"eluder.{package}")
        own = (n for n, thing in vars(found).items() if getattr(thing, "__module__", "").startswith(found.__name__))
        names += [f"eluder.{package}.{n}" for n in getattr(found, "__all__", own) if not n.startswith("_")]
    for module in MODULES:
        found = importlib.import_module(f"eluder.{module}")
        own = (name for name, thing in vars(found).items() if getattr(thing, "__module__", "") == found.__name__)
        names += [f"eluder.{module}.{name}" for name in own if not name.startswith("_")]
    return names


def test_every_public_name_is_in_the_reference(site):
    inventory = (site / "objects.inv").read_bytes()
    listed = zlib.decompress(inventory[inventory.index(b"zlib.\n") + 6 :]).decode().splitlines()
    documented = {line.split()[0] for line in listed}
    assert [name for name in public_names() if not {name, canonical(name)} & documented] == []


def canonical(name: str) -> str:
    """Where a name is defined: a function in a file of its own name is documented there."""
    module, _, last = name.rpartition(".")
    thing = getattr(importlib.import_module(module), last)
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"


def test_every_public_package_is_checked():
    """A new package with public names has to be added to the list above."""
    found = {module.name for module in pkgutil.iter_modules(eluder.__path__) if module.ispkg}
    assert found - {"cli", "kernels", "regression", "report"} == set(PACKAGES)


def test_every_public_name_has_a_docstring():
    missing = []
    for name in public_names():
        module, _, last = name.rpartition(".")
        thing = getattr(importlib.import_module(module), last)
        if (callable(thing) or isinstance(thing, type)) and not thing.__doc__:
            missing.append(name)
    assert missing == []


def test_the_site_fetches_nothing_from_elsewhere(site):
    """No scripts, styles or fonts of other hosts: the site works offline."""
    for page in site.rglob("*.html"):
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text(encoding="utf-8")):
            assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag) or 'rel="canonical"' in tag, (page, tag)


def test_every_figure_is_small_and_has_its_command():
    for picture in (DOCS / "figures").rglob("*.*"):
        assert picture.stat().st_size < 200_000, picture
    for name, text in TEXTS.items():
        if "figures/" in text:
            assert re.search(r"eluder \w+|python -m|python tools/", text), f"{name} shows a figure but no command"


def test_every_command_is_in_the_reference():
    page = TEXTS["docs/reference/command-line.md"]
    assert [name for name in COMMANDS.commands if f"`eluder {name}`" not in page] == []
    for code in (console.FAILED, console.BAD_INPUT, console.STOPPED):
        assert f"| {code} |" in page


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run_and_were_run(notebook, tmp_path, monkeypatch, capsys):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert [output for output in outputs if "image/png" in output.get("data", {})]
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "notebook"}
    for number, cell in enumerate(code, 1):
        exec(compile("".join(cell["source"]), f"{notebook.name}, cell {number}", "exec"), namespace)
        # What is printed is what the notebook says, but for numbers, whose last digits another CPU may change.
        told = "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")
        assert without_numbers(capsys.readouterr().out) == without_numbers(told)


def without_numbers(text: str) -> str:
    return re.sub(r" *-?\d[\d.]*", " #", text)


def test_there_are_two_notebooks():
    assert len(list((ROOT / "examples").glob("*.ipynb"))) == 2
