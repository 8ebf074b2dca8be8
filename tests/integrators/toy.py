"""Equations that answer ``integrators.contract.Equations`` in plain NumPy, and know no more of rtmbs than that."""

import numpy as np

from rtmbs.integrators.contract import NotFinite, SingularTangent
from rtmbs.integrators.settings import EVERY_ITERATION, EXACT, PAPER, Settings, StateArrays
from rtmbs.numerics.linear.solver import DenseSolver


class Pendulum:
    """A point mass in x and y on a massless bar of length 1: Phi = (x^2 + y^2 - 1) / 2, gravity along -y.

    ``drag`` gives the force a derivative by the rates; ``asked`` counts every question by name.
    """

    n, m, stiffness, may_bend, solver = 2, 1, 1.0, False, DenseSolver()

    def __init__(self, alpha=1e8, drag=0.0):
        self.mass, self.g, self.drag = 2.0, 9.81, drag
        self.alpha = np.array([alpha])
        self.asked = {}

    def ask(self, name):
        self.asked[name] = self.asked.get(name, 0) + 1

    def residual(self, z, zd, zdd, R0):
        self.ask("residual")
        self.z = z.copy()
        weight = np.array([0.0, -self.mass * self.g])
        return self.mass * zdd + self.drag * zd - weight + z * self.alpha * (z @ z - 1.0) / 2.0

    def factor(self, velocity, position, terms, old):
        self.ask("factor")
        alpha = self.alpha[0]
        self.A = (self.mass + velocity * self.drag) * np.eye(2) + position * alpha * np.outer(self.z, self.z)
        if terms == EXACT:
            self.A += position * alpha * (self.z @ self.z - 1.0) / 2.0 * np.eye(2)
        self.check()

    def factor_mass_metric(self, position):
        self.ask("factor_mass_metric")
        self.A = self.mass * np.eye(2) + position * self.alpha[0] * np.outer(self.z, self.z)
        self.check()

    def check(self):
        self.factored = self.z  # Phi_z that is in the factor
        if not np.all(np.isfinite(self.A)):
            raise NotFinite
        if np.linalg.cond(self.A) > 1e15:
            raise SingularTangent

    def solve(self, b, refined):
        self.ask("solve")
        return np.linalg.solve(self.A, b)

    def close(self, z, R0):
        self.ask("close")
        self.z = z.copy()
        return np.array([(z @ z - 1.0) / 2.0])

    def closure_velocities(self, zd):
        self.ask("closure_velocities")
        return np.array([self.z @ zd])

    def closure_accelerations(self, zd, zdd):
        self.ask("closure_accelerations")
        return np.array([zd @ zd + self.z @ zdd])

    def hold_energies(self, held, h, old, new):
        self.ask("hold_energies")
        new.energy[:] = old.energy
        return 0.0

    def apply_Phi_z(self, x):
        self.ask("apply_Phi_z")
        return np.array([self.z @ x])

    def apply_factored(self, x):
        self.ask("apply_factored")
        return np.array([self.factored @ x])

    def pull_back(self, x):
        self.ask("pull_back")
        return self.z * x[0]

    def multipliers(self, dz):
        self.ask("multipliers")
        return self.alpha * ((self.z @ self.z - 1.0) / 2.0 + self.z @ dz)

    def solve_for_impulse(self, impulse):
        self.ask("solve_for_impulse")
        return self.solve(-self.factored * impulse[0], refined=False)

    def imbalance(self, state):
        self.ask("imbalance")
        self.z = state.z.copy()
        weight = np.array([0.0, -self.mass * self.g])
        return self.mass * state.zdd + self.drag * state.zd - weight + state.z * state.lam[0]

    def corrected(self, increment, dz):
        self.ask("corrected")
        return increment + dz

    def follow_states(self, base, share):
        self.ask("follow_states")

    def keep_states(self, new, old=None, h=0.0):
        self.ask("keep_states")

    def commit(self, state):
        self.ask("commit")


QUESTIONS = [
    name
    for name, value in vars(Pendulum).items()
    if callable(value) and name not in ("ask", "check") and not name.startswith("_")
]


def settings(**options):
    """Return settings for the pendulum; those of a Simulation unless others are given."""
    values = {
        "h": 1e-2,
        "relative": 1e-6,
        "max_iterations": 8,
        "fixed_iterations": False,
        "tries": 0,
        "refactor": EVERY_ITERATION,
        "reuse_below": 1e-4,
        "max_projections": 3,
        "projection_bound": 1e-9,
        "tangent_terms": PAPER,
        "project_velocities": True,
        "project_accelerations": True,
        "hold_energy": True,
        "mass_metric": False,
        "loop_tolerance": 1e-3,
        "absolute": np.full(2, 1e-9),
        "typical": np.ones(2),
        "pace": np.ones(2),
        "rotation": np.zeros(1, bool),
        "scale": np.ones(1),
        "mass": np.full(1, 2.0),
        "first": np.ones(1, bool),
        "held": 1e8 * 1e-4 / 4.0 / 2.0,
        "may_bend": False,
    }
    return Settings(**{**values, **options})


def start(angle=1.0, rate=0.5, pendulum=None):
    """Return a consistent state at an angle from hanging."""
    one = pendulum or Pendulum()
    z, t = np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
    zd = rate * t
    zdd = (-one.g * np.sin(angle) - one.drag / one.mass * rate) * t - rate**2 * z
    lam = np.array([one.mass * (rate**2 + one.g * np.cos(angle))])
    return StateArrays(z, zd, zdd, lam, np.zeros((0, 3, 3)), np.zeros((2, 2)))


def empty(old):
    """Return a state of NaN, as a spare one may hold anything."""
    return StateArrays(*(np.full_like(values, np.nan) for values in old))


def reference(t, angle=1.0, rate=0.5, drag=0.0):
    """Return angle and rate of the pendulum at ``t``, to twelve digits."""
    from scipy.integrate import solve_ivp

    def slope(t, y):
        return y[1], -9.81 * np.sin(y[0]) - drag / 2.0 * y[1]

    return solve_ivp(slope, (0.0, t), (angle, rate), rtol=1e-12, atol=1e-13, method="DOP853").y[:, -1]
