"""A study as one HTML file that opens offline, in the looks of the report; it has no script."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from kernelgauge.report.figures.study.failures import CLASSES
from kernelgauge.report.figures.study.study import Study
from kernelgauge.report.page.document import page_environment, template_file
from kernelgauge.report.study_text import NO_TURNS, NO_WINNERS
from kernelgauge.store.disk import write_whole

COLOURS = {name: outcomes[0] for name, outcomes in CLASSES.items()} | {"passed": "faster"}
"""Of the report's colours of outcomes that of each class."""


def write_study(found: Study, path: Path | str) -> None:
    """Write the page. Raises StoreError."""
    write_whole(Path(path), render_study(found).encode())


def render_study(found: Study) -> str:
    """The page of a study. All text of contestants is escaped, and a content security policy allows no script."""
    return (
        page_environment()
        .get_template("study.html.j2")
        .render(
            study=found,
            classes=list(CLASSES),
            colours=COLOURS,
            no_turns=NO_TURNS,
            no_winners=NO_WINNERS,
            style=Markup(template_file("report.css")),
        )
    )
