"""Unknown names of arguments: which known one was meant.

Python refuses them already.  What is public is decorated, so that its refusal is
replaced by one that says which argument was meant: a misspelt one, or what other
packages call by that name.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Self, TypeVar, cast

from cardqp.exceptions import CallError, ParameterError

SIMILARITY = 0.7
"""How alike two names must be, between 0 and 1, for one to be a slip of the other."""

_SYNONYMS = (
    ("max_actuations_per_stage", "k"),
    (
        "sparsity n_nonzero_coefs max_assets max_size max_actuations sparsities",
        "k s l0 card cardinality nonzeros nnz n_nonzero n_nonzeros max_nonzeros "
        "n_features max_features n_features_to_select support_size max_support_size "
        "nvmax max_k n_assets",
    ),
    ("level levels", "k n_components rank"),
    ("eta", "ridge alpha lambda lam lamda lambd lambda2 l2 reg"),
    ("ridge", "eta"),
    ("penalty", "lambda0 theta"),
    ("Q", "P H"),
    ("c", "q f"),
    ("A", "G A_ub"),
    ("b", "h b_ub"),
    ("lower upper coef_bounds", "bounds"),
    ("lower coef_bounds", "lb lower_bound lower_bounds"),
    ("upper coef_bounds", "ub upper_bound upper_bounds"),
    ("time_limit", "timeout max_time max_seconds time seconds"),
    ("node_limit", "max_nodes"),
    ("gap", "tol tolerance mip_gap rel_gap"),
    ("threads n_jobs", "n_threads num_threads n_workers workers"),
    ("max_iter", "n_iter iterations"),
    ("backend", "solver"),
    ("method", "algorithm"),
    ("start", "x0 initial warm_start"),
    ("callback", "verbose progress"),
    ("cv", "folds n_folds nfolds n_splits"),
    ("standardize", "normalize scale"),
    ("fit_intercept", "intercept"),
    ("positive", "nonneg nonnegative"),
    ("always_include forced_in", "force_in include must_include fixed_in"),
    ("forced_out", "force_out exclude fixed_out"),
    ("random_state seed", ""),
    ("sample_weight", "weights"),
    ("names", "feature_names columns"),
    ("blocks", "groups group"),
    ("covariance", "cov sigma"),
    ("mean", "mu expected_returns"),
    ("returns", "prices"),
    ("risk_aversion", "gamma"),
    ("minimum_position min_weights", "min_position min_weight"),
    ("maximum_position max_weights", "max_position max_weight"),
    ("max_turnover", "turnover"),
)
"""Our names of a thing, in one function or another, and what others call it."""

_REMARKS = {
    ("eta", ""): "The ridge is 1/eta: a larger eta shrinks less.",
    ("ridge", ""): "The ridge is 1/eta.",
    ("coef_bounds", ""): "It is a pair: the least and the largest value of a nonzero.",
    ("Q", "P"): "The objective has x'Qx without a half: Q = P/2.",
    ("Q", "H"): "The objective has x'Qx without a half: Q = H/2.",
    ("returns", "prices"): "Returns are prices.pct_change().dropna().",
    ("callback", "verbose"): "callback=print shows how it goes on.",
}
"""What to know of an argument that goes by another name, any or a certain one."""

_WITHOUT_NAME = (
    Parameter.POSITIONAL_ONLY,
    Parameter.VAR_POSITIONAL,
    Parameter.VAR_KEYWORD,
)

Public = TypeVar("Public", bound=Callable[..., Any])


def did_you_mean(target: Public) -> Public:
    """Let a function or class say which argument was meant by an unknown name.

    Its signature stays as it is.  A call that succeeds takes one more function call;
    all else is done where Python has refused the call.

    Examples
    --------
    >>> @did_you_mean
    ... def solve(problem, *, time_limit=60.0): ...
    >>> try:
    ...     solve(1, timelimit=3)
    ... except CallError as error:
    ...     print(error)
    unknown argument 'timelimit': did you mean `time_limit`?
    """
    if not isinstance(target, type):
        return cast(Public, _explaining(target, target.__name__))
    initialise = vars(target)["__init__"]
    setattr(target, "__init__", _explaining(initialise, target.__name__))  # noqa: B010
    return cast(Public, target)


class NamedParameters:
    """A mixin for scikit-learn: ``set_params`` says which parameter was meant."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of nested objects as ``<part>__<parameter>``.

        Parameters
        ----------
        **params
            New values by name.
        """
        own = cast(Any, self).get_params(deep=False)
        names = (name.partition("__")[0] for name in params)
        text = about_unknown(type(self).__name__, names, own)
        if text:
            raise ParameterError(text)
        return cast(Self, cast(Any, super()).set_params(**params))


def about_unknown(owner: str, given: Iterable[str], known: Iterable[str]) -> str:
    """Return a sentence for each name that is unknown; nothing if all are known.

    Parameters
    ----------
    owner : str
        What has the arguments.
    given : iterable of str
        The names in a call.
    known : iterable of str
        The names of all arguments.

    Examples
    --------
    >>> print(about_unknown("SparseRidge", ["k"], ["n_nonzero_coefs", "eta"]))
    unknown argument 'k': did you mean `n_nonzero_coefs`?
    """
    names = list(known)
    unknown = (name for name in given if name not in names)
    return " ".join(_sentence(owner, name, names) for name in unknown)


def not_a_problem(name: str, value: Any) -> ParameterError:
    """Return the error about something else in place of a problem."""
    kinds = "a SparseQP" if name == "problem" else "a SparseQP or a Solution"
    return ParameterError(
        name,
        f"must be {kinds}",
        given=f"it is a {type(value).__name__}",
        remedy="make one by `cardqp.SparseQP(Q, c, eta=..., sparsity=...)`",
    )


def _explaining(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that is the same but for what it says of calls it refuses."""

    @wraps(function)
    def called(*arguments: Any, **settings: Any) -> Any:
        try:
            return function(*arguments, **settings)
        except TypeError as err:
            # Without a frame of its own: the call was refused, nothing was run.
            if err.__traceback__ is None or err.__traceback__.tb_next is None:
                _explain(name, function, arguments, settings)
            raise

    return called


def _explain(
    owner: str,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    settings: dict[str, Any],
) -> None:
    """Raise a better error about a call that Python refuses, if there is one."""
    parameters = signature(function).parameters
    first = next(iter(parameters), "")
    if first in ("problem", "source") and arguments and _is_array(arguments[0]):
        raise not_a_problem(first, arguments[0]) from None
    known = _names(function)
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        if first != "cls":
            return
        known += _names(arguments[0])  # it hands settings to its class
    text = about_unknown(owner, settings, known)
    if text:
        raise CallError(text) from None


def _names(function: Callable[..., Any]) -> list[str]:
    """Return the names by which a function takes arguments."""
    return [
        name
        for name, parameter in signature(function).parameters.items()
        if parameter.kind not in _WITHOUT_NAME and name not in ("self", "cls")
    ]


def _is_array(value: Any) -> bool:
    """Whether a value is an array or a table, and so no problem."""
    return hasattr(value, "__len__") or hasattr(value, "shape")


def _sentence(owner: str, name: str, known: list[str]) -> str:
    start = f"unknown argument {name!r}:"
    synonyms = _synonyms(name, known)
    meant = synonyms or _alike(name, known)
    if not meant:
        listed = ", ".join(f"`{other}`" for other in known)
        return f"{start} {owner} takes {listed or 'none'}."
    question = " or ".join(f"`{other}`" for other in meant)
    remarks = [
        _REMARKS.get((other, _plain(name)), _REMARKS.get((other, ""), ""))
        for other in synonyms
    ]
    return " ".join([start, f"did you mean {question}?", *filter(None, remarks)])


def _synonyms(name: str, known: list[str]) -> list[str]:
    """Return the known names of what others call by a name."""
    for own, elsewhere in _SYNONYMS:
        if _plain(name) in map(_plain, [*own.split(), *elsewhere.split()]):
            same = [other for other in own.split() if other in known]
            if same:
                return same
    return []


def _alike(name: str, known: list[str]) -> list[str]:
    """Return the known name that another one is a slip of, if there is one."""
    plain = {_plain(other): other for other in known}
    close = get_close_matches(_plain(name), plain, n=1, cutoff=SIMILARITY)
    return [plain[other] for other in close]


def _plain(name: str) -> str:
    """Return a name without what is easily forgotten; letters are symbols."""
    return name if len(name) == 1 else name.lower().replace("_", "")
