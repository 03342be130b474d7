"""The rules for problem data: each rule has one message, raised here and only here."""

from cardqp.problem.validation.arrays import (
    LARGEST,
    LEAST_TARGET,
    data_matrix,
    entries,
    mean_square,
    numeric_array,
    real_array,
    refuse,
    refuse_masked,
    scalar,
    squarable,
    target,
    vector,
)
from cardqp.problem.validation.constraints import (
    bounds,
    right_hand_side,
    rows,
    two_sided,
)
from cardqp.problem.validation.quadratic import (
    CONVEXITY_TOLERANCE,
    convexity_defect,
    factor_matrix,
    inverse_ridge,
    quadratic_matrix,
    refuse_indefinite,
    specific_variance,
    square,
    symmetric_matrix,
)
from cardqp.problem.validation.settings import (
    at_least,
    count,
    demand,
    function,
    instance,
    integers,
    is_integer,
    level,
    listing,
    one_of,
    positive,
    ranges,
    share,
    whole,
)
from cardqp.problem.validation.variables import (
    blocks,
    forced_in,
    forced_out,
    groups,
    indices,
    names,
    penalty,
    repeated,
    some_limit,
    sparsity,
    whole_blocks,
)
