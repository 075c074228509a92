const levelled = (name) => ({ all: "all", own: "own problems", 0: "no level" })[name] ?? `level ${name}`;

// fast_p over p: one step line per level and a thicker one for all problems; pointer or arrow keys move a cursor.
function curveChart(place, curves) {
  const names = Object.keys(curves).filter((name) => name !== "all");
  if (!curves.all) return place.append(make("p", { class: "empty" }, "No problem has been judged."));
  if (names.length > 1) names.push("all");
  else names.splice(0, 1, "all");
  const corners = curves.all.map((corner) => corner[0]);
  const top = Math.min(5, Math.max(2, Math.ceil(corners[Math.floor(corners.length * 0.98)] * 2) / 2));
  const at = (curve, p) => curve.findLast((corner) => corner[0] <= p)[1];

  responsive(place, (width) => {
    const height = 260, left = 44, right = 10, bottom = 232, up = 12;
    const x = (p) => left + (p / top) * (width - left - right);
    const y = (share) => bottom - share * (bottom - up);
    const chart = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "slider", "aria-label": "required speedup p", "aria-valuemin": 0, "aria-valuemax": top, "aria-valuenow": 1 });
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      chart.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: y(share), y2: y(share) }));
      chart.append(draw("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end" }, `${share * 100}${share === 1 ? " %" : ""}`));
    }
    for (const p of linearTicks(0, top, width / 90)) {
      chart.append(draw("text", { x: x(p), y: bottom + 20, "text-anchor": "middle" }, `${p}×`));
    }
    chart.append(draw("line", { class: "one", x1: x(1), x2: x(1), y1: up, y2: bottom }));
    for (const name of names) {
      let path = "";
      let last = 0;
      for (const [p, share] of curves[name]) {
        path += path ? `H${x(Math.min(p, top)).toFixed(1)}` : `M${x(0)} ${y(share).toFixed(1)}`;
        if (p > top) break;
        path += `V${y(share).toFixed(1)}`;
        last = p;
      }
      chart.append(draw("path", { class: `line ${name} c-${name}`, d: last < top ? `${path}H${x(top)}` : path }));
    }
    const cursor = draw("line", { class: "cursor", y1: up, y2: bottom, visibility: "hidden" });
    const tip = make("div", { class: "tip", hidden: true });
    chart.append(cursor);
    const point = (p) => {
      p = Math.max(0, Math.min(top, p));
      cursor.setAttribute("x1", x(p));
      cursor.setAttribute("x2", x(p));
      cursor.setAttribute("visibility", "visible");
      chart.setAttribute("aria-valuenow", p.toFixed(2));
      chart.setAttribute("aria-valuetext", `p ${p.toFixed(2)}: ${names.map((n) => `${n} ${percent(at(curves[n], p))}`).join(", ")}`);
      tip.replaceChildren(`p = ${p.toFixed(2)}`, ...names.map((n) => make("div", {}, `${levelled(n)} `, make("b", {}, percent(at(curves[n], p))))));
      tip.hidden = false;
      tip.style.top = `${up}px`;
      tip.style.left = x(p) > width / 2 ? "" : `${x(p) + 10}px`;
      tip.style.right = x(p) > width / 2 ? `${width - x(p) + 10}px` : "";
    };
    const leave = () => { tip.hidden = true; cursor.setAttribute("visibility", "hidden"); };
    let now = 1;
    chart.addEventListener("pointermove", (event) => {
      now = ((event.clientX - chart.getBoundingClientRect().left - left) / (width - left - right)) * top;
      point(now);
    });
    chart.addEventListener("pointerleave", leave);
    chart.addEventListener("focus", () => { if (chart.matches(":focus-visible")) point(now); });
    chart.addEventListener("blur", leave);
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -0.05, ArrowRight: 0.05, ArrowDown: -0.05, ArrowUp: 0.05, PageDown: -0.5, PageUp: 0.5 }[event.key];
      if (!step) return;
      event.preventDefault();
      now = Math.max(0, Math.min(top, now + step));
      point(now);
    });
    const legend = make("ul", { class: "legend" }, names.map((name) => make("li", {},
      draw("svg", { viewBox: "0 0 26 12", "aria-hidden": "true" }, draw("line", { class: `k-line c-${name}`, x1: 0, x2: 26, y1: 6, y2: 6 })),
      levelled(name))));
    return [chart, tip, legend];
  });
}

// Speedups on a log axis: a dot per candidate while there is room for dots, else stacked bars of counts.
function spreadChart(place, rows) {
  const timed = rows.filter((row) => row.speedup !== undefined && row.scored);
  if (!timed.length) return place.append(make("p", { class: "empty" }, "No correct candidate has been timed."));
  const order = ["slower", "unclear", "tie", "faster"];
  const logs = timed.map((row) => Math.log2(row.speedup));
  // One absurd speedup must not squeeze all the others: beyond a factor of 64 the end bins collect the rest.
  const low = Math.max(-6, Math.floor(logs.reduce((a, b) => Math.min(a, b), -1)));
  const high = Math.min(6, Math.ceil(logs.reduce((a, b) => Math.max(a, b), 1)));

  responsive(place, (width) => {
    const height = 260, left = 10, right = 14, bottom = 232, up = 18;
    const x = (value) => left + ((value - low) / (high - low)) * (width - left - right);
    // Whole bins on both sides of 1, so that no bin mixes faster and slower by its place.
    const perOctave = Math.max(2, Math.min(12, Math.round((width - left - right) / (high - low) / 11)));
    const bins = Array.from({ length: (high - low) * perOctave }, () => []);
    timed.forEach((row, i) => {
      const bin = Math.floor((Math.max(low, Math.min(high - 1e-9, logs[i])) - low) * perOctave);
      bins[bin].push(row);
    });
    const most = bins.reduce((size, bin) => Math.max(size, bin.length), 0);
    const step = (width - left - right) / bins.length;
    const radius = Math.min(5, step / 2 - 0.5);
    const dots = most * radius * 2.1 <= bottom - up;
    const chart = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `Speedups of ${timed.length} candidates on a log scale` });
    for (let power = low; power <= high; power++) {
      const label = power < 0 ? `1/${2 ** -power}×` : `${2 ** power}×`;
      chart.append(draw("line", { class: "axis", x1: x(power), x2: x(power), y1: up, y2: bottom }));
      if ((high - low) * 42 < width || power % 2 === 0) chart.append(draw("text", { x: x(power), y: bottom + 20, "text-anchor": "middle" }, label));
    }
    chart.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: bottom, y2: bottom }));
    if (!dots) chart.append(draw("text", { x: left, y: up - 6 }, `tallest bar: ${most}`));
    chart.append(draw("line", { class: "one", x1: x(0), x2: x(0), y1: up, y2: bottom }));
    const tip = make("div", { class: "tip", hidden: true });
    bins.forEach((bin, i) => {
      bin.sort((a, b) => order.indexOf(a.standing) - order.indexOf(b.standing));
      const middle = left + (i + 0.5) * step;
      const stack = draw("g", {});
      if (dots) bin.forEach((row, j) => stack.append(draw("circle", { class: `s-${row.standing}`, cx: middle, cy: bottom - radius * (1 + 2.1 * j) - 1, r: radius })));
      else {
        let base = bottom;
        for (const standing of order) {
          const count = bin.filter((row) => row.standing === standing).length;
          const tall = (count / most) * (bottom - up);
          base -= tall;
          if (count) stack.append(draw("rect", { class: `s-${standing}`, x: middle - step / 2 + 0.5, y: base, width: Math.max(1, step - 1), height: tall }));
        }
      }
      if (bin.length) stack.append(draw("rect", { x: middle - step / 2, y: up, width: step, height: bottom - up, fill: "transparent" }));
      stack.addEventListener("pointerenter", () => {
        const from = 2 ** (low + i / perOctave), to = 2 ** (low + (i + 1) / perOctave);
        const named = bin.slice(0, 5).map((row) => make("div", {}, `${row.problem} `, make("b", {}, times(row.speedup))));
        tip.replaceChildren(`${times(from)} to ${times(to)}: ${bin.length}`, ...named, bin.length > 5 ? make("div", {}, `and ${bin.length - 5} more`) : "");
        tip.hidden = false;
        tip.style.top = `${up}px`;
        tip.style.left = middle > width / 2 ? "" : `${middle + 12}px`;
        tip.style.right = middle > width / 2 ? `${width - middle + 12}px` : "";
      });
      stack.addEventListener("pointerleave", () => { tip.hidden = true; });
      chart.append(stack);
    });
    const counts = (standing) => timed.filter((row) => row.standing === standing).length;
    const legend = make("ul", { class: "legend" }, ["faster", "tie", "slower", "unclear"].filter((standing) => standing !== "unclear" || counts(standing)).map((standing) =>
      make("li", {}, make("i", { class: `o-${standing}` }), `${standing} `, make("b", {}, counts(standing)))));
    return [chart, tip, legend];
  });
}

// Raw samples of both sides of one timing, with their medians.
function sampleChart(place, timing, row) {
  const sides = [["reference", timing.reference, row.reference], ["candidate", timing.candidate, row.candidate]];
  const all = [...timing.reference, ...timing.candidate];
  const largest = all.reduce((a, b) => Math.max(a, b)), smallest = all.reduce((a, b) => Math.min(a, b));
  const pad = (largest - smallest) * 0.04 || largest * 0.05;
  const low = Math.max(0, smallest - pad), high = largest + pad;
  responsive(place, (width) => {
    const left = 78, right = 12, height = 124;
    const x = (value) => left + ((value - low) / (high - low)) * (width - left - right);
    const chart = draw("svg", { class: "samples", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": "raw samples of reference and candidate in milliseconds" });
    for (const tick of linearTicks(low, high, Math.max(2, (width - left) / 90))) {
      chart.append(draw("line", { class: "axis", x1: x(tick), x2: x(tick), y1: 4, y2: 96 }));
      chart.append(draw("text", { x: x(tick), y: 114, "text-anchor": "middle" }, `${tick} ms`));
    }
    sides.forEach(([side, samples, centre], i) => {
      const middle = 27 + 46 * i;
      chart.append(draw("text", { x: left - 10, y: middle + 4, "text-anchor": "end" }, side));
      // The offset repeats with the golden ratio: spread evenly, and the same at every drawing.
      samples.forEach((sample, j) => chart.append(draw("circle", { class: side, cx: x(sample).toFixed(1), cy: (middle + (((j * 0.618) % 1) - 0.5) * 30).toFixed(1), r: 2.5 })));
      chart.append(draw("line", { class: "median", x1: x(centre), x2: x(centre), y1: middle - 20, y2: middle + 20 }));
    });
    return [chart];
  });
}
