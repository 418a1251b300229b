"use strict";
// The table: sorted by a click on a column's name, filtered by text and status.
(() => {
  const table = document.getElementById("cells");
  if (!table) return;
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const text = rows.map(r => [...r.cells].map(c => c.textContent));
  const lower = text.map(t => t.join("\n").toLowerCase());
  const order = new Map(rows.map((r, i) => [r, i]));
  const compare = (a, b, numeric) => {
    if (a === "-" || b === "-") return (a === "-") - (b === "-");
    return numeric ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0;
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(h => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const numeric = head.dataset.type === "int64" || head.dataset.type === "float64";
      const value = r => text[order.get(r)][column];
      const sorted = [...rows].sort((p, q) => {
        const a = value(p), b = value(q), c = compare(a, b, numeric);
        return (down && a !== "-" && b !== "-" ? -c : c) || order.get(p) - order.get(q);
      });
      body.append(...sorted);
    });
  });
  const words = document.getElementById("filter"), status = document.getElementById("filter-status"), count = document.getElementById("count");
  const at = heads.findIndex(h => h.textContent === "status");
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/), only = status ? status.value : "";
    let shown = 0;
    rows.forEach((r, i) => {
      const hit = wanted.every(w => lower[i].includes(w)) && (!only || at < 0 || text[i][at].endsWith(" " + only));
      r.hidden = !hit;
      shown += hit;
    });
    count.textContent = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
  };
  words.form.addEventListener("submit", e => e.preventDefault());
  words.addEventListener("input", filter);
  if (status) status.addEventListener("change", filter);
})();

// The figures: drawn in the page's own colours, so that they follow dark mode and print.
(async () => {
  const charts = JSON.parse(document.getElementById("charts").textContent) || [];
  const quiet = { labelColor: "currentColor", titleColor: "currentColor", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
  const config = {
    background: null, font: "system-ui, 'Liberation Sans', sans-serif", view: { stroke: "currentColor", strokeOpacity: 0.3 },
    axis: { ...quiet, gridColor: "currentColor", gridOpacity: 0.12, domainColor: "currentColor", tickColor: "currentColor" },
    legend: { ...quiet, orient: "bottom", direction: "horizontal", symbolLimit: 64,
      symbolOpacity: 1, symbolStrokeWidth: 1.6, symbolSize: 70, symbolStrokeColor: "currentColor" },
    text: { fill: "currentColor" }, rule: { stroke: "currentColor" },
  };
  const clean = o => Object.fromEntries(Object.entries(o).filter(p => p[1] != null && p[1] !== ""));
  const values = c => c.series.flatMap((s, series) => s.points.map(([x, y, low, high, open, cell, label]) => clean({
    colour: c.colours[s.colour], mark: s.mark, series, x, y, low, high, open, cell: cell ?? s.cell, label, level: s.level,
    ...Object.fromEntries((s.keys || []).map((k, i) => ["k" + i, k])),
  })));
  const save = (name, type, content) => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([content], { type }));
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  };
  const draw = async plot => {
    const chart = charts[plot.dataset.chart], spec = { ...chart.spec, data: { values: values(chart) } }, bar = plot.parentElement.querySelector(".save");
    try {
      const longest = Math.max(14, ...chart.colours.map(t => t.length));
      const legend = { ...config.legend, labelLimit: Math.max(120, plot.clientWidth - 110),
        columns: Math.max(1, Math.floor((plot.clientWidth - 60) / (34 + 6.6 * longest))) };
      const { view } = await vegaEmbed(plot, spec, { actions: false, renderer: "svg", ast: true, config: { ...config, legend } });
      const kinds = {
        svg: async () => save(chart.name + ".svg", "image/svg+xml", await view.toSVG()),
        png: async () => (await view.toCanvas(2)).toBlob(b => save(chart.name + ".png", "image/png", b)),
        json: async () => save(chart.name + ".vl.json", "application/json", JSON.stringify(spec, null, 1)),
      };
      bar.hidden = false;
      for (const b of bar.children) {
        b.setAttribute("aria-label", `Save figure as ${b.textContent}`);
        b.addEventListener("click", () => kinds[b.dataset.save]());
      }
      plot.dataset.drawn = "yes";
    } catch (error) {
      plot.textContent = "This figure could not be drawn: " + error.message;
      console.error(error);
    }
  };
  for (const plot of document.querySelectorAll(".plot")) {
    const folded = plot.closest("details"); // it has no width before it is open
    if (folded) folded.addEventListener("toggle", () => draw(plot), { once: true });
    else await draw(plot);
    await new Promise(done => setTimeout(done));
  }
  document.documentElement.dataset.ready = "yes";
})();

// Copies of the snippets, where the browser lets a file copy.
for (const button of document.querySelectorAll(".copy")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.nextElementSibling.textContent);
    button.textContent = "Copied";
  });
}
