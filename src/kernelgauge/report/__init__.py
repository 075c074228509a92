"""What a run says: figures, tables for a terminal, one self-contained HTML page.

The page is `kernelgauge.report.page.document.write_html`, apart because jinja2 is not imported for figures alone.
"""

from kernelgauge.report.figures.scores import Group, Scores, fast_p, score, score_run

__all__ = ["Group", "Scores", "fast_p", "score", "score_run"]
