"""A spinning top that precesses and nods. Checked: its energy and its spin about the vertical, which stay."""

import numpy as np
from gallery import Shown, finish

import rtmbs
from rtmbs.numerics.rotations.quaternions import rotations

MASS, ARM, AXIAL, ACROSS, SPIN = 1.0, 0.3, 0.005, 0.0026, 60.0  # [kg, m, kg m^2, kg m^2, rad/s]


def main(t_end=3.0):
    m = rtmbs.Model("gyroscope", gravity=(0, 0, -9.81))
    axis = np.array([np.sin(1.2), 0.0, np.cos(1.2)])
    across = np.array([np.cos(1.2), 0.0, -np.sin(1.2)])
    frame = np.stack((across, (0.0, 1.0, 0.0), axis), axis=1)
    m.add_body(
        "rotor", mass=MASS, center_of_mass=(0, 0, ARM), inertia=(ACROSS, ACROSS, AXIAL), position=(0, 0, 0),
        orientation=frame,
    )  # fmt: skip
    m.add_joint("ball", rtmbs.Spherical(), m.ground, "rotor", point=(0, 0, 0))
    m.set_initial("ball", rate=(0, 0, SPIN))
    m.add_marker("nose", "rotor", point=ARM * axis)
    result = rtmbs.Simulation(m.compile(), h=2.5e-4).run(t_end)
    R = rotations(result["rotor.orientation"])
    about_pivot = np.diag([ACROSS + MASS * ARM**2, ACROSS + MASS * ARM**2, AXIAL])
    vertical = np.einsum("si,sij,jk,slk,sl->s", np.tile((0.0, 0.0, 1.0), (len(R), 1)), R, about_pivot, R,
                         result["rotor.angular_velocity"])  # fmt: skip
    energy = result["energy.total"]
    error = max(np.ptp(vertical) / abs(vertical[0]), np.ptp(energy) / abs(energy[0]))
    return Shown(m, result, "largest relative change of vertical spin and of energy", error, 2e-3, "nose", None)


if __name__ == "__main__":
    finish(main())
