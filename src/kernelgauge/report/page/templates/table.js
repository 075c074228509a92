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
  const problems = new Map();
  for (const row of rows) {
    if (!problems.has(row.problem)) problems.set(row.problem, []);
    problems.get(row.problem).push(row);
  }
  for (const attempts of problems.values()) attempts.sort((a, b) => a.sample - b.sample);
  const several = rows.some((row) => row.sample > 0);
  for (const row of rows) row.words = `${row.problem} ${row.name} ${row.backend} ${row.reason} ${row.rule ?? ""} ${words(row.state)}`.toLowerCase();
  let sorting = { key: "problem", down: false }, matching = [], shown = 0;

  function element(row) {
    const open = make("button", { type: "button", class: "open", "aria-expanded": "false" },
      make("b", {}, row.problem), make("span", {}, words(row.name)), several ? make("small", {}, `sample ${row.sample}`) : "", row.scored ? "" : make("small", {}, "does not count"));
    const said = row.outcome === "passed" ? (row.standing ?? "passed") : words(row.outcome);
    const line = make("tr", { class: "row" }, make("td", {}, open), make("td", { class: "wide" }, row.backend),
      make("td", { class: "state" }, make("i", { class: `o-${row.state}` }), said),
      make("td", { class: "number" }, times(row.speedup)),
      make("td", { class: "wide" }, row.speedup === undefined ? "" : intervalMark(row)),
      make("td", { class: "number wide" }, row.share === undefined ? "" : reached(row.share)),
      make("td", { class: "number wide" }, row.reference === undefined ? "" : figure(row.reference)),
      make("td", { class: "number wide" }, row.candidate === undefined ? "" : figure(row.candidate)));
    line.addEventListener("click", (event) => {
      // Whoever marks text in a row does not want it to fold.
      if (!event.target.closest(".open") && String(getSelection())) return;
      const opened = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!opened));
      if (opened) return line.nextSibling.remove();
      history.replaceState(null, "", `#${anchorOf(row)}`);
      line.after(make("tr", {}, make("td", { class: "detail", colspan: 8 }, make("div", {}, detailView(row, row.place, data.environments, problems.get(row.problem), go)))));
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
    // A word in quotes is a problem's whole key: "1/2" does not mean 1/20.
    const asked = byId("find").value.toLowerCase().match(/"[^"]*"|\S+/g) ?? [], keys = asked.filter((word) => word.length > 2 && word.startsWith('"') && word.endsWith('"')).map((word) => word.slice(1, -1));
    const find = asked.filter((word) => !word.startsWith('"')), level = byId("level").value, outcome = byId("outcome").value;
    matching = rows.filter((row) => (!level || row.level === level) && (!outcome || row.state === outcome || row.outcome === outcome) && find.every((word) => row.words.includes(word)) && keys.every((key) => row.problem.toLowerCase() === key)).sort(compare);
    body.replaceChildren();
    shown = 0;
    grow(PAGE);
    if (!matching.length) body.append(make("tr", {}, make("td", { class: "empty", colspan: 8 }, rows.length ? "No candidate matches." : "No candidate has been judged.")));
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
  // report.html#1/23 shows that problem, #1/23~2 its sample 2, opened: a link that a colleague can be sent.
  const anchorOf = (row) => encodeURIComponent(row.problem) + (row.sample ? `~${row.sample}` : "");
  function go(row) {
    // Far down in a long table, its problem alone: thousands of rows would first have to be made.
    const at = matching.indexOf(row);
    if (at < 0 || at >= shown + PAGE) {
      byId("filters").reset();
      byId("find").value = at < 0 && rows.length <= PAGE ? "" : `"${row.problem}"`;
      refresh();
    }
    grow(Math.max(0, matching.indexOf(row) + 1 - shown));
    const line = [...body.rows].filter((each) => each.className === "row")[matching.indexOf(row)];
    const open = line.querySelector(".open");
    if (open.getAttribute("aria-expanded") !== "true") open.click();
    line.scrollIntoView();
    open.focus({ preventScroll: true });
  }
  function follow() {
    if (location.hash.length < 2) return;
    let anchor = location.hash.slice(1);
    try { anchor = decodeURIComponent(anchor); } catch { /* a name that only looks like an escape */ }
    const [, problem, sample] = anchor.match(/^(.*?)(?:~(\d+))?$/s);
    const row = rows.find((each) => each.problem === problem && each.sample === Number(sample ?? each.sample)) ?? rows.find((each) => each.problem === anchor);
    if (row) go(row);
  }

  const choices = (id, values) => byId(id).append(...[...new Set(values)].sort(numbers.compare).map((value) => make("option", { value }, words(value))));
  choices("level", rows.map((row) => row.level));
  choices("outcome", rows.flatMap((row) => [row.outcome, row.state]));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", refresh);
  byId("more").addEventListener("click", () => grow(PAGE));
  byId("every").addEventListener("click", () => grow(matching.length));
  // Arrows go from row to row, / to the search field, Escape folds what is open.
  body.addEventListener("keydown", (event) => {
    const open = event.target.closest?.(".open"), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (open && step) {
      const all = [...body.querySelectorAll(".open")];
      all[all.indexOf(open) + step]?.focus();
      event.preventDefault();
    } else if (event.key === "Escape") {
      const line = event.target.closest("tr"), opened = (line?.className === "row" ? line : line?.previousSibling)?.querySelector('.open[aria-expanded="true"]');
      opened?.click();
      opened?.focus();
    }
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest?.("input, select, textarea")) return;
    event.preventDefault();
    byId("find").focus();
  });
  addEventListener("beforeprint", () => grow(matching.length));
  addEventListener("hashchange", follow);
  refresh();
  return { go: (row) => go(rows[row.place]), follow };
}
