"""Forces that jump before steps: as accurate as with accelerations that are solved for, against SciPy.

Four-bars, slider-cranks, five-bars and doors of the campaign ``turned``, turned at random, half of them with a spring
and a damper that may be stiff. A motor at the first joint takes a random torque in each step of the coarse run, or one
large jump. Two of four carry a rotor of 1e-6 to 1e-3 of their inertia too, and its motor jumps far more: each group of
coordinates is judged by itself, so that the rotor hides nothing. A step answers jumps with its first Newton matrix. The
same run with accelerations solved for before each step stands beside it, and DOP853 on accelerations of the constrained
equations tells the errors of both: of positions, rates, accelerations and multipliers, at the whole step, a quarter of
it and a sixteenth. One that loses an order would show at the smallest. The penalty makes forces of the rounding of
positions, which is allowed for.
"""

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.turned import G, mechanism
from rtmbs.errors import RtmbsError
from rtmbs.simulation.simulation import store_of

STEPS = 32  # of the coarse run
NAMES = "positions", "rates", "accelerations", "multipliers"
LARGER = 4.0  # times the error with accelerations solved for
ROUNDING = 1e-6  # of the largest number
PARTS = 1, 4, 16  # of the coarse step, which does not resolve stiff dampers
FASTER = 1.0, 3.5  # powers of ten by pace^2: the accelerations that the motor of the rotor asks for


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    return each(judged, cases, seed)


def judged(case: int, tally: Tally) -> str:
    """Return what is less accurate by more than order two allows, or nothing."""
    rng = np.random.default_rng((case, 77))
    model = mechanism(case, Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))
    size = max(float(np.linalg.norm(body.center_of_mass)) for body in model.bodies.values())
    torque, pace = G * size * sum(body.mass for body in model.bodies.values()), float(np.sqrt(G / size))
    if case % 2:
        k, c = rng.uniform(0.0, 40.0) * torque, rng.uniform(0.0, 30.0) * torque / pace
        spring = rtmbs.TorsionSpring(stiffness=k, damping=c, angle=0.1)
        model.add_force("dash", spring, joint=next(iter(model.joints)))
    rotor = 10.0 ** rng.uniform(-6.0, -3.0) * torque / (G * size) * size**2 if case % 8 < 4 else 0.0
    if rotor > 0.0:
        add_rotor(model, rotor, size, rng)
    system, h = model.compile(), 0.02 / pace
    held = np.zeros((STEPS, 2))
    held[:, 0] = 0.2 * torque * rng.normal(size=STEPS) if case % 3 else torque * (np.arange(STEPS) >= 4)
    held[:, 1] = 10.0 ** rng.uniform(*FASTER) * rotor * pace**2 * rng.normal(size=STEPS)
    exact = reference(system, h, held)
    loads = torque, torque / size  # redundant loops may ask for no multipliers at all
    found = {way: [end(system, h / parts, np.repeat(held, parts, 0), way) for parts in PARTS] for way in (False, True)}
    for place, name, part in groups(system):
        wanted = exact[place][part]
        scale = max(loads) if name == "multipliers" else max(float(np.abs(wanted).max(initial=0.0)), 1.0)
        for k, parts in enumerate(PARTS):
            answered, solved = (apart(found[way][k][place][part], wanted) / scale for way in (False, True))
            if name == "multipliers":
                solved = max(solved, found[True][k][-1] * size / max(loads))
            tally.largest(f"{name}: error by that with accelerations solved for", answered / max(solved, ROUNDING))
            if answered > LARGER * max(solved, ROUNDING):
                return f"{name}: the error is {answered:.2g} at h / {parts}, with accelerations solved for {solved:.2g}"
    return ""


def add_rotor(model: rtmbs.Model, inertia: float, size: float, rng: np.random.Generator) -> None:
    """Add a balanced rotor of this inertia [kg m^2] and its motor to the first body, about any axis."""
    name, body = next(iter(model.bodies.items()))
    model.add_body("rotor", mass=inertia / size**2, inertia=(inertia, inertia, inertia))
    model.add_joint("rotor", rtmbs.Revolute(rng.normal(size=3)), name, "rotor", point=body.center_of_mass)
    model.add_force("spin", rtmbs.Motor(rtmbs.Input(0.0)), joint="rotor")


def groups(system: Any) -> list[tuple[int, str, Any]]:
    """Return which numbers are judged together: their place in ``exact``, their name, and which of them."""
    rotor = np.zeros(system.n, bool)
    if "rotor" in system.joints:
        rotor[list(system.joints["rotor"].dofs)] = True
    found: list[tuple[int, str, Any]] = []
    for place, name in enumerate(NAMES[:3]):
        found += [(place, name, ~rotor), (place, f"{name} of the rotor", rotor)]
    return [*found, (3, NAMES[3], slice(None))]


def apart(one: Any, other: Any) -> float:
    """Return the largest difference."""
    return float(np.abs(one - other).max(initial=0.0))


def end(system: Any, h: float, held: Any, settled: bool) -> tuple[Any, ...]:
    """Return positions, rates, accelerations, multipliers and their rounding [N/m], behind a step with each torque."""
    sim, motors = rtmbs.Simulation(system, h=h), motors_of(system)
    for values in held:
        for motor, value in zip(motors, values, strict=False):
            sim.inputs[motor] = float(value)
        if settled:
            store_of(sim).settle()
        if not sim.step().outcome.accepted:
            raise RtmbsError("a step failed")
    state = sim.state
    rounding = float(4.0 * np.finfo(float).eps * state.memory["alpha"].max(initial=0.0))
    return state.z.copy(), state.zd.copy(), state.zdd.copy(), state.lam.copy(), rounding


def motors_of(system: Any) -> list[str]:
    """Return the inputs of the motors, that of the rotor last."""
    return [name for start in ("motor.", "spin.") for name in system.inputs if name.startswith(start)]


def reference(system: Any, h: float, held: Any) -> tuple[Any, ...]:
    """Return the same by DOP853, from one jump to the next."""
    sim = rtmbs.Simulation(system, h=h)
    equations, state, n = sim.equations, sim.state.copy(), system.n
    equations.u = state.u

    def accelerations(y: Any) -> Any:
        return equations.accelerations(y[:n], y[n:], state.R0, state.s)

    y = np.concatenate((state.z, state.zd))
    for values in held:
        for motor, value in zip(motors_of(system), values, strict=False):
            state.u[system.inputs[motor]] = value
        path = solve_ivp(
            lambda _, y: np.concatenate((y[n:], accelerations(y)[0])), (0.0, h), y, "DOP853", rtol=1e-10, atol=1e-12
        )
        if not path.success:
            raise RtmbsError("SciPy failed")
        y = path.y[:, -1]
    zdd, lam, _ = accelerations(y)
    return y[:n], y[n:], zdd, lam


CAMPAIGN = Campaign(
    name="input changes",
    claim="forces that jump before steps cost no accuracy, however stiff dampers are",
    full=100,
    bounded=12,
    run=run,
)
