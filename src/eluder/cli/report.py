"""`eluder report`: a result store as one page to look at."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from eluder.cli.console import console, emit, stoppable


def report(
    folder: Annotated[str, typer.Argument(help="A store, a folder of stores, or an fsspec address.")] = "results",
    out: Annotated[Path | None, typer.Option(help="The page to write; report.html in the folder by default.")] = None,
    xray: Annotated[int, typer.Option(min=0, help="Runs to show in the agent x-ray; they are played again.")] = 3,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page to this machine and follow the run.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of --serve; 0 takes a free one.")] = 8765,
) -> None:
    """Write the report page of stored results: one HTML file that needs no network.

    With --serve the page is served at a loopback address and refreshes as the run goes on, until Ctrl-C.
    """
    try:
        from eluder.report.stored import StoredReport
    except ModuleNotFoundError as error:
        raise ValueError(f"The report needs the package {error.name!r}: pip install 'eluder[report]'.") from None
    source = StoredReport(folder, xrays=xray)
    if serve:
        _serve(source, port)
        return
    from eluder.report.page import write

    if out is None and "://" in folder:
        raise ValueError("Results at an address need a place for the page: give --out FILE.")
    with stoppable("Stopped; no page was written."):
        path = write(out or Path(folder) / "report.html", source.report())
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    console.print(f"{path} ({size}). Open it in any browser.", markup=False, highlight=False, soft_wrap=True)
    emit({"page": path, "bytes": path.stat().st_size})


def _serve(source, port: int) -> None:
    from eluder.report.serve import Server

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with Server(source, port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        console.print(f"Following {source.folder} at {server.address} until Ctrl-C.", markup=False, soft_wrap=True)
        stop.wait()
        server.shutdown()
        thread.join()
    console.print("Stopped.")
