// What changed between two texts, line by line (Myers, "An O(ND) difference algorithm and its variations", 1986).
const MOST_EDITS = 1500;

// Runs of lines: [kind, old lines, new lines] with kind "same", "gone" or "new".
function lineDiff(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = edits(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [...a.slice(0, head).map((line) => ["same", line]), ...middle, ...(tail ? a.slice(-tail) : []).map((line) => ["same", line])];
}

function edits(a, b) {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const trace = [];
  let reach = new Map([[1, 0]]);
  for (let steps = 0; steps <= most; steps++) {
    trace.push(new Map(reach));
    for (let k = -steps; k <= steps; k += 2) {
      const down = k === -steps || (k !== steps && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach.set(k, x);
      if (x >= a.length && x - k >= b.length) return walked(a, b, trace, steps);
    }
  }
  // Two texts with next to nothing in common: all of one, then all of the other.
  return [...a.map((line) => ["gone", line]), ...b.map((line) => ["new", line])];
}

function walked(a, b, trace, steps) {
  const found = [];
  let x = a.length, y = b.length;
  for (; steps >= 0; steps--) {
    const reach = trace[steps], k = x - y;
    const down = k === -steps || (k !== steps && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1, startX = reach.get(from), startY = startX - from;
    while (x > Math.max(startX, 0) && y > Math.max(startY, 0) && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
      found.push(["same", a[--x]]);
      y--;
    }
    if (!steps) break;
    if (down) found.push(["new", b[--y]]);
    else found.push(["gone", a[--x]]);
  }
  return found.reverse();
}

// The changes with three lines around each; what is the same in between is folded away.
function diffView(before, after) {
  const lines = lineDiff(before, after), around = 3;
  const view = make("pre", { class: "source diff", tabindex: 0 });
  const near = lines.map(() => false);
  lines.forEach(([kind], i) => { if (kind !== "same") near.fill(true, Math.max(0, i - around), i + around + 1); });
  const signs = { same: " ", gone: "−", new: "+" };
  let hidden = 0;
  const fold = () => { if (hidden) view.append(make("span", { class: "d-fold" }, `${hidden} line${hidden > 1 ? "s" : ""} as before`)); hidden = 0; };
  lines.forEach(([kind, line], i) => {
    if (!near[i]) return hidden++;
    fold();
    view.append(make("span", { class: `d-${kind}` }, `${signs[kind]} ${line}`));
  });
  fold();
  const count = (wanted) => lines.filter(([kind]) => kind === wanted).length;
  return { view, gone: count("gone"), added: count("new") };
}
