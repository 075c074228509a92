// How near every kernel is to the hardware's bound, over its FLOPs a byte: a roof at 100 %, its ridge where both parts meet.
function rooflineChart(place, overview, go) {
  const rows = overview.rows.filter((row) => row.share !== undefined);
  if (!rows.length) return place.append(make("p", { class: "empty" }, "No record holds a bound."));
  const counted = rows.filter((row) => row.intensity);
  const decades = (values, from, to) => values.length
    ? [Math.floor(values.reduce((a, b) => Math.min(a, b)) + from), Math.ceil(values.reduce((a, b) => Math.max(a, b)) + to)] : [-1, 2];
  const [low, high] = decades([...counted.map((row) => Math.log10(row.intensity)), ...(overview.ridge && counted.length ? [Math.log10(overview.ridge)] : [])], 0, 0);
  const floor = Math.max(-4, Math.floor(rows.map((row) => Math.log10(row.share)).reduce((a, b) => Math.min(a, b), -1)));
  const roof = Math.max(0.15, Math.min(1, rows.map((row) => Math.log10(row.share)).reduce((a, b) => Math.max(a, b), 0) + 0.1));
  responsive(place, (width) => {
    const height = 320, left = 52, right = 12, up = 12, bottom = 280, bare = rows.some((row) => !row.intensity) ? Math.min(90, width / 5) : 0;
    const start = left + bare;
    const x = (row) => row.intensity
      ? start + 10 + ((Math.log10(row.intensity) - low) / (high - low || 1)) * (width - start - right - 20)
      // Kernels without FLOPs have no place on the axis: a column of their own, spread by the golden ratio.
      : left + 8 + (((rows.indexOf(row) * 0.618) % 1) * (bare - 22));
    const y = (share) => bottom - ((Math.max(floor, Math.min(roof, Math.log10(share))) - floor) / (roof - floor)) * (bottom - up);
    const chart = draw("svg", { class: "roofline", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `Share of the bound that ${rows.length} candidates reach, over FLOPs a byte` });
    for (let power = floor; power <= 0; power++) for (const digit of power < 0 ? [1, 3] : [1]) {
      const share = digit * 10 ** power;
      chart.append(draw("line", { class: share === 1 ? "one" : "axis", x1: left, x2: width - right, y1: y(share), y2: y(share) }));
      chart.append(draw("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end" }, `${+(100 * share).toPrecision(1)} %`));
    }
    const every = Math.ceil((high - low) / Math.max(2, (width - start) / 70));
    for (let power = low; power <= high; power += every) {
      const at = x({ intensity: 10 ** power });
      chart.append(draw("line", { class: "axis", x1: at, x2: at, y1: up, y2: bottom }));
      chart.append(draw("text", { x: at, y: bottom + 18, "text-anchor": "middle" }, 10 ** power < 1 ? `1/${10 ** -power}` : (10 ** power).toLocaleString("en")));
    }
    chart.append(draw("text", { x: (start + width - right) / 2, y: bottom + 36, "text-anchor": "middle" }, "FLOPs a byte"));
    if (bare) {
      chart.append(draw("line", { class: "axis", x1: start, x2: start, y1: up, y2: bottom }));
      chart.append(draw("text", { x: left + bare / 2 - 4, y: bottom + 18, "text-anchor": "middle" }, "no FLOPs"));
    }
    if (overview.ridge && counted.length) {
      const at = x({ intensity: overview.ridge });
      chart.append(draw("line", { class: "one ridge", x1: at, x2: at, y1: up, y2: bottom }));
      chart.append(draw("text", { x: at - 5, y: bottom - 6, "text-anchor": "end" }, "memory"), draw("text", { x: at + 5, y: bottom - 6 }, "arithmetic"));
    }
    const small = rows.length > 800 ? 2 : 3.5;
    const points = rows.map((row) => ({ row, x: x(row), y: y(row.share) }));
    // Behind each candidate its reference: where work has been left to do, and where it has been done.
    const before = draw("g", { class: "before" }), dots = draw("g", { class: "dots" });
    if (rows.length <= 800) for (const point of points) before.append(draw("line", { x1: point.x, x2: point.x, y1: y(1 / point.row.headroom), y2: point.y }));
    for (const point of points) dots.append(draw("circle", { class: `s-${point.row.standing}`, cx: point.x.toFixed(1), cy: point.y.toFixed(1), r: small }));
    const ring = draw("circle", { class: "ring", r: 7, visibility: "hidden" });
    const tip = make("div", { class: "tip", hidden: true });
    chart.append(before, dots, ring);
    let near = null;
    const leave = () => { tip.hidden = true; ring.setAttribute("visibility", "hidden"); near = null; };
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
      const far = (point) => (point.x - px) ** 2 + (point.y - py) ** 2;
      near = points.reduce((a, b) => (far(b) < far(a) ? b : a));
      if (far(near) > 900) return leave();
      ring.setAttribute("cx", near.x);
      ring.setAttribute("cy", near.y);
      ring.setAttribute("visibility", "visible");
      const { row } = near;
      tip.replaceChildren(make("div", {}, make("b", {}, row.problem), ` ${words(row.name)}`), make("div", {}, `${percent(row.share)} of the bound, the reference ${percent(1 / row.headroom)}`),
        make("div", {}, `${times(row.speedup)} of at most ${times(row.headroom)}; ${row.binding} binds`));
      tip.hidden = false;
      tip.style.top = `${Math.min(near.y + 12, bottom - 70)}px`;
      tip.style.left = near.x > width / 2 ? "" : `${near.x + 12}px`;
      tip.style.right = near.x > width / 2 ? `${width - near.x + 12}px` : "";
    });
    chart.addEventListener("pointerleave", leave);
    chart.addEventListener("click", () => near && go(near.row));
    return [chart, tip];
  });
}
