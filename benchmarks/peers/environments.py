"""The peers, and a virtual environment for each, created on first use."""

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ADAPTERS = Path(__file__).parent / "adapters"


class NotInstallableError(RuntimeError):
    """A peer's environment could not be made; the message is pip's last line."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A foreign solver.

    Attributes
    ----------
    name : str
        Its name in tables; its adapter is ``adapters/with_NAME.py``.
    requirements : tuple of str
        What pip installs.  Peers with the same requirements share an environment.
    is_told : bool
        Whether it is told the price per nonzero that leads to the wanted number.
    """

    name: str
    requirements: tuple[str, ...]
    is_told: bool = False

    @property
    def adapter(self) -> Path:
        """The script that runs in the peer's environment."""
        return ADAPTERS / f"with_{self.name}.py"


_SCIP = ("pyscipopt==6.3.0",)
# L0BnB uses names that NumPy 2 dropped.
_L0BNB = ("l0bnb==1.0.0", "numpy<2")
# El0ps asks for mpi4py, which asks for an MPI library.
_EL0PS = ("el0ps==0.0.4", "mpich")

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        # OKRidge imports requests without asking for it.
        Peer("okridge", ("okridge==0.1.1", "requests")),
        Peer("l0bnb", _L0BNB),
        Peer("l0bnb_told", _L0BNB, is_told=True),
        Peer("el0ps", _EL0PS),
        Peer("el0ps_told", _EL0PS, is_told=True),
        Peer("abess", ("abess==0.4.11",)),
        Peer("scip_perspective", _SCIP),
        Peer("scip_big_m", _SCIP),
    )
}

WITH_ROWS: dict[str, Peer] = {
    "scip": Peer("scip_rows", _SCIP),
    # The wheels of the others bring licences for small problems.
    "gurobi": Peer("gurobi_rows", ("gurobipy==13.0.3", "numpy")),
    "cplex": Peer("cplex_rows", ("cplex==22.2.0.1", "numpy")),
    "copt": Peer("copt_rows", ("coptpy==8.0.7", "numpy")),
    "xpress": Peer("xpress_rows", ("xpress==9.9.1", "numpy")),
}
"""Solvers for problems with rows and bounds."""


def interpreter(peer: Peer, folder: Path) -> Path:
    """The Python of the peer's environment, which is made if it is not there.

    Raises
    ------
    NotInstallableError
        When pip fails.
    """
    home = folder.resolve() / peer.requirements[0].replace("==", "-")
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = home / "requirements.txt"
    wanted = "\n".join(peer.requirements)
    if not (ready.exists() and ready.read_text() == wanted):
        venv.create(home, with_pip=True, clear=True, symlinks=sys.platform != "win32")
        command = [str(python), "-m", "pip", "install", "--quiet", *peer.requirements]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise NotInstallableError(last_line(result.stderr))
        ready.write_text(wanted)
    return python


def last_line(message: str) -> str:
    """The last line of a program's complaint; errors come before warnings."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["no message"])[-1]
