import numpy as np

from cardqp import SparseQP

EYE = np.eye(3)


ONES = np.ones(3)


def make(Q=EYE, c=ONES, *, eta=1.0, sparsity=1, **settings):
    return SparseQP(Q, c, eta=eta, sparsity=sparsity, **settings)
