"""Mechanisms with play whose impacts are known: the woodpecker toy, a slider-crank with clearance, a Geneva drive.

``bench.contact_figures`` prints their rows. Sources: Glocker, Dynamik von Starrkörpersystemen mit Reibung und Stößen
(1995); Leine, Glocker and van Campen, Nonlinear Dynamics of the Woodpecker Toy (2001); Flores, Leine and Glocker, doi
10.1007/s11044-009-9178-y. Published numbers are those of the examples Woodpecker and SliderCrank of Siconos.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs import contact

Array = NDArray[np.float64]
Row = tuple[str, str, bool]  # wanted, measured, whether it holds
TRBDF2 = rtmbs.TRBDF2()
POINT = 1e-9  # [m] radius of a ball that is a corner


# ---- woodpecker toy --------------------------------------------------------------------------------------------------

SECTION = -0.2788  # [rad] of the bird, through which the published state is seen
SPEEDS = -0.3411, -7.4583  # [m/s] of the sleeve and [rad/s] of the bird there
PERIOD = 0.1464  # [s]
SMALL, LARGE = 1e-2, 1e3  # angles and lengths in those of the toy: the published equations are linear in angles


def woodpecker_toy(h: float = 1e-4) -> rtmbs.Simulation:
    """Return the toy at the published state: a sleeve and a bird on a spring that hits the pole with its beak.

    Angles are SMALL and lengths LARGE times those of the toy, so that the motion is that of the linear equations.
    """
    r0, r, half, lever, arm, high, beak = (LARGE * one for one in (2.5e-3, 3.1e-3, 5.8e-3, 1e-2, 1.5e-2, 2e-2, 2.01e-2))
    model = rtmbs.Model("woodpecker", gravity=(0, 0, -9.81 * LARGE * SMALL))
    model.add_body("guide", mass=0.0, inertia=(0, 0, 0))
    model.add_body("sleeve", mass=3e-4, inertia=(5e-9 * LARGE**2,) * 3)
    at = {"center_of_mass": (arm, 0, 0), "position": (lever, 0, 0)}
    model.add_body("bird", mass=4.5e-3, inertia=(7e-7 * LARGE**2,) * 3, **at)  # type: ignore[arg-type]
    turn = rtmbs.Revolute(axis=(0, -1, 0))
    model.add_joint("slide", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "guide")
    model.add_joint("tilt", turn, "guide", "sleeve", point=(0, 0, 0))
    model.add_joint("leaf", turn, "sleeve", "bird", point=(lever, 0, 0))
    model.add_force("spring", rtmbs.TorsionSpring(5.6e-3 * LARGE**2, 0.0), joint="leaf")
    play = r - r0
    for name, body, x, z, gap, e in (
        ("low", "sleeve", r, -half, play, 0.0),
        ("high", "sleeve", r, half, play, 0.0),
        ("beak", "bird", arm - beak, high, lever + arm - beak - r0, 0.5),
    ):
        place = x + (lever if body == "bird" else 0.0) - SMALL * gap - POINT
        wall, tip = contact.Plane((place, 0, 0), (1, 0, 0)), rtmbs.Sphere(POINT, center=(x, 0, z))
        model.add_rigid_contact(name, ("ground", wall), (body, tip), restitution=e, friction=0.3)
    lean = -SMALL * play / half * (1.0 - 1e-3)  # a hair before the sleeve touches
    model.set_initial("slide", rate=SPEEDS[0] * LARGE * SMALL)
    model.set_initial("tilt", position=lean)
    model.set_initial("leaf", position=SECTION * SMALL - lean, rate=SPEEDS[1] * SMALL)
    return rtmbs.Simulation(model.compile(), h, method=TRBDF2)


def woodpecker(short: bool) -> Row:
    """Speeds of sleeve and bird whenever the bird comes through the section, and the period."""
    result = woodpecker_toy().run(0.2 if short else 0.5)
    angle, rate = ((result[f"leaf.{one}"] + result[f"tilt.{one}"]) / SMALL for one in ("angle", "rate"))
    speed = result["slide.rate"] / (LARGE * SMALL)
    k = np.flatnonzero((angle[1:] < SECTION) & (angle[:-1] >= SECTION) & (result.t[1:] > 0.01))
    share = (SECTION - angle[k]) / (angle[k + 1] - angle[k])
    t, v, w = (one[k] + share * (one[k + 1] - one[k]) for one in (result.t, speed, rate))
    missed = [float(np.max(np.abs(found / wanted - 1.0))) for found, wanted in zip((v, w), SPEEDS, strict=True)]
    period = float(t[-1]) / len(t)
    beaks = sum("beak" in one.contacts for one in result.impacts)
    text = f"{beaks} pecks, {missed[0]:.1e} and {missed[1]:.1e} beside, {period:.4f} s"
    holds = max(missed) < 1e-2 and abs(period / PERIOD - 1.0) < 5e-3
    return f"{SPEEDS[0]} m/s, {SPEEDS[1]} rad/s after each period of {PERIOD} s", text, holds


# ---- slider-crank with clearance -------------------------------------------------------------------------------------

CRANK, ROD, HALF, TALL, PLAY = 0.153, 0.306, 0.05, 0.025, 0.001  # [m]
MASSES, INERTIAS = (0.038, 0.038, 0.076), (7.4e-5, 5.9e-4, 2.7e-6)
RESTITUTION, FRICTION, G = 0.4, 0.01, 9.81
RATES = 150.0, -75.0, 0.0  # [rad/s]


def slider_crank(h: float = 1e-5) -> rtmbs.Simulation:
    """Return a slider-crank whose slider has play in its guide, with contact at its four corners."""
    model = rtmbs.Model("slider-crank", gravity=(0, -G, 0))
    turn, before, x = rtmbs.Revolute(axis=(0, 0, 1)), "ground", 0.0
    for name, length, mass, inertia in zip(
        ("crank", "rod", "slider"), (CRANK, ROD, 0.0), MASSES, INERTIAS, strict=True
    ):
        middle = (length / 2, 0, 0)
        model.add_body(name, mass=mass, center_of_mass=middle, inertia=(inertia,) * 3, position=(x, 0, 0))
        model.add_joint(f"{name} pin", turn, before, name, point=(x, 0, 0))
        before, x = name, x + length
    for side, y in (("upper", 1), ("lower", -1)):
        wall = ("ground", contact.Plane((0, y * (TALL + PLAY), 0), (0, -y, 0)))
        for end, along in (("left", -1), ("right", 1)):
            corner = ("slider", rtmbs.Sphere(POINT, center=(along * HALF, y * TALL, 0)))
            model.add_rigid_contact(f"{side} {end}", wall, corner, restitution=RESTITUTION, friction=FRICTION)
    model.set_initial("crank pin", rate=RATES[0])
    model.set_initial("rod pin", rate=RATES[1] - RATES[0])
    model.set_initial("slider pin", rate=RATES[2] - RATES[1])
    return rtmbs.Simulation(model.compile(), h, method=TRBDF2)


def exact_impacts(count: int) -> Array:
    """Return time and two impulses (count, 3) of impacts on the upper wall, from Lagrange's equations by SciPy."""
    (m1, m2, m3), (J1, J2, J3) = MASSES, INERTIAS

    def mass(q: Array) -> Array:
        k = (0.5 * m2 + m3) * CRANK * ROD * np.cos(q[1] - q[0])
        first, second = J1 + (0.25 * m1 + m2 + m3) * CRANK**2, J2 + (0.25 * m2 + m3) * ROD**2
        return np.array([[first, k, 0], [k, second, 0], [0, 0, J3]])

    def motion(t: float, y: Array) -> Array:
        q, v = y[:3], y[3:]
        s = (0.5 * m2 + m3) * CRANK * ROD * np.sin(q[0] - q[1])
        one = -s * v[1] ** 2 - (0.5 * m1 + m2 + m3) * G * CRANK * np.cos(q[0])
        other = s * v[0] ** 2 - (0.5 * m2 + m3) * G * ROD * np.cos(q[1])
        return np.concatenate((v, np.linalg.solve(mass(q), (one, other, 0.0))))

    def gap(t: float, y: Array) -> float:
        return float(PLAY - CRANK * np.sin(y[0]) - ROD * np.sin(y[1]))

    gap.terminal, gap.direction = True, -1  # type: ignore[attr-defined]
    t, y, found = 0.0, np.array((0.0, 0.0, 0.0, *RATES)), []
    for _ in range(count):
        run = solve_ivp(motion, (t, t + 0.02), y, "DOP853", rtol=1e-12, atol=1e-13, events=gap, max_step=5e-5)
        t, (q, v) = float(run.t_events[0][0]), np.split(run.y_events[0][0], 2)
        N = np.array([(-CRANK * np.cos(q[0]), -ROD * np.cos(q[1]), end * HALF) for end in (1, -1)])
        T = np.array([(-CRANK * np.sin(q[0]), -ROD * np.sin(q[1]), -TALL)] * 2)
        acts = np.linalg.solve(mass(q), (N - FRICTION * np.sign(T @ v)[:, None] * T).T)
        p = np.linalg.solve(N @ acts, -(1.0 + RESTITUTION) * (N @ v))
        found.append((t, *p))
        y = np.concatenate((q, v + acts @ p))
    return np.array(found)


def clearance(short: bool) -> Row:
    """Times and impulses of the first impacts of the slider against an event-exact integration."""
    wanted = exact_impacts(2 if short else 5)
    result = slider_crank().run(0.006 if short else 0.0089)
    found = np.array([(one.t, *one.impulses) for one in result.impacts[: len(wanted)]])
    missed = float(np.max(np.abs(found / wanted - 1.0))) if found.shape == wanted.shape else np.inf
    told = ", ".join(f"{1e3 * t:.4f}" for t in wanted[:, 0])
    text = f"times and impulses {missed:.1e} beside"
    return f"both upper corners hit at {told} ms", text, missed < 1e-4


# ---- Geneva drive ----------------------------------------------------------------------------------------------------

ARM, PIN, SLACK, DISC = 0.1, 0.01, 1e-4, 0.075  # [m] crank, radius of its pin, play of pin and lock, locking disc
DISTANCE = ARM * np.sqrt(2.0)  # [m] of the axles, for four slots
CUT, SEAT, KNOB = np.radians(24.6), np.radians(20.0), 3e-3  # of the disc; place and radius [m] of what it locks
SPEED = 10.0  # [rad/s]


def geneva_drive(h: float = 3e-4) -> rtmbs.Simulation:
    """Return a Geneva drive of four slots: a pin in slots, and a disc with a cut between two knobs of each side."""
    half, corners, bulges = PIN + SLACK, list[Array](), list[float]()
    for quarter in range(4):
        c, s = np.cos(np.pi * (0.25 + 0.5 * quarter)), np.sin(np.pi * (0.25 + 0.5 * quarter))
        bottom = DISTANCE - 1.03 * ARM
        for x, y, bulge in ((ARM, -half, 0.0), (bottom, -half, -1.0), (bottom, half, 0.0), (ARM, half, 0.0)):
            corners.append(np.array((c * x - s * y, s * x + c * y)))
            bulges.append(bulge)
    around = np.tan((np.pi - CUT) / 4.0)
    rim = [DISC * np.array((np.cos(a), np.sin(a))) for a in (CUT, np.pi, -CUT)]
    disc = contact.Profile([*rim, np.zeros(2)], bulges=[around, around, 0.0, 0.0])
    model, turn = rtmbs.Model("geneva", gravity=(0, 0, 0)), rtmbs.Revolute(axis=(0, 0, 1))
    model.add_body("crank", mass=1.0, inertia=(1, 1, 1), orientation=np.diag((-1.0, -1.0, 1.0)))
    model.add_body("wheel", mass=1.0, inertia=(1e-3,) * 3, position=(DISTANCE, 0, 0))
    model.add_joint("shaft", turn, "ground", "crank", point=(0, 0, 0))
    model.add_joint("axle", turn, "ground", "wheel", point=(DISTANCE, 0, 0))
    model.add_driver("turn", rtmbs.ConstantRate(SPEED), joint="shaft")
    law = {"stiffness": 1e5, "exponent": 1.0, "dissipation": 1.0}
    pin, wheel = ("crank", rtmbs.Sphere(PIN, center=(ARM, 0, 0))), ("wheel", contact.Profile(corners, bulges=bulges))
    model.add_contact("pin", wheel, pin, **law)  # type: ignore[arg-type]
    far = DISC + KNOB + SLACK
    for quarter in range(4):
        c, s = np.cos(0.5 * np.pi * quarter), np.sin(0.5 * np.pi * quarter)
        for side in (1, -1):
            x, y = far * np.cos(SEAT) - DISTANCE, side * far * np.sin(SEAT)
            knob = ("wheel", rtmbs.Sphere(KNOB, center=(c * x - s * y, s * x + c * y, 0)))
            model.add_contact(f"lock {quarter} {side}", ("crank", disc), knob, **law)  # type: ignore[arg-type]
    return rtmbs.Simulation(model.compile(), h, method=TRBDF2)


def geneva(short: bool) -> Row:
    """Turn of the wheel against the closed form at all times, and how much of it is play."""
    turns, sim = 3 if short else 100, geneva_drive()
    result = sim.run(round(2 * np.pi * turns / SPEED / sim.h) * sim.h, record=rtmbs.Every(3e-3))
    whole = np.floor((result.t * SPEED + 2 * np.pi) / (2 * np.pi))
    crank = result.t * SPEED + np.pi - 2 * np.pi * whole  # from the line to the wheel
    inside, passed = np.abs(crank) < 0.25 * np.pi, np.where(crank > 0.0, 0.5 * np.pi, 0.0)
    slot = np.arctan2(ARM * np.sin(crank), DISTANCE - ARM * np.cos(crank)) + 0.25 * np.pi
    wanted = -0.5 * np.pi * (whole - 1.0) - np.where(inside, slot, passed)
    missed = result["axle.angle"] - wanted
    depth = float(result["pin.penetration"].max())
    play = (SLACK + depth) / (DISTANCE - ARM)  # of the pin in a slot, at its smallest arm
    worst, last = float(np.max(np.abs(missed))), float(abs(missed[-1]))
    text = f"{-result['axle.angle'][-1] / (2 * np.pi):.4f} turns, {worst:.4f} rad beside at most, {last:.4f} at the end"
    return f"{turns / 4:g} turns, within {play:.4f} rad of play and penetration", text, worst < play
