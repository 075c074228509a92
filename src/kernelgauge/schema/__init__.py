"""The records: what is stored, printed as JSON and passed between rooms.

Every record is frozen, refuses unknown fields, and refuses to contradict itself: a time without a pass, or an
interval that does not contain its own estimate, cannot be constructed.
"""

from kernelgauge.schema.attempt import (
    Attempt,
    AttemptRecord,
    Budget,
    Feedback,
    Judgement,
    PaidAttempt,
    Spent,
    Step,
    judgement,
    total,
)
from kernelgauge.schema.base import FORMAT, Record, digest, finite
from kernelgauge.schema.baseline import Baseline, Measured, conditions, setting
from kernelgauge.schema.bound import Bound, Peaks, Precision, Work
from kernelgauge.schema.comparison import MODES, BaselineSpeedup, Mode
from kernelgauge.schema.difference import Difference, WrongElement
from kernelgauge.schema.elsewhere import Elsewhere, Label
from kernelgauge.schema.evaluation import (
    ROUNDING,
    Environment,
    Evaluation,
    NotVaried,
    Outcome,
    Trial,
    why_weak,
)
from kernelgauge.schema.memory import GB, GpuMemory
from kernelgauge.schema.problem import (
    LARGEST_CANDIDATE_MB,
    SUITE_NAME,
    Candidate,
    Domain,
    Nearest,
    ParameterDraws,
    Problem,
    Sizes,
    Split,
    Weakness,
    suite_of,
)
from kernelgauge.schema.profile_record import Counters, Profile, ProfileRow, Stall
from kernelgauge.schema.rules import KERNEL_POLICIES, Executed, ExecutedWork, Finding, KernelPolicyName, KernelRule
from kernelgauge.schema.run import Generation, NoCandidate, RunHeader, TooLarge
from kernelgauge.schema.timing import STANDINGS, WIDEST, WIDEST_TIE, GpuState, Standing, Timing, standing_of, tells

__all__ = [
    "FORMAT",
    "GB",
    "KERNEL_POLICIES",
    "LARGEST_CANDIDATE_MB",
    "MODES",
    "ROUNDING",
    "STANDINGS",
    "SUITE_NAME",
    "WIDEST",
    "WIDEST_TIE",
    "Attempt",
    "AttemptRecord",
    "Baseline",
    "BaselineSpeedup",
    "Bound",
    "Budget",
    "Candidate",
    "Counters",
    "Difference",
    "Domain",
    "Elsewhere",
    "Environment",
    "Evaluation",
    "Executed",
    "ExecutedWork",
    "Feedback",
    "Finding",
    "Generation",
    "GpuMemory",
    "GpuState",
    "Judgement",
    "KernelPolicyName",
    "KernelRule",
    "Label",
    "Measured",
    "Mode",
    "Nearest",
    "NoCandidate",
    "NotVaried",
    "Outcome",
    "PaidAttempt",
    "ParameterDraws",
    "Peaks",
    "Precision",
    "Problem",
    "Profile",
    "ProfileRow",
    "Record",
    "RunHeader",
    "Sizes",
    "Spent",
    "Split",
    "Stall",
    "Standing",
    "Step",
    "Timing",
    "TooLarge",
    "Trial",
    "Weakness",
    "Work",
    "WrongElement",
    "conditions",
    "digest",
    "finite",
    "judgement",
    "setting",
    "standing_of",
    "suite_of",
    "tells",
    "total",
    "why_weak",
]
