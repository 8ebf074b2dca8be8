"""A pendulum held upright on a cart by a controller that is designed on rtmbs' own linear equations."""

import numpy as np
from gallery import Shown, finish
from scipy.linalg import solve_continuous_are

import rtmbs
from rtmbs.library.linkages import add_bar


def main(t_end=4.0):
    m = rtmbs.Model("pendulum on a cart", gravity=(0, 0, -9.81))
    m.add_body("cart", mass=1.0, inertia=(0.01, 0.01, 0.01))
    add_bar(m, "pole", (0, 0, 0), (0, 0, 1.0), 0.3)
    m.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), m.ground, "cart", point=(0, 0, 0))
    m.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), "cart", "pole", point=(0, 0, 0))
    m.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="rail")
    m.add_marker("tip", "pole", (0, 0, 1.0))
    system = m.compile()

    states = ["rail.displacement", "hinge.angle", "rail.rate", "hinge.rate"]
    lin = rtmbs.linearise(rtmbs.Simulation(system), inputs=["motor.force"], outputs=states)
    A, B, C = lin.A, lin.B, lin.C
    gain = B.T @ solve_continuous_are(A, B, C.T @ np.diag([10.0, 10.0, 1.0, 1.0]) @ C, np.eye(1)) @ np.linalg.inv(C)

    sim = rtmbs.Simulation(system, h=5e-3)
    sim.set("hinge.angle", 0.35)
    recorder = rtmbs.Recorder()
    recorder.begin(sim)
    while sim.t < t_end - 1e-9:
        sim.inputs["motor.force"] = float(-(gain @ sim.read(states))[0])
        recorder.observe(sim, sim.step())
    result = recorder.result()
    error = np.abs(result["hinge.angle"][-1])
    return Shown(m, result, "angle of the pole at the end [rad]", error, 1e-2, "tip", (0, 2), until=0.35)


if __name__ == "__main__":
    finish(main())
