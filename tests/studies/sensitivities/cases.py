"""A mechanism with springs, and derivatives of runs by differences."""

import numpy as np

import rtmbs

PLACES, WEIGHTS = (-3, -2, -1, 1, 2, 3), np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0


def differences(run, value, size):
    """Return the derivative of ``run(value)`` by central differences of order six."""
    return sum(w * np.asarray(run(value + p * size)) for w, p in zip(WEIGHTS, PLACES, strict=True)) / size


def error(found, wanted):
    """Return the largest difference over the largest entry."""
    return np.abs(np.asarray(found) - wanted).max() / np.abs(wanted).max()


def sprung_rocker(stiffness=300.0, damping=2.0, mass=1.2, crank=0.2, position=0.4, rate=6.0):
    """A four-bar in a skew plane with a spring-damper across it, a torsion spring and a marker on the coupler."""
    tilt = np.array([[1.0, 0.0, 0.0], [0.0, 0.8, -0.6], [0.0, 0.6, 0.8]])
    points = [tilt @ np.array(p) for p in ((0, 0, 0), (0, 0, crank), (0, 0.55, 0.45), (0, 0.6, 0.0))]
    axis = tuple(tilt @ np.array((1.0, 0.0, 0.0)))
    model = rtmbs.Model("sprung rocker", gravity=(0.7, -1.0, -9.7))
    names, masses = ("crank", "coupler", "rocker"), (0.7, mass, 1.9)
    for k, name in enumerate(names):
        a, b = points[k], points[k + 1]
        m = masses[k]
        model.add_body(name, mass=m, inertia=(0.02 * m, 0.03 * m, 0.025 * m), center_of_mass=tuple(0.5 * (a + b)))
    ends = ("ground", *names, "ground")
    for k, joint in enumerate(("A", "B", "C", "D")):
        model.add_joint(
            joint, rtmbs.Revolute(axis=axis), ends[k], ends[k + 1], point=tuple(points[k]), cut=joint == "C"
        )
    model.add_marker("tip", "coupler", tuple(tilt @ np.array((0.0, 0.3, 0.6))))
    model.add_marker("post", "ground", tuple(tilt @ np.array((0.1, -0.3, 0.7))))
    model.add_force(
        "spring",
        rtmbs.SpringDamper(stiffness=stiffness, damping=damping, length=0.4),
        between=("post", "tip"),
    )
    model.add_force("twist", rtmbs.TorsionSpring(stiffness=3.0, damping=0.05), joint="A")
    model.set_initial("A", position=position, rate=rate)
    return model
