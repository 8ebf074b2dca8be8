"""Systems in all coordinates, and random consistent states of them, for tests of formulations."""

from functools import cache

import numpy as np

import rtmbs
from rtmbs.formulations import FunctionSystem, JointCoordinates, ReferencePointCoordinates, consistent_state
from rtmbs.formulations.contract import FormulationError
from rtmbs.formulations.function_system import pendulum, rheonomic_double_pendulum, slider_crank

T = 0.37  # [s] of every state
REGULAR = 3e-3  # least singular value of Phi_q that counts, in terms of the largest: states near a singular pose are
# left out, where forms differ by rounding times its inverse
TINY = 1e-10  # likewise: what is zero


class Twice:
    """The same system with all its rows again, scaled: redundant on purpose."""

    def __init__(self, system):
        self.system, self.n, self.m = system, system.n, 2 * system.m
        self.mass, self.force = system.mass, system.force

    def constraints(self, q, t):
        return doubled(self.system.constraints(q, t))

    def constraint_jacobian(self, q, t):
        return doubled(self.system.constraint_jacobian(q, t))

    def constraint_rate_terms(self, q, v, t):
        return tuple(doubled(part) for part in self.system.constraint_rate_terms(q, v, t))


def doubled(rows):
    return np.concatenate((rows, -3.0 * rows))


def skew_loop(seed, bodies=7):
    """A closed chain of revolutes with skew axes and random masses: ``bodies`` less 5 degrees of freedom."""
    rng = np.random.default_rng(seed)
    model = rtmbs.Model("skew", gravity=(1.0, -2.0, -9.0))
    last, places = model.ground, rng.normal(size=(bodies + 1, 3))
    for k in range(bodies):
        A = rng.normal(size=(3, 3))
        inertia = 0.1 * (A @ A.T) + 0.3 * np.eye(3)
        inertia = np.diag(np.linalg.eigvalsh(inertia))
        inertia = np.trace(inertia) * np.eye(3) - inertia  # of a body that can be
        body = model.add_body(
            f"b{k}", mass=rng.uniform(0.3, 5.0), inertia=np.diag(inertia), center_of_mass=rng.normal(size=3) * 0.4
        )
        model.add_joint(f"j{k}", rtmbs.Revolute(axis=unit(rng)), last, body, point=places[k])
        last = body
    model.add_joint("cut", rtmbs.Revolute(axis=unit(rng)), last, model.ground, point=places[-1], cut=True)
    return model


def random_body(model, rng, name):
    """Add a body with uneven moments of inertia about skew axes, its mass centre off the joint."""
    a, b, c = rng.uniform(0.1, 1.0, 3)
    return model.add_body(
        name, mass=rng.uniform(0.3, 5.0), inertia=(b + c, c + a, a + b), center_of_mass=rng.normal(size=3) * 0.4
    )


def floating_chain(seed):
    """A floating body, a ball joint, a skew hinge and a ball joint closed to ground: rotation vectors in a loop."""
    rng = np.random.default_rng(seed)
    model = rtmbs.Model("floating chain", gravity=(1.0, -2.0, -9.0))
    places = rng.normal(size=(4, 3))
    bodies = [random_body(model, rng, f"b{k}") for k in range(3)]
    model.add_joint("free", rtmbs.Floating(), model.ground, bodies[0], point=places[0])
    model.add_joint("ball", rtmbs.Spherical(), bodies[0], bodies[1], point=places[1])
    model.add_joint("hinge", rtmbs.Revolute(axis=unit(rng)), bodies[1], bodies[2], point=places[2])
    model.add_joint("cut", rtmbs.Spherical(), bodies[2], model.ground, point=places[3], cut=True)
    return model


def hinged_twice(seed):
    """A floating door on two hinges of one skew axis, five rows of ten redundant, with a weight on a ball joint."""
    rng = np.random.default_rng(seed)
    model = rtmbs.Model("door", gravity=(1.0, -2.0, -9.0))
    door, weight = random_body(model, rng, "door"), random_body(model, rng, "weight")
    axis, point = np.array(unit(rng)), rng.normal(size=3)
    model.add_joint("free", rtmbs.Floating(), model.ground, door, point=rng.normal(size=3))
    model.add_joint("ball", rtmbs.Spherical(), door, weight, point=rng.normal(size=3))
    for k, place in enumerate((point, point + 0.8 * axis)):
        model.add_joint(f"hinge{k}", rtmbs.Revolute(axis=axis), door, model.ground, point=place, cut=True)
    return model


def unit(rng):
    axis = rng.normal(size=3)
    return tuple(axis / np.linalg.norm(axis))


def free_masses():
    """No constraints at all."""
    return FunctionSystem(3, 0, lambda q, t: np.diag([1.0, 2.0, 3.0]), lambda q, v, t: np.ones(3) - v, lambda q, t: [])


def joints(name, **options):
    return JointCoordinates(rtmbs.library.build(name, **options).compile())


MAKERS = {
    "pendulum in x, y": pendulum,
    "rheonomic double pendulum": rheonomic_double_pendulum,
    "slider-crank in bodies": slider_crank,
    "four-bar in joints": lambda: joints("fourbar", ny=1, nz=1, closure="line"),
    "slider-crank in joints": lambda: joints("slider_crank"),
    "skew loop in joints": lambda: JointCoordinates(skew_loop(3).compile()),
    "top": lambda: joints("top"),
    "floating chain": lambda: JointCoordinates(floating_chain(5).compile()),
    "slider-crank in frames": lambda: ReferencePointCoordinates(rtmbs.library.build("slider_crank")),
    "free masses": free_masses,
}
REDUNDANT = {
    "Bricard in joints": lambda: joints("bricard"),
    "Bricard in bodies": lambda: ReferencePointCoordinates(rtmbs.library.build("bricard")),
    "crank-rocker closed in space": lambda: joints("crank_rocker"),
    "driven four-bar closed in space": lambda: joints("driven_fourbar"),
    "floating door on two hinges": lambda: JointCoordinates(hinged_twice(6).compile()),
    "double pendulum with rows twice": lambda: Twice(rheonomic_double_pendulum()),
}


@cache
def system_of(name):
    return {**MAKERS, **REDUNDANT}[name]()


def states(name, count):
    """Return ``count`` random consistent (q, v) at T, away from singular poses; the same ones whoever asks for more."""
    found, more = kept_states(name)
    while len(found) < count:
        found.append(next(more))
    return found[:count]


@cache
def kept_states(name):
    """Return the states that were asked for, and where others come from: they take long to find."""
    return [], random_states(name)


def middle(system):
    """Return what states are scattered about, and how far."""
    if isinstance(system, JointCoordinates):
        return system.equations.compiled.z0, 0.5
    if isinstance(system, ReferencePointCoordinates):
        return system.start, 0.1
    return np.zeros(system.n), 1.0


def random_states(name):
    """Yield random consistent (q, v)."""
    system, rng, refused = system_of(name), np.random.default_rng(0), 0
    start, spread = middle(system)
    while refused < 1000:
        refused += 1
        try:
            q, v = start + spread * rng.normal(size=system.n), 2.0 * rng.normal(size=system.n)
            q, v = consistent_state(system, q, v, T)
        except FormulationError:
            continue
        sigma = np.linalg.svd(system.constraint_jacobian(q, T), compute_uv=False)
        kept = sigma[sigma > TINY * sigma.max(initial=0.0)]
        if np.abs(q).max() < 10.0 and kept.min(initial=1.0) > REGULAR * kept.max(initial=0.0):
            refused = 0
            yield q, v
    raise AssertionError(f"{name}: no state in 1000 tries")


def wanted(system, q, v, t):
    """Return a and lam by another way: least squares of the whole saddle point."""
    n, M, P = system.n, system.mass(q, t), system.constraint_jacobian(q, t)
    A = np.block([[M, P.T], [P, np.zeros((system.m, system.m))]])
    b = np.concatenate((system.force(q, v, t), system.constraint_rate_terms(q, v, t)[1]))
    x = np.linalg.lstsq(A, b, rcond=1e-12)[0]
    x += np.linalg.lstsq(A, b - A @ x, rcond=1e-12)[0]
    return x[:n], x[n:]
