"""Mechanisms whose start is asked for, and dense answers to compare with."""

import numpy as np

import rtmbs
from rtmbs import library
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.start.assembly import Assembly
from tests.contracts.machines import closed_model

# Loops with and without redundant equations, planar and spatial, driven, of random types.
MODELS = {
    "slider_crank": lambda: library.build("slider_crank"),
    "crank_rocker": lambda: library.build("crank_rocker"),
    "driven_fourbar": lambda: library.build("driven_fourbar"),
    "bricard": lambda: library.build("bricard"),
    "fourbar by lines": lambda: library.build("fourbar", ny=2, nz=2, closure="line"),
    "fourbar": lambda: library.build("fourbar", ny=2, nz=2),
    "loop": lambda: library.build("loop", k=8),
    "andrews": lambda: library.build("andrews"),
    "closed 0": lambda: closed_model(0),
    "closed 2": lambda: closed_model(2),
    "closed 7": lambda: closed_model(7),
}
INDEPENDENT = ("slider_crank", "fourbar by lines", "closed 2")  # without redundant equations
SYSTEMS = {}


def system_of(name):
    """Return a compiled system, each compiled once."""
    if name not in SYSTEMS:
        SYSTEMS[name] = MODELS[name]().compile()
    return SYSTEMS[name]


def assembly_of(system):
    """Return the assembly of a system and its equations, closed at the reference pose."""
    equations = SemiRecursiveEquations(system)
    scale = np.where(system.row_is_rotation, 1.0, system.length)
    assembly = Assembly(equations, system.R0.copy(), scale, system.typical)
    assembly.gap(system.z0)
    return assembly


def closed_pose(system):
    """Return an assembly and a pose at which every loop is closed."""
    assembly = assembly_of(system)
    z = assembly.solve(system.z0, system.pinned_z, system.weights)
    assert np.abs(assembly.gap(z)).max(initial=0.0) < 1e-10
    return assembly, z


def bar(model, name, start, end, mass=1.0):
    """Add a uniform bar between two points of the world."""
    start, end = np.asarray(start, float), np.asarray(end, float)
    size = float(np.linalg.norm(end - start))
    moments = np.full(3, mass * size**2 / 12.0)
    return model.add_body(name, mass=mass, center_of_mass=(end - start) / 2, inertia=moments, position=start)


def parallelogram(closure=None):
    """Two upright sides of 0.3 m, joints A and D on ground, under a top of 0.5 m; cut where top and right side meet."""
    model, x = rtmbs.Model("parallelogram"), rtmbs.Revolute(axis=(1, 0, 0))
    bar(model, "left", (0, 0, 0), (0, 0, 0.3))
    bar(model, "top", (0, 0, 0.3), (0, 0.5, 0.3))
    bar(model, "right", (0, 0.5, 0), (0, 0.5, 0.3))
    model.add_joint("A", x, "ground", "left", point=(0, 0, 0))
    model.add_joint("B", x, "left", "top", point=(0, 0, 0.3))
    model.add_joint("D", x, "ground", "right", point=(0, 0.5, 0))
    model.add_joint("C", closure or x, "top", "right", point=(0, 0.5, 0.3), cut=True)
    return model


def fourbar(width=2.0, closure=None, masses=(1.0, 1.0, 1.0), off=0.0):
    """Crank of 1, coupler of 2 and rocker of 1.5 over a ground link of any width: closed at the start when it is 2.

    A width of more than 4.5 cannot be closed; nor can a pin that sits ``off`` the plane, by any motion.
    """
    model, x = rtmbs.Model("fourbar"), rtmbs.Revolute(axis=(1, 0, 0))
    bar(model, "crank", (0, 0, 0), (0, 0, 1), masses[0])
    top = np.array([0.0, 2.0, 1.0])
    foot = np.array([0.0, 2.0, -0.5])
    bar(model, "coupler", (0, 0, 1), top, masses[1])
    bar(model, "rocker", foot, top, masses[2])
    model.add_joint("A", x, "ground", "crank", point=(0, 0, 0))
    model.add_joint("B", x, "crank", "coupler", point=(0, 0, 1))
    model.add_joint("D", x, "ground", "rocker", point_a=(0.0, width, foot[2]), point_b=(0, 0, 0))
    pin = {"point_a": (off, 2.0, 0.0), "point_b": (0.0, 0.0, 1.5)}
    model.add_joint("C", x, "coupler", "rocker", cut=True, closure=closure, **pin)
    return model


def dense_loops(equations, z, zd, zdd, R0):
    """Return Phi_z (m, n), and Phidd at zdd."""
    equations.residual(z, zd, zdd, R0)
    P = equations.closure_jacobian()
    return P, equations.closure_accelerations(zd, zdd)
