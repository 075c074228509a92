"""What a judge raises: never for anything that a policy wrote, nor for a verdict that could not be reached.

JudgeError
├── Refused      the server has understood the request, and says why it does not take it
├── NoServer     no server has ever answered at this address
└── NoVerdict    an adapter's alone, where its framework knows no other way to leave a trajectory out
"""


class JudgeError(Exception):
    """Base of all errors raised on purpose; its text is one sentence that says what to do."""


class Refused(JudgeError):
    """The request is wrong: its token, its problem, its reward.

    Args:
        status: the status of HTTP.
    """

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class NoServer(JudgeError):
    """Nothing answers there, and nothing ever has: the address is wrong, or the server was not started."""


class NoVerdict(JudgeError):
    """A trajectory without a verdict, in a framework that would take any number for a reward."""
