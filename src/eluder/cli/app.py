"""The commands, each in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from eluder.cli import console
from eluder.cli.compare import compare
from eluder.cli.report import report
from eluder.cli.reproduce import reproduce
from eluder.cli.run import run
from eluder.cli.show import list_catalogue, show
from eluder.cli.study import study
from eluder.cli.verify import verify

app = typer.Typer(
    name="eluder",
    help="Provably efficient reinforcement learning that really runs.",
    epilog="Exit codes: 0 done, 1 the work failed, 2 the input was wrong, 130 stopped by Ctrl-C. "
    "Colours follow the terminal and NO_COLOR.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from eluder import __version__

        typer.echo(f"eluder {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text, for scripts.")] = False,
) -> None:
    del version
    console.set_output(quiet=quiet, json=json)


app.command()(reproduce)
app.command()(run)
app.command("list")(list_catalogue)
app.command()(show)
app.command()(report)
app.command()(compare)
app.command()(study)
app.command()(verify)
