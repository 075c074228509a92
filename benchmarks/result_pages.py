"""What the small JSON files of one machine say, as the blocks of a page; nothing is computed here that they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import headroom_page
from contestant_page import contestant
from page_blocks import Block, Heading, Paragraph, Table
from result_text import QUARTILE_NAMES, Content, interval, listed, number, pending, too_large, words
from throughput_page import LABELS, stages_of

from kernelgauge.schema import MODES


def blocks(name: str, content: Content) -> Iterator[Block]:
    """The part of the page about one file; `name` is the file's, without its ending."""
    kind = content["kind"]
    title, body = _KINDS[kind]
    yield Heading(f"{title(content)}: `{name}.json`")
    yield Paragraph(origin(content))
    yield from body(content)


def origin(content: Content) -> str:
    """Where the figures come from, in one paragraph."""
    environment = content["environment"]
    machine = [environment["gpu"] or environment["cpu"], f"{environment['cores']} cores", environment["cpu"]]
    software = [f"Python {environment['python']}", f"torch {environment['torch']}"]
    software += [f"{name} {environment[name]}" for name in ("triton", "cuda", "driver") if environment.get(name)]
    parts = [", ".join(dict.fromkeys(machine)), ", ".join(software)]
    header = content.get("header", {})
    parts.append(f"Kernelgauge {header.get('kernelgauge') or environment['kernelgauge']}, {content['date'][:10]}")
    if header:
        rules = f"Protocol `{header['protocol']}` ({header['protocol_digest']}), {header['sizes']} sizes"
        asked = header["problems"]
        parts.append(f"{rules}, {asked} problem{'' if asked == 1 else 's'} asked for")
    commands = content.get("commands") or [content.get("command") or header.get("command")]
    shown = [each if isinstance(each, str) else " ".join(each) for each in commands if each]
    parts.append("; ".join(f"`{each}`" for each in shown) or "The command was not recorded")
    return ". ".join(parts) + "."


def _aa(content: Content) -> Iterator[Block]:
    levels = content["figures"]["levels"]
    ordered = {name: levels[name] for name in sorted(levels, key=lambda name: (name == "all", name))}
    columns = ["level", "judged", "passed", "ties", *levels["all"]["deviation"], "geometric mean of the ratio"]
    rows = [
        [name, str(one["judged"]), str(one["passed"]), str(one["ties"])]
        + [f"{100 * off:.2f} %" for off in one["deviation"].values()]
        + [number(one["geometric_mean"], 5)]
        for name, one in ordered.items()
        if one["deviation"]
    ]
    yield Paragraph(
        "Each reference against an identical copy of itself: a right evaluator says tie on 19 of 20. Quantiles of "
        "the ratio's distance from 1."
    )
    yield Table(columns, rows)
    by_problem = {row["problem"]: row for row in content["rows"]}
    worst = [by_problem[problem] for problem in levels["all"]["worst"]]
    yield Paragraph(f"The {len(worst)} farthest from 1:")
    yield _aa_rows(worst, "")
    failed = [f"{row['problem']} ({words(row['outcome'])})" for row in content["rows"] if row["outcome"] != "passed"]
    if failed:
        yield Paragraph(f"Did not pass: {listed(failed)}.")
    yield from too_large(content["figures"]["too_large"])
    yield from pending(content["figures"]["pending"])
    yield _aa_rows(content["rows"], f"all {len(content['rows'])} problems")


def _aa_rows(rows: list[Content], folded: str) -> Table:
    columns = ["problem", "verdict", "ratio", "interval", "call ms", "on the device ms", "added ms", "pairs"]
    lines = [
        [row["problem"], row.get("standing") or row["outcome"], number(row.get("speedup"), 5), interval(row)]
        + [number(row.get(name), 4) for name in ("reference_ms", "device_reference_ms", "unreported_ms")]
        + [str(row.get("pairs", "–"))]
        for row in rows
    ]
    return Table(columns, lines, frozenset({"verdict"}), folded)


def _baselines(content: Content) -> Iterator[Block]:
    figures = content["figures"]
    yield Paragraph("Speedup over eager by mode: quantiles over problems. The mode eager is a second eager process.")
    rows = []
    for mode, found in figures["modes"].items():
        failed = ", ".join(f"{words(name)} {count}" for name, count in found["failed"].items())
        speedups = [f"{value:.3f}" for value in found["speedup"]] or ["–"] * len(QUARTILE_NAMES)
        strongest = str(figures["strongest"].get(mode, 0))
        rows.append([mode, str(found["passed"]), *speedups, strongest, failed or "–"])
    yield Table(["mode", "passed", *QUARTILE_NAMES, "strongest on", "failed"], rows, frozenset({"failed"}))
    names = [name for name in (*MODES, "strongest") if any(name in means for means in figures["means"].values())]
    means = [
        [level, *(_mean(found.get(name)) for name in names)]
        for level, found in sorted(figures["means"].items(), key=lambda pair: (pair[0] == "all", pair[0]))
    ]
    yield Paragraph("Geometric mean per level, with its 95 % interval over problems:")
    yield Table(["level", *names], means)
    total = figures["total"]
    if total["problems"]:
        ratio = total["eager_ms"] / total["strongest_ms"]
        times = f"{total['eager_ms']:.5g} ms in eager and {total['strongest_ms']:.5g} ms in each one's strongest mode"
        yield Paragraph(f"One call of each of {total['problems']} problems: {times} ({ratio:.3f} times).")
    yield from too_large(figures["too_large"])
    yield from pending(figures["pending"])
    yield _baseline_rows(content["rows"], list(figures["modes"]))


def _mean(mean: Content | None) -> str:
    if mean is None:
        return "–"
    span = mean["interval"]
    return f"{mean['speedup']:.3f}" + (f" ({span[0]:.2f}–{span[1]:.2f})" if span else "")


def _baseline_rows(rows: list[Content], modes: list[str]) -> Table:
    lines = []
    for row in rows:
        cells = []
        for mode in modes:
            found = row.get(mode)
            measured = isinstance(found, list)
            cells.append(f"{found[0]:.3f} ({found[1]:.3g}–{found[2]:.3g})" if measured else str(found or "–"))
        lines.append([row["problem"], words(row["name"]), number(row["eager_ms"], 4), *cells, row["strongest"]])
    columns = ["problem", "name", "eager ms", *modes, "strongest"]
    return Table(columns, lines, frozenset({"name", "strongest"}), f"all {len(lines)} problems")


def _throughput(content: Content) -> Iterator[Block]:
    phases = content["phases"]
    base = phases.get("naive", {}).get("kernels_per_hour")
    rows = []
    for name, phase in phases.items():
        rate, busy = phase["kernels_per_hour"], phase["gpu_busy"]
        ratio = f"{rate / base:.1f}" if rate and base else "–"
        state = "" if phase["finished"] else "out of time; a random subset"
        shown = "–" if busy is None else f"{100 * busy:.0f} %"
        rows.append([LABELS[name], str(phase["kernels"]), f"{phase['wall_seconds']:.0f}", number(rate, 4), ratio])
        rows[-1] += [shown, state]
    folder = content["candidates"].rsplit("/", 1)[-1]
    asked = f"{len(content['problems'])} candidates of `{folder}` at sizes {content['sizes']}"
    yield Paragraph(f"{asked}, protocol {content['protocol']}, {content['jobs']} jobs.")
    columns = ["", "kernels", "wall s", "kernels an hour", "ratio", "GPU busy", "note"]
    yield Table(columns, rows, frozenset({"note"}))
    yield Paragraph("Seconds a kernel by stage, mean; of kernelgauge several kernels are in a stage at once.")
    stages = [[LABELS[name], stages_of(phase)] for name, phase in phases.items() if phase["kernels"]]
    yield Table(["", "seconds"], stages, frozenset({"seconds"}))


def _gpu_memory(content: Content) -> Iterator[Block]:
    yield Paragraph(
        "A copy of the reference judged at full sizes. Needed: the floor by shapes; peak: all processes together, by "
        "the driver."
    )
    columns = ["problem", "memory", "outcome", "needed GB", "peak GB", "regions GB", "candidate GB", "seconds"]
    rows = []
    for key, there in (("whole", "all"), ("capped", f"{content['cap_gb']:g} GB")):
        for row in content[key]:
            memory = row["gpu_memory"] or {}
            figures = [number(memory.get(name), 4) for name in ("peak_gb", "regions_gb", "candidate_gb")]
            outcome = words(row["outcome"])
            rows.append([row["problem"], there, outcome, number(row["needed_gb"], 4), *figures, str(row["seconds"])])
    yield Table(columns, rows, frozenset({"memory", "outcome"}))


def _headroom(content: Content) -> Iterator[Block]:
    return headroom_page.blocks(content, folded=f"all {len(content['rows'])} problems")


_KINDS: dict[str, tuple[Callable[[Content], str], Callable[[Content], Iterator[Block]]]] = {
    "aa": (lambda content: "A/A", _aa),
    "contestant": (lambda content: f"Contestant {content['header']['contestant']}", contestant),
    "baselines": (lambda content: "PyTorch's own modes", _baselines),
    "throughput": (lambda content: "Kernels per hour", _throughput),
    "headroom": (lambda content: "What is left to gain", _headroom),
    "gpu_memory": (lambda content: "GPU memory", _gpu_memory),
}
