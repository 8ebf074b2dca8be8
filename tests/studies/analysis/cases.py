"""Mechanisms with known small motions, and the linear equations of any state by differences of the motion itself."""

import numpy as np

import rtmbs
from rtmbs.semirecursive.start.assembly import Assembly
from rtmbs.semirecursive.start.prepare import consistent_rates
from rtmbs.studies.analysis.neighbourhood import neighbourhood

G = 9.81


def swing(model, parent, name, length, mass, at, axis=(0, 1, 0)):
    """Hang a point mass by a hinge at ``at`` (3,) and return the body."""
    body = model.add_body(name, mass=mass, inertia=(0.0, 0.0, 0.0), position=at, center_of_mass=(0.0, 0.0, -length))
    model.add_joint(f"hinge_{name}", rtmbs.Revolute(axis=axis), parent, body, point=at)
    return body


def chain(count, length=0.3, mass=0.7):
    """Equal point masses on massless links, hanging."""
    model, last = rtmbs.Model("chain", gravity=(0, 0, -G)), "ground"
    for k in range(count):
        last = swing(model, last, f"link{k}", length, mass, (0.0, 0.0, -k * length))
    return model


def turning_pendulum(rate=8.0, length=0.5, mass=1.3, given=True):
    """A point mass hinged on a shaft that turns at a given rate: a governor without its sleeve."""
    model = rtmbs.Model("governor", gravity=(0, 0, -G))
    shaft = model.add_body("shaft", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("bearing", rtmbs.Revolute(axis=(0, 0, 1)), "ground", shaft)
    swing(model, shaft, "ball", length, mass, (0.0, 0.0, 0.0))
    if given:
        model.add_driver("turn", rtmbs.ConstantRate(rate), joint="bearing")
    model.set_initial("hinge_ball", position=-np.arccos(G / (length * rate**2)), rate=0.0)
    return model


def sleeping_top(spin=60.0, mass=0.5, height=0.2, transverse=0.03, axial=0.005):
    """A symmetric top upright on two crossed hinges, massless between them, with its spin on a third."""
    model = rtmbs.Model("top", gravity=(0, 0, -G))
    outer = model.add_body("outer", mass=0.0, inertia=(0, 0, 0))
    inner = model.add_body("inner", mass=0.0, inertia=(0, 0, 0))
    rotor = model.add_body("rotor", mass=mass, inertia=(transverse, transverse, axial), center_of_mass=(0, 0, height))
    model.add_joint("x", rtmbs.Revolute(axis=(1, 0, 0)), "ground", outer)
    model.add_joint("y", rtmbs.Revolute(axis=(0, 1, 0)), outer, inner)
    model.add_joint("z", rtmbs.Revolute(axis=(0, 0, 1)), inner, rotor)
    model.set_initial("z", position=0.0, rate=spin)
    return model


def by_motion(sim, size=1e-4):
    """Return dv'/d(q, v) (f, 2f) by differences of the accelerations of states that close the loops anew."""
    near = neighbourhood(sim)
    equations, f, own = near.equations, near.f, near.independent
    scale = np.where(equations.system.row_is_rotation, 1.0, equations.system.length)
    assembly = Assembly(equations, near.arrays.R0, scale, equations.system.typical)
    weights, kept = np.ones(equations.n), np.zeros(equations.n, bool)
    kept[own] = True

    def acceleration(dq, dv):
        z = assembly.solve(near.arrays.z + near.N @ dq, kept, weights)
        equations.close(z, near.arrays.R0)
        zd = near.arrays.zd.copy()
        zd[own] += dv
        zd = consistent_rates(assembly, zd, kept, weights)
        return equations.accelerations(z, zd, near.arrays.R0, near.arrays.s)[0][own]

    A = np.zeros((f, 2 * f))
    for k, way in enumerate(np.eye(2 * f) * size):
        ahead, behind = (acceleration(sign * way[:f], sign * way[f:]) for sign in (1.0, -1.0))
        far_ahead, far_behind = (acceleration(sign * way[:f], sign * way[f:]) for sign in (2.0, -2.0))
        A[:, k] = (8.0 * (ahead - behind) - (far_ahead - far_behind)) / (12.0 * size)
    return A
