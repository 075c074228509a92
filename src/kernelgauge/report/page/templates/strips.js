// Speedups by kind of problem, in the table's own cells: dots while they are few, else the middle half and the middle 90 %.
const FEW = 80;

function tagStrips(section, overview) {
  const timed = overview.rows.filter((row) => row.speedup !== undefined && row.scored);
  const low = -2, high = 2;
  for (const cell of section.querySelectorAll("[data-tag]")) {
    const rows = timed.filter((row) => (overview.tags[row.problem] ?? []).includes(cell.dataset.tag));
    if (!rows.length) continue;
    const place = cell.appendChild(make("div", { class: "chart tight" }));
    responsive(place, (width) => {
      const x = (value) => 6 + ((Math.max(low, Math.min(high, Math.log2(value))) - low) / (high - low)) * (width - 12);
      const sorted = rows.map((row) => row.speedup).sort((a, b) => a - b);
      const at = (share) => x(sorted[Math.round(share * (sorted.length - 1))]);
      const chart = draw("svg", { viewBox: `0 0 ${width} 22`, height: 22, role: "img", "aria-label": `${rows.length} speedups: half of them from ${times(sorted[Math.round(0.25 * (sorted.length - 1))])} to ${times(sorted[Math.round(0.75 * (sorted.length - 1))])}` });
      for (let power = low; power <= high; power++) chart.append(draw("line", { class: power ? "axis" : "one", x1: x(2 ** power), x2: x(2 ** power), y1: 1, y2: 21 }));
      if (rows.length <= FEW) rows.forEach((row, i) => chart.append(draw("circle", { class: `s-${row.standing}`, cx: x(row.speedup).toFixed(1), cy: (11 + (((i * 0.618) % 1) - 0.5) * 11).toFixed(1), r: 2.5 })));
      else {
        chart.append(draw("line", { class: "whisker", x1: at(0.05), x2: at(0.95), y1: 11, y2: 11 }));
        chart.append(draw("rect", { class: "half", x: at(0.25), y: 5, width: Math.max(1, at(0.75) - at(0.25)), height: 12 }));
      }
      chart.append(draw("line", { class: "middle", x1: at(0.5), x2: at(0.5), y1: 3, y2: 19 }));
      return [chart];
    });
  }
}
