"""What notebooks show of results and MDPs: a small table and a picture, all names escaped."""

from __future__ import annotations

import base64
import io

from matplotlib.figure import Figure

from eluder.mdp import FiniteMDP, optimal_return
from eluder.report import figures, graph
from eluder.report.page import templates
from eluder.report.series import Series
from eluder.report.statistics import mean_interval
from eluder.simulation import Result

_DRAWN_STATES = 40  # larger graphs are not legible at the size of a notebook's cell
_DPI = 110


def result_html(result: Result) -> str:
    """A result: its numbers beside its regret curve."""
    paths, episodes = result.regret.shape
    rows = [("paths", str(paths)), ("episodes", str(episodes)), ("horizon", str(result.horizon))]
    picture = None
    if episodes:
        final = result.regret.sum(axis=1)
        low, high = mean_interval(final)
        rows += [
            ("regret, mean", f"{final.mean():.4g}"),
            ("95 % interval", f"{low:.4g} to {high:.4g}"),
            ("average return", f"{result.returns.mean():.4g}"),
            ("optimal value", f"{result.optimal_value.mean():.4g}"),
        ]
        picture = _png(figures.regret([Series.of(result)], width="column"))
    rows += [("misspecified", f"by {result.misfit:.3g}")] if result.misspecified else []
    rows += [("interrupted", "yes")] if result.interrupted else []
    rows.append(("seconds", f"{result.seconds:.2f}"))
    title = f"{result.agent} on {result.environment}"
    return _html(title, rows, picture, f"Cumulative regret of {title}", 370)


def mdp_html(mdp: FiniteMDP) -> str:
    """An MDP: its sizes and its graph."""
    rows = [
        ("states", str(mdp.states)),
        ("actions", str(mdp.actions)),
        ("successors at most", str(mdp.slots)),
        ("horizon", str(mdp.horizon)),
        ("reward scale", f"{mdp.reward_scale:g}"),
        ("optimal value", f"{optimal_return(mdp):.4g}"),
        ("mixture features", "none" if mdp.features is None else f"d = {mdp.features.shape[-1]}"),
    ]
    picture = _png(graph.draw(mdp)) if mdp.states <= _DRAWN_STATES else None
    return _html(mdp.name, rows, picture, f"The transition graph of {mdp.name}", 620)


def _html(title: str, rows: list[tuple[str, str]], picture: str | None, alt: str, width: int) -> str:
    template = templates().get_template("notebook.html")
    return template.render(title=title, rows=rows, picture=picture, alt=alt, width=width)


def _png(figure: Figure) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI)
    return base64.b64encode(buffer.getvalue()).decode()
