"""The one place that imports scikit-learn, which is not always installed."""

from cardqp.exceptions import BackendNotFoundError

try:
    from joblib import effective_n_jobs
    from sklearn.base import BaseEstimator, RegressorMixin, clone
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_selection import SelectorMixin
    from sklearn.metrics import r2_score
    from sklearn.model_selection import KFold, check_cv
    from sklearn.utils import _safe_indexing, check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import (
        _check_sample_weight,
        check_is_fitted,
        validate_data,
    )
except ImportError as err:
    raise BackendNotFoundError(
        "Estimators need scikit-learn 1.6 or newer: install it with "
        "`pip install 'cardqp[sklearn]'`, or use `SparseQP.from_regression`."
    ) from err

__all__ = [
    "BaseEstimator",
    "ConvergenceWarning",
    "KFold",
    "Parallel",
    "RegressorMixin",
    "SelectorMixin",
    "_check_sample_weight",
    "_safe_indexing",
    "available_if",
    "check_cv",
    "check_is_fitted",
    "check_random_state",
    "clone",
    "delayed",
    "effective_n_jobs",
    "r2_score",
    "validate_data",
]
