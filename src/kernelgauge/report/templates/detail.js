// What an opened row shows. Details and sources are lines of JSON, parsed one at a time when somebody looks.
const lineOf = (id) => {
  let lines = null;
  return (place) => {
    lines ??= byId(id).textContent.split("\n");
    return JSON.parse(lines[place]);
  };
};
const detailAt = lineOf("details");
const textAt = lineOf("texts");

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

function timingPart(row, timing) {
  const place = make("div", { class: "chart" });
  const drawn = timing.reference.length < timing.counts[0] || timing.candidate.length < timing.counts[1];
  const part = titled("Raw samples", place, make("small", {},
    `${timing.counts[0]} and ${timing.counts[1]} samples${drawn ? `, ${timing.candidate.length} of them drawn` : ""}; the bar is the median. `
    + `Clock: ${timing.clock}; overhead of ${figure(timing.overhead)} ms already subtracted; sampling ended: ${timing.stopped}.`));
  part.className = "full";
  sampleChart(place, timing, row);
  return part;
}

function trialsPart(trials) {
  const head = ["Inputs", "Error", "Allowed", "Eager's own", "Worst element", ""].map((name) => make("th", { scope: "col" }, name));
  const lines = trials.map((trial) => make("tr", {}, make("td", {}, trial.variant),
    make("td", {}, trial.error === null ? "not comparable" : figure(trial.error)),
    ...[trial.allowed, trial.reference_error, trial.worst].map((value) => make("td", {}, figure(value))),
    make("td", { class: trial.agreed ? null : "bad" }, trial.agreed ? "agrees" : "differs")));
  return titled("Checked calls", make("div", { class: "scroll" }, make("table", { class: "small" }, make("thead", {}, make("tr", {}, head)), make("tbody", {}, lines))));
}

function findingsPart(findings) {
  const lines = findings.map((finding) => make("tr", {}, make("td", { class: finding.severity === "refuse" ? "bad" : null }, finding.severity),
    make("td", {}, make("code", {}, finding.rule)), make("td", {}, finding.line === null ? "" : `line ${finding.line}`),
    make("td", {}, finding.reason, finding.evidence ? `; ${finding.evidence}` : "")));
  return titled("Rules", make("div", { class: "scroll" }, make("table", { class: "small" }, make("tbody", {}, lines))));
}

function secondsPart(seconds) {
  const entries = Object.entries(seconds);
  const total = entries.reduce((sum, entry) => sum + entry[1], 0);
  return titled("Seconds by stage", pairs([...entries.map(([name, value]) => [words(name), value.toFixed(2)]), ["total", total.toFixed(2)]]));
}

function detailView(row, place, environments) {
  const body = [make("p", { class: "verdict" }, verdict(row))];
  if (row.outcome === "no_candidate") return body;
  const detail = detailAt(place);
  const grid = make("div", { class: "detail-grid" });
  if (detail.timing) grid.append(timingPart(row, detail.timing));
  grid.append(make("div", { class: "column" },
    detail.findings.length ? findingsPart(detail.findings) : "",
    detail.trials.length ? trialsPart(detail.trials) : "",
    Object.keys(detail.seconds).length ? secondsPart(detail.seconds) : ""));
  grid.append(titled("Judged by", pairs([
    ["rule broken", detail.rule], ["does not count", detail.trivial.join(", ")], ["notes", detail.notes.join("; ")],
    ["protocol", detail.protocol], ["rules", detail.rules], ["parameters by", words(detail.route)], ["contestant", detail.contestant],
    ["sample", String(row.sample)], ["backend", row.backend], ["device", detail.device], ["isolation", detail.isolation.join(", ") || "none"], ["GPU memory", detail.memory], ["candidate", detail.digest], ["evaluated", detail.created],
  ])));
  body.push(grid);
  const source = detail.source === null ? make("p", {}, "The source was not stored with the run.") : sourceView(textAt(detail.source));
  body.push(folded("Candidate source", true, source));
  if (detail.original !== null) body.push(folded("Reference source", false, sourceView(textAt(detail.original))));
  if (detail.log) body.push(folded("Log", row.outcome !== "passed", make("pre", { class: "log", tabindex: 0 }, detail.log)));
  const environment = Object.entries(environments[detail.environment]);
  body.push(folded("Environment", false, pairs(environment.map(([name, value]) => [words(name), value === null ? "none" : String(value)]))));
  return body;
}
