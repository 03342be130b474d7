"""Conversion and checks of the parts of a stored solution."""

import json
import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from cardqp._typing import FloatArray, IntArray
from cardqp.solution.status import Stage

_KINDS = (str, float | int, int, int, str)
"""Types of the parts of a stage."""


def stages_to_text(stages: Sequence[Stage]) -> str:
    """Return stages as JSON."""
    return json.dumps([astuple(stage) for stage in stages])


def stages_from_text(text: str) -> tuple[Stage, ...]:
    """Return the stages that a JSON text holds.

    Raises
    ------
    ValueError
        When the text does not hold stages.
    """
    try:
        stages = tuple(Stage(*parts) for parts in json.loads(text))
    except RecursionError:
        raise ValueError("its stages are nested too deeply") from None
    for stage in stages:
        pairs = zip(astuple(stage), _KINDS, strict=True)
        is_stage = all(isinstance(part, kind) for part, kind in pairs)
        if not (is_stage and math.isfinite(stage.seconds)):
            raise ValueError(f"{str(astuple(stage))[:80]} is no stage")
    return stages


def point_from(array: Any) -> FloatArray:
    """Return an array as a vector of floats, or raise a ValueError."""
    point = np.asarray(array, dtype=np.float64)
    _refuse_unless_vector("x", point.shape)
    return point


def support_from(array: Any) -> IntArray:
    """Return an array as a vector of integers, or raise a ValueError."""
    support = np.asarray(array).astype(np.intp, casting="safe")
    _refuse_unless_vector("support", support.shape)
    return support


def _refuse_unless_vector(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 1:
        raise ValueError(f"{name} must be a vector, its shape is {shape}")
