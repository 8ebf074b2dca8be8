"""Redundant mechanisms turned and moved in the world: every analysis answers as for the one that lies along the axes.

Four-bars, slider-cranks, five-bars and doors on several hinges or rails, with uneven lengths and masses, springs,
dampers and a motor. Their redundant loop equations are zero along the axes, and rounding elsewhere. Each is compared
with itself turned at random and moved: equilibrium, frequencies, eigenvalues, held torque, inverse dynamics, a Campbell
diagram over a stiffness, and derivatives of a run. An answer that only one of the two refuses is a failure.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from rtmbs.errors import RtmbsError
from rtmbs.studies.analysis.equilibrium import NoEquilibrium
from rtmbs.system.system import System

Array = NDArray[np.float64]

ALLOWED = 1e-6  # of the answers of the mechanism along the axes
G = 9.81


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    tally = Tally()
    for case in range(seed, seed + cases):
        rng = np.random.default_rng((case, 31))
        lying = answers(mechanism(case, np.eye(3), np.zeros(3)))
        turned = answers(
            mechanism(
                case, Rotation.random(random_state=rng).as_matrix(), 10.0 ** rng.uniform(-1, 1) * rng.normal(size=3)
            )
        )
        wrong = [text for name in lying if (text := compared(tally, name, lying[name], turned[name]))]
        if wrong:
            tally.fail(f"seed {case}: " + "; ".join(wrong))
        else:
            tally.survive()
    return tally


def compared(tally: Tally, name: str, lying: Any, turned: Any) -> str:
    """Return what is wrong with an answer of the turned mechanism, or nothing; refusals are sentences."""
    if isinstance(lying, str) or isinstance(turned, str):
        same = isinstance(lying, str) and isinstance(turned, str)
        tally.largest(f"{name} refused", tally.worst.get(f"{name} refused", 0) + same)
        return "" if same else f"{name}: {lying} along the axes, {turned} turned"
    if lying.shape != turned.shape:
        return f"{name}: {lying} along the axes, {turned} turned"
    error = float(np.max(np.abs(lying - turned), initial=0.0) / max(float(np.max(np.abs(lying), initial=0.0)), 1e-3))
    tally.largest(name, error)
    return "" if error < ALLOWED else f"{name}: off by {error:.2g}"


def answers(model: rtmbs.Model) -> dict[str, Any]:
    """Return what every analysis says of a mechanism, or the kind of its refusal."""
    system = model.compile()
    sim = rtmbs.Simulation(system, h=1e-3)
    rest = answer(lambda: rtmbs.equilibrium(sim))
    at = rest.simulation if not isinstance(rest, str) else None
    times = np.linspace(0.0, 0.2, 5)

    motor = next(name for name in system.inputs if name.startswith("motor."))
    return {
        "equilibrium": rest if at is None else answer(lambda: np.array([sum(at.state.z[:1])])),
        "frequencies": rest if at is None else answer(lambda: np.sort(rtmbs.modes(at).frequencies)),
        "eigenvalues": rest if at is None else answer(lambda: spectrum(rtmbs.linearise(at).A)),
        "held": answer(lambda: np.array([rtmbs.preload(sim, [motor])[motor]])),
        "campbell": rest if at is None else answer(lambda: diagram(at)),
        "sensitivities": answer(lambda: derivatives(sim, motor)),
        "inverse dynamics": answer(lambda: rtmbs.inverse_dynamics(system, motions(system), times).forces["a"]),
    }


def answer(call: Callable[[], Any]) -> Any:
    """Return what a call says, or the kind of its refusal."""
    try:
        return call()
    except NoEquilibrium:
        return "no equilibrium"
    except RtmbsError as error:
        return f"refused ({str(error)[:80]})"


def diagram(at: rtmbs.Simulation) -> Array:
    """Return the spectra over three stiffnesses of the first spring (3, ...)."""
    stiffness = float(at.inputs["spring at a.stiffness"])
    found = rtmbs.campbell(at, stiffness * np.array((0.8, 1.0, 1.25)), "spring at a.stiffness")
    return np.concatenate([np.sort(modes.frequencies) for modes in found.modes])


def derivatives(sim: rtmbs.Simulation, motor: str) -> Array:
    """Return the derivatives (3,) of the first angle after a run by torque, stiffness and rest angle."""
    by = [motor, "spring at a.stiffness", "spring at a.angle"]
    stiffness = float(sim.inputs[by[1]])
    found = rtmbs.sensitivity(sim, 20e-3, of=lambda run: run["a.angle"][-1], by=by)
    return np.asarray(found.gradient * (stiffness, stiffness, 1.0))


def motions(system: System) -> dict[str, Any]:
    """Return small motions: of the first joint, and of the second crank of a five-bar."""
    wanted = {"a": rtmbs.Sine(0.05, 3.0)}
    return wanted | {"e": rtmbs.Sine(0.04, 2.0)} if "e" in system.joints else wanted


def spectrum(A: Array) -> Array:
    """Return the elementary symmetric functions of the eigenvalues, which do not hang on their order."""
    pace = float(np.abs(np.linalg.eigvals(A)).max(initial=1.0))
    return np.asarray(np.poly(A / pace))


def mechanism(case: int, R: Array, o: Array) -> rtmbs.Model:
    """Return a random mechanism, turned by R (3, 3) and moved by o (3,); its first joint is called a."""
    rng = np.random.default_rng((case, 32))
    drawing = Drawing(rtmbs.Model(f"turned {case}", gravity=R @ np.array((0.0, -G, 0.0))), rng, R, o)
    (four_bar, slider_crank, five_bar, door)[case % 4](drawing)
    drawing.model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="a")
    return drawing.model


class Drawing:
    """A mechanism drawn in a plane, or about the axis z, that lies anywhere."""

    def __init__(self, model: rtmbs.Model, rng: np.random.Generator, R: Array, o: Array) -> None:
        self.model, self.rng, self.R, self.o = model, rng, R, o
        self.size = 10.0 ** rng.uniform(-1.5, 1.0)  # [m]
        self.axis = R @ np.array((0.0, 0.0, 1.0))

    def at(self, *place: float) -> Array:
        """Return where a point of the drawing lies (3,)."""
        return np.asarray(self.o + self.size * self.R @ np.array((*place, 0.0)[:3]))

    def bar(self, name: str, a: Array, b: Array) -> None:
        """Add a body between two points."""
        mass = 10.0 ** self.rng.uniform(-2.0, 2.0)
        turn = mass * float((b - a) @ (b - a)) * self.rng.uniform(0.1, 0.3)
        self.model.add_body(name, mass=mass, position=a, center_of_mass=(b - a) / 2, inertia=(turn, turn, turn))

    def hinge(self, name: str, a: str, b: str, point: Array) -> None:
        """Add a hinge about the axis of the drawing."""
        self.model.add_joint(name, rtmbs.Revolute(axis=self.axis), a, b, point=point)

    def spring(self, joint: str) -> None:
        """Hold a hinge by a spring and a damper about as strong as the weight."""
        strength = self.rng.uniform(2.0, 20.0) * G * self.size * sum(one.mass for one in self.model.bodies.values())
        spring = rtmbs.TorsionSpring(stiffness=strength, damping=0.02 * strength)
        self.model.add_force(f"spring at {joint}", spring, joint=joint)


def four_bar(drawing: Drawing) -> None:
    """Draw a four-bar whose crank a spring holds."""
    u = drawing.rng.uniform
    A, B, C, D = (
        drawing.at(*p) for p in ((0, 0), (u(-0.3, 0.3), u(0.3, 0.6)), (u(0.8, 1.2), u(0.7, 1.1)), (u(1, 1.4), 0))
    )
    for name, a, b in (("crank", A, B), ("coupler", B, C), ("rocker", D, C)):
        drawing.bar(name, a, b)
    for name, a, b, point in (("a", "ground", "crank", A), ("b", "crank", "coupler", B)):
        drawing.hinge(name, a, b, point)
    drawing.hinge("c", "coupler", "rocker", C)
    drawing.hinge("d", "ground", "rocker", D)
    drawing.spring("a")


def slider_crank(drawing: Drawing) -> None:
    """Draw a slider-crank whose crank a spring holds."""
    u = drawing.rng.uniform
    A, B = drawing.at(u(0.1, 0.3), u(0.2, 0.4)), drawing.at(u(0.9, 1.3), u(-0.2, 0.2))
    drawing.bar("crank", drawing.at(0, 0), A)
    drawing.bar("rod", A, B)
    drawing.bar("block", B, B + 0.1 * (B - A))
    drawing.hinge("a", "ground", "crank", drawing.at(0, 0))
    drawing.hinge("b", "crank", "rod", A)
    drawing.hinge("c", "rod", "block", B)
    rail = rtmbs.Prismatic(axis=drawing.R @ np.array((1.0, 0.0, 0.0)))
    drawing.model.add_joint("rail", rail, "ground", "block", point=B)
    drawing.spring("a")


def five_bar(drawing: Drawing) -> None:
    """Draw a five-bar of two cranks, a spring at each."""
    u = drawing.rng.uniform
    A, B, C = drawing.at(0, 0), drawing.at(u(-0.3, 0.0), u(0.4, 0.6)), drawing.at(u(0.4, 0.7), u(0.8, 1.1))
    D, E = drawing.at(u(1.1, 1.4), u(0.4, 0.6)), drawing.at(u(0.9, 1.1), 0)
    for name, a, b in (("left", A, B), ("rod 1", B, C), ("rod 2", D, C), ("right", E, D)):
        drawing.bar(name, a, b)
    drawing.hinge("a", "ground", "left", A)
    drawing.hinge("b", "left", "rod 1", B)
    drawing.hinge("c", "rod 1", "rod 2", C)
    drawing.hinge("d", "right", "rod 2", D)
    drawing.hinge("e", "ground", "right", E)
    drawing.spring("a")
    drawing.spring("e")


def door(drawing: Drawing) -> None:
    """Draw a leaf on two to four hinges, a spring at the first."""
    rng = drawing.rng
    drawing.axis = drawing.R @ Rotation.random(random_state=rng).as_matrix() @ np.array((0.0, 0.0, 1.0))
    foot = drawing.at(*rng.normal(size=3))
    drawing.bar("leaf", foot, drawing.at(*rng.normal(size=3)))
    for k in range(rng.integers(2, 5)):
        drawing.hinge("abcd"[k], "ground", "leaf", foot + drawing.size * rng.uniform(0.5, 1.5) * k * drawing.axis)
    drawing.spring("a")


CAMPAIGN = Campaign(
    name="turned",
    claim="redundant mechanisms turned in the world have the same equilibria, modes, matrices and forces",
    full=400,
    bounded=24,
    run=run,
)
