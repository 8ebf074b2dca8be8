"""Steps whose Newton iteration ends just behind a bend of a force law: sliding masses against equations of their own.

One to three masses on one rail, each pushed by the one before with dampers, stops and saturated friction that bend. A
constant force sends the first correction to a place behind the bend, at any distance down to rounding. The step's own
equation is solved by SciPy's ``brentq`` for one mass, and by Newton's iteration with the slopes of its own pieces for
more. The equations are monotone, so there is one solution.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, VariationalMidpoint
from rtmbs.integrators.contract import Method
from rtmbs.integrators.newton import starts_stiffly

ALLOWED = 3.0  # tolerances: error of a step that CONVERGED; 0.1 for one mass
DRAWS = 20  # steps of a case
STIFF = -1.0, 4.5  # powers of ten: h^2/4 k / m and h/2 c / m behind a bend
GAMMA = 2.0 - np.sqrt(2.0)
NEWER, OLDER = 0.5 * (np.sqrt(2.0) + 1.0), 0.5 * (np.sqrt(2.0) - 1.0)
NAMES = "push", "damping", "faster", "stop", "far", "friction", "width"  # parameters of a law
PARTS = "faster", "far", "friction"  # what bends: a rate, a place, a rate

Array = NDArray[np.float64]
Drawn = tuple[Array, Array, Array, dict[str, Array]]  # z, zd, zdd and parameters
Piece = Callable[[Array], tuple[Array, Array]]  # residual and its derivative

METHODS: tuple[Callable[[], Method], ...] = (
    PenaltyTrapezoidal,
    lambda: PenaltyTrapezoidal(refactor="every-step"),
    lambda: PenaltyTrapezoidal(refactor="every-iteration"),
    lambda: PenaltyTrapezoidal(fused=False),
    VariationalMidpoint,
    lambda: VariationalMidpoint(fused=False),
    rtmbs.TRBDF2,
    lambda: rtmbs.TRBDF2(fused=False),
)


def force(p: Any, x: Any, v: Any) -> Any:
    """Return the force of a law: a damper that is firm beyond a rate, a stop, friction that saturates."""
    firm = p["damping"] * np.maximum(v - p["faster"], 0.0)
    return p["push"] - firm - p["stop"] * np.maximum(x - p["far"], 0.0) - saturated(p, v)


def saturated(p: Any, v: Any) -> Any:
    """Return dry friction: of one size from the rate ``width`` on."""
    return p["friction"] * np.clip(v / p["width"], -1.0, 1.0)


def slopes(p: dict[str, Array], x: Array, v: Array) -> tuple[Array, Array]:
    """Return stiffness and damping of the pieces at places and rates (n,)."""
    slides = np.abs(v) >= p["width"]
    return p["stop"] * (x > p["far"]), p["damping"] * (v > p["faster"]) + np.where(
        slides, 0.0, p["friction"] / p["width"]
    )


def law(t: Any, k: Any, p: Any) -> Any:
    """Return the force on a joint, as rtmbs gets it."""
    return force(p, k.z, k.zd)


class Rail:
    """Masses on a rail in one Simulation; every draw is a step from a State of its own."""

    def __init__(self, rng: np.random.Generator, n: int, h: float, method: Method) -> None:
        model, before, mass = rtmbs.Model("rail", gravity=(0, 0, 0)), "ground", 10.0 ** rng.uniform(-1.0, 1.0, n)
        for k in range(n):
            model.add_body(f"b{k}", mass=float(mass[k]), inertia=(1, 1, 1))
            model.add_joint(f"j{k}", rtmbs.Prismatic(axis=(1, 0, 0)), before, f"b{k}", point=(float(k), 0, 0))
            model.add_force(f"f{k}", law, joint=f"j{k}", parameters={**dict.fromkeys(NAMES, 0.0), "width": 1.0})
            before = f"b{k}"
        self.n, self.h, self.method = n, h, method
        self.M = np.array([[mass[max(i, j) :].sum() for j in range(n)] for i in range(n)])
        self.sim = Simulation(model.compile(), h, method)
        self.start = self.sim.state.copy()
        self.settings = self.sim._store.work.settings  # type: ignore[attr-defined]

    def residual(self, drawn: Drawn, h: float) -> Piece:
        """Return the trapezoidal rule over ``h`` for the increment."""
        z, zd, zdd, p = drawn

        def found(d: Array) -> tuple[Array, Array]:
            x, v, a = z + d, 2.0 / h * d - zd, 4.0 / h**2 * d - 4.0 / h * zd - zdd
            k, c = slopes(p, x, v)
            return 0.25 * h**2 * (self.M @ a - force(p, x, v)), self.M + np.diag(0.5 * h * c + 0.25 * h**2 * k)

        return found

    def exact(self, drawn: Drawn, guess: Array) -> Array:
        """Return the increment that the method's own equation has."""
        z, zd, _, p = drawn
        h = self.h
        if isinstance(self.method, VariationalMidpoint):  # M (2 y / h - zd) = h/2 Q at z + y, with z + 2 y the end

            def middle(y: Array) -> tuple[Array, Array]:
                k, c = slopes(p, z + y, 2.0 / h * y)
                left = self.M @ (2.0 / h * y - zd) - 0.5 * h * force(p, z + y, 2.0 / h * y)
                return 0.5 * h * left, self.M + np.diag(0.5 * h * c + 0.25 * h**2 * k)

            return 2.0 * root(middle, 0.5 * guess)
        if isinstance(self.method, PenaltyTrapezoidal):
            return root(self.residual(drawn, h), guess)
        first = root(self.residual(drawn, GAMMA * h), GAMMA * guess)
        right, half = NEWER * (2.0 / (GAMMA * h) * first - zd) - OLDER * zd, 0.5 * GAMMA * h

        def backward(d: Array) -> tuple[Array, Array]:
            v = (d - NEWER * first) / half
            k, c = slopes(p, z + d, v)
            left = self.M @ (v - right) / half - force(p, z + d, v)
            return half**2 * left, self.M + np.diag(half * c + half**2 * k)

        return root(backward, guess)

    def draw(self, rng: np.random.Generator) -> Drawn:
        """Return a State and laws whose bends lie near where the first correction ends."""
        n, h = self.n, self.h
        z, zd = rng.uniform(-0.5, 0.5, n), rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-3.0, 0.5, n)
        zdd = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-2.0, 2.0, n)
        d, p = h * zd + 0.5 * h**2 * zdd, {name: np.zeros(n) for name in NAMES}
        p["faster"] += 1e9
        p["far"] += 1e9
        p["width"] += 1.0
        ends = d.copy()
        for k in range(n):
            part, stiff = PARTS[rng.integers(len(PARTS))], self.M[k, k] * 10.0 ** rng.uniform(*STIFF)
            bend = d[k] * (1.0 + rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-8.0, 0.3))
            rate = 2.0 / h * bend - zd[k]
            if part == "faster":
                p["faster"][k], p["damping"][k] = rate, 2.0 / h * stiff
            elif part == "far":
                p["far"][k], p["stop"][k] = z[k] + bend, 4.0 / h**2 * stiff
            else:
                p["width"][k], p["friction"][k] = abs(rate), 2.0 / h * stiff * abs(rate)
            ends[k] = bend + (bend - d[k]) * 10.0 ** rng.uniform(-9.0, 0.0)
        f, J = self.residual((z, zd, zdd, p), h)(d)
        p["push"] = (f + J @ (ends - d)) * 4.0 / h**2
        return z, zd, zdd, p

    def step(self, drawn: Drawn) -> tuple[Any, Array]:
        """Return the report of a step, and its increment."""
        old, store = self.start.copy(), self.sim._store
        for k in range(self.n):
            for name in NAMES:
                old.u[self.sim.system.inputs[f"f{k}.{name}"]] = drawn[3][name][k]
        old.z[:], old.zd[:], old.zdd[:] = drawn[:3]
        new = old.copy()
        new.k += 1
        with np.errstate(all="ignore"):
            report = self.method.advance(store.equations, store.work, old, new)  # no jump of inputs is told
        return report, new.z - old.z

    def error(self, found: Array, exact: Array) -> float:
        """Return the error of an increment in tolerances, in the norm of Newton's test."""
        size = self.settings.absolute + self.settings.relative * np.minimum(np.abs(exact), self.settings.typical)
        return float(np.sqrt(np.mean(((found - exact) / size) ** 2)))


def root(residual: Piece, guess: Array) -> Array:
    """Return the zero of a monotone residual; raises ArithmeticError where it is not found to rounding."""
    if len(guess) == 1:
        wide = max(abs(float(guess[0])), 1e-6)
        while value(residual, guess[0] - wide) > 0.0 or value(residual, guess[0] + wide) < 0.0:
            wide *= 4.0
        low, high = guess[0] - wide, guess[0] + wide
        return np.array([brentq(lambda x: value(residual, x), low, high, xtol=1e-300, rtol=1e-15, maxiter=500)])
    x = guess
    for k in range(80):
        f, J = residual(x)
        change = np.linalg.solve(J, -f)
        x = x + (0.5 if 20 <= k < 50 else 1.0) * change  # half of it where the pieces would take turns
        if np.max(np.abs(change)) < 1e-15 * (1.0 + np.max(np.abs(x))):
            return x
    raise ArithmeticError("Newton's iteration over the pieces goes round")


def value(residual: Piece, x: float) -> float:
    """Return the residual of one unknown."""
    return float(residual(np.array([x]))[0][0])


def stiffly(rail: Rail, drawn: Drawn) -> bool:
    """Return whether ``TRBDF2`` takes the step in parts, whose equations are others."""
    return bool(starts_stiffly(GAMMA * rail.h, drawn[1], drawn[2], rail.settings.typical))


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the steps of one rail."""
    rng = np.random.default_rng((seed, 3301))
    method = METHODS[seed % len(METHODS)]()
    rail = Rail(rng, int(rng.integers(1, 4)), float(rng.choice([1e-3, 5e-3])), method)
    name, wrong = type(method).__name__, list[str]()
    for k in range(DRAWS):
        drawn = rail.draw(rng)
        if name == "TRBDF2" and stiffly(rail, drawn):
            continue
        report, found = rail.step(drawn)
        if report.outcome is not Outcome.CONVERGED:
            tally.largest(f"refused by {name}", tally.worst.get(f"refused by {name}", 0.0) + 1.0)
            continue
        try:
            error = rail.error(found, rail.exact(drawn, found))
        except ArithmeticError:
            tally.largest("without a reference", tally.worst.get("without a reference", 0.0) + 1.0)
            continue
        tally.largest(f"error of {name} in tolerances", error)
        if not error <= ALLOWED:
            wrong.append(f"draw {k}: {error:.3g} tolerances by {method}, corrections {report.corrections}")
    return "; ".join(wrong[:2])


def run(cases: int, seed: int) -> Tally:
    """Try every rail."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "bent laws",
    "a step that CONVERGED behind a bend of a force law is at most three tolerances beside its equation",
    full=800,
    bounded=40,
    run=run,
)
