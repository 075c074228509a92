"""The leaderboard of a server: what was handed in and judged, beside the run folders it was started with."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

from kernelgauge.leaderboard.disclosure import public
from kernelgauge.leaderboard.entries import Contestant, Entry, Published, board_setting_of
from kernelgauge.leaderboard.static_site import Link, Site
from kernelgauge.serve.submissions import Submission, Submissions

# How far the clocks of judges may be apart, and a verdict may be late behind its own time.
_OVERLAP_SECONDS = 600.0
_KEPT_PAGES = 512
# Times as long as making the pages took, before they are made again.
_REST = 4


class LiveSite:
    """A site that is made anew when there are new verdicts, at most once in `seconds`; threads may share it."""

    def __init__(
        self, submissions: Submissions, runs: Sequence[Published], links: Sequence[Link], seconds: float = 1.0
    ):
        self._submissions, self._runs, self._links, self._seconds = submissions, runs, links, seconds
        self._entries: dict[int, Entry] = {}
        self._newest = 0.0
        self._looked = float("-inf")
        self._looking = threading.Lock()
        self._page = self._made()

    def page(self, path: str) -> bytes | None:
        """What stands at `path` now, or stood there a moment ago."""
        # Whoever comes while another thread looks gets the pages that there are.
        if time.monotonic() > self._looked + self._seconds and self._looking.acquire(blocking=False):
            began = time.monotonic()
            try:
                if self._look():
                    self._page = self._made()
            finally:
                self._looked = time.monotonic()
                # Large boards take longer to make; they may not take all the time there is.
                self._looked += _REST * (self._looked - began)
                self._looking.release()
        return self._page(path)

    def _look(self) -> bool:
        ended = self._submissions.judged_since(self._newest - _OVERLAP_SECONDS)
        new = sorted(ended.keys() - self._entries.keys())
        self._entries |= {each.number: entry_of(each) for each in self._submissions.several(new)}
        self._newest = max([self._newest, *ended.values()])
        return bool(new)

    def _made(self) -> Callable[[str], bytes | None]:
        handed_in = Published("submissions", tuple(self._entries.values()), ())
        site = Site([*self._runs, handed_in], self._links, live=True)
        return lru_cache(_KEPT_PAGES)(site.page)


def entry_of(submission: Submission, words: bool = False) -> Entry:
    """A judged submission as an entry of the leaderboard; with `words`, as only its account may read it."""
    assert submission.record is not None
    return Entry(
        evaluation=submission.record if words else public(submission.record),
        contestant=Contestant(name=submission.account),
        setting=board_setting_of(submission.record),
        source=submission.source,
        origin=f"submission {submission.number}",
        submitted=True,
    )
