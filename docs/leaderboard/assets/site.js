"use strict";
(() => {
// Elements are built node by node and text is only ever set as text: nothing a contestant wrote is parsed as HTML.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === true) element.setAttribute(name, "");
    // As an attribute it would need a looser content security policy.
    else if (name === "style" && value) element.style.cssText = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}
const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const words = (name) => name.replaceAll("_", " ");
// Two digits, one below 1 %: 0.3 % is little, and "0 %" reads like a fault.
const reached = (share) => (share < 0.0995 ? `${+(100 * share).toPrecision(share < 0.00995 ? 1 : 2)} %` : `${(100 * share).toFixed(0)} %`);
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// Three significant digits, never in exponents where a person would not use them.
function figure(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) return value.toExponential(1).replace("e+", "e");
  if (size >= 100) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4);
}
// With the prefix of its power of a thousand, the unit to follow: 395 G.
function large(value) {
  const power = value ? Math.min(5, Math.max(0, Math.floor(Math.log10(value) / 3))) : 0;
  return `${+(value / 1000 ** power).toPrecision(3)} ${["", "k", "M", "G", "T", "P"][power]}`;
}
const times = (value) => (value === undefined || value === null ? "" : `${value.toFixed(value < 10 ? 2 : 1)}×`);

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Round steps for a linear axis: 1, 2 or 5 times a power of ten, about `count` of them.
function linearTicks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) ticks.push(+(i * step).toPrecision(10));
  return ticks;
}

// Draws again whenever the width changes, so that text keeps its size on a phone.
function responsive(place, paint) {
  let width = 0;
  const fit = () => {
    const now = place.clientWidth;
    if (!now || now === width) return;
    width = now;
    place.replaceChildren(...paint(width));
  };
  fit();
  // What is built before it is put into the page has no width yet; at the end of this script it has.
  queueMicrotask(fit);
  // In the next frame: changing the layout inside the observer would make it report a loop.
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(place);
}

// Lines of JSON in an element, plain or packed: see packing.py. Only the chunk that somebody looks at is opened.
function linesOf(id) {
  let lines, starts;
  const open = new Map();
  async function unpacked(text) {
    if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack it: try a newer one");
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return (await new Response(stream).text()).split("\n");
  }
  return async (place) => {
    if (!lines) {
      lines = byId(id).textContent.split("\n");
      starts = JSON.parse(lines[0]).packed;
    }
    if (!starts) return JSON.parse(lines[place]);
    const chunk = starts.findLastIndex((start) => start <= place);
    if (!open.has(chunk)) open.set(chunk, unpacked(lines[chunk + 1]));
    return JSON.parse((await open.get(chunk))[place - starts[chunk]]);
  };
}

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
  const timed = rows.filter((row) => row.speedup !== undefined && row.counts);
  if (!timed.length) return place.append(make("p", { class: "empty" }, "No correct candidate has been timed."));
  const order = ["slower", "tie", "faster"];
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
    const legend = make("ul", { class: "legend" }, ["faster", "tie", "slower"].map((standing) =>
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

// Speedups by kind of problem, in the table's own cells: dots while they are few, else the middle half and the middle 90 %.
const FEW = 80;

function tagStrips(section, overview) {
  const timed = overview.rows.filter((row) => row.speedup !== undefined && row.counts);
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

// A light colouring of Python, and of C inside its long strings, where kernels live. Only ever makes text nodes.
const PYTHON = /(#[^\n]*)|("""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|not|or|pass|raise|return|self|True|try|while|with|yield)\b|\b(0[xX][\da-fA-F]+|\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?)\b/g;
const C = /(\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|#[^\n]*)|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(auto|bool|break|case|char|const|constexpr|continue|default|do|double|else|extern|float|float4|for|half|if|inline|int|int64_t|long|namespace|return|short|signed|sizeof|static|struct|switch|template|typename|unsigned|using|void|volatile|while|__global__|__device__|__host__|__shared__|__restrict__|__launch_bounds__)\b|\b(0[xX][\da-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?[fFuUlL]*)\b/g;
// What is opened and never closed reaches to the end: looking for each end anew would take quadratic time.
const CLASSES = ["h-c", "h-s", "h-k", "h-n"];

function tokens(text, grammar) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(grammar)) {
    if (match.index > end) found.push([null, text.slice(end, match.index)]);
    const kind = match.slice(1).findIndex((group) => group !== undefined);
    const long = grammar === PYTHON && kind === 1 && /^("""|''')[^]*\1$/.test(match[0]) && /[;{]\s*\n/.test(match[0]);
    if (long) found.push([CLASSES[1], match[0].slice(0, 3)], ...tokens(match[0].slice(3, -3), C), [CLASSES[1], match[0].slice(-3)]);
    else found.push([CLASSES[kind], match[0]]);
    end = match.index + match[0].length;
  }
  found.push([null, text.slice(end)]);
  return found;
}

function sourceView(text) {
  const view = make("pre", { class: "source", tabindex: 0 });
  let line = make("span");
  // A text of many megabytes stays readable, in one colour.
  const parts = text.length > 400000 ? [[null, text]] : tokens(text, PYTHON);
  for (const [kind, part] of parts) {
    part.split("\n").forEach((piece, i) => {
      if (i) {
        view.append(line);
        line = make("span");
      }
      if (piece) line.append(kind ? make("span", { class: kind }, piece) : piece);
    });
  }
  if (line.hasChildNodes()) view.append(line);
  return view;
}

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

// What an opened row shows. Details and sources are read one at a time when somebody looks.
const detailAt = linesOf("details");
const textAt = linesOf("texts");

function verdict(row) {
  if (row.outcome !== "passed") {
    const said = words(row.outcome);
    return `${said[0].toUpperCase()}${said.slice(1)}: ${row.reason}`;
  }
  if (row.speedup === undefined) return "Correct; it was not timed.";
  const said = { faster: "Correct and faster", tie: "Correct; as fast as the reference, as far as can be told", slower: "Correct, but slower" }[row.standing];
  return `${said}: ${row.speedup.toFixed(3)}× with an interval of ${row.low.toFixed(3)} to ${row.high.toFixed(3)}.`;
}

const pairs = (entries) => make("dl", { class: "pairs" }, entries.filter((entry) => entry[1]).map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
const titled = (title, ...content) => make("div", {}, make("h3", {}, title), ...content);
const folded = (title, open, content) => make("details", { open }, make("summary", {}, title), content);

// Of a worker's own clock nothing is subtracted: a kernel may well be shorter than a message.
function messages(timing) {
  if (!timing.overhead) return "";
  return timing.clock === "parent" ? `overhead of ${figure(timing.overhead)} ms already subtracted; ` : `a message to the worker and back takes ${figure(timing.overhead)} ms, which no sample holds; `;
}

function timingPart(row, timing) {
  const place = make("div", { class: "chart" });
  const drawn = timing.reference.length < timing.counts[0] || timing.candidate.length < timing.counts[1];
  const part = titled("Raw samples", place, make("small", {},
    `${timing.counts[0]} and ${timing.counts[1]} samples${drawn ? `, ${timing.candidate.length} of them drawn` : ""}; the bar is the median. `
    // Where calls vary, the two are some percent apart, and a reader divides.
    + (timing.paired ? "The speedup is estimated over pairs of calls, not a quotient of medians. " : "")
    + `Clock: ${timing.clock}; ${messages(timing)}sampling ended: ${timing.stopped}.`),
    pairs(Object.entries(timing.facts)));
  part.className = "full";
  sampleChart(place, timing, row);
  return part;
}

function differs({ variant, difference }) {
  const first = difference.first[0];
  return [`${variant}: ${difference.wrong.toLocaleString("en")} elements of ${difference.shape.join(" × ")} are wrong`,
    first ? `, the first at [${first.index.join(", ")}] is ${figure(first.got)} where ${figure(first.due)} is due` : "", difference.hints.length ? `; ${difference.hints.join("; ")}` : "", "."].join("");
}

function trialsPart(trials) {
  const head = ["Inputs", "Error", "Allowed", "Eager's own", "Worst element", ""].map((name) => make("th", { scope: "col" }, name));
  const lines = trials.map((trial) => make("tr", {}, make("td", {}, trial.variant),
    make("td", {}, trial.error === null ? "not comparable" : figure(trial.error)),
    ...[trial.allowed, trial.reference_error, trial.worst].map((value) => make("td", {}, figure(value))),
    make("td", { class: trial.agreed ? null : "bad" }, trial.agreed ? "agrees" : "differs")));
  const wrong = trials.filter((trial) => trial.difference).map((trial) => make("p", { class: "wrong" }, differs(trial)));
  return titled("Checked calls", ...wrong, make("div", { class: "scroll" }, make("table", { class: "small" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, lines))));
}

function findingsPart(findings) {
  const lines = findings.map((finding) => make("tr", {}, make("td", { class: finding.severity === "refuse" ? "bad" : null }, finding.severity),
    make("td", {}, make("code", {}, finding.rule)), make("td", {}, finding.line === null ? "" : `line ${finding.line}`),
    make("td", { class: "why" }, finding.reason, finding.evidence ? `; ${finding.evidence}` : "")));
  return titled("Rules", make("div", { class: "scroll" }, make("table", { class: "small" }, make("tbody", {}, lines))));
}

function secondsPart(seconds) {
  const entries = Object.entries(seconds);
  const total = entries.reduce((sum, entry) => sum + entry[1], 0);
  return titled("Seconds by stage", pairs([...entries.map(([name, value]) => [words(name), value.toFixed(2)]), ["total", total.toFixed(2)]]));
}

function boundPart(bound) {
  const work = bound.work, bytes = work.inputs + work.parameters + work.outputs, milliseconds = bound.bound_ms / bound.share;
  // In the units of a data sheet: what is moved at the least, and computed as written, over the candidate's time.
  const rates = [`${large(1000 * bytes / milliseconds)}B/s`, ...(work.flops ? [`${large(1000 * work.flops / milliseconds)}FLOP/s`] : [])];
  const most = bound.binding === "memory" ? `${large(1000 * bytes / bound.bytes_ms)}B/s, with what may stay in the cache` : `${large(1000 * work.flops / bound.flops_ms)}FLOP/s in ${bound.rate}`;
  const meter = make("div", { class: "meter", role: "img", "aria-label": `candidate ${percent(bound.share)}, reference ${percent(1 / bound.headroom)}` },
    make("i", { class: "candidate", style: `width:${Math.min(100, 100 * bound.share)}%` }), make("i", { class: "reference", style: `left:${Math.min(100, 100 / bound.headroom)}%` }));
  return titled("Bound", meter, pairs([
    ["candidate reaches", `${percent(bound.share)}: ${rates.join(", ")}`], ["at the bound", most], ["reference", percent(1 / bound.headroom)],
    ["at most", `${times(bound.headroom)} over the reference`], ["least time", `${figure(bound.bound_ms)} ms by ${bound.binding} (bytes ${figure(bound.bytes_ms)}, FLOPs ${figure(bound.flops_ms)})`],
    ["work", `${large(bytes)}B${work.flops === null ? "" : `, ${large(work.flops)}FLOP in ${bound.rate}, ${figure(work.flops / bytes)} a byte`}`], ["peaks", bound.peaks], ["to review", bound.review],
  ]));
}

function overPart(over) {
  const lines = over.map((each) => make("tr", {}, make("td", {}, each.mode, each.strongest ? make("small", {}, " the strongest") : ""),
    make("td", {}, times(each.speedup)), make("td", {}, `${figure(each.interval[0])} to ${figure(each.interval[1])}`)));
  return titled("Over PyTorch", make("div", { class: "scroll" }, make("table", { class: "small" }, make("tbody", {}, lines))));
}

function attemptsPart(row, attempts, go) {
  const place = make("div", { class: "chart" });
  const part = titled(`Attempts at ${row.problem}`, place, make("small", {}, "In their order; the line is the fastest so far. Bars are intervals, marks below the axis failed."));
  part.className = "full";
  attemptsChart(place, attempts, row, (other) => other !== row && go(other));
  return part;
}

// What led to this answer, or to none: every call to the contestant, with what it changed in the attempt it went on from.
function historyPart(history, digest) {
  const place = make("div", { class: "chart" }), panel = make("div", { class: "tried" });
  const steps = history.map((each) => ({ ...each, sample: each.number }));
  const chosen = steps.findLast((each) => each.digest === digest) ?? steps.at(-1);
  const pick = make("select", {}, steps.map((each) => make("option", { value: each.number, selected: each === chosen }, `${each.number}: ${each.speedup ? `${times(each.speedup)} ` : ""}${words(each.state)}`)));
  async function show(step) {
    pick.value = step.number;
    const parent = steps.find((each) => each.number === step.after);
    const cost = `${step.tokens.toLocaleString("en")} tokens${step.usd === null ? "" : `, $${figure(step.usd)}`}`;
    const said = [parent ? `Goes on from attempt ${parent.number}, with feedback ${step.feedback}` : "Asked afresh", cost, step.reason].filter(Boolean).join("; ");
    const text = step.source === null ? null : await textAt(step.source), before = parent && parent.source !== null ? await textAt(parent.source) : null;
    if (pick.value !== String(step.number)) return; // another was chosen while this one was unpacked
    panel.replaceChildren(make("p", {}, `${said}.`), text === null ? "" : before !== null && before !== text ? diffView(before, text).view : digest && step === chosen ? "" : sourceView(text));
  }
  pick.addEventListener("input", () => show(steps.find((each) => String(each.number) === pick.value)));
  attemptsChart(place, steps, chosen, show);
  show(chosen);
  const part = titled(digest ? "What led to this answer" : "What was tried", place, make("p", { class: "filters" }, make("label", {}, "Attempt ", pick)), panel);
  part.className = "full";
  return part;
}

// Compared with the attempt before it: what was tried next.
async function changePart(row, attempts, detail) {
  const before = attempts[attempts.indexOf(row) - 1];
  if (!before || detail.source === null) return "";
  const other = await detailAt(before.place);
  if (other.source === null || other.source === detail.source) return "";
  const found = diffView(await textAt(other.source), await textAt(detail.source));
  return folded(`Changes since attempt ${before.sample} (${words(before.state)}): +${found.added} −${found.gone} lines`, false, found.view);
}

// Returns at once; what has to be unpacked follows. `attempts` are all rows of the problem, in their order.
function detailView(row, place, environments, attempts = [row], go = () => {}) {
  const said = make("p", { class: "verdict" }, verdict(row)), body = make("div", {}, said);
  // The table has the beginning of a long reason only.
  detailAt(place).then((detail) => { said.textContent = verdict({ ...row, reason: detail.reason }); }, () => {});
  const rest = make("div", { class: "rest", "aria-busy": "true" });
  body.append(rest);
  detailParts(row, place, environments, attempts, go).then((parts) => rest.replaceChildren(...parts), (error) => rest.replaceChildren(make("p", { class: "bad" }, `The details cannot be shown: ${error.message}.`)))
    .finally(() => rest.removeAttribute("aria-busy"));
  return [body];
}

// Without a judged candidate: what was tried, and the reference.
async function unansweredParts(row, detail, attempts, go) {
  const grid = make("div", { class: "detail-grid" });
  if (detail.history.length) grid.append(historyPart(detail.history));
  if (attempts.length > 1) grid.append(attemptsPart(row, attempts, go));
  grid.append(titled("Asked", pairs([["contestant", detail.contestant], ["sample", String(row.sample)], ["attempts", String(detail.history.length)]])));
  return [grid, ...(detail.original === null ? [] : [folded("Reference source", true, sourceView(await textAt(detail.original)))])];
}

async function detailParts(row, place, environments, attempts, go) {
  const detail = await detailAt(place);
  if (["no_candidate", "too_large", "pending"].includes(row.outcome)) return unansweredParts(row, detail, attempts, go);
  const grid = make("div", { class: "detail-grid" });
  if (detail.timing) grid.append(timingPart(row, detail.timing));
  if (detail.history.length > 1) grid.append(historyPart(detail.history, detail.digest));
  if (attempts.length > 1) grid.append(attemptsPart(row, attempts, go));
  grid.append(make("div", { class: "column" },
    detail.bound ? boundPart(detail.bound) : "",
    detail.over.length ? overPart(detail.over) : "",
    detail.findings.length ? findingsPart(detail.findings) : "",
    detail.trials.length ? trialsPart(detail.trials) : "",
    Object.keys(detail.seconds).length ? secondsPart(detail.seconds) : ""));
  grid.append(titled("Judged by", pairs([
    ["rule broken", detail.rule], ["does not count", detail.trivial.join(", ")], ["notes", detail.notes.join("; ")],
    ["protocol", detail.protocol], ["rules", detail.rules], ["parameters by", words(detail.route)], ["contestant", detail.contestant],
    ["sample", String(row.sample)], ["backend", row.backend], ["device", detail.device], ["isolation", detail.isolation.join(", ") || "none"], ["GPU memory", detail.memory], ["candidate", detail.digest], ["evaluated", detail.created],
  ])));
  const source = detail.source === null ? make("p", {}, "The source is not in this page: it was not stored with the run, or left out to keep the page small.") : sourceView(await textAt(detail.source));
  const environment = Object.entries(environments[detail.environment]);
  return [
    grid,
    await changePart(row, attempts, detail),
    folded("Candidate source", true, source),
    detail.original === null ? "" : folded("Reference source", false, sourceView(await textAt(detail.original))),
    detail.log ? folded("Log", row.outcome !== "passed", make("pre", { class: "log", tabindex: 0 }, detail.log)) : "",
    ...detail.profiles.map((text) => folded(text.includes("profile of the reference") ? "Profile of the reference" : "Profile", false, make("pre", { class: "log plain", tabindex: 0 }, text))),
    folded("Environment", false, pairs(environment.map(([name, value]) => [words(name), value === null ? "none" : String(value)]))),
  ].filter((part) => part !== "");
}

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

})();
