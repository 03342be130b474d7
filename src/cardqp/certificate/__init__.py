"""Proofs that can be replayed from the problem's data alone."""

from cardqp.certificate.certificate import Certificate
from cardqp.certificate.dual_point import DualPoint, Reduction
from cardqp.certificate.proof_tree import Kind, ProofLog, ProofTree
from cardqp.certificate.root import RootStep

__all__ = [
    "Certificate",
    "DualPoint",
    "Kind",
    "ProofLog",
    "ProofTree",
    "Reduction",
    "RootStep",
]
