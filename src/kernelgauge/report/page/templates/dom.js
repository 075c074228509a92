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
