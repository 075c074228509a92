"""A run is a folder of append-only, versioned, self-describing records.

run.json              what was asked (`RunHeader`)
evaluations.jsonl     one `Evaluation` a line, raw samples included
candidates/<d>.py     source text by `Candidate.digest`
no_candidates.jsonl   one `NoCandidate` a line: the contestant had no answer
attempts.jsonl        one `AttemptRecord` a line: calls to a contestant, each written again when it was judged
lock                  held by the one process that appends
"""

from kernelgauge.store.run import Run, latest

__all__ = ["Run", "latest"]
