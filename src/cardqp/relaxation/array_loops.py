"""Compiled: small loops over arrays, which compile faster than NumPy's functions."""

import numpy as np

from cardqp._compiled import inner, inner_fast
from cardqp._typing import FloatArray, IntArray


@inner_fast
def multiply_rows(A: FloatArray, x: FloatArray) -> FloatArray:
    """``A x`` (a plain loop compiles faster than BLAS is looked up)."""
    product = np.empty(len(A))
    for i in range(len(A)):
        total = 0.0
        for j in range(len(x)):
            total += A[i, j] * x[j]
        product[i] = total
    return product


@inner_fast
def multiply_live_rows(A: FloatArray, x: FloatArray, status: IntArray) -> FloatArray:
    """``A x`` in the rows of variables that are not switched off, zero elsewhere."""
    product = np.zeros(len(A))
    for i in range(len(A)):
        if status[i] >= 0:
            total = 0.0
            for j in range(len(x)):
                total += A[i, j] * x[j]
            product[i] = total
    return product


@inner
def combine_rows(A: FloatArray, nu: FloatArray) -> FloatArray:
    """``A' nu``."""
    total = np.zeros(A.shape[1])
    for i in range(len(nu)):
        if nu[i] != 0:
            for j in range(A.shape[1]):
                total[j] += nu[i] * A[i, j]
    return total


@inner
def dot(x: FloatArray, y: FloatArray) -> float:
    """The inner product."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@inner
def filled(count: int, value: float) -> FloatArray:
    """An array with one value everywhere."""
    result = np.empty(count)
    for j in range(count):
        result[j] = value
    return result


@inner
def scaled(values: FloatArray, factor: float) -> FloatArray:
    """The values times a factor."""
    result = np.empty(len(values))
    for j in range(len(values)):
        result[j] = factor * values[j]
    return result


@inner
def copy_into(target: FloatArray, source: FloatArray) -> None:
    """Overwrite an array (a plain loop compiles ten times faster than a slice)."""
    for j in range(len(source)):
        target[j] = source[j]


@inner
def largest_sum(values: FloatArray, count: int) -> float:
    """Sum of the ``count`` largest values, which are reordered (quickselect)."""
    n = len(values)
    if count < n:
        low, high = 0, n - 1
        while low < high:
            pivot = values[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while values[i] > pivot:
                    i += 1
                while values[j] < pivot:
                    j -= 1
                if i <= j:
                    values[i], values[j] = values[j], values[i]
                    i += 1
                    j -= 1
            if count - 1 <= j:
                high = j
            elif count - 1 >= i:
                low = i
            else:
                break
    total = 0.0
    for i in range(min(count, n)):
        total += values[i]
    return total


@inner
def pick(values: FloatArray, kept: IntArray) -> FloatArray:
    """Some of the values."""
    part = np.empty(len(kept))
    for a in range(len(kept)):
        part[a] = values[kept[a]]
    return part


@inner
def pick_columns(A: FloatArray, kept: IntArray) -> FloatArray:
    """Some columns of a matrix."""
    part = np.empty((len(A), len(kept)))
    for i in range(len(A)):
        for a in range(len(kept)):
            part[i, a] = A[i, kept[a]]
    return part


@inner
def spread(part: FloatArray, kept: IntArray, values: FloatArray) -> FloatArray:
    """Fill ``values``: with ``part`` at the variables kept, zero elsewhere."""
    for j in range(len(values)):
        values[j] = 0.0
    for a in range(len(kept)):
        values[kept[a]] = part[a]
    return values


@inner
def contains(larger: IntArray, smaller: IntArray) -> bool:
    """Whether increasing indices are all among others."""
    at = 0
    for j in smaller:
        while at < len(larger) and larger[at] < j:
            at += 1
        if at == len(larger) or larger[at] != j:
            return False
    return True
