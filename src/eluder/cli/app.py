"""The commands, each in a file of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from eluder.cli.reproduce import reproduce
from eluder.cli.run import run
from eluder.cli.show import list_catalogue, show

app = typer.Typer(
    name="eluder",
    help="Provably efficient reinforcement learning that really runs.",
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
) -> None:
    del version


app.command()(reproduce)
app.command()(run)
app.command("list")(list_catalogue)
app.command()(show)
