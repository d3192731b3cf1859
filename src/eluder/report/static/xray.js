// The agent x-ray: one episode of one path of one run.
"use strict";
(() => {
  const { data, byId, ink, variable, shown, axis, draw, number, keep, onTheme } = window.eluder;
  if (!data.xrays.length) return;
  const level_colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#000000"];
  const term_marks = ["circle", "square", "triangle-up"];
  const run = () => data.xrays[Number(byId("run").value)];
  const view = () => run().paths[Number(byId("path").value)][Number(byId("episode").value)];
  const step = () => Number(byId("step").value);

  // A card either has a chart, or says why not.
  const chart = (id, traces, more) => {
    byId(id).hidden = false;
    byId(id).parentElement.querySelector(".absent").hidden = true;
    draw(byId(id), traces, more);
  };
  const absent = (id, text) => {
    Plotly.purge(byId(id));
    byId(id).hidden = true;
    const note = byId(id).parentElement.querySelector(".absent");
    note.textContent = text;
    note.hidden = false;
  };
  const named = (x, place) => shown(x.state_names[place]);
  const colours = () => (document.documentElement.dataset.theme === "dark"
    ? [[0, "#20262e"], [0.5, "#2f6f9c"], [1, "#a9dcff"]] : [[0, "#f4f7fa"], [0.5, "#7ab3da"], [1, "#00456e"]]);

  const graph = (x, v) => {
    const at = x.positions;
    const most = Math.max(1, ...v.edge_visits);
    const traces = [];
    const names = v.edge_visits.map((count, i) => [count, i]).sort((a, b) => a[0] - b[0]);
    for (const [count, i] of names) {
      const [from, to] = x.edges[i];
      if (from === to) continue; // staying is part of the node
      const [a, b] = [at[from], at[to]];
      // Each way has its own side of the line between the two states.
      const bend = [(a[0] + b[0]) / 2 - 0.12 * (b[1] - a[1]), (a[1] + b[1]) / 2 + 0.12 * (b[0] - a[0])];
      traces.push({
        x: [a[0], bend[0], b[0]], y: [a[1], bend[1], b[1]], mode: "lines", type: "scatter",
        line: { shape: "spline", width: count ? 0.8 + 5 * Math.sqrt(count / most) : 0.5, color: ink("#56B4E9") },
        opacity: count ? 0.75 : 0.3, hoverinfo: "skip",
      });
      traces.push({
        x: [bend[0]], y: [bend[1]], mode: "markers", type: "scatter", marker: { size: 7, color: ink("#56B4E9") },
        opacity: count ? 0.9 : 0, hovertemplate: `${named(x, from)} → ${named(x, to)}: ${count} times<extra></extra>`,
      });
    }
    const visits = v.visits.map((row) => row.reduce((sum, n) => sum + n, 0));
    const top = Math.max(1, ...visits);
    const text = v.visits.map((row, s) => `state ${named(x, s)}<br>` +
      row.map((n, a) => `${shown(x.action_names[a])}: ${n} times`).join("<br>"));
    const crowded = at.length > 40;
    traces.push({
      x: at.map((p) => p[0]), y: at.map((p) => p[1]), type: "scatter", mode: crowded ? "markers" : "markers+text",
      text: x.state_names.map(shown), customdata: text, hovertemplate: "%{customdata}<extra></extra>", meta: "nodes",
      textfont: { color: visits.map((n) => (n > top / 2) !== (document.documentElement.dataset.theme === "dark") ? "#ffffff" : "#10151b") },
      marker: {
        size: crowded ? 12 : 34, color: visits, cmin: 0, cmax: top, colorscale: colours(),
        line: { width: at.map((_, s) => (v.state[step()] === x.state_numbers[s] ? 4 : 1)), color: at.map((_, s) => (v.state[step()] === x.state_numbers[s] ? ink("#D55E00") : variable("soft"))) },
        colorbar: { title: { text: "visits" }, thickness: 10 },
      },
    });
    const bare = { visible: false, fixedrange: true };
    chart("x-graph", traces, {
      xaxis: bare, yaxis: { ...bare, scaleanchor: "x", scaleratio: 1 }, hovermode: "closest", margin: { l: 20, r: 20, t: 20, b: 20 },
    });
  };

  const heat = (id, x, z, title, v, text) => {
    const seen = v.state.map((s) => { const i = x.state_numbers.indexOf(s); return i < 0 ? null : i; });
    chart(id, [
      {
        type: "heatmap", x: x.steps, y: x.state_names.map((_, s) => s), z: z[0].map((_, s) => z.map((row) => row[s])),
        customdata: z[0].map((_, s) => z.map((_, h) => text(h, s))), colorscale: colours(), zmin: 0,
        zmax: Math.max(...z.flat()) || 1,
        hovertemplate: "step %{x}, state %{y}<br>%{customdata}<extra></extra>", colorbar: { title: { text: title }, thickness: 10 },
      },
      {
        type: "scatter", mode: "lines", x: x.steps, y: seen, line: { color: ink("#D55E00"), width: 1.5 }, hoverinfo: "skip",
      },
    ], {
      xaxis: axis("step h"), hovermode: "closest",
      yaxis: axis("state", { tickmode: "array", ...ticks(x) }),
      shapes: [{ type: "line", yref: "paper", y0: 0, y1: 1, x0: x.steps[step()], x1: x.steps[step()], line: { width: 1, dash: "dot", color: variable("soft") } }],
    });
  };
  const ticks = (x) => {
    const every = Math.ceil(x.state_names.length / 12);
    const places = x.state_names.map((_, s) => s).filter((s) => s % every === 0);
    return { tickvals: places, ticktext: places.map((s) => named(x, s)) };
  };

  const values = (x, v) => {
    const places = x.state_names.map((_, s) => s);
    chart("x-values", [
      { type: "bar", name: "V*", x: places, y: x.optimal[step()], marker: { color: variable("line") }, hovertemplate: "V* %{y:.4g}<extra></extra>", meta: "optimal" },
      { type: "scatter", mode: "markers", name: "V of this episode", x: places, y: v.values[step()], marker: { size: 11, symbol: "line-ew", line: { width: 3, color: ink("#0072B2") } }, hovertemplate: "V %{y:.4g}<extra></extra>", meta: "optimistic" },
    ], {
      xaxis: axis("state", { tickmode: "array", ...ticks(x) }), yaxis: axis(`value at step ${x.steps[step()]} (reward units)`, { rangemode: "tozero" }),
      showlegend: true, legend: { orientation: "h", y: 1.12, x: 0 },
    });
  };

  const bonus = (x, v) => {
    if (!v.bonus) { absent("x-bonus", "This agent does not report a bonus at each step."); return; }
    chart("x-bonus", [{ type: "scatter", mode: "lines+markers", x: x.steps, y: v.bonus, line: { color: ink("#0072B2") }, hovertemplate: "%{y:.4g}<extra></extra>", meta: "bonus" }], {
      xaxis: axis("step h"), yaxis: axis("bonus (total reward at most 1)", { rangemode: "tozero" }),
    });
  };

  const weights = (x, v) => {
    if (!v.weights) { absent("x-weights", "This agent does not weight its data."); return; }
    const traces = v.weights.map((row, m) => ({
      type: "scatter", mode: "lines+markers", name: `level ${m}`, x: x.steps, y: row, line: { color: ink(level_colours[m % 8]), width: 1.5 },
      marker: { size: 8, symbol: v.terms ? v.terms[m].map((t) => term_marks[t]) : "circle" },
      customdata: v.terms ? v.terms[m].map((t) => x.terms[t]) : row.map(() => "not recorded"),
      hovertemplate: `level ${m}: %{y:.4g}, set by: %{customdata}<extra></extra>`, meta: "weights",
    }));
    chart("x-weights", traces, {
      xaxis: axis("step h"), yaxis: axis("σ̄²", { type: "log", exponentformat: "power" }),
      showlegend: true, legend: { orientation: "h", y: 1.16, x: 0 },
    });
  };

  const coverage = (x, v) => {
    if (!v.distance) { absent("x-coverage", "This run has no confidence sets to check."); return; }
    const levels = v.distance.map((_, m) => `level ${m}`);
    chart("x-coverage", [{
      type: "bar", x: levels, y: v.distance, marker: { color: v.covered.map((yes) => ink(yes ? "#009E73" : "#D55E00")) },
      text: v.covered.map((yes) => (yes ? "covered" : "outside")), textposition: "auto",
      insidetextfont: { color: "#10151b" }, outsidetextfont: { color: variable("ink") },
      hovertemplate: "%{x}: distance %{y:.4g}, %{text}<extra></extra>", meta: "distance",
    }], {
      yaxis: axis("distance from f̂ to f*", { rangemode: "tozero" }), xaxis: axis(""),
      shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: v.radius, y1: v.radius, line: { width: 2, dash: "dash", color: variable("ink") } }],
      annotations: [{ xref: "paper", x: 1, y: v.radius, text: "radius", showarrow: false, xanchor: "right", yanchor: "bottom" }],
    });
  };

  const redraw = () => {
    const [x, v] = [run(), view()];
    byId("episode-out").textContent = v.episode;
    byId("episode").setAttribute("aria-valuetext", `episode ${v.episode}`);
    byId("step-out").textContent = x.steps[step()];
    byId("step").setAttribute("aria-valuetext", `step ${x.steps[step()]}`);
    graph(x, v);
    values(x, v);
    const gap = v.values.map((row, h) => row.map((value, s) => Math.max(0, value - x.optimal[h][s])));
    heat("x-gap", x, gap, "V − V*", v, (h, s) => `V ${number(v.values[h][s])}, V* ${number(x.optimal[h][s])}`);
    heat("x-policy", x, v.loss, "loss", v, (h, s) => `plays ${shown(x.action_names[v.policy[h][s]])}, best ${shown(x.action_names[x.optimal_policy[h][s]])}, loses ${number(v.loss[h][s])}`);
    bonus(x, v);
    weights(x, v);
    coverage(x, v);
    const below = v.values.flat().filter((value, i) => value < x.optimal.flat()[i] - 1e-6 * Math.abs(value) - 1e-9).length;
    const rest = x.all_states > x.state_numbers.length ? ` The ${x.state_numbers.length} most visited of ${x.all_states} states are shown.` : "";
    byId("xray-text").textContent =
      `Episode ${v.episode}: collected ${number(v.collected)}, regret ${number(v.regret)}. ` +
      (below ? `The value is below V* at ${below} of the places shown.` : "The value is optimistic everywhere shown.") + rest;
  };

  const refill = () => {
    const x = run();
    byId("path").replaceChildren(...x.paths.map((_, i) => new Option(String(i), String(i))));
    byId("episode").max = x.paths[0].length - 1;
    byId("episode").value = Math.floor(x.paths[0].length / 2); // something is learned, something is open
    byId("step").max = x.steps.length - 1;
  };
  keep(byId("run")); // first: the others' ranges follow from it
  refill();
  for (const id of ["path", "episode", "step"]) keep(byId(id));
  byId("run").addEventListener("change", () => { refill(); redraw(); });
  byId("path").addEventListener("change", redraw);
  for (const id of ["episode", "step"]) byId(id).addEventListener("input", redraw);
  onTheme(redraw);
  redraw();
})();
