// What an opened row shows. Details and sources are read one at a time when somebody looks.
const detailAt = linesOf("details");
const textAt = linesOf("texts");

function verdict(row) {
  if (row.outcome !== "passed") {
    const said = words(row.outcome);
    return `${said[0].toUpperCase()}${said.slice(1)}: ${row.reason}`;
  }
  if (row.speedup === undefined) return "Correct; it was not timed.";
  const said = { faster: "Correct and faster", tie: "Correct; as fast as the reference, as far as can be told", slower: "Correct, but slower", unclear: "Correct; the machine was too restless to tell how fast" }[row.standing];
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

function baselinePart(over) {
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
    const said = [step.given ? `Given by ${step.given}, and not asked for` : parent ? `Goes on from attempt ${parent.number}, with feedback ${step.feedback}` : "Asked afresh", step.given ? "" : cost, step.reason].filter(Boolean).join("; ");
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
    detail.baseline_speedups.length ? baselinePart(detail.baseline_speedups) : "",
    detail.findings.length ? findingsPart(detail.findings) : "",
    detail.trials.length ? trialsPart(detail.trials) : "",
    Object.keys(detail.seconds).length ? secondsPart(detail.seconds) : ""));
  grid.append(titled("Judged by", pairs([
    ["rule broken", detail.rule], ["does not count", detail.trivial_answers.join(", ")], ["elsewhere", detail.elsewhere], ["not varied", detail.not_varied], ["notes", detail.notes.join("; ")],
    ["protocol", detail.protocol], ["kernel policy", detail.kernel_policy], ["parameters by", words(detail.weight_sync)], ["contestant", detail.contestant],
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
