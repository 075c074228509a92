// Pages are complete without this: it colours sources, and lets tables be searched, sorted and filtered.
const natural = new Intl.Collator("en", { numeric: true });
const valueOf = (cell) => (cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value));

for (const source of document.querySelectorAll("pre[data-source]")) {
  const colour = () => source.replaceWith(sourceView(source.textContent));
  const folded = source.closest("details:not([open])");
  // What nobody opens is not worth thousands of elements.
  if (folded) folded.addEventListener("toggle", colour, { once: true });
  else colour();
}

function sortable(table) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, place) => {
    if (head.dataset.plain !== undefined) return;
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const down = before ? before === "ascending" : head.dataset.first === "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row, i) => ({ row, i, value: valueOf(row.cells[place]) }));
      rows.sort((a, b) => {
        // What has no value comes last, whichever way the column is sorted.
        if ((a.value === "") !== (b.value === "")) return (a.value === "") - (b.value === "");
        const order = typeof a.value === "number" && typeof b.value === "number" ? a.value - b.value : natural.compare(a.value, b.value);
        return (down ? -order : order) || a.i - b.i;
      });
      body.append(...rows.map((each) => each.row));
    });
  });
}
document.querySelectorAll("table[data-sortable]").forEach(sortable);

// Inputs name the element whose children they filter; what all of them allow is shown.
function filtered(target) {
  const finds = [...document.querySelectorAll(`[data-finds="${target.id}"]`)], choices = [...document.querySelectorAll(`[data-filters="${target.id}"]`)];
  const said = document.querySelector(`[data-counts="${target.id}"]`), none = document.querySelector(`[data-none="${target.id}"]`);
  const children = [...target.children];
  function refresh() {
    const wanted = finds.flatMap((input) => input.value.trim().toLowerCase().split(/\s+/));
    let shown = 0;
    for (const child of children) {
      const text = child.textContent.toLowerCase();
      child.hidden = !(wanted.every((word) => text.includes(word)) && choices.every((choice) => !choice.value || child.dataset[choice.dataset.of] === choice.value));
      shown += !child.hidden;
    }
    if (said) said.textContent = shown < children.length ? `${shown} of ${children.length}` : `${shown}`;
    if (none) none.hidden = shown > 0;
  }
  for (const input of [...finds, ...choices]) {
    input.form.addEventListener("submit", (event) => event.preventDefault());
    input.addEventListener("input", refresh);
  }
  refresh();
}
new Set([...document.querySelectorAll("[data-finds], [data-filters]")].map((input) => byId(input.dataset.finds ?? input.dataset.filters))).forEach(filtered);

for (const choice of document.querySelectorAll("[data-shows]")) {
  const show = () => { for (const part of byId(choice.dataset.shows).children) part.hidden = part.dataset.part !== choice.value; };
  choice.addEventListener("input", show);
  show();
}

if (byId("record") && byId("overview")) {
  const overview = JSON.parse(byId("overview").textContent);
  byId("record").replaceChildren(make("div", { class: "detail" }, make("div", {}, detailView(overview.rows[0], 0, overview.environments))));
}
document.documentElement.dataset.ready = performance.now().toFixed(0);
