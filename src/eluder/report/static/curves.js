// The curves: mean and band of the agents of one environment.
"use strict";
(() => {
  const { data, byId, ink, faded, shown, axis, draw, number, keep, onTheme } = window.eluder;
  const dashes = ["solid", "dash", "dashdot", "dot", "10px,2px,2px,2px", "longdash", "6px,3px", "2px,2px"];
  const hidden = new Set();
  const of = (id) => byId(id);
  const inGroup = () => data.series.filter((one) => one.group === Number(of("group").value));

  // What the controls ask of one series: x, mean, low, high.
  const values = (one) => {
    const of_quantity = one[of("quantity").value];
    const scale = of("normalise").checked ? one.reward_scale : 1;
    const bands = of_quantity.bands[of("band").value];
    const divided = (list) => list.map((v) => (v === null ? null : v / scale));
    const mean = divided(of_quantity.mean);
    return { x: one.episodes, mean, low: bands ? divided(bands[0]) : null, high: bands ? divided(bands[1]) : null };
  };

  const fillAgents = () => {
    const box = of("agents");
    box.querySelectorAll("label").forEach((label) => label.remove());
    for (const one of inGroup()) {
      const label = document.createElement("label");
      const input = document.createElement("input");
      input.type = "checkbox";
      input.checked = !hidden.has(one.agent);
      input.value = one.agent;
      input.addEventListener("change", () => {
        if (input.checked) hidden.delete(one.agent); else hidden.add(one.agent);
        redraw();
      });
      label.append(input, swatch(one.look), document.createTextNode(one.agent));
      box.append(label);
    }
  };

  const swatch = (look) => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    const line = document.createElementNS(space, "line");
    const attributes = { x1: 1, y1: 4, x2: 25, y2: 4, "stroke-width": 3, "stroke-dasharray": look.dashes };
    Object.entries(attributes).forEach(([name, value]) => line.setAttribute(name, value));
    line.dataset.colour = look.colour;
    line.setAttribute("stroke", ink(look.colour));
    svg.setAttribute("class", "swatch");
    svg.setAttribute("width", 26);
    svg.setAttribute("height", 8);
    svg.setAttribute("aria-hidden", "true");
    svg.append(line);
    return svg;
  };

  const redraw = () => {
    const visible = inGroup().filter((one) => !hidden.has(one.agent));
    const logY = of("log-y").checked;
    const traces = [];
    for (const one of visible) {
      const { x, mean, low, high } = values(one);
      if (!low) continue;
      // A band that reaches zero has no end on a log axis: it is cut off far below the mean.
      const floor = logY ? low.map((v, i) => (mean[i] > 0 ? Math.max(v, mean[i] * 1e-3) : v)) : low;
      traces.push({
        x: [...x, ...[...x].reverse()], y: [...high, ...[...floor].reverse()], fill: "toself", mode: "lines",
        fillcolor: faded(one.look.colour, 0.18), line: { width: 0 }, hoverinfo: "skip", type: "scatter",
        meta: { agent: one.agent, part: "band" },
      });
    }
    for (const one of visible) {
      const { x, mean } = values(one);
      traces.push({
        x, y: mean, type: "scatter", mode: x.length === 1 ? "markers" : "lines", name: shown(one.agent),
        line: { color: ink(one.look.colour), dash: dashes[one.look.dash], width: 2 },
        hovertemplate: "%{y:.4g}", meta: { agent: one.agent, part: "mean" },
      });
    }
    const regret = of("quantity").value === "regret";
    const unit = of("normalise").checked ? "total reward scaled to 1" : "reward units";
    const title = regret ? `cumulative regret (${unit})` : `average return so far (${unit} per episode)`;
    const shapes = [];
    const annotations = [];
    const optimum = visible.find((one) => one.optimal_value !== null);
    if (!regret && optimum) {
      const level = optimum.optimal_value / (of("normalise").checked ? optimum.reward_scale : 1);
      shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: level, y1: level, line: { width: 1, color: ink("#000000") } });
      annotations.push({ xref: "paper", x: 1, y: logY ? Math.log10(level) : level, text: "optimum", showarrow: false, xanchor: "right", yanchor: "bottom" });
    }
    draw(of("curve-chart"), traces, {
      hovermode: "x unified", shapes, annotations,
      xaxis: axis("episode", { type: of("log-x").checked ? "log" : "linear" }),
      yaxis: axis(title, { type: logY ? "log" : "linear", exponentformat: "power" }),
      uirevision: [of("group").value, of("quantity").value, logY, of("log-x").checked, of("normalise").checked].join(),
    }, true);
    const last = visible.map((one) => {
      const { mean, low, high } = values(one);
      const interval = low ? ` (${number(low.at(-1))} to ${number(high.at(-1))})` : "";
      return `${one.agent} ${number(mean.at(-1))}${interval}`;
    });
    const end = visible.length ? visible[0].episodes.at(-1) : 0;
    of("curve-text").textContent = visible.length
      ? `At episode ${end}: ${last.join("; ")}.` : "No agent is chosen.";
  };

  const save = () => {
    const quote = (text) => {
      // A spreadsheet would run a name that starts like a formula.
      const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return `"${safe.replaceAll('"', '""')}"`;
    };
    const rows = [["agent", "episode", "mean", "low", "high"].join()];
    for (const one of inGroup().filter((s) => !hidden.has(s.agent))) {
      const { x, mean, low, high } = values(one);
      x.forEach((k, i) => rows.push([quote(one.agent), k, mean[i], low ? low[i] : "", high ? high[i] : ""].join()));
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([rows.join("\n") + "\n"], { type: "text/csv" }));
    link.download = "curves.csv";
    link.click();
    URL.revokeObjectURL(link.href);
  };

  for (const id of ["group", "quantity", "band", "log-x", "log-y", "normalise"]) {
    keep(of(id));
    of(id).addEventListener("change", () => {
      if (id === "group") fillAgents();
      if (id === "quantity") of("log-y").checked = of("quantity").value === "regret";
      redraw();
    });
  }
  of("csv").addEventListener("click", save);
  onTheme(redraw);
  fillAgents();
  redraw();
})();
