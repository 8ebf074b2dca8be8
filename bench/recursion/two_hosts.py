"""Ranks on two hosts, as two network namespaces of this machine that a pair of virtual cables joins.

Each namespace has its own interfaces, addresses and ports, so messages go through TCP over the cable, not through
shared memory. It needs root, ``ip`` of iproute2 and an mpiexec of MPICH (``pip install mpich``).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
HOSTS = {"rtmbs_a": "10.213.57.1", "rtmbs_b": "10.213.57.2"}  # namespace: address
CABLES = ("rtmbs_cable_a", "rtmbs_cable_b")
LAUNCHER = """#!/bin/sh
# in place of ssh: mpiexec gives options, the host, and the words to run there
while [ $# -gt 0 ]; do
  case "$1" in
{cases}
  esac
  shift
done
exit 1
"""
SAMPLES, LONGEST = 21, 600  # of a motion, seconds


class Unable(Exception):
    """The machine has no namespaces for this process, with the reason."""


def mpiexec() -> str:
    """Return the mpiexec of MPICH beside this Python, or on the path."""
    places = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    found = shutil.which("mpiexec", path=places)
    if found is None:
        raise Unable("mpiexec is not installed")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    if "HYDRA" not in said:
        raise Unable(f"{found} is no mpiexec of MPICH")
    return found


def ip(*words: str) -> None:
    """Run one command of iproute2; raises Unable with its message."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unable(f"ip {' '.join(words)}: {done.stderr.strip()}")


@contextmanager
def two_hosts() -> Iterator[None]:
    """Make two namespaces and the cable between them, and take them away again."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise Unable("namespaces need root")
    if shutil.which("ip") is None:
        raise Unable("ip of iproute2 is not installed")
    made = []
    try:
        for name in HOSTS:
            ip("netns", "add", name)
            made.append(name)
        ip("link", "add", CABLES[0], "type", "veth", "peer", "name", CABLES[1])
        for cable, (name, address) in zip(CABLES, HOSTS.items(), strict=True):
            ip("link", "set", cable, "netns", name)
            ip("-n", name, "addr", "add", f"{address}/24", "dev", cable)
            ip("-n", name, "link", "set", cable, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def on_two_hosts(what: str, *numbers: str) -> Any:
    """Return what two ranks, one on each host, answer; ``bench.recursion.worker`` has the words."""
    program = mpiexec()
    with two_hosts(), tempfile.TemporaryDirectory() as folder:
        cases = "\n".join(
            f'    {address}) shift; exec ip netns exec {name} sh -c "$*" ;;' for name, address in HOSTS.items()
        )
        launcher = Path(folder, "launcher")
        launcher.write_text(LAUNCHER.replace("{cases}", cases), encoding="utf-8")
        launcher.chmod(0o700)
        first = next(iter(HOSTS))
        command = [
            "ip", "netns", "exec", first, program, "-hosts", ",".join(HOSTS.values()), "-ppn", "1", "-n", "2",
            "-launcher", "ssh", "-launcher-exec", str(launcher), sys.executable, "-m", "bench.recursion.worker", what,
            *numbers,
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST
        )
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def addresses() -> list[str]:
    """Return the addresses that the ranks of this process see, rank by rank."""
    from rtmbs.recursive.motion import launch

    def work(exchange: Any) -> list[str]:
        said = subprocess.run(["ip", "-brief", "-4", "addr"], capture_output=True, text=True, check=False).stdout
        return list(exchange.together(" ".join(word for line in said.splitlines() for word in line.split()[2:])))

    return list(launch(work))


def measured() -> dict[str, Any]:
    """Return the addresses of the ranks, the time of an exchange, and how far a motion is from that of one rank."""
    from bench.recursion.slider_crank import of_steps

    span = 1.0
    seen = on_two_hosts("addresses")
    shared, alone = np.array(on_two_hosts("steps", str(span))), np.array(of_steps(span))
    return {"addresses": seen, "exchange": on_two_hosts("latency"), "apart": float(np.abs(shared - alone).max())}


def main() -> None:
    """Print what two hosts measured, or why there are none."""
    try:
        print(json.dumps(measured(), indent=1))
    except Unable as reason:
        print(f"not run: {reason}")


if __name__ == "__main__":
    main()
