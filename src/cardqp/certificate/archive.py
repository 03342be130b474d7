"""Certificates as named arrays, to be stored without pickles."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from cardqp.certificate.certificate import Certificate
from cardqp.certificate.dual_proof import DualProof, Reduction
from cardqp.certificate.proof_tree import ProofTree
from cardqp.certificate.root import RootStep
from cardqp.certificate.streamed import ResidualPoints, StreamedCertificate
from cardqp.exceptions import ProblemError

Made = TypeVar("Made")

_OWN = ("cutoff", "branch", "child", "record", "digest")
_POINTS = fields(ResidualPoints)

_STREAMED = "sweeps."
"""What keys of streamed certificates begin with, in files of every version."""


def to_arrays(certificate: Certificate | StreamedCertificate) -> dict[str, Any]:
    """Return the arrays of a certificate by name."""
    if isinstance(certificate, StreamedCertificate):
        return _streamed_arrays(certificate)
    arrays = {f"tree.{name}": a for name, a in certificate.tree.arrays().items()}
    arrays["root.count"] = len(certificate.root)
    for number, step in enumerate(certificate.root):
        parts = {
            "index": step.proof.index,
            "value": step.proof.value,
            "beta": step.proof.beta,
            "fixed_in": step.fixed_in,
            "fixed_out": step.fixed_out,
        }
        if step.reduction is not None:
            parts["kept"] = step.reduction.kept
            # "moved" is the name in files that were written before attributes changed.
            changes = {
                "moved": step.reduction.diagonal_shift,
                "minorant": step.reduction.minorant,
                "weights": step.reduction.weights,
                "drops_bounds": np.array(True) if step.reduction.drops_bounds else None,
                "row_shift": step.reduction.row_shift,
            }
            parts |= {name: a for name, a in changes.items() if a is not None}
        arrays |= {f"root.{number}.{name}": part for name, part in parts.items()}
    return arrays


def from_arrays(
    arrays: Mapping[str, Any],
) -> Certificate | StreamedCertificate | None:
    """Rebuild a certificate from its arrays; None if they hold no certificate.

    Raises
    ------
    ProblemError
        When an array is missing.
    """
    if _STREAMED + "digest" in arrays:
        return _read(_streamed, arrays)
    return _read(_steps, arrays) if "root.count" in arrays else None


def _read(make: Callable[[Mapping[str, Any]], Made], arrays: Mapping[str, Any]) -> Made:
    try:
        return make(arrays)
    except KeyError as err:
        raise ProblemError(f"The certificate lacks the array {err}.") from None
    except (TypeError, ValueError, OverflowError) as err:
        raise ProblemError(
            None, "The certificate makes no sense", given=str(err)
        ) from None


def _steps(arrays: Mapping[str, Any]) -> Certificate:
    count = int(arrays["root.count"])
    steps = tuple(_step(arrays, f"root.{number}.") for number in range(count))
    names = [f.name for f in fields(ProofTree)]
    if "tree.cluster" not in arrays:
        # A file from before there were clusters.
        names = [name for name in names if not name.startswith("cluster")]
    return Certificate(steps, ProofTree(**{n: arrays[f"tree.{n}"] for n in names}))


def _step(arrays: Mapping[str, Any], prefix: str) -> RootStep:
    proof = DualProof(*(arrays[prefix + name] for name in ("index", "value", "beta")))
    reduction = None
    if prefix + "kept" in arrays:
        kept = arrays[prefix + "kept"]
        names = ("moved", "minorant", "weights", "row_shift")
        moved, minorant, weights, shift = (arrays.get(prefix + name) for name in names)
        drops_bounds = prefix + "drops_bounds" in arrays
        reduction = Reduction(kept, moved, minorant, weights, drops_bounds, shift)
    fixed_in, fixed_out = arrays[prefix + "fixed_in"], arrays[prefix + "fixed_out"]
    return RootStep(proof, fixed_in, fixed_out, reduction)


def _streamed_arrays(certificate: StreamedCertificate) -> dict[str, Any]:
    arrays = {f"{_STREAMED}{name}": getattr(certificate, name) for name in _OWN}
    for part in ("root", "leaves"):
        points = getattr(certificate, part)
        arrays |= {
            f"{_STREAMED}{part}.{f.name}": getattr(points, f.name) for f in _POINTS
        }
    return arrays


def _streamed(arrays: Mapping[str, Any]) -> StreamedCertificate:
    root, leaves = (
        ResidualPoints(*(arrays[f"{_STREAMED}{part}.{f.name}"] for f in _POINTS))
        for part in ("root", "leaves")
    )
    own = {name: arrays[f"{_STREAMED}{name}"] for name in _OWN}
    own |= {"cutoff": float(own["cutoff"]), "digest": str(own["digest"])}
    return StreamedCertificate(root=root, leaves=leaves, **own)
