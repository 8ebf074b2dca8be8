"""Bodies on ball and floating joints: derivatives of runs by masses, mass centres, inertias and points.

These numbers turn principal axes. The cases take turns. A body on a ball joint, or a free one, with a spring, has
equations of motion of its own here, and the complex step through them; the derivatives of two runs are extrapolated to
a step of zero. Random mechanisms, loops among them, with a ball joint or a pin on a line are held against differences
of order six of runs of models that are compiled anew. Adjoint and direct method agree.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.measures.random_mechanisms import DRAWS, Rng, random_mechanism, triad
from rtmbs.errors import InputError, ModelError, RtmbsError, StartError, StepError, TopologyError
from rtmbs.studies.sensitivities.parameters import model_numbers

Array = NDArray[np.float64]

SHARP = rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13)
T, STEPS = 0.1, 200  # [s], of the coarser of two runs
EXTRAPOLATED = 1e-5  # of the largest derivative by a parameter: error of order four in the step
DIFFERENCES = 1e-6  # likewise, beyond twice the error of the differences
AGREED = 1e-9  # likewise: adjoint and direct method
REFERENCE_STEPS = 200  # of order four, of the reference
TINY = 1e-40
PLACES, WEIGHTS = (-3, -2, -1, 1, 2, 3), np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
SIZES = (4e-3, 2e-3)  # of differences
TOO_ROUGH = 1e-4  # of the derivative: error of the differences
SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
ROUGH = "refused, or not judged by differences"


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    return each(judged, cases, seed)


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with one case."""
    error, apart, whose = (by_own_equations, by_own_equations, by_runs)[case % 3](case, tally)
    tally.largest("run against complex step" if case % 3 < 2 else "run against differences", error)
    tally.largest("adjoint against direct", apart)
    if apart >= AGREED:
        return f"adjoint and direct method are {apart:.2g} apart"
    bound = EXTRAPOLATED if case % 3 < 2 else DIFFERENCES
    return "" if error < bound else f"the derivative by {whose} is {error:.2g} off"


def agreed(sim: Any, t_end: float, of: Any, by: list[str], model: Any) -> tuple[Any, float]:
    """Return the direct derivatives, and how far the adjoint's are from them, over the largest by a parameter."""
    direct, adjoint = (
        rtmbs.sensitivity(sim, t_end, of, by, model=model, method=method) for method in ("direct", "adjoint")
    )
    scale = np.maximum(np.abs(direct.jacobian).max(axis=0), 1e-9 * np.abs(direct.jacobian).max())
    return direct, float(np.max(np.abs(adjoint.jacobian - direct.jacobian) / scale))


# --------------------------------------------------------------------------------------------- one body and a spring


class OneBody:
    """A body on a ball joint, or a free one, with a spring from ground."""

    def __init__(self, case: int) -> None:
        rng = np.random.default_rng((case, 41))
        self.free = case % 3 == 1
        size, axes = rng.uniform(0.1, 0.5, 3), triad(rng)
        self.mass = float(10.0 ** rng.uniform(-1.0, 1.0))
        self.inertia = axes @ np.diag(self.mass / 3.0 * (np.sum(size**2) - size**2)) @ axes.T
        self.center, self.point, self.eye, self.hook = (0.4 * rng.normal(size=3) for _ in range(4))
        self.hook = self.hook + 1.0
        self.gravity, self.rate = 5.0 * rng.normal(size=3), 2.0 * rng.normal(size=6 if self.free else 3)
        self.stiffness, self.length = self.mass * float(10.0 ** rng.uniform(0.0, 2.0)), float(rng.uniform(0.5, 1.5))

    def model(self) -> rtmbs.Model:
        """Return the model of rtmbs."""
        model = rtmbs.Model("one body", gravity=tuple(self.gravity))
        model.add_body("body", mass=self.mass, inertia=self.inertia, center_of_mass=self.center)
        model.add_joint(
            "joint", rtmbs.Floating() if self.free else rtmbs.Spherical(), "ground", "body", point=self.point
        )
        model.set_initial("joint", rate=self.rate)
        ends = model.add_marker("hook", "ground", self.hook), model.add_marker("eye", "body", self.eye)
        model.add_force("spring", rtmbs.SpringDamper(self.stiffness, 0.0, length=self.length), between=ends)
        return model

    def end(self, p: Any) -> Any:
        """Return mass centre and angular velocity after T, of own equations in complex arithmetic.

        p (13,): mass, mass centre, inertia (xx, yy, zz, xy, xz, yz), joint point. Axes of the body, its joint point:
        J w' = -w x J w + n; a free body: J about the mass centre, m v' = m g + f.
        """
        mass, center, point = p[0], p[1:4], p[10:13]
        J = np.zeros((3, 3), p.dtype)
        for value, (i, j) in zip(p[4:10], SIX, strict=True):
            J[i, j] = J[j, i] = value
        d = center - point
        if not self.free:
            J = J + mass * ((d @ d) * np.eye(3) - np.outer(d, d))
        w0 = self.rate[-3:].astype(p.dtype)
        v0 = (self.rate[:3] + np.cross(w0, d)) if self.free else np.zeros(3, p.dtype)
        y = np.concatenate((np.eye(3).ravel(), w0, center, v0))

        def slope(y: Any) -> Any:
            R, w, x, v = y[:9].reshape(3, 3), y[9:12], y[12:15], y[15:]
            place = x if self.free else point + R @ d
            way = place + R @ (self.eye - center) - self.hook
            size = np.sqrt(way @ way)
            f = -self.stiffness * (size - self.length) * way / size
            seen = R.T @ f
            if self.free:
                n, a = np.cross(self.eye - center, seen), self.gravity + f / mass
            else:
                n, a = np.cross(self.eye - point, seen) + np.cross(d, R.T @ (mass * self.gravity)), 0.0 * v
            turn = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
            return np.concatenate(((R @ turn).ravel(), np.linalg.solve(J, n - np.cross(w, J @ w)), v, a))

        h = T / REFERENCE_STEPS
        for _ in range(REFERENCE_STEPS):
            k1 = slope(y)
            k2 = slope(y + 0.5 * h * k1)
            k3 = slope(y + 0.5 * h * k2)
            y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(y + h * k3))
        R = y[:9].reshape(3, 3)
        return np.concatenate((y[12:15] if self.free else point + R @ d, R @ y[9:12]))

    def derivatives(self) -> Array:
        """Return the derivatives (6, 13) of ``end`` by the complex step."""
        p = np.concatenate(([self.mass], self.center, [self.inertia[i, j] for i, j in SIX], self.point))
        return np.array([self.end(p + 1j * TINY * one).imag / TINY for one in np.eye(13)]).T


def by_own_equations(case: int, tally: Tally) -> tuple[float, float, str]:
    """Return the largest error of a derivative of one body, of that by its parameter, and how far methods differ."""
    one = OneBody(case)
    model, by = one.model(), ["body.mass", "body.center_of_mass", "body.inertia", "joint.point"]

    def of(result: Any) -> Any:
        return np.concatenate([result["body.mass_center"][-1], result["body.angular_velocity"][-1]])

    found = []
    for steps in (STEPS, 2 * STEPS):
        sim = rtmbs.Simulation(model.compile(), h=T / steps, method=SHARP)
        direct, apart = agreed(sim, T, of, by, model)
        found.append(direct.jacobian)
    wanted, extrapolated = one.derivatives(), (4.0 * found[1] - found[0]) / 3.0
    errors = np.abs(extrapolated - wanted).max(axis=0) / np.abs(wanted).max(axis=0)
    del tally
    return float(errors.max()), apart, direct.parameters[int(np.argmax(errors))]


# -------------------------------------------------------------------------------------------------- random mechanisms


def turning(case: int) -> tuple[rtmbs.Model, rtmbs.Simulation, list[tuple[str, str]]]:
    """Return a random mechanism, its run, and its joints that turn freely with the body that their turn carries.

    Loops start at rest: a model makes the rates of ``set_initial`` consistent anew, while a sensitivity begins at
    the consistent ones.
    """
    for draw in range(DRAWS):
        model = random_mechanism((case, draw))
        if len(model.joints) >= len(model.bodies):
            model.initials.clear()
            if model.drivers:
                continue
        try:
            sim = rtmbs.Simulation(model.compile(), h=1e-3, method=SHARP)
        except (ModelError, StartError, TopologyError):
            continue
        joints = [one for one in sim.system.joints.values() if one.in_tree and one.kind.turns_freely]
        found = [(one.name, one.a if one.reversed else one.b) for one in joints]
        if found and sim.start_report.degrees_of_freedom > 0:
            return model, sim, found
    raise StartError(f"no draw of seed {case} has a joint that turns freely")


def by_runs(case: int, tally: Tally) -> tuple[float, float, str]:
    """Return the same of a random mechanism, one component of each kind of number."""
    rng: Rng = np.random.default_rng((case, 42))
    model, sim, joints = turning(case)
    joint, body = joints[int(rng.integers(len(joints)))]
    whats = ("velocity", "mass_center", "angular_velocity", "angular_acceleration")
    by = [f"{body}.mass", f"{body}.center_of_mass", f"{body}.inertia", f"{joint}.point"]

    def of(result: Any) -> Any:
        return np.concatenate(
            [result[f"{one}.{what}"][-1] for one in (body, [*sim.system.bodies][-1]) for what in whats]
        )

    end = 20e-3
    try:
        found, apart = agreed(sim, end, of, by, model)
    except (InputError, StepError) as error:
        tally.largest(ROUGH, tally.worst.get(ROUGH, 0.0) + 1.0)
        if "singular" in str(error) or "try" in str(error):
            return 0.0, 0.0, ""
        raise
    worst, whose = 0.0, ""
    for name in by:
        designs = model_numbers(model, name, {}, sim.system.length)
        design = designs[int(rng.integers(len(designs)))]

        def last(value: float, build: Callable[[float], rtmbs.Model] = design.build) -> Array:
            one = rtmbs.Simulation(build(value).compile(), h=1e-3, method=SHARP)
            return np.asarray(of(one.run(end, on_failure="raise")))

        try:
            fine, noise = differences(design, last)
        except RtmbsError:
            tally.largest(ROUGH, tally.worst.get(ROUGH, 0.0) + 1.0)
            continue
        scale = float(np.abs(found.jacobian[:, found.parameters.index(design.name)]).max()) or 1.0
        if noise > TOO_ROUGH * scale:
            tally.largest(ROUGH, tally.worst.get(ROUGH, 0.0) + 1.0)
            continue
        error = max(float(np.abs(found[design.name] - fine).max()) - noise, 0.0) / scale
        worst, whose = max((worst, whose), (error, design.name))
    return worst, apart, whose


def differences(design: Any, last: Callable[[float], Array]) -> tuple[Array, float]:
    """Return the derivative by differences of order six, and twice their error, by two sizes of step."""
    coarse, fine = (
        sum(w * last(design.value + p * size * design.size) for w, p in zip(WEIGHTS, PLACES, strict=True))
        / (size * design.size)
        for size in SIZES
    )
    return np.asarray(fine), 2.0 * float(np.abs(fine - coarse).max())


CAMPAIGN = Campaign(
    name="free_designs",
    claim="derivatives by numbers that turn principal axes of bodies on ball and floating joints are right",
    full=48,
    bounded=3,
    run=run,
)
