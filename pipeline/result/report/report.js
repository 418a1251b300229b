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
