"""Random mechanisms: derivatives by every kind of parameter are those of the run, by differences.

The cases take turns. Rings of 4 to 6 bars of uneven masses in skew planes and odd units, with a spring-damper and a
torsion spring, take an input, a first position, a first rate, a mass and a coordinate of a joint's point. Mechanisms of
every joint type, trees and loops with couplers, constraints, drivers and springs, take a component of gravity, and then
a number in a driver, a motor, a wrench or a gear (``bench.campaigns.driven_designs``). The run is that of tight
tolerances. Differences of order six at two sizes of step tell their own error. In every case the adjoint and the
direct method agree, with checkpoints at random and without. The adjoint takes parameters by reverse passes and by
entries in turns, and steps have links wherever they go, or where they save enough. The first steps of rings and of
driven designs are held against the complex step of a reference model (``bench.measures.complex_steps``) too.

Steps end at a tolerance, or where multipliers are rounding. Differences of such runs may miss the derivative of the
equations by a part that shrinks with neither the tolerance nor the size of differences: seed 39076 by 1.1e-6, and by
9e-8 of rates after eight corrections a step. There, up to ``DOUBTFUL``, the complex step of the whole run decides.
"""

from typing import Any

import numpy as np

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.driven_designs import mechanism
from bench.measures.complex_steps import errors
from bench.measures.energy import ring
from bench.measures.random_mechanisms import random_mechanism
from rtmbs.ad import derivative_tapes
from rtmbs.errors import InputError, StartError, StepError
from rtmbs.studies.sensitivities import sensitivity
from rtmbs.studies.sensitivities.parameters import ModelNumber, model_numbers

ALLOWED = 1e-6  # of the largest derivative, beyond twice the error of the differences
DOUBTFUL = 1e-5  # likewise: up to here the complex step of the whole run decides
EXACT = 1e-8  # of the largest derivative of a kind: the complex step of a reference model
COMPLEX_STEPS = 3
KINDS = 3  # of mechanisms that take turns
USUAL, SAVED = sensitivity.REVERSE_FROM, derivative_tapes.SAVED
AGREED = 1e-10  # of the largest derivative by a parameter: adjoint in segments, and direct method
STEPS = 40
DECIDED = "decided by the complex step"
ROUGH, TOO_ROUGH = "not judged by differences", 1e-3  # of the derivative: their own error
PLACES, WEIGHTS = (-3, -2, -1, 1, 2, 3), np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
SIZES = (4e-3, 2e-3)  # of differences
METHOD = rtmbs.PenaltyTrapezoidal(tol=1e-12)
SHARP = rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13)
MIDPOINT = rtmbs.VariationalMidpoint(tol=1e-12)

Array = np.ndarray[Any, np.dtype[np.float64]]


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on, runs of the default method."""
    return tried(cases, seed, METHOD, SHARP)


def run_midpoint(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on, runs of the variational midpoint rule."""
    return tried(cases, seed, MIDPOINT, MIDPOINT)


def tried(cases: int, seed: int, method: Any, sharp: Any) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on, with a method, and a sharper one for designs."""
    tally = Tally()
    for case in range(seed, seed + cases):
        sensitivity.REVERSE_FROM = 0 if case // KINDS % 2 else USUAL
        derivative_tapes.SAVED = -(10**9) if case // KINDS % 4 < 2 else SAVED
        try:
            of_kind = (compared, compared_by_gravity, compared_by_design)[case % KINDS]
            worst, name, apart = of_kind(case, sharp if case % KINDS == KINDS - 1 else method)
            off = (by_complex_steps, lambda *_: 0.0, design_by_complex_steps)[case % KINDS](case, method)
        except StartError:
            tally.largest("no start", tally.worst.get("no start", 0.0) + 1.0)
            tally.survive()
            continue
        except (InputError, StepError) as error:  # a step that has no derivative is named, not answered
            tally.largest("refused", tally.worst.get("refused", 0.0) + 1.0)
            if "singular" in str(error) or "try" in str(error):
                tally.survive()
            else:
                tally.fail(f"seed {case}: {error}")
            continue
        if name in (ROUGH, DECIDED):
            tally.largest(name, tally.worst.get(name, 0.0) + 1.0)
        tally.largest("error of a derivative", worst)
        tally.largest("adjoint against direct", apart)
        tally.largest("error against the complex step", off)
        if off >= EXACT:
            tally.fail(f"seed {case}: the complex step is {off:.2g} away")
        elif worst < ALLOWED and apart < AGREED:
            tally.survive()
        elif worst < ALLOWED:
            tally.fail(f"seed {case}: adjoint and direct method are {apart:.2g} apart")
        else:
            tally.fail(f"seed {case}: {name} is {worst:.2g} off")
    sensitivity.REVERSE_FROM, derivative_tapes.SAVED = USUAL, SAVED
    return tally


def sprung(case: int) -> rtmbs.Model:
    """Return a ring with a spring-damper from a bar to ground and a torsion spring."""
    model, rng = ring(case), np.random.default_rng((case, 7))
    bar = "bar_1"
    body = model.bodies[bar]
    size = float(np.linalg.norm(body.center_of_mass)) or 1.0
    model.add_marker("tip", bar, tuple(body.center_of_mass + 0.2 * size * rng.normal(size=3)), frame=bar)
    model.add_marker("post", "ground", tuple(2.0 * size * rng.normal(size=3)))
    stiffness, mass = 10.0 ** rng.uniform(0, 2), body.mass
    law = rtmbs.SpringDamper(stiffness=stiffness * mass, damping=0.3 * mass, length=size)
    model.add_force("spring", law, between=("post", "tip"))
    twist = rtmbs.TorsionSpring(stiffness=2.0 * mass * size**2, damping=0.1 * mass * size**2)
    model.add_force("twist", twist, joint="pin_1")
    return model


def values(result: Any) -> Any:
    """Return the end of a bar, its velocity and the spring's pull at the end, and a sum over the run, free of units."""
    ends = [result[f"tip.{what}"][-1] for what in ("position", "velocity")]
    return np.concatenate([*ends, np.stack([result["spring.length"][-1], np.sum(result["pin_1.angle"])])])


def compared(case: int, method: Any) -> tuple[float, str, float]:
    """Return the largest error of a derivative of one ring over its size, whose it is, and how far methods differ."""
    model, rng = sprung(case), np.random.default_rng((case, 8))
    h = 10.0 ** rng.uniform(-3.3, -2.5)
    axis = int(np.argmax(np.abs(np.cross(model.joints["pin_0"].axes_a[0], rng.normal(size=3)))))
    sim = rtmbs.Simulation(model.compile(), h=h, method=method)
    names = ["spring.stiffness", "spring.length", "pin_0.position", "pin_0.rate", "bar_1.mass", "pin_2.point"]
    names = [name for name in names if kept(sim, name)]
    found, apart = both(sim, STEPS * h, values, names, case, model)
    worst, whose = 0.0, ""
    for name in found.parameters:
        if name.startswith("pin_2.point") and not name.endswith(f"[{axis}]"):
            continue
        fine, coarse = (differences(model, sim, name, found, h, size) for size in reversed(SIZES))
        noise = 2.0 * float(np.abs(fine - coarse).max())
        scale = float(np.abs(fine).max()) or 1.0
        error = max(float(np.abs(found[name] - fine).max()) - noise, 0.0) / scale
        if error > worst:
            worst, whose = error, name
    return worst, whose, apart


def by_complex_steps(case: int, method: Any) -> float:
    """Return the largest error of derivatives of states against the complex step in the first steps of a ring."""
    h = 10.0 ** np.random.default_rng((case, 8)).uniform(-3.3, -2.5)
    found = errors(
        sprung(case),
        ["spring.stiffness", "pin_0.position", "pin_0.rate", "bar_1.mass"],
        h,
        COMPLEX_STEPS,
        method=method,
    )
    return max(found[kind] for kind in ("z", "zd", "zdd", "force"))


def compared_by_gravity(case: int, method: Any) -> tuple[float, str, float]:
    """Return the same for the motion of a body by one component of gravity."""
    system = random_mechanism((case, 0)).compile()
    sim, axis, body = rtmbs.Simulation(system, h=1e-3, method=method), case % 3, list(system.bodies)[-1]
    gravity = np.array(sim.inputs["gravity"])
    size = float(np.linalg.norm(gravity)) or 1.0

    def of(result: Any) -> Any:
        return np.concatenate(
            [result[f"{body}.{what}"][-1] for what in ("velocity", "mass_center", "angular_velocity")]
        )

    def end(value: float) -> Array:
        one = rtmbs.Simulation(system, h=1e-3, method=method)
        one.inputs["gravity"] = gravity + value * size * np.eye(3)[axis]
        one._store.go_on_from(one.state.copy(), 0.0)
        one.method.begin(one.equations, one.state)
        return np.asarray(of(one.run(20e-3, on_failure="raise")))

    fall = 0.5 * 20e-3**2  # of a free body, by gravity: loops that leave no motion leave rounding
    derivatives, apart = both(sim, 20e-3, of, ["gravity"], case, least=fall)
    found = size * derivatives.jacobian[:, axis]
    coarse, fine = (sum(w * end(p * d) for w, p in zip(WEIGHTS, PLACES, strict=True)) / d for d in (2e-2, 1e-2))
    scale = float(np.abs(fine).max()) or 1.0
    noise = 2.0 * float(np.abs(fine - coarse).max())
    if noise > TOO_ROUGH * scale:
        return 0.0, ROUGH, apart
    error = max(float(np.abs(found - fine).max()) - noise, 0.0) / scale
    if ALLOWED <= error < DOUBTFUL:
        by_equations = errors(random_mechanism((case, 0)), ["gravity"], 1e-3, 20, method=method)
        if max(by_equations[kind] for kind in ("z", "zd", "zdd")) < EXACT:
            return 0.0, DECIDED, apart
    return error, "gravity", apart


def compared_by_design(case: int, method: Any) -> tuple[float, str, float]:
    """Return the same for the motion of all bodies by a number in a driver, a motor, a wrench or a gear."""
    kind, build, value = mechanism(case // 3)
    sim, h, end = rtmbs.Simulation(build(value).compile(), h=1e-3, method=method), 1e-3, 20e-3
    whats, bodies = ("velocity", "mass_center", "angular_velocity"), list(sim.system.bodies)[1:]

    def of(result: Any) -> Any:
        return np.concatenate([result[f"{body}.{what}"][-1] for body in bodies for what in whats])

    def last(a: float) -> Array:
        return np.asarray(of(rtmbs.Simulation(build(a).compile(), h=h, method=method).run(end, on_failure="raise")))

    derivatives, apart = both(sim, end, of, ["a"], case, build, end * end, {"a": value})
    sizes = (2e-3 * value, 1e-3 * value)
    coarse, fine = (sum(w * last(value + p * d) for w, p in zip(WEIGHTS, PLACES, strict=True)) / d for d in sizes)
    scale, noise = float(np.abs(fine).max()) or 1.0, 2.0 * float(np.abs(fine - coarse).max())
    if noise > TOO_ROUGH * max(scale, 1e-6):
        return 0.0, ROUGH, apart
    return max(float(np.abs(derivatives.jacobian[:, 0] - fine).max()) - noise, 0.0) / max(scale, 1e-6), kind, apart


def design_by_complex_steps(case: int, method: Any) -> float:
    """Return the largest error of derivatives of states by the number of a design against the complex step.

    0 for a mechanism that does not feel the number: its loops leave no freedom.
    """
    _, build, value = mechanism(case // 3)
    found = errors(build, ["a"], 1e-3, COMPLEX_STEPS, {"a": value}, method)
    return max(found.get(kind, 0.0) for kind in ("z", "zd", "zdd"))


def both(
    sim: rtmbs.Simulation,
    t_end: float,
    of: Any,
    by: list[str],
    case: int,
    model: Any = None,
    least: float = 0.0,
    at: Any = None,
) -> tuple[Any, float]:
    """Return the direct derivatives, and how far those of the adjoint in segments are from them.

    The difference is that by one parameter over the largest derivative by it, or over ``least`` where that is larger.
    """
    direct = rtmbs.sensitivity(sim, t_end, of, by, model=model, at=at, method="direct")
    parts = int(np.random.default_rng((case, 9)).integers(1, 12))
    adjoint = rtmbs.sensitivity(sim, t_end, of, by, model=model, at=at, method="adjoint", checkpoints=parts)
    scale = np.maximum(np.abs(direct.jacobian).max(axis=0), least or 1e-300)
    away = float(np.max(np.abs(adjoint.jacobian - direct.jacobian) / scale))
    return direct, away


def kept(sim: rtmbs.Simulation, name: str) -> bool:
    """Return whether a Simulation knows a name, or the Model does."""
    return name in sim.inputs or name.startswith(("pin_0", "bar", "pin_2"))


def differences(model: rtmbs.Model, sim: rtmbs.Simulation, name: str, found: Any, h: float, size: float) -> Array:
    """Return the derivative of the values by one parameter by differences of runs."""
    value = float(found.point[found.parameters.index(name)])
    width = size * (abs(value) or 1.0)
    base = name.split("[")[0]
    designs: dict[str, ModelNumber] = {}
    if base in ("bar_1.mass", "pin_2.point"):
        designs = {one.name: one for one in model_numbers(model, base, {}, sim.system.length)}
        width = size * designs[name].size

    def end(other: float) -> Array:
        built = designs[name].build(other) if designs else sprung_with(model, name, other)
        one = rtmbs.Simulation(built.compile(), h=h, method=sim.method)
        if base in one.inputs:
            one.inputs[base] = other
            one._store.go_on_from(one.state.copy(), 0.0)
            one.method.begin(one.equations, one.state)
        return np.asarray(values(one.run(STEPS * h)))

    return np.asarray(sum(w * end(value + p * width) for w, p in zip(WEIGHTS, PLACES, strict=True)) / width)


def sprung_with(model: rtmbs.Model, name: str, value: float) -> rtmbs.Model:
    """Return the model with another first position or rate of the first pin."""
    if not name.startswith("pin_0"):
        return model
    import copy

    other = copy.deepcopy(model)
    first = other.initials["pin_0"]
    position, rate = float(first.position[0]), float(first.rate[0])
    del other.initials["pin_0"]
    given = {"pin_0.position": (value, rate), "pin_0.rate": (position, value)}[name]
    other.set_initial("pin_0", position=given[0], rate=given[1])
    return other


CAMPAIGN = Campaign(
    name="sensitivities",
    claim="derivatives of runs of random mechanisms are those of differences, or the step without one is named",
    full=60,
    bounded=6,
    run=run,
)
