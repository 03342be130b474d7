"""Certificates as named arrays, to be stored without pickles."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cardqp.certificate.certificate import Certificate, RootStep
from cardqp.certificate.dual_proof import DualProof, Narrowing
from cardqp.certificate.proof_tree import ProofTree
from cardqp.exceptions import ProblemError


def to_arrays(certificate: Certificate) -> dict[str, Any]:
    """The arrays of a certificate by name."""
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
        if step.narrowing is not None:
            parts["kept"] = step.narrowing.kept
            changes = {
                "moved": step.narrowing.moved,
                "minorant": step.narrowing.minorant,
            }
            parts |= {name: a for name, a in changes.items() if a is not None}
        arrays |= {f"root.{number}.{name}": part for name, part in parts.items()}
    return arrays


def from_arrays(arrays: Mapping[str, Any]) -> Certificate:
    """The certificate that the arrays were made from.

    Raises
    ------
    ProblemError
        When an array is missing.
    """
    try:
        count = int(arrays["root.count"])
        steps = tuple(_step(arrays, f"root.{number}.") for number in range(count))
        parts = {part.name: arrays[f"tree.{part.name}"] for part in fields(ProofTree)}
    except KeyError as err:
        raise ProblemError(f"The certificate lacks the array {err}.") from None
    except (TypeError, ValueError) as err:
        raise ProblemError(f"The certificate makes no sense: {err}.") from None
    return Certificate(steps, ProofTree(**parts))


def _step(arrays: Mapping[str, Any], prefix: str) -> RootStep:
    proof = DualProof(*(arrays[prefix + name] for name in ("index", "value", "beta")))
    narrowing = None
    if prefix + "kept" in arrays:
        kept = arrays[prefix + "kept"]
        moved, minorant = (arrays.get(prefix + name) for name in ("moved", "minorant"))
        narrowing = Narrowing(kept, moved, minorant)
    fixed_in, fixed_out = arrays[prefix + "fixed_in"], arrays[prefix + "fixed_out"]
    return RootStep(proof, fixed_in, fixed_out, narrowing)
