// All attempts at a problem in their order: speedups with intervals above, failures as marks below; a click goes there.
function attemptsChart(place, rows, current, go) {
  const timed = rows.filter((row) => row.speedup !== undefined);
  const ends = timed.flatMap((row) => [row.low, row.high]).map(Math.log2);
  const low = Math.max(-6, Math.floor(ends.reduce((a, b) => Math.min(a, b), -1))), high = Math.min(6, Math.ceil(ends.reduce((a, b) => Math.max(a, b), 1)));
  responsive(place, (width) => {
    const left = 44, right = 12, up = 10, bottom = 116, height = 160;
    const step = (width - left - right) / rows.length;
    const x = (i) => left + (i + 0.5) * step;
    const y = (value) => bottom - ((Math.max(low, Math.min(high, Math.log2(value))) - low) / (high - low)) * (bottom - up);
    const chart = draw("svg", { class: "attempts", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${rows.length} attempts, ${timed.length} of them timed` });
    const every = Math.ceil((high - low) / 4);
    for (let power = low; power <= high; power += every) {
      chart.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: y(2 ** power), y2: y(2 ** power) }));
      chart.append(draw("text", { x: left - 8, y: y(2 ** power) + 4, "text-anchor": "end" }, power < 0 ? `1/${2 ** -power}×` : `${2 ** power}×`));
    }
    chart.append(draw("line", { class: "one", x1: left, x2: width - right, y1: y(1), y2: y(1) }));
    let best = 0, path = "";
    rows.forEach((row, i) => {
      // Only what is faster by its whole interval has beaten what was there.
      if (row.speedup !== undefined && row.low > best) best = row.speedup;
      if (best) path += path ? `V${y(best).toFixed(1)}H${x(i).toFixed(1)}` : `M${x(i).toFixed(1)} ${y(best).toFixed(1)}`;
    });
    chart.append(draw("path", { class: "best", d: path }));
    rows.forEach((row, i) => {
      const mark = draw("g", { class: row === current ? "now" : null, role: "link", tabindex: 0 });
      mark.append(draw("title", {}, `attempt ${row.sample}: ${row.speedup === undefined ? words(row.state) : `${times(row.speedup)}, ${row.standing}`}`));
      if (row.speedup !== undefined) {
        mark.append(draw("line", { class: `range t-${row.standing}`, x1: x(i), x2: x(i), y1: y(row.low), y2: y(row.high) }));
        mark.append(draw("circle", { class: `s-${row.standing}`, cx: x(i), cy: y(row.speedup), r: row === current ? 5.5 : 3.5 }));
      } else mark.append(draw("rect", { class: `f-${row.state}`, x: x(i) - Math.min(5, step / 2 - 0.5), y: bottom + 10, width: Math.max(1, Math.min(10, step - 1)), height: row === current ? 14 : 10 }));
      mark.append(draw("rect", { x: x(i) - step / 2, y: up, width: step, height: bottom - up + 26, fill: "transparent" }));
      mark.addEventListener("click", () => go(row));
      mark.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        event.stopPropagation(); // the page's own keys fold the row that is open
        go(row);
      });
      chart.append(mark);
    });
    const ticks = Math.min(rows.length, Math.max(2, Math.floor(width / 70)));
    for (let i = 0; i < rows.length; i += Math.ceil(rows.length / ticks)) chart.append(draw("text", { x: x(i), y: height - 4, "text-anchor": "middle" }, rows[i].sample));
    return [chart];
  });
}
