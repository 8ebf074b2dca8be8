"""A bicycle without hands rights itself. Checked: its eigenvalues at 5 m/s are those of Meijaard et al. (2007)."""

import numpy as np
from gallery import Shown, finish

import rtmbs

PUBLISHED = (  # table 2 of the paper [1/s]: weave, capsize and castering
    -0.77534188219585 + 4.46486771378823j, -0.77534188219585 - 4.46486771378823j, -0.32286642900409,
    -14.07838969279822,
)  # fmt: skip
RADII = {"rear_wheel": 0.3, "front_wheel": 0.35}  # [m]


def build():
    m = rtmbs.vehicle.bicycle(speed=4.6, lean_rate=0.5)
    for wheel, radius in RADII.items():
        middle = m.bodies[wheel].position
        for k, angle in enumerate(np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)):
            m.add_marker(f"{wheel}{k}", wheel, middle + radius * np.array((np.cos(angle), 0.0, np.sin(angle))))
    m.add_marker("saddle", "rear_frame", (0.2, 0.0, 0.95))
    m.add_marker("bars", "front_frame", (0.8, 0.0, 1.0))
    return m


def main(t_end=3.0):
    m = build()
    result = rtmbs.Simulation(m.compile(), h=1e-3).run(t_end, record=rtmbs.Every(0.01))
    upright = rtmbs.Simulation(rtmbs.vehicle.bicycle(speed=5.0).compile(), h=1e-3)
    found = rtmbs.linearise_rolling(upright).moving()
    error = np.abs(found - np.sort_complex(np.array(PUBLISHED))).max()
    told = "eigenvalues at 5 m/s beside those of the literature [1/s]"
    return Shown(m, result, told, error, 1e-10, "saddle", None, until=0.3)


if __name__ == "__main__":
    finish(main())
