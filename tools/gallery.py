"""Writes docs/gallery.md and its figures from the results of `eluder reproduce all`.

eluder reproduce all --out results && python tools/gallery.py results
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import jinja2
import pandas as pd

DOCS = Path(__file__).parents[1] / "docs"

# What to see in each experiment of the catalogue.
READINGS = {
    "figure-2": "Both forms of UCRL-WVTR go flat. Weighting pays more the longer the episode: UCRL-VTR loses between "
    "three and four times as much at H = 20, and more than thirty times as much at H = 100. So do the higher moments "
    "of HOME: a few per cent at H = 20, about a fifth at H = 100.",
    "figure-4": "On all three rivers UCRL-VTR loses about fifteen times as much as UCRL-WVTR. The lower row shows the "
    "reward that each agent collects per episode, against the optimum.",
    "horizon": "Total reward is at most 1 whatever H is. A horizon-free agent's regret must then level off as H grows: "
    "from H = 100 to H = 1000 UCRL-WVTR's grows by a fifth, without HOME by two thirds, UCRL-VTR's by three quarters.",
}

PAGE = """\
# Gallery

What can be run, what it looks like, and what was measured. Every figure is rebuilt by the command under it; the page
itself by `python tools/gallery.py results` after `eluder reproduce all`. Numbers are means over
{{ paths }} paths ± one standard deviation, in the environment's reward units.

{% for entry in entries %}
## {{ entry.name }}: {{ entry.title }}

![{{ entry.title }}](figures/{{ entry.name }}.png)

```bash
eluder reproduce {{ entry.name }}
```

{{ entry.reading }}

| environment | H | episodes | agent | regret | average return | optimum |
|---|---:|---:|---|---:|---:|---:|
{% for row in entry.rows %}
{{ row }}
{% endfor %}

{% endfor %}
## More

- Every agent at its best multiplier on three rivers: [agents](agents.md).
- Every claim of the paper with its figure, its number and its verdict: [theory](theory.md).
- Every model class on one river, and Algorithm 3 against the exact D: `eluder study classes`, `eluder study oracle`,
  explained in [model classes](model-classes.md).
- Every environment with its graph and its exact optimum: [environments](environments.md).
- Any spec of your own gets the same figures: `eluder run SPEC`, then `eluder report`.
"""


def line(row: dict) -> str:
    """A row of an entry's table."""

    def short(value: float) -> str:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

    spread = f"{short(row['regret_mean'])} ± {short(row['regret_std'])}"
    cells = [row["environment"], row["horizon"], row["episodes"], row["agent"], spread]
    return f"| {' | '.join(map(str, [*cells, short(row['average_return']), short(row['optimal_value'])]))} |"


def main(results: Path) -> None:
    from eluder.experiments import catalogue

    table = pd.read_csv(results / "summary.csv")
    entries = []
    for name, reading in READINGS.items():
        rows = [line(row) for row in table[table.experiment == name].to_dict("records")]
        entries.append({"name": name, "title": catalogue.get(name).title, "reading": reading, "rows": rows})
        shutil.copyfile(results / f"{name}.png", DOCS / "figures" / f"{name}.png")
    engine = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    text = engine.from_string(PAGE).render(entries=entries, paths=int(table.paths.max()))
    (DOCS / "gallery.md").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
