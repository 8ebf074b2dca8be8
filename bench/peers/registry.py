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

from bench.peers.mechanism import LAYOUTS

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
    cores: int = 1
    layouts: tuple[str, ...] = LAYOUTS

    def installed(self) -> bool:
        return importlib.util.find_spec(self.imported) is not None

    def missing(self) -> str:
        """Return what it lacks here, empty when it can be measured."""
        if not self.installed():
            return f"{self.package} is not installed"
        return "" if cores() >= self.cores else f"{self.cores} cores are not there"

    def name(self) -> str:
        """Return the label with the version; a checkout that is not installed says it by itself."""
        try:
            version = importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            version = importlib.import_module(self.imported).__version__
        return self.label.replace("*", version)


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


RTMBS = Peer("rtmbs *", "rtmbs_joints", "rtmbs", "rtmbs")
THREADED = Peer("rtmbs *, 2 threads", "rtmbs_threads", "rtmbs", "rtmbs", 2, ("parallel",))  # stacked hangs together
PEERS = (
    RTMBS,
    THREADED,
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
    """Return the answer of one worker, run by itself on its cores, and the share of a core that it was given.

    Raises RuntimeError when it fails, TimeoutExpired when it takes too long.
    """
    command = [sys.executable, "-W", "ignore", "-m", "bench.peers.worker", str(peer.cores), peer.module]
    command += map(str, arguments)
    environment = {**os.environ, **FASTEST, **dict.fromkeys(THREADS, "1")}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    if done.returncode != 0 or not done.stdout.strip():
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {done.returncode}")
    said = json.loads(done.stdout.strip().splitlines()[-1])
    return said["answer"], float(said["share"])
