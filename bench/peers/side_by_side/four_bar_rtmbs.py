"""A free four-bar in rtmbs."""

import numpy as np

import rtmbs

A, B, C, D = np.array([[0, 0, 0], [0.1, 0.4, 0], [1, 0.9, 0], [1.2, 0, 0]])


def bar(m, name, start, end):
    along = end - start
    length = np.linalg.norm(along)
    m.add_body(name, mass=1.0, center_of_mass=along / 2, inertia=[length**2 / 12] * 3, position=start)


m = rtmbs.Model("four-bar", gravity=(0, -9.81, 0))
bar(m, "crank", A, B)
bar(m, "coupler", B, C)
bar(m, "rocker", D, C)
hinge = rtmbs.Revolute(axis=(0, 0, 1))
m.add_joint("a", hinge, m.ground, "crank", point=A)
m.add_joint("b", hinge, "crank", "coupler", point=B)
m.add_joint("c", hinge, "coupler", "rocker", point=C)  # closes the loop
m.add_joint("d", hinge, m.ground, "rocker", point=D)
m.add_marker("pin", "rocker", C)

sim = rtmbs.Simulation(m.compile(), h=1e-3)
result = sim.run(1.0)
print(result["pin.position"][-1])
