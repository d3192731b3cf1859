"""What all commands share: the console, progress bars, and how errors end."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

console = Console()
errors = Console(stderr=True)

# Exit codes: 0 done, 1 the work failed, 2 the input was wrong, 130 stopped by Ctrl-C.
FAILED, BAD_INPUT, STOPPED = 1, 2, 130


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
        disable=not errors.is_terminal,
    )


def run_app(app: typer.Typer) -> None:
    """Runs the app; one sentence for each error that a user can fix."""
    try:
        app()
    except KeyboardInterrupt:
        errors.print("Stopped.")
        sys.exit(STOPPED)
    except (ValueError, TypeError) as error:
        errors.print(f"Error: {error}", style="red", highlight=False, markup=False)
        sys.exit(BAD_INPUT)
    except OSError as error:
        errors.print(f"Error: {error}", style="red", highlight=False, markup=False)
        sys.exit(FAILED)


__all__ = ["BAD_INPUT", "FAILED", "STOPPED", "MofNCompleteColumn", "console", "errors", "progress_bar", "run_app"]
