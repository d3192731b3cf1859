"""What all commands share: the console, progress bars, and how errors end."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

if TYPE_CHECKING:
    from eluder.experiments.run import Events, Job

console = Console()
errors = Console(stderr=True)

# Whether results are printed as JSON; see `set_output`.
_as_json = False

_EVERYWHERE = ("--quiet", "-q", "--json")

# Exit codes: 0 done, 1 the work failed, 2 the input was wrong, 130 stopped by Ctrl-C.
FAILED, BAD_INPUT, STOPPED = 1, 2, 130


def set_output(*, quiet: bool, json: bool) -> None:
    """What the options --quiet and --json ask for: both silence the text and the progress bar."""
    global _as_json
    _as_json = json
    console.quiet = quiet or json


def emit(content: Mapping[str, Any]) -> None:
    """A command's result for scripts: printed as one JSON object when --json asks for it."""
    if _as_json:
        sys.stdout.write(json.dumps(_plain(content), default=str, ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    """NaN and infinities as null: JSON has no other word for them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class StepRate(ProgressColumn):
    """Environment steps per second since the start."""

    def render(self, task: Task) -> Text:
        if not task.elapsed or not task.completed:
            return Text("")
        return Text(f"{task.completed / task.elapsed / 1e6:.1f} M steps/s", style="cyan")


def progress_bar() -> Progress:
    """A bar that counts environment steps and, in the field `cells`, finished cells."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[cells]}"),
        StepRate(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal or console.quiet,
    )


@contextlib.contextmanager
def following(title: str, jobs: list[Job]) -> Iterator[Events]:
    """A progress bar over jobs that run one after the other. Damaged files are reported as they are found."""
    from eluder.experiments.run import Events

    total, done = sum(len(job.tasks) for job in jobs), 0
    with progress_bar() as bar:
        task = bar.add_task(title, total=sum(job.missing() for job in jobs), cells=f"0/{total} cells")

        def finished() -> None:
            nonlocal done
            done += 1
            bar.update(task, cells=f"{done}/{total} cells")

        def waiting(count: int) -> None:
            bar.update(task, cells=f"{done}/{total} cells, {count} with other processes")

        yield Events(lambda steps: bar.advance(task, steps), finished, waiting, complain)


def complain(sentence: str) -> None:
    errors.print(sentence, style="yellow", highlight=False, markup=False, soft_wrap=True)


@contextlib.contextmanager
def stoppable(sentence: str) -> Iterator[None]:
    """Ctrl-C inside ends the program with a sentence; so does a request to end, as batch systems send it."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        leave(sentence)


def leave(sentence: str) -> NoReturn:
    """Ends a stopped run at once: compiled code that is still running is not waited for, its work is in the store."""
    errors.print(sentence, highlight=False, markup=False, soft_wrap=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(STOPPED)


def run_app(app: typer.Typer) -> None:
    """Runs the app; one sentence for each error that a user can fix."""
    # --quiet and --json hold for every command, so they may also stand behind its name.
    given, rest = sys.argv[1:], []
    if "--" in given:
        given, rest = given[: given.index("--")], given[given.index("--") :]
    common = [word for word in given if word in _EVERYWHERE]
    try:
        app([*common, *(word for word in given if word not in _EVERYWHERE), *rest])
    except KeyboardInterrupt:
        errors.print("Stopped.")
        sys.exit(STOPPED)
    except (ValueError, TypeError) as error:
        errors.print(f"Error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
        sys.exit(BAD_INPUT)
    except OSError as error:
        errors.print(f"Error: {_told(error)}", style="red", highlight=False, markup=False, soft_wrap=True)
        sys.exit(FAILED)


def _told(error: OSError) -> str:
    """An error of the system in one sentence, with the file where it names one."""
    text = error.strerror or str(error)
    return f"{error.filename}: {text}." if error.filename else f"{text.rstrip('.')}."


__all__ = [
    "BAD_INPUT",
    "FAILED",
    "STOPPED",
    "complain",
    "console",
    "emit",
    "errors",
    "following",
    "leave",
    "progress_bar",
    "run_app",
    "set_output",
    "stoppable",
]
