"""Certificates as named arrays, to be stored without pickles.

What the names mean is said in docs/certificate.md.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cardqp.bounds.start import Start
from cardqp.certificate.certificate import Certificate
from cardqp.certificate.dual_point import DualPoint, Reduction
from cardqp.certificate.proof_tree import ProofTree
from cardqp.certificate.root import RootStep
from cardqp.exceptions import ProblemError

_REDUCTION = ("diagonal_shift", "minorant", "weights", "row_shift")


def to_arrays(certificate: Certificate) -> dict[str, Any]:
    """Return the arrays of a certificate by name."""
    arrays = {f"tree.{name}": a for name, a in certificate.tree.arrays().items()}
    if certificate.ridge_start is not None:
        arrays |= _named("start.", certificate.ridge_start, _names(Start))
    arrays["root.count"] = len(certificate.root)
    for number, step in enumerate(certificate.root):
        arrays |= _step_arrays(f"root.{number}.", step)
    return arrays


def _step_arrays(prefix: str, step: RootStep) -> dict[str, Any]:
    arrays = _named(prefix, step.point, _names(DualPoint))
    fixings = ("fixed_in", "fixed_out") if step.cutoff is None else ("cutoff",)
    arrays |= _named(prefix, step, fixings)
    if step.reduction is not None:
        arrays |= _named(prefix, step.reduction, ("kept", *_REDUCTION))
        if step.reduction.drops_bounds:
            arrays[prefix + "drops_bounds"] = True
    return arrays


def _named(prefix: str, parts: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Attributes that are not None, by name."""
    values = {prefix + name: getattr(parts, name) for name in names}
    return {key: value for key, value in values.items() if value is not None}


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(part.name for part in fields(kind))


def from_arrays(arrays: Mapping[str, Any]) -> Certificate | None:
    """Rebuild a certificate from its arrays; None if they hold no certificate.

    Raises ``ProblemError`` if an array is missing.
    """
    if "root.count" not in arrays:
        return None
    try:
        return _certificate(arrays)
    except KeyError as err:
        raise ProblemError(f"The certificate lacks the array {err}.") from None
    except (TypeError, ValueError, OverflowError) as err:
        raise ProblemError(
            None, "The certificate makes no sense", given=str(err)
        ) from None


def _certificate(arrays: Mapping[str, Any]) -> Certificate:
    count = int(arrays["root.count"])
    steps = tuple(_step(arrays, f"root.{number}.") for number in range(count))
    tree = ProofTree(**{n: arrays[f"tree.{n}"] for n in _names(ProofTree)})
    return Certificate(steps, tree, _start(arrays))


def _start(arrays: Mapping[str, Any]) -> Start | None:
    ridge, added, factor = (arrays.get(f"start.{name}") for name in _names(Start))
    if ridge is None and added is None and factor is None:
        return None
    return Start(ridge, added, None if factor is None else float(factor))


def _step(arrays: Mapping[str, Any], prefix: str) -> RootStep:
    parts = {name: arrays[prefix + name] for name in _names(DualPoint)}
    parts["scale"] = float(parts["scale"])
    point, reduction = DualPoint(**parts), None
    if prefix + "kept" in arrays:
        changes = {name: arrays.get(prefix + name) for name in _REDUCTION}
        drops_bounds = prefix + "drops_bounds" in arrays
        kept = arrays[prefix + "kept"]
        reduction = Reduction(kept, drops_bounds=drops_bounds, **changes)
    if prefix + "cutoff" in arrays:
        cutoff = float(arrays[prefix + "cutoff"])
        return RootStep(point, reduction=reduction, cutoff=cutoff)
    fixed_in, fixed_out = arrays[prefix + "fixed_in"], arrays[prefix + "fixed_out"]
    return RootStep(point, fixed_in, fixed_out, reduction)
