"""Everything cardqp raises on purpose."""


class CardQPError(Exception):
    """Root of all errors raised by cardqp."""


class ProblemError(CardQPError, ValueError):
    """The problem's data break a rule; the message names the argument and remedy."""


class ParameterError(CardQPError, ValueError):
    """A setting of a method is outside its range."""


class BackendError(CardQPError, RuntimeError):
    """A solver underneath failed on a subproblem."""


class BackendNotFoundError(CardQPError, ImportError):
    """An optional package is missing; the message says what to install."""


class DataError(CardQPError, OSError):
    """A data set is not there or its file is damaged; the message says what to do."""


class NotSolvedError(CardQPError, RuntimeError):
    """Raised by ``Solution.raise_for_status`` when optimality is not proved."""
