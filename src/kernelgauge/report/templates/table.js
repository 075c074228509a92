// The table of candidates: filtered and sorted as data; only as many rows as somebody looks at become elements.
const PAGE = 200;
const numbers = new Intl.Collator("en", { numeric: true });

function intervalMark(row) {
  // From a quarter to four times, on a log scale; what lies outside ends at the edge.
  const x = (value) => 4 + (Math.max(-2, Math.min(2, Math.log2(value))) + 2) * 35.5;
  return draw("svg", { class: "interval", viewBox: "0 0 150 18", "aria-hidden": "true" },
    draw("line", { class: "one", x1: x(1), x2: x(1), y1: 1, y2: 17 }),
    draw("line", { class: `range t-${row.standing}`, x1: x(row.low), x2: x(row.high), y1: 9, y2: 9 }),
    draw("circle", { class: `s-${row.standing}`, cx: x(row.speedup), cy: 9, r: 3.5 }));
}

function candidateTable(data) {
  const table = byId("rows"), body = table.tBodies[0];
  const rows = data.rows.map((row, place) => ({ ...row, place, state: row.standing ?? (row.outcome === "passed" ? "untimed" : row.outcome) }));
  const several = rows.some((row) => row.sample > 0);
  for (const row of rows) row.words = `${row.problem} ${row.name} ${row.backend} ${row.reason} ${row.rule ?? ""} ${words(row.state)}`.toLowerCase();
  let sorting = { key: "problem", down: false }, matching = [], shown = 0;

  function element(row) {
    const open = make("button", { type: "button", class: "open", "aria-expanded": "false" },
      make("b", {}, row.problem), make("span", {}, words(row.name)), several ? make("small", {}, `sample ${row.sample}`) : "", row.counts ? "" : make("small", {}, "does not count"));
    const said = row.outcome === "passed" ? (row.standing ?? "passed") : words(row.outcome);
    const line = make("tr", { class: "row" }, make("td", {}, open), make("td", { class: "wide" }, row.backend),
      make("td", { class: "state" }, make("i", { class: `o-${row.state}` }), said),
      make("td", { class: "number" }, times(row.speedup)),
      make("td", { class: "wide" }, row.speedup === undefined ? "" : intervalMark(row)),
      make("td", { class: "number wide" }, row.reference === undefined ? "" : figure(row.reference)),
      make("td", { class: "number wide" }, row.candidate === undefined ? "" : figure(row.candidate)));
    line.addEventListener("click", (event) => {
      // Whoever marks text in a row does not want it to fold.
      if (!event.target.closest(".open") && String(getSelection())) return;
      const opened = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!opened));
      if (opened) return line.nextSibling.remove();
      history.replaceState(null, "", `#${encodeURIComponent(row.problem)}`);
      line.after(make("tr", {}, make("td", { class: "detail", colspan: 7 }, make("div", {}, detailView(row, row.place, data.environments)))));
    });
    return line;
  }

  function compare(a, b) {
    const { key, down } = sorting;
    const left = key === "outcome" ? words(a.state) : a[key], right = key === "outcome" ? words(b.state) : b[key];
    // What has no value comes last, whichever way the column is sorted.
    if (left === undefined || right === undefined) return (left === undefined) - (right === undefined) || a.place - b.place;
    const order = typeof left === "number" ? left - right : numbers.compare(left, right);
    return (down ? -order : order) || a.place - b.place;
  }

  function grow(count) {
    const next = matching.slice(shown, shown + count);
    body.append(...next.map(element));
    shown += next.length;
    byId("shown").textContent = `${shown < matching.length ? `${shown} shown of ` : ""}${matching.length}${matching.length < rows.length ? ` matching of ${rows.length}` : ""} candidates`;
    byId("more").parentElement.hidden = shown >= matching.length;
    byId("every").textContent = `Show all ${matching.length}`;
  }

  function refresh() {
    const find = byId("find").value.trim().toLowerCase().split(/\s+/), level = byId("level").value, outcome = byId("outcome").value;
    matching = rows.filter((row) => (!level || row.level === level) && (!outcome || row.state === outcome || row.outcome === outcome) && find.every((word) => row.words.includes(word))).sort(compare);
    body.replaceChildren();
    shown = 0;
    grow(PAGE);
    if (!matching.length) body.append(make("tr", {}, make("td", { class: "empty", colspan: 7 }, rows.length ? "No candidate matches." : "No candidate has been judged.")));
  }

  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const key = button.dataset.key;
      // Numbers are looked at from the top.
      sorting = { key, down: sorting.key === key ? !sorting.down : key === "speedup" };
      for (const head of table.querySelectorAll("thead th")) head.removeAttribute("aria-sort");
      button.parentElement.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      refresh();
    });
  }
  // report.html#1/23 shows that problem, opened: a link that a colleague can be sent.
  function follow() {
    const anchor = location.hash.slice(1);
    const row = anchor && rows.find((candidate) => encodeURIComponent(candidate.problem) === anchor || candidate.problem === anchor);
    if (!row) return;
    byId("filters").reset();
    refresh();
    grow(Math.max(0, matching.indexOf(row) + 1 - shown));
    const line = body.rows[matching.indexOf(row)];
    line.click();
    line.scrollIntoView();
  }

  const choices = (id, values) => byId(id).append(...[...new Set(values)].sort(numbers.compare).map((value) => make("option", { value }, words(value))));
  choices("level", rows.map((row) => row.level));
  choices("outcome", rows.flatMap((row) => [row.outcome, row.state]));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", refresh);
  byId("more").addEventListener("click", () => grow(PAGE));
  byId("every").addEventListener("click", () => grow(matching.length));
  addEventListener("beforeprint", () => grow(matching.length));
  addEventListener("hashchange", follow);
  refresh();
  follow();
}
