"""The report page: one HTML file with everything in it.

    from eluder.report import page
    page.write("report.html", page.Report("My comparison", series=[result_a, result_b]))

The page fetches nothing. Its content policy lets only the scripts run that were put into it here, so that a name from
a result file cannot bring one along; and every name is escaped by the template engine, or shown as plain text.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import os
import platform
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

import eluder
from eluder.report import colours, statistics
from eluder.report.series import Group, Series, as_series, groups, last_common
from eluder.report.xray import Xray, plain, to_data

# The dashes of `colours.Look.dash` for SVG swatches, as in the figures.
_DASHES = ("", "7 3", "6 2 1.5 2", "1.5 2", "8 2 2 2", "10 3", "5 2", "2 2")

_CARDS = (
    ("x-graph", "Where it went", "Visits up to the end of this episode. The state at step h has a thick rim."),
    ("x-values", "Optimistic value against V*", "At step h. An optimistic agent is never below the grey bar."),
    ("x-gap", "Optimism left: V − V*", "At every step and state; the line is the way this episode took."),
    (
        "x-policy",
        "The policy against π*",
        "What the chosen action loses against the best: V* − Q*.",
    ),
    ("x-bonus", "Bonus along the way", "β̂·D at each step of the episode."),
    (
        "x-weights",
        "Weights σ̄² by level",
        "Set by the moment term: circle; the floor: square; uncertainty: triangle.",
    ),
    ("x-coverage", "Is the truth in the confidence set?", "A bar under the dashed line: f* is within the radius."),
)


@dataclass(frozen=True)
class Report:
    """What a page shows. `series` may be results, series, or the table of `eluder.load`."""

    title: str
    series: Any
    xrays: Sequence[Xray] = ()
    spec: str | None = None  # TOML
    provenance: Mapping[str, str] = field(default_factory=dict)
    verdicts: Sequence[Mapping[str, Any]] = ()  # each with claim, expected, measured, verdict
    notes: Sequence[str] = ()  # shown on top, such as that a run is not finished


def render(report: Report, *, version: str | None = None) -> str:
    """The page as text. With a `version` it asks its server every two seconds whether there is a newer one."""
    series = as_series(report.series)
    if not series:
        raise ValueError("There is nothing to report: no result was given.")
    by_group = groups(series)
    series = [one for of_group in by_group.values() for one in of_group]
    looks = colours.looks(one.agent for one in series)
    rows, pairs = _summary(by_group, looks)
    scripts = [_static(name) for name in ("base.js", "curves.js", "xray.js")]
    scripts = [_plotly(), *scripts]
    return (
        templates()
        .get_template("report.html")
        .render(
            title=report.title,
            lead=_lead(series, by_group),
            live=version,
            policy=_policy(scripts, live=version is not None),
            style=Markup(_static("report.css")),
            scripts=[Markup(script) for script in scripts],
            notes=report.notes,
            columns=_columns(_several_experiments(series)),
            rows=rows,
            pairs=pairs,
            groups=[_title(group, _several_experiments(series)) for group in by_group],
            bands={key: name for key, (name, _) in statistics.BANDS.items()},
            xrays=[f"{x.agent} on {x.environment.name}, H = {x.environment.horizon}" for x in report.xrays],
            cards=_CARDS,
            verdicts=report.verdicts,
            spec=report.spec,
            provenance=dict(report.provenance) or _this_machine(),
            version=eluder.__version__,
            data={
                "series": [
                    _curves(one, number, looks) for number, of_group in enumerate(by_group.values()) for one in of_group
                ],
                "xrays": [to_data(x) for x in report.xrays],
            },
        )
    )


def write(path: Path | str, report: Report) -> Path:
    """Writes the page, at once or not at all."""
    text, path = render(report), Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".html", delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o644)
    os.replace(file.name, path)
    return path


def _several_experiments(series: Sequence[Series]) -> bool:
    return len({one.experiment for one in series}) > 1


def _columns(with_experiment: bool) -> list[dict[str, Any]]:
    texts = (["Experiment"] if with_experiment else []) + ["Environment", "Agent"]
    numbers = ["Regret", "95 % interval", "Std", "Behind the best", "p (Holm)", "Average return", "Optimal value"]
    numbers += ["Paths", "Episodes", "Seconds"]
    return [{"title": t, "number": False} for t in texts] + [{"title": t, "number": True} for t in numbers]


def _summary(by_group: dict[Group, list[Series]], looks: dict[str, colours.Look]) -> tuple[list[dict], list[dict]]:
    with_experiment = len({group.experiment for group in by_group}) > 1
    rows, pairs = [], []
    for group, of_group in by_group.items():
        common = last_common(of_group)
        finals = {one.agent: one.final_regret(common) for one in of_group}
        tests = statistics.paired_tests(finals)
        best = min(finals, key=lambda agent: float(finals[agent].mean()))
        pairs += [_pair(test, _title(group, with_experiment)) for test in tests]
        for one in of_group:
            test = next((t for t in tests if {t.first, t.second} == {best, one.agent}), None)
            rows.append(_row(one, test, best, with_experiment, looks[one.agent]))
    return rows, pairs


def _row(one: Series, test: statistics.Paired | None, best: str, with_experiment: bool, look) -> dict[str, Any]:
    final = one.regret[:, -1]
    low, high = statistics.mean_interval(final)
    behind = None if test is None else abs(test.difference)
    cells = [_text(one.experiment)] if with_experiment else []
    cells += [_text(one.group.title), _text(one.agent), _value(float(final.mean()))]
    cells += [{"text": f"{_short(low)} to {_short(high)}", "sort": f"{low:.8g}", "number": True}]
    cells += [_value(float(final.std(ddof=1)) if len(final) > 1 else 0.0)]
    cells += [_value(behind), _value(None if test is None else test.adjusted)]
    cells += [_value(float(one.average_return[:, -1].mean())), _value(one.optimal_value)]
    cells += [_count(one.regret.shape[0]), _count(int(one.episodes[-1])), _value(one.seconds)]
    return {
        "cells": cells,
        "head": 2 if with_experiment else 1,
        "best": one.agent == best,
        "look": {"colour": look.colour, "dashes": _DASHES[look.dash]},
        "misspecified": one.misfit > 0,
    }


def _pair(test: statistics.Paired, where: str) -> dict[str, str]:
    return {
        "where": where,
        "first": test.first,
        "second": test.second,
        "difference": _short(test.difference),
        "interval": f"{_short(test.low)} to {_short(test.high)}",
        "p": f"{test.adjusted:.3g}",
    }


def _text(value: str) -> dict[str, Any]:
    return {"text": value, "sort": value, "number": False}


def _count(value: int) -> dict[str, Any]:
    return {"text": f"{value:,}".replace(",", "\u2009"), "sort": str(value), "number": True}


def _value(value: float | None) -> dict[str, Any]:
    if value is None or not np.isfinite(value):
        return {"text": "–", "sort": "", "number": True}
    return {"text": _short(value), "sort": f"{value:.8g}", "number": True}


def _short(value: float) -> str:
    """Four digits, and no powers of ten for sizes that people read as they are."""
    if 1e4 <= abs(value) < 1e7:
        return f"{value:,.0f}".replace(",", "\u2009")
    return f"{value:.4g}"


def _curves(one: Series, group: int, looks: dict[str, colours.Look]) -> dict[str, Any]:
    def quantity(curves: np.ndarray) -> dict[str, Any]:
        bands = {kind: statistics.band(curves, kind) for kind in statistics.BANDS}
        return {
            "mean": plain(bands["std"].mean),
            "bands": {kind: [plain(band.low), plain(band.high)] for kind, band in bands.items()},
        }

    look = looks[one.agent]
    return {
        "group": group,
        "agent": one.agent,
        "look": {"colour": look.colour, "dash": look.dash, "dashes": _DASHES[look.dash]},
        "episodes": one.episodes.tolist(),
        "regret": quantity(one.regret),
        "average": quantity(one.average_return),
        "reward_scale": one.reward_scale,
        "optimal_value": plain(one.optimal_value),
    }


def _title(group: Group, with_experiment: bool) -> str:
    return f"{group.experiment}: {group.title}" if with_experiment else group.title


def _lead(series: Sequence[Series], by_group: dict) -> str:
    def many(count: int, what: str) -> str:
        return f"{count} {what}" + ("s" if count != 1 else "")

    agents = len({one.agent for one in series})
    paths, episodes = {one.regret.shape[0] for one in series}, {int(one.episodes[-1]) for one in series}
    sizes = f"{max(paths)} paths of {max(episodes)} episodes" if len(paths) == len(episodes) == 1 else "several sizes"
    return f"{many(agents, 'agent')}, {many(len(by_group), 'environment')}, {sizes}"


def _this_machine() -> dict[str, str]:
    import jax

    return {
        "eluder": eluder.__version__,
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "backend": jax.default_backend(),
    }


def _policy(scripts: Sequence[str], *, live: bool) -> str:
    """The page's content policy: nothing is loaded from anywhere, and only these scripts run."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    connect = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


@functools.cache
def templates() -> jinja2.Environment:
    """The template engine, which escapes every value."""
    loader = jinja2.PackageLoader("eluder.report", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)


@functools.cache
def _static(name: str) -> str:
    return (importlib.resources.files("eluder.report") / "static" / name).read_text(encoding="utf-8")


@functools.cache
def _plotly() -> str:
    """Plotly's script, as its Python package ships it."""
    from plotly.offline import get_plotlyjs

    # Browsers turn CRLF into LF before they take the hash.
    return get_plotlyjs().replace("\r\n", "\n")
