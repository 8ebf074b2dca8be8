"""A host in Python: a Simulation with a sampled controller.

    python apps/hosts/controlled.py

The hosts in C and C++ and the coupled FMU print the same line, digit for digit.
"""

import sys

from crank import EVERY, SECONDS, H, SpeedController, model, report

import rtmbs


def main() -> int:
    """Run the mechanism; 0 when the speed is held."""
    sim, controller = rtmbs.Simulation(model.compile(), h=H), SpeedController()
    for _ in range(round(SECONDS / EVERY)):
        sim.inputs["motor.torque"] = controller.torque(sim["pivot.rate"])
        for _ in range(round(EVERY / H)):
            if not sim.step().outcome.accepted:
                return 1
    return report(sim.t, sim["pivot.rate"], sim["slider.position"][0])


if __name__ == "__main__":
    sys.exit(main())
