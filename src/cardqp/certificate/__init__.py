"""Proofs that can be replayed from the problem's data alone."""

from cardqp.certificate.certificate import Certificate
from cardqp.certificate.dual_proof import DualProof, Reduction
from cardqp.certificate.proof_tree import Kind, ProofLog, ProofTree
from cardqp.certificate.root import RootStep
from cardqp.certificate.streamed import StreamedCertificate

__all__ = [
    "Certificate",
    "DualProof",
    "Kind",
    "ProofLog",
    "ProofTree",
    "Reduction",
    "RootStep",
    "StreamedCertificate",
]
