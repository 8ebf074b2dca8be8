"""The mechanism of all hosts: a slider-crank with a motor, and a controller of its speed.

    python apps/hosts/crank.py build/crank          # library, header and mechanism file for the hosts in C and C++
    rtmbs export apps/hosts/crank.py --fmi 2 --inputs motor.torque --outputs pivot.rate --h 1e-3 --out crank.fmu

The controller is sampled every 10 ms: at t it reads the speed, and its torque holds until the next sample.
"""

import argparse
from typing import Any

import rtmbs

H, EVERY, SECONDS = 1e-3, 0.01, 2.0  # [s] step, sampling, length of the run
REFERENCE, KP, KI = 8.0, 0.6, 2.0  # [rad/s], [N m s/rad], [N m/rad]
INPUTS = ["motor.torque"]
OUTPUTS = ["pivot.rate", "slider.position[x]", "energy.total"]


def driven_crank() -> Any:
    """Return the Model of the mechanism."""
    made = rtmbs.library.build("slider_crank")
    made.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="pivot")
    return made


model = driven_crank()  # what ``rtmbs export`` looks for


class SpeedController:
    """A PI controller of the crank's speed."""

    def __init__(self) -> None:
        self.integral = 0.0  # [rad]

    def torque(self, speed: float) -> float:
        """Return the torque until the next sample [N m]."""
        error = REFERENCE - speed
        torque = KP * error + KI * self.integral
        self.integral += error * EVERY
        return torque


def report(t: float, speed: float, place: float) -> int:
    """Print what every host prints; 0 when the speed is near the reference."""
    print(f"t = {t:.17g} s, speed = {speed:.17g} rad/s, slider at {place:.17g} m")
    return 0 if abs(speed - REFERENCE) < 0.25 * REFERENCE else 1


def main() -> None:
    """Write the folder for native hosts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder to write to")
    given = parser.parse_args()
    print(rtmbs.export_library(model.compile(), given.folder, inputs=INPUTS, outputs=OUTPUTS, h=H))


if __name__ == "__main__":
    main()
