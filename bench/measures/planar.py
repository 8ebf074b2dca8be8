"""An independent reference for planar mechanisms: Cartesian coordinates, constrained accelerations, DOP853 at 1e-12.

It reads masses, points and initial rates from a Model and shares nothing else with rtmbs. Three coordinates a body
(y, z of the mass centre and the angle about X), two equations a pin, one a driver:
[M, J^T; J, 0] [q''; lam] = [f; gamma].
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from rtmbs import Model, Revolute

Array = NDArray[np.float64]
RTOL, ATOL = 1e-12, 1e-13


class PlanarMotion(NamedTuple):
    """By body name: (times, 3) y, z of the mass centre [m] and turn about X since the reference pose [rad]."""

    q: dict[str, Array]
    qd: dict[str, Array]
    qdd: dict[str, Array]


def planar_motion(model: Model, times: ArrayLike) -> PlanarMotion:
    """Return the motion of a model of bars, pins about X and drivers of pins on ground, from its reference pose.

    Rates at the start: the drivers' and those that ``set_initial`` gives to pins on ground.
    """
    plane = _Plane(model)
    start = np.concatenate([plane.pose, plane.rates()])
    wanted = np.asarray(times, dtype=float)
    run = solve_ivp(plane.flow, (0.0, wanted[-1]), start, method="DOP853", rtol=RTOL, atol=ATOL, t_eval=wanted)
    y = run.y.T
    rates = np.array([plane.flow(t, row) for t, row in zip(wanted, y, strict=True)])
    n = len(plane.pose)

    def by_body(values: Array) -> dict[str, Array]:
        return {name: values[:, 3 * k : 3 * k + 3] for k, name in enumerate(plane.names)}

    return PlanarMotion(by_body(y[:, :n]), by_body(y[:, n:]), by_body(rates[:, n:]))


class _Plane:
    """Mass matrix, weights, pins and drivers of a planar Model."""

    def __init__(self, model: Model) -> None:
        self.names = [name for name in model.bodies if name != model.ground.name]
        bodies = [model.bodies[name] for name in self.names]
        centers = [body.world(body.center_of_mass)[1:] for body in bodies]
        self.pose = np.concatenate([[y, z, 0.0] for y, z in centers])
        self.mass = np.concatenate([[body.mass, body.mass, body.inertia[0, 0]] for body in bodies])
        self.force = np.concatenate([[*(body.mass * model.gravity[1:]), 0.0] for body in bodies])
        number = {name: k for k, name in enumerate(self.names)}
        self.pins = []
        for joint in model.joints.values():
            assert isinstance(joint.type, Revolute)
            point = joint.b.world(joint.point_b)[1:]
            sides = [(number.get(body.name, -1), point) for body in (joint.a, joint.b)]
            self.pins.append([(k, at - centers[k] if k >= 0 else at) for k, at in sides])
        self.drivers = [(number[d.joint[0].b.name], d.profile) for d in model.drivers.values()]
        self.starts = [(number[i.joint.b.name], float(i.rate[0])) for i in model.initials.values()]

    def constraints(self, t: float, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return J (m, n) and gamma (m,) of J q'' = gamma."""
        m = 2 * len(self.pins) + len(self.drivers)
        J, gamma = np.zeros((m, len(q))), np.zeros(m)
        for row, pin in enumerate(self.pins):
            for (k, arm), sign in zip(pin, (1.0, -1.0), strict=True):
                if k < 0:
                    continue
                c, s = np.cos(q[3 * k + 2]), np.sin(q[3 * k + 2])
                y, z = c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]
                J[2 * row, [3 * k, 3 * k + 2]] = sign, -sign * z
                J[2 * row + 1, [3 * k + 1, 3 * k + 2]] = sign, sign * y
                gamma[2 * row : 2 * row + 2] += sign * qd[3 * k + 2] ** 2 * np.array([y, z])
        for row, (k, profile) in enumerate(self.drivers, 2 * len(self.pins)):
            J[row, 3 * k + 2], gamma[row] = 1.0, profile(t)[2]
        return J, gamma

    def rates(self) -> Array:
        """Return the rates that satisfy pins, drivers and initial values."""
        J, _ = self.constraints(0.0, self.pose, np.zeros_like(self.pose))
        given = [(k, profile(0.0)[1]) for k, profile in self.drivers] + self.starts
        rows = np.zeros((len(given), len(self.pose)))
        for row, (k, _) in zip(rows, given, strict=True):
            row[3 * k + 2] = 1.0
        pinned = J[: 2 * len(self.pins)]
        right = np.concatenate([np.zeros(len(pinned)), [rate for _, rate in given]])
        return np.linalg.lstsq(np.vstack([pinned, rows]), right)[0]

    def flow(self, t: float, y: Array) -> Array:
        n, (q, qd) = len(self.pose), np.split(y, 2)
        J, gamma = self.constraints(t, q, qd)
        matrix = np.block([[np.diag(self.mass), J.T], [J, np.zeros((len(J), len(J)))]])
        return np.concatenate([qd, np.linalg.solve(matrix, np.concatenate([self.force, gamma]))[:n]])
