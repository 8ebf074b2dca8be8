"""Who is measured, and how their workers are called.

Every program runs in the fastest of the settings that were tried: see the file of each, and ``FASTEST`` for what only
an environment variable can say.
"""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
LONGEST = 600.0  # seconds that a worker may take
FASTEST = {"EXUDYN_MODULE": "fast"}  # Exudyn without range checks
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "BLIS_NUM_THREADS")


@dataclass(frozen=True)
class Peer:
    """A program in one of its forms."""

    label: str
    module: str  # in this folder
    imported: str  # what must be importable
    package: str  # distribution, for the version

    def installed(self) -> bool:
        return importlib.util.find_spec(self.imported) is not None

    def name(self) -> str:
        """Return the label with the version; a checkout that is not installed says it by itself."""
        try:
            version = importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            version = importlib.import_module(self.imported).__version__
        return self.label.replace("*", version)


RTMBS = Peer("rtmbs *", "rtmbs_joints", "rtmbs", "rtmbs")
PEERS = (
    RTMBS,
    Peer("Exudyn *, spatial bodies", "exudyn_spatial", "exudyn", "exudyn"),
    Peer("Exudyn *, planar bodies", "exudyn_planar", "exudyn", "exudyn"),
    Peer("MuJoCo *, connect constraints", "mujoco_connect", "mujoco", "mujoco"),
    Peer("Drake *, SAP, ball constraints", "drake_sap", "pydrake", "drake"),
)
KERNELS = (
    Peer("rtmbs *", "kernels_rtmbs", "rtmbs", "rtmbs"),
    Peer("Pinocchio *", "kernels_pinocchio", "pinocchio", "pin"),
)
JACOBIANS = (
    Peer("rtmbs *, trace", "jacobian_trace", "rtmbs", "rtmbs"),
    Peer("CasADi *, SX, interpreted", "jacobian_casadi", "casadi", "casadi"),
)
SMALL = (
    Peer("rtmbs *", "small_rtmbs", "rtmbs", "rtmbs"),
    Peer("Exudyn *, planar bodies", "small_exudyn", "exudyn", "exudyn"),
)


def work(peer: Peer, *arguments: Any) -> tuple[dict[str, Any], float]:
    """Return the answer of one worker, run by itself on one thread, and the share of its core that it was given.

    Raises RuntimeError when it fails, TimeoutExpired when it takes too long.
    """
    command = [sys.executable, "-W", "ignore", "-m", "bench.peers.worker", peer.module, *map(str, arguments)]
    environment = {**os.environ, **FASTEST, **dict.fromkeys(THREADS, "1")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    if done.returncode != 0 or not done.stdout.strip():
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {done.returncode}")
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return said["answer"], float(said["share"])
