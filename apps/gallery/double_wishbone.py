"""A double wishbone on its spring, dropped. Checked: it comes to the rest that ``rtmbs.equilibrium`` finds."""

import numpy as np
from gallery import Shown, finish

import rtmbs


def build():
    m = rtmbs.Model("double wishbone", gravity=(0, 0, -9.81))
    for name, z, length in (("low", 0.2, 0.40), ("high", 0.45, 0.32)):
        inner, outer = np.array([0.0, 0.3, z]), np.array([0.0, 0.3 + length, z])
        m.add_body(f"{name}_arm", mass=4.0, inertia=(0.05, 0.02, 0.05), position=(inner + outer) / 2)
        m.add_joint(f"{name}_bush", rtmbs.Revolute(axis=(1, 0, 0)), m.ground, f"{name}_arm", point=inner)
        m.add_marker(f"{name}_end", f"{name}_arm", outer)
    ends = [m.markers[f"{name}_end"].body.position + m.markers[f"{name}_end"].point for name in ("low", "high")]
    m.add_body("upright", mass=25.0, inertia=(0.5, 0.5, 0.4), position=(0, 0.72, 0.3))
    m.add_joint("low_ball", rtmbs.Spherical(), "low_arm", "upright", point=ends[0])
    m.add_joint("high_ball", rtmbs.Spherical(), "upright", "high_arm", point=ends[1])
    steer = m.add_marker("steer", "upright", (-0.12, 0.70, 0.3)), m.add_marker("rack", m.ground, (-0.12, 0.32, 0.3))
    m.add_rod("tie", steer)
    seat = m.add_marker("seat", "low_arm", (0.0, 0.55, 0.2)), m.add_marker("mount", m.ground, (0.0, 0.4, 0.7))
    m.add_force("spring", rtmbs.SpringDamper(stiffness=8e3, damping=900.0, length=0.55), between=seat)
    m.add_marker("hub", "upright", (0.0, 0.85, 0.3))
    return m


def main(t_end=3.0):
    m = build()
    system = m.compile()
    result = rtmbs.Simulation(system, h=2e-3).run(t_end)
    rest = rtmbs.equilibrium(system).simulation["hub.position"]
    error = np.abs(result["hub.position"][-1] - rest).max()
    return Shown(m, result, "distance of the hub from its rest at the end [m]", error, 1e-4, "hub", None, until=0.15)


if __name__ == "__main__":
    finish(main())
