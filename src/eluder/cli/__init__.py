"""The command line: `eluder --help`."""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point. Errors that a user can fix are one sentence on standard error, never a traceback."""
    try:
        from eluder.cli.app import app
    except ModuleNotFoundError as error:
        sys.exit(f"eluder's command line needs the package {error.name!r}: pip install 'eluder[cli]'.")
    from eluder.cli.console import run_app

    run_app(app)
