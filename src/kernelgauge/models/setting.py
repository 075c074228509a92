"""How candidates are judged in a task, as the values that Inspect stores in its log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from kernelgauge.judging import Judging
from kernelgauge.schema.earlier import setting_renamed


class TaskSetting(Judging):
    """How candidates are judged, where evaluations run, and what all of them may cost."""

    build_dir: Path | None = None
    """Folder of the build cache; None: below that of this installation."""
    out: Path | None = None
    """Run folder that records are appended to; None: they are in Inspect's log only."""
    jobs: int | None = Field(default=None, ge=1)
    """Candidates built and (on a CPU) checked at once; None: one on a CPU, else as many as there are cores."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """What all calls of the run may read and write; None: without limit."""
    budget_usd: float | None = Field(default=None, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _of_any_log(cls, said: Any) -> Any:
        """A log from before fields were renamed may be scored again."""
        return setting_renamed(said) if isinstance(said, dict) else said

    @field_validator("build_dir", "out")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        """A log may be scored again, or a task go on, from another folder."""
        return path.expanduser().absolute() if path else None

    @property
    def usual_jobs(self) -> int:
        return self.jobs or (1 if self.device == "cpu" else len(os.sched_getaffinity(0)))
