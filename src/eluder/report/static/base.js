// What all parts of the page share: the data, colours, chart options, the sortable table, and live refresh.
"use strict";
window.eluder = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // ---- theme: the system's, unless the reader chooses
  const root = document.documentElement;
  const listeners = [];
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = (key, value) => {
    try {
      if (value === undefined) return sessionStorage.getItem(`eluder ${key}`);
      sessionStorage.setItem(`eluder ${key}`, value);
    } catch { /* a browser may refuse storage to files */ }
    return null;
  };
  const setTheme = (dark) => {
    root.dataset.theme = dark ? "dark" : "light";
    byId("theme").setAttribute("aria-pressed", String(dark));
    // Lines in the palette's own colours; on a dark ground the dark ones are lifted.
    document.querySelectorAll("[data-colour]").forEach((line) => line.setAttribute("stroke", ink(line.dataset.colour)));
    listeners.forEach((draw) => draw());
  };
  const lifted = {
    "#000000": "#f2f2f2", "#0072B2": "#4aa8e0", "#009E73": "#2fc79b", "#D55E00": "#f08a3c", "#8C6BB1": "#b79add",
    "#CC79A7": "#e39cc3",
  };
  const dark = () => root.dataset.theme === "dark";
  const ink = (colour) => (dark() && lifted[colour]) || colour;
  const faded = (colour, share) => {
    const part = (from) => parseInt(ink(colour).slice(from, from + 2), 16);
    return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${share})`;
  };
  const variable = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();

  // ---- charts. Plotly reads a little HTML in its texts: names are shown as they are written.
  const shown = (text) =>
    String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const axis = (title, more = {}) => ({
    title: { text: shown(title), standoff: 8 }, gridcolor: variable("grid"), linecolor: variable("line"),
    zerolinecolor: variable("line"), automargin: true, ...more,
  });
  const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: { family: "system-ui, sans-serif", size: 12, color: variable("ink") },
    margin: { l: 60, r: 16, t: 28, b: 46 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: variable("soft"), activecolor: variable("accent") }, hoverlabel: { namelength: -1 }, ...more,
  });
  const options = {
    responsive: true, displaylogo: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  };
  const draw = (element, traces, more, tools = false) =>
    Plotly.react(element, traces, layout(more), { ...options, displayModeBar: tools });
  const number = (value) => (value === null || value === undefined ? "–" : Number(value.toPrecision(4)).toString());

  // ---- the table
  const table = byId("table");
  table.querySelectorAll("thead th").forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("thead th").forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const key = (row) => row.children[column].dataset.sort;
      const rows = [...table.tBodies[0].rows];
      const numeric = rows.every((row) => key(row) === "" || !Number.isNaN(Number(key(row))));
      const compare = (a, b) => {
        if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === ""); // unknown ones last
        const order = numeric ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b));
        return ascending ? order : -order;
      };
      table.tBodies[0].append(...rows.sort(compare));
    });
  });

  // ---- controls keep their values when a live page reloads
  const keep = (element) => {
    const isCheck = element.type === "checkbox";
    const before = stored(element.id);
    if (before !== null) {
      if (isCheck) element.checked = before === "true";
      else if (element.tagName !== "SELECT" || [...element.options].some((o) => o.value === before)) element.value = before;
    }
    element.addEventListener("change", () => stored(element.id, isCheck ? element.checked : element.value));
  };

  // ---- start
  byId("theme").addEventListener("click", () => {
    stored("theme", dark() ? "light" : "dark");
    setTheme(!dark());
  });
  systemDark.addEventListener("change", (event) => { if (stored("theme") === null) setTheme(event.matches); });
  document.querySelectorAll("form").forEach((form) => form.addEventListener("submit", (event) => event.preventDefault()));
  setTheme((stored("theme") ?? (systemDark.matches ? "dark" : "light")) === "dark");

  const version = root.dataset.version;
  if (version) {
    setInterval(async () => {
      try {
        const answer = await fetch("version", { cache: "no-store" });
        if (answer.ok && (await answer.text()) !== version) location.reload();
      } catch { /* the server has stopped: the page stays as it is */ }
    }, 2000);
  }
  return { data, byId, ink, faded, variable, shown, axis, draw, number, keep, onTheme: (f) => listeners.push(f) };
})();
