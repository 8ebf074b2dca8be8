"""A coupled FMU: the controller is an FMU of another tool, in the loop of a Simulation.

    python apps/hosts/coupled.py

The controller is compiled from ``controller/controller.c`` first, which needs a C compiler. Then the loop is one call.
The other hosts print the same line, digit for digit.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from crank import EVERY, SECONDS, H, model, report

import rtmbs
import rtmbs.export

HERE = Path(__file__).parent / "controller"
HEADERS = Path(rtmbs.export.__file__).parent / "c" / "fmi"


def built(folder: Path) -> Path:
    """Return the controller as an FMU in a folder."""
    library, archive = folder / "controller.so", folder / "controller.fmu"
    command = [os.environ.get("CC") or "cc", "-shared", "-fPIC", "-O2", "-ffp-contract=off", f"-I{HEADERS}"]
    subprocess.run([*command, HERE / "controller.c", "-o", library], check=True)
    with zipfile.ZipFile(archive, "w") as file:
        file.write(HERE / "modelDescription.xml", "modelDescription.xml")
        file.write(library, "binaries/linux64/controller.so")
    return archive


def main() -> int:
    """Run the mechanism with the controller in the loop; 0 when the speed is held."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if not shutil.which(os.environ.get("CC") or "cc"):
        print("no C compiler", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        controller = rtmbs.CoupledFMU(
            built(Path(folder)), every=EVERY, inputs={"speed": "pivot.rate"}, outputs={"motor.torque": "torque"}
        )
        sim = rtmbs.Simulation(model.compile(), h=H)
        rtmbs.co_simulate(sim, SECONDS, [controller])
    return report(sim.t, sim["pivot.rate"], sim["slider.position"][0])


if __name__ == "__main__":
    sys.exit(main())
