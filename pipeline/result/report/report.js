"use strict";
(() => {
  const byID = id => document.getElementById(id);
  const html = async template => {
    const bytes = Uint8Array.from(atob(template.content.textContent.trim()), c => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };

  // Folded figures are expanded when the reader opens them.
  document.addEventListener("toggle", async e => {
    const packed = e.target.matches(".packed") && e.target.open && e.target.querySelector("template");
    if (packed) packed.outerHTML = await html(packed);
  }, true);

  // The table: sorted by a click on a column's name, filtered by text and status, copied as text.
  // What the reader has chosen is kept when newer rows replace it.
  const chosen = { text: "", status: "", column: "", down: false };
  const table = () => byID("cells");
  const heads = () => [...table().tHead.rows[0].cells];
  const values = row => [...row.cells].map(c => c.className.startsWith("status") ? c.textContent.slice(2) : c.textContent);
  const all = async () => {
    const rest = byID("rest");
    const rows = rest ? await html(rest) : "";
    if (!rest?.isConnected) return;
    table().tBodies[0].insertAdjacentHTML("beforeend", rows);
    rest.remove();
    byID("all").remove();
    arrange();
  };
  const compare = (a, b, numeric) => {
    if (a === "-" || b === "-") return (a === "-") - (b === "-");
    return (numeric ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0) * (chosen.down ? -1 : 1);
  };
  const arrange = () => {
    const body = table().tBodies[0], names = heads().map(h => h.textContent);
    const at = names.indexOf("status"), by = names.indexOf(chosen.column), wanted = chosen.text.toLowerCase().split(/\s+/);
    const rows = [...body.rows].map(r => [r, values(r)]);
    let shown = 0;
    for (const [row, text] of rows) {
      const line = text.join("\n").toLowerCase();
      row.hidden = !wanted.every(w => line.includes(w)) || (at >= 0 && chosen.status !== "" && text[at] !== chosen.status);
      shown += !row.hidden;
    }
    const total = rows.length + (byID("rest") ? Number(byID("all").dataset.more) : 0);
    byID("count").textContent = shown === total ? `${shown} rows` : `${shown} of ${total} rows`;
    if (by < 0) return;
    const numeric = /^(int|float)64$/.test(heads()[by].dataset.type);
    heads().forEach((h, i) => i === by ? h.setAttribute("aria-sort", chosen.down ? "descending" : "ascending") : h.removeAttribute("aria-sort"));
    body.append(...rows.sort((p, q) => compare(p[1][by], q[1][by], numeric)).map(r => r[0]));
  };
  const tex = s => s.replace(/[\\{}$&#%_^~]/g, c => ({ "\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}" })[c] || "\\" + c);
  const copy = async (button, format) => {
    if (byID("rest")) await all();
    const kept = heads().map(h => h.dataset.type !== "bar");
    const names = heads().map(h => h.textContent).filter((_, i) => kept[i]);
    const rows = [...table().tBodies[0].rows].filter(r => !r.hidden).map(r => values(r).filter((_, i) => kept[i]));
    const csv = line => line.map(v => v === "-" ? "" : /[",\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v).join(",");
    const row = line => line.map(tex).join(" & ") + " \\\\";
    const text = format === "csv" ? [names, ...rows].map(csv).join("\n") + "\n" :
      ["\\begin{tabular}{" + names.map(() => "l").join("") + "}", "\\toprule", row(names), "\\midrule", ...rows.map(row), "\\bottomrule", "\\end{tabular}", ""].join("\n");
    const label = button.textContent;
    await navigator.clipboard.writeText(text);
    button.textContent = `Copied ${rows.length} rows`;
    setTimeout(() => button.textContent = label, 2000);
  };
  const wire = () => {
    if (!table()) return;
    for (const head of heads()) {
      if (head.dataset.type === "bar") continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", async () => {
        chosen.down = chosen.column === head.textContent && !chosen.down;
        chosen.column = head.textContent;
        if (byID("rest")) await all();
        arrange();
      });
    }
    const text = byID("filter"), status = byID("filter-status");
    const filter = async () => {
      [chosen.text, chosen.status] = [text.value, status ? status.value : ""];
      if (byID("rest") && (chosen.text || chosen.status)) await all();
      arrange();
    };
    [text.value, chosen.text] = [chosen.text || text.value, chosen.text];
    if (status) status.value = chosen.status;
    text.form.addEventListener("submit", e => e.preventDefault());
    text.addEventListener("input", filter);
    if (status) status.addEventListener("change", filter);
    if (byID("all")) byID("all").addEventListener("click", all);
    for (const b of text.form.querySelectorAll("[data-copy]")) b.addEventListener("click", () => copy(b, b.dataset.copy));
    if (chosen.text || chosen.status || chosen.column) all().then(arrange);
  };
  wire();

  // A link to a row, which may be packed.
  const row = async () => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (!id || byID(id)) return;
    await all();
    if (byID(id)) location.replace(location.hash);
  };
  addEventListener("hashchange", row);
  row();

  // A live page: the process sends the content of sections that have changed.
  const live = document.body.dataset.live;
  if (!live) return;
  const say = text => { if (byID("state").textContent !== text) byID("state").textContent = text; };
  const replace = ([id, content]) => {
    const old = byID(id);
    if (!old) return;
    const open = [...old.querySelectorAll("details[open] > summary")].map(s => s.textContent);
    old.innerHTML = content;
    for (const s of old.querySelectorAll("details > summary")) s.parentNode.open ||= open.includes(s.textContent);
    if (id === "table") wire();
  };
  const follow = () => {
    const events = new EventSource(live);
    events.onerror = () => {
      say("The process does not answer: this page shows what it knew last.");
      if (events.readyState === EventSource.CLOSED) setTimeout(follow, 5000); // the browser has given up
    };
    events.onmessage = e => {
      const { sections, state, end } = JSON.parse(e.data);
      Object.entries(sections).forEach(replace);
      say(state);
      if (end) events.close();
    };
  };
  follow();
})();
