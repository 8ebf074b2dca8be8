"""Figures of contact, impacts and friction against closed forms, in one table.

    python -m bench.contact_figures [NAME ...] [--bounded]

``--bounded`` takes shorter runs. Figures of convex pairs need the package coal, the extra ``rtmbs[contact]``.
"""

import sys
import time
from collections.abc import Callable
from inspect import signature
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import rtmbs
from bench.contact_mechanisms import clearance, geneva, woodpecker
from bench.contact_tippetop import tilted_top
from rtmbs import contact
from rtmbs.errors import RtmbsError

G = 9.81
FLOOR = ("ground", contact.Plane())
TRBDF2 = rtmbs.TRBDF2()
SHARE = 0.02  # of 1 / w, w that of the lighter of two solids on the spring of a point: the step of a collision


class Figure(NamedTuple):
    """One row of the table."""

    wanted: str
    measured: str
    holds: bool


FIGURES: dict[str, Callable[[bool], Figure]] = {}


def figure(name: str) -> Callable[[Callable[..., Figure]], Callable[..., Figure]]:
    """Register a figure; its function takes whether it is to be short, or nothing where it is short."""

    def keep(function: Callable[..., Figure]) -> Callable[..., Figure]:
        FIGURES[name] = function if signature(function).parameters else lambda short: function()
        return function

    return keep


def free(
    gravity: tuple[float, float, float], shape: object, height: float, mass: float, inertia: object
) -> rtmbs.Model:
    """Return a model of one free body."""
    model = rtmbs.Model("free", gravity=gravity)
    body = model.add_body("body", mass=mass, inertia=inertia, position=(0, 0, height), shape=shape)
    model.add_joint("free", rtmbs.Floating(), "ground", body, point=(0, 0, height))
    return model


@figure("slope, 1e-3 below and 1e-4 above arctan mu")
def slope() -> Figure:
    """Acceleration of a block behind 2 s, 1e-3 below and 1e-4 above the angle of friction."""
    found = []
    for share in (1.0 - 1e-3, 1.0 + 1e-4):
        angle = np.arctan(0.5) * share
        gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
        model = free(gravity, rtmbs.Box((0.3, 0.2, 0.1)), 0.05, 2.0, (0.02, 0.03, 0.03))
        model.add_contact("floor", FLOOR, "body", stiffness=1e6, dissipation=100.0, friction=0.5)
        sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
        sim.run(2.0)
        first = sim["body.velocity"][0]
        sim.run(4.0)
        found.append((sim["body.velocity"][0] - first) / 2.0)
    excess = np.arctan(0.5) * 1e-4
    wanted = G * (np.sin(np.arctan(0.5) + excess) - 0.5 * np.cos(np.arctan(0.5) + excess))
    text = f"{found[0]:.1e} and {found[1]:.3e} m/s^2"
    return Figure(f"0 and {wanted:.3e} m/s^2", text, abs(found[0]) < 0.05 * wanted > abs(found[1] - wanted))


@figure("ball, ten bounces and rest")
def ball() -> Figure:
    """Times of ten bounces of a rigid contact, and when it comes to rest."""
    e, drop = 0.8, 0.5
    model = free((0, 0, -G), rtmbs.Sphere(0.1), 0.1 + drop, 1.0, (4e-3,) * 3)
    model.add_rigid_contact("floor", FLOOR, "body", restitution=e)
    result = rtmbs.Simulation(model.compile(), 1e-2).run(4.0)
    speed, t, worst = np.sqrt(2.0 * G * drop), np.sqrt(2.0 * drop / G), 0.0
    for k in range(10):
        worst = max(worst, abs(result.impacts[k].impulses[0] / ((1.0 + e) * speed * e**k) - 1.0))
    ends = t + 2.0 * e * speed / (G * (1.0 - e))
    late = abs(result.impacts[-1].t / ends - 1.0)
    return Figure("heights to 1e-6, rest to 1 %", f"{2 * worst:.1e}, {late:.1e}", 2 * worst < 1e-6 and late < 0.01)


@figure("rolling ball, 5/7 of v0")
def rolling() -> Figure:
    """Speed of a ball that slid and then rolls."""
    r, v0 = 0.1, 2.0
    model = free((0, 0, -G), rtmbs.Sphere(r), r, 1.0, (0.4 * r * r,) * 3)
    model.add_contact("floor", FLOOR, "body", stiffness=1e7, exponent=1.0, dissipation=50.0, friction=0.3)
    model.set_initial("free", rate=(v0, 0, 0, 0, 0, 0))
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
    sim.run(1.5)
    missed = float(sim["body.velocity"][0] / v0 * 7.0 / 5.0 - 1.0)
    return Figure("0 of 5/7 v0", f"{missed:.1e}", abs(missed) < 1e-3)


@figure("rocking block, Housner")
def rocking() -> Figure:
    """Speed of a block behind its impact on the other edge, by a rigid contact."""
    B, H, D, mass, tilt = 0.1, 0.3, 0.2, 2.0, 0.12
    inertia = mass / 3.0 * np.array([D * D / 4 + H * H, B * B + H * H, B * B + D * D / 4])
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    place = -turn @ (B, 0, -H)
    model = rtmbs.Model("block", gravity=(0, 0, -G))
    shape = rtmbs.Box((2 * B, D, 2 * H))
    model.add_body("block", mass=mass, inertia=inertia, position=place, orientation=turn, shape=shape)
    model.add_joint("free", rtmbs.Floating(), "ground", "block", point=place)
    model.add_rigid_contact("floor", FLOOR, "block", friction=1.0)
    result = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2).run(0.222)
    k = int(np.searchsorted(result.t, result.impacts[0].t))
    R, alpha = np.hypot(B, H), np.arctan(B / H)
    before = np.sqrt(2.0 * mass * G * (R * np.cos(alpha - tilt) - H) / (inertia[1] + mass * R * R))
    missed = -result["block.angular_velocity"][k, 1] / (before * (1.0 - 1.5 * np.sin(alpha) ** 2)) - 1.0
    return Figure("1 - 3/2 sin^2 alpha of the speed", f"{missed:.1e} beside", abs(missed) < 2e-3)


@figure("Painleve rod")
def painleve() -> Figure:
    """A rod that slides either way on its lower end with friction above 4/3: rigid contact answers, or refuses."""
    found, good = [], True
    for speed in (-3.0, 3.0):
        try:
            result = sliding_rod(speed).run(0.3)
        except RtmbsError as error:
            good &= "floor" in str(error)  # a refusal names the contact
            found.append(f"{speed:+.0f} m/s: {type(error).__name__}, {str(error).splitlines()[0][:90]}")
            continue
        energy = result["energy.kinetic"] + result["energy.weight"]
        growth = float(np.max(energy - energy[0])) / abs(float(energy[0]))
        good &= growth < 1e-6
        found.append(f"{speed:+.0f} m/s: runs, {len(result.impacts)} impacts, energy grows by {growth:.1e}")
    return Figure("an answer or a named refusal", "; ".join(found), good)


def sliding_rod(speed: float) -> rtmbs.Simulation:
    """Return a Simulation of a slender rod at 60 degrees whose lower end touches a plane, friction 2.5."""
    half, angle, mass, r = 0.5, np.pi / 3, 1.0, 0.01
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    model = rtmbs.Model("rod", gravity=(0, 0, -G))
    inertia = mass * (2 * half) ** 2 / 12 * np.array((1e-3, 1.0, 1.0))
    place = (0.0, 0.0, half * np.sin(angle) + r)
    bar = rtmbs.Bar((-half, 0, 0), (half, 0, 0), r)
    model.add_body("rod", mass=mass, inertia=inertia, position=place, orientation=turn, shape=bar)
    model.add_joint("free", rtmbs.Floating(), "ground", "rod", point=place)
    model.add_rigid_contact("floor", FLOOR, "rod", friction=2.5)
    model.set_initial("free", rate=(speed, 0, 0, 0, 0, 0))
    return rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)


@figure("Newton's cradle, five balls")
def cradle() -> Figure:
    """Speed of the last ball and of the others, for balls a hair apart: each impact is one of two balls."""
    r, count, v = 0.02, 5, 1.0
    model = rtmbs.Model("cradle", gravity=(0, 0, 0))
    for k in range(count):
        x = k * (2 * r + 2e-3)
        model.add_body(f"b{k}", mass=0.1, inertia=(1e-4,) * 3, position=(x, 0, 0), shape=rtmbs.Sphere(r))
        model.add_joint(f"s{k}", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", f"b{k}")
        if k:
            model.add_contact(f"c{k}", f"b{k - 1}", f"b{k}", stiffness=1e8)
    model.set_initial("s0", rate=v)
    sim = rtmbs.Simulation(model.compile(), 2e-6, method=TRBDF2)
    sim.run(0.012, record=rtmbs.Every(1e-4))
    speeds = np.array([sim[f"s{k}.rate"] for k in range(count)])
    missed = max(abs(speeds[-1] / v - 1.0), float(np.max(np.abs(speeds[:-1]))) / v)
    return Figure("last ball v, others 0", f"{missed:.1e} of v beside", missed < 1e-3)


def event_exact_period(k: float, v: float, sliding: float, ratio: float, speed: float) -> float:
    """Return the period [s] of a mass of 1 kg on a belt by SciPy, slip by slip, with the same law of friction."""

    def motion(t: float, y: np.ndarray) -> list[float]:
        force = sliding * (1.0 + (ratio - 1.0) * np.exp(-(((y[1] - v) / speed) ** 2)))
        return [y[1], force - k * y[0]]

    def sticks(t: float, y: np.ndarray) -> float:
        return float(y[1] - v + 1e-9) if t > 1e-3 else -1.0

    sticks.terminal, sticks.direction = True, 1  # type: ignore[attr-defined]
    first = ratio * sliding / k
    slip = solve_ivp(
        motion, (0.0, 3.0), (first, v), "DOP853", rtol=1e-12, atol=1e-13, events=sticks, max_step=1e-3
    )  # fmt: skip
    return float(slip.t_events[0][0] + (first - slip.y_events[0][0][0]) / v)


@figure("stick-slip oscillator, period")
def stick_slip(short: bool) -> Figure:
    """A mass on a belt with a spring, against the same law of friction integrated from slip to stick."""
    k, m, v, limit, ratio, speed = 100.0, 1.0, 0.1, 5.0, 1.4, 5e-4
    model = rtmbs.Model("belt", gravity=(0, 0, 0))
    for name in ("belt", "mass"):
        model.add_body(name, mass=m, inertia=(1, 1, 1))
    model.add_joint("belt", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "belt")
    model.add_joint("slip", rtmbs.Prismatic(axis=(1, 0, 0)), "belt", "mass")
    model.add_driver("drive", rtmbs.ConstantRate(v), joint="belt")
    ends = model.add_marker("post", "ground", (-10.0, 0, 0)), model.add_marker("hook", "mass", (0, 0, 0))
    model.add_force("spring", rtmbs.SpringDamper(k, 0.0, length=10.0), between=ends)
    model.add_friction(
        "friction", "slip", limit=limit, static_ratio=ratio, stribeck_speed=speed, stiffness=1e7, damping_time=1e-5
    )
    sim = rtmbs.Simulation(model.compile(), 2e-5, method=TRBDF2)
    result = sim.run(2.6 if short else 4.0)
    rate = result["slip.rate"]
    slips = np.flatnonzero((rate[1:] < -0.2 * v) & (rate[:-1] >= -0.2 * v))
    period = float(np.mean(np.diff(result.t[slips])[1:])) if len(slips) > 2 else np.nan
    wanted = event_exact_period(k, v, limit, ratio, speed)
    missed = period / wanted - 1.0
    return Figure(f"{wanted:.6f} s", f"{period:.6f} s, {missed:.1e} beside", abs(missed) < 1e-3)


@figure("tippetop inverts")
def tippetop() -> Figure:
    """A ball with its mass centre 3 mm below the middle, spun at 600 rad/s: the axis turns over.

    Friction at the point r leaves Jellett's integral -L . r. So the spin behind is J / (C (R + a)).
    """
    R, a, m, tilt, spin = 0.015, 0.003, 0.015, 0.1, 600.0
    inertia = np.array((8e-7, 8e-7, 7e-7))
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    model = rtmbs.Model("tippetop", gravity=(0, 0, -G))
    model.add_body(
        "top", mass=m, inertia=inertia, center_of_mass=(0, 0, -a), position=(0, 0, R), orientation=turn
    )  # fmt: skip
    model.add_joint("free", rtmbs.Floating(), "ground", "top", point=(0, 0, R))
    model.add_contact(
        "floor", FLOOR, ("top", rtmbs.Sphere(R)), stiffness=2e4, exponent=1.0, dissipation=5.0, friction=0.1
    )
    model.set_initial("free", rate=(0, 0, 0, 0, 0, spin))
    sim = rtmbs.Simulation(model.compile(), 2e-4, method=TRBDF2)
    result = sim.run(12.0, record=rtmbs.Every(0.02))
    turns = Rotation.from_quat(result["top.orientation"].copy(), scalar_first=True)
    axis = turns.apply((0.0, 0.0, 1.0))
    angular = turns.apply(turns.inv().apply(result["top.angular_velocity"].copy()) * inertia)
    jellett = -np.sum(angular * ((0.0, 0.0, -R) + a * axis), axis=1)
    turned, drift = float(np.arccos(axis[-1, 2])), float(np.max(np.abs(jellett / jellett[0] - 1.0)))
    missed = float(result["top.angular_velocity"][-1, 2]) * inertia[2] * (R + a) / jellett[0] - 1.0
    text = f"{turned:.3f} rad, spin {missed:.1e} beside, Jellett's integral to {drift:.1e}"
    return Figure("pi, spin J / (C (R + a))", text, turned > 3.1 and abs(missed) < 1e-3 > drift)


@figure("tippetop that stays tilted")
def slow_tippetop() -> Figure:
    """The top at 300 rad/s and friction 0.3, against SciPy with smooth friction; it turns over by friction as slip."""
    return Figure(*tilted_top())


@figure("wobbling disc, precession")
def wobbling_disc() -> Figure:
    """A thin disc that rolls about its resting middle at a tilt: the precession is sqrt(4 g / (r sin tilt))."""
    r, tilt, mass = 0.1, 0.3, 0.5
    pace = np.sqrt(4.0 * G / (r * np.sin(tilt)))
    turn = Rotation.from_rotvec((tilt, 0.0, 0.0))
    own = pace * (turn.inv().apply((0.0, 0.0, 1.0)) - np.cos(tilt) * np.array((0.0, 0.0, 1.0)))
    thick, k = 1e-6, 1e6
    place = (0.0, 0.0, r * np.sin(tilt) - mass * G / k)
    model = rtmbs.Model("disc", gravity=(0, 0, -G))
    inertia = mass * r * r / 4.0 * np.array((1.0, 1.0, 2.0))
    model.add_body("disc", mass=mass, inertia=inertia, position=place, orientation=turn.as_matrix())
    model.add_joint("free", rtmbs.Floating(), "ground", "disc", point=place)
    disc = ("disc", rtmbs.Cylinder(r, thick))
    model.add_contact("floor", FLOOR, disc, stiffness=0.5 * k, friction=0.3)  # both of its rims touch
    model.set_initial("free", rate=(0, 0, 0, *own))
    sim = rtmbs.Simulation(model.compile(), 5e-5, method=TRBDF2)
    result = sim.run(2.0, record=rtmbs.Every(1e-3))
    axis = Rotation.from_quat(result["disc.orientation"].copy(), scalar_first=True).apply((0.0, 0.0, 1.0))
    angle = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    missed = float((angle[-1] - angle[0]) / (result.t[-1] * pace) - 1.0)
    leans = np.arccos(axis[:, 2])
    text = f"{missed:.1e} beside, tilt within {np.max(np.abs(leans - tilt)):.1e} rad"
    return Figure(f"{pace:.3f} rad/s at 0.3 rad", text, abs(missed) < 1e-3)


@figure("cam, speed of lift-off")
def cam() -> Figure:
    """An eccentric under a ball: N stays above zero up to w^2 e = g (of the path of the roller's middle)."""
    e, R, r = 0.02, 0.05, 0.02
    lowest = []
    for share in (0.99, 1.02):
        model = rtmbs.Model("cam", gravity=(0.0, -G, 0.0))
        model.add_body("cam", mass=1.0, inertia=(1, 1, 1))
        model.add_body("follower", mass=0.5, inertia=(1, 1, 1), position=(0.0, np.sqrt((R + r) ** 2 - e**2), 0.0))
        model.add_joint("shaft", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "cam", point=(0, 0, 0))
        model.add_joint("guide", rtmbs.Prismatic(axis=(0, 1, 0)), "ground", "follower")
        outline = contact.Profile([(R + e, 0.0), (e - R, 0.0)], bulges=[1.0, 1.0])
        turns = np.linspace(0, 2 * np.pi, 4001)
        lift = e * np.sin(turns) + np.sqrt((R + r) ** 2 - (e * np.cos(turns)) ** 2)
        most = np.max(-np.gradient(np.gradient(lift, turns), turns)[2:-2])
        w = share * np.sqrt(G / most)
        model.add_driver("turn", rtmbs.ConstantRate(w), joint="shaft")
        model.set_initial("guide", rate=e * w)
        model.add_contact("touch", ("cam", outline), ("follower", rtmbs.Sphere(r)), stiffness=1e7, dissipation=20.0)
        sim = rtmbs.Simulation(model.compile(), 1e-4, method=TRBDF2)
        result = sim.run(round(4 * np.pi / w, 4), record=rtmbs.Every(1e-3))
        lowest.append(float(result["touch.normal_force"][20:].min()) / (0.5 * G))
    text = f"{lowest[0]:.4f} and {lowest[1]:.4f} m g"
    return Figure("N > 0 at 0.99 w, N = 0 at 1.02 w", text, lowest[0] > 0.0 == lowest[1])


def boxes(count: int, edges: tuple[float, float, float], places: object, **law: float) -> rtmbs.Model:
    """Return a model of boxes on a plane, each with contact of the one before."""
    model, before = rtmbs.Model("boxes", gravity=(0, 0, -G)), None
    own = [1.0 / 12.0 * (sum(x * x for x in edges) - edge**2) for edge in edges]
    for k, place in zip(range(count), places, strict=True):  # type: ignore[call-overload]
        model.add_body(f"b{k}", mass=1.0, inertia=own, position=place, shape=rtmbs.Box(edges))
        model.add_joint(f"f{k}", rtmbs.Floating(), "ground", f"b{k}", point=place)
        if before is not None:
            model.add_contact(f"c{k}", before, f"b{k}", **law)
        before = f"b{k}"
    return model


@figure("ten boxes stacked at rest")
def stack(short: bool) -> Figure:
    """Creep of a stack in 60 s, behind 8 s in which it comes to rest."""
    k, heights = 1e5, np.zeros(10)
    for i in range(10):
        heights[i] = (heights[i - 1] + 0.1 if i else 0.05) - G * (10 - i) / (4 * k)
    law = {"stiffness": k, "dissipation": 1e3, "friction": 0.5, "tangential_stiffness": 1e5, "damping_time": 0.02}
    model = boxes(10, (0.1, 0.1, 0.1), [(0.01 * (-1) ** i, 0.0, z) for i, z in enumerate(heights)], **law)
    model.add_contact("floor", FLOOR, "b0", **law)
    sim = rtmbs.Simulation(model.compile(), 5e-3, method=TRBDF2)
    sim.run(8.0, record=rtmbs.Every(1.0))
    places = [sim[f"b{i}.position"].copy() for i in range(10)]
    more = 4.0 if short else 60.0
    result = sim.run(8.0 + more, record=rtmbs.Every(0.5))
    creep = max(float(np.max(np.abs(result[f"b{i}.position"] - places[i]))) for i in range(10))
    return Figure("below 1e-6 m in 60 s", f"{creep:.1e} m in {more:.0f} s", creep < 1e-6)


@figure("domino row")
def dominos(short: bool) -> Figure:
    """Eight dominos of which the first is pushed: all fall, and energy does not grow."""
    count, gap = 4 if short else 8, 0.03
    law = {"stiffness": 1e5, "dissipation": 1.0, "friction": 0.2}
    model = boxes(count, (0.008, 0.024, 0.048), [(gap * k, 0.0, 0.024) for k in range(count)], **law)
    for k in range(count):
        model.add_contact(f"floor{k}", FLOOR, f"b{k}", **(law | {"friction": 0.6}))
    model.set_initial("f0", rate=(0.12, 0, 0, 0, 5.0, 0))
    sim = rtmbs.Simulation(model.compile(), 2e-4, method=TRBDF2)
    result = sim.run(0.5 if short else 0.8, record=rtmbs.Every(2e-3))
    tilts = [2.0 * np.arcsin(np.clip(np.linalg.norm(sim[f"b{k}.orientation"][1:]), 0, 1)) for k in range(count)]
    energy = result["energy.kinetic"] + result["energy.weight"]
    growth = float(np.max(energy - energy[0])) / float(energy[0] - energy[-1])
    text = f"{sum(tilt > 0.5 for tilt in tilts)} of {count}, energy grows by {growth:.1e}"
    return Figure("all fall, no growth of energy", text, min(tilts) > 0.5 and growth < 1e-3)


@figure("gripper holds a box")
def gripper(short: bool) -> Figure:
    """A box of 1 kg between two jaws that press with 30 N at friction 0.5: it does not sink in 100 s."""
    model = rtmbs.Model("gripper", gravity=(0, 0, -G))
    model.add_body("box", mass=1.0, inertia=(2e-3,) * 3, shape=rtmbs.Box((0.1, 0.1, 0.1)))
    model.add_joint("free", rtmbs.Floating(), "ground", "box", point=(0, 0, 0))
    for name, side in (("left", -1), ("right", 1)):
        at = (0.06 * side, 0, 0)
        model.add_body(name, mass=0.5, inertia=(1e-3,) * 3, position=at, shape=rtmbs.Box((0.02, 0.05, 0.05)))
        model.add_joint(f"{name} rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", name)
        model.add_force(
            f"{name} press", lambda t, k, p, s=side: -30.0 * s + 0 * k.z - 20.0 * k.zd, joint=f"{name} rail"
        )
        model.add_contact(
            f"{name} grip", "box", name, stiffness=1e5, dissipation=1e3, friction=0.5, tangential_stiffness=1e5,
            damping_time=0.02,
        )  # fmt: skip
    sim = rtmbs.Simulation(model.compile(), 5e-3, method=TRBDF2)
    sim.run(5.0, record=rtmbs.Every(1.0))
    place, more = sim["box.position"].copy(), 10.0 if short else 100.0
    sim.run(5.0 + more, record=rtmbs.Every(1.0))
    sunk = float(np.max(np.abs(sim["box.position"] - place)))
    return Figure("no creep in 100 s", f"{sunk:.1e} m in {more:.0f} s", sunk < 1e-9 and place[2] > -0.01)


@figure("rigid block on eight corners, time of a step")
def rigid_step() -> Figure:
    """Processor time of a step of a block that rests on a plane, in a run with its record."""
    model = free((2.0, 0, -G), rtmbs.Box((0.3, 0.2, 0.1)), 0.05, 2.0, (0.02, 0.03, 0.03))
    model.add_rigid_contact("floor", FLOOR, "body", friction=0.5)
    sim = rtmbs.Simulation(model.compile(), 1e-3, method=TRBDF2)
    sim.run(0.1)
    spent = []
    for _ in range(7):
        first = time.process_time()
        sim.run(sim.t + 0.2)
        spent.append((time.process_time() - first) / 200)
    found = float(np.median(spent)) * 1e3
    return Figure("0.2 ms", f"{found:.2f} ms", found < 0.2)


def solid(rng: np.random.Generator) -> object:
    """Return a random convex shape about as large as 1 m."""
    kind = int(rng.integers(5))
    if kind == 0:
        return rtmbs.Box(rng.uniform(0.5, 1.5, 3))
    if kind == 1:
        return rtmbs.Cylinder(0.5, float(rng.uniform(0.5, 1.5)))
    along = rng.normal(size=3)
    if kind == 2:
        return rtmbs.Bar(-along / np.linalg.norm(along), along / np.linalg.norm(along), 0.3)
    if kind == 3:
        return contact.Ellipsoid(rng.uniform(0.4, 1.0, 3))
    corners = rng.normal(size=(4, 3))
    corners /= np.linalg.norm(corners, axis=1)[:, None]
    faces = [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]
    return rtmbs.Surface(corners, faces)


def collision(seed: int) -> tuple[float, float, float]:
    """Return change of momentum, growth of energy (of it) and largest normal force of two solids that meet."""
    rng = np.random.default_rng(seed)
    model, masses, shapes = rtmbs.Model("two", gravity=(0, 0, 0)), [], []
    for k, name in enumerate("ab"):
        masses.append(float(10 ** rng.uniform(-0.5, 0.5)))
        shapes.append(solid(rng))
        place, inertia = (0.0, 0.0, 3.0 * k), masses[-1] * rng.uniform(0.3, 0.5, 3)
        turn = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        model.add_body(name, mass=masses[-1], inertia=inertia, position=place, orientation=turn)
        model.add_joint(f"f{name}", rtmbs.Floating(), "ground", name, point=place)
        rate = rng.normal(size=3) * 0.2 + (0, 0, 1 - 2 * k)
        model.set_initial(f"f{name}", rate=(*rate, *rng.normal(size=3)))
    friction, c = float(rng.choice((0.0, 0.5))), float(rng.choice((0.0, 0.3)))
    sides = ("a", shapes[0]), ("b", shapes[1])
    model.add_contact("hit", *sides, stiffness=1e4, exponent=1.0, dissipation=c, friction=friction)
    h = SHARE * np.sqrt(min(masses) / 1e4)
    sim = rtmbs.Simulation(model.compile(), h, method=TRBDF2)
    result = sim.run(round(2.5 / h) * h)
    energy = result["energy.kinetic"]
    momentum = sum(mass * result[f"{name}.velocity"] for mass, name in zip(masses, "ab", strict=True))
    force = max(float(result[f"{name}.normal_force"].max()) for name in sim.system.forces)
    return float(np.max(np.abs(momentum - momentum[0]))), float(np.max(energy - energy[0]) / energy[0]), force


@figure("collisions of random convex solids")
def collisions(short: bool) -> Figure:
    """Momentum and energy of two random solids that meet: boxes, tetrahedra, cylinders, bars and ellipsoids."""
    found = np.array([collision(seed) for seed in range(6 if short else 40)])
    hits, (momentum, growth) = int(np.sum(found[:, 2] > 0)), found[:, :2].max(axis=0)
    text = f"{hits} of {len(found)} hit: momentum to {momentum:.0e}, energy grows by {growth:.0e} at most"
    wanted = f"momentum to 1e-9, energy to (w h)^2 = {SHARE**2:.0e}"
    return Figure(wanted, text, momentum < 1e-9 and growth < SHARE**2)


@figure("woodpecker toy")
def woodpecker_toy(short: bool) -> Figure:
    """The published periodic motion of the toy, in its linear equations."""
    return Figure(*woodpecker(short))


@figure("slider-crank with clearance")
def slider_crank(short: bool) -> Figure:
    """Impacts of the slider of Flores, Leine and Glocker against an event-exact integration."""
    return Figure(*clearance(short))


@figure("Geneva drive")
def geneva_drive(short: bool) -> Figure:
    """Turn of a Geneva wheel of four slots against its closed form."""
    return Figure(*geneva(short))


def main(arguments: list[str]) -> int:
    """Print the table; names choose its rows by their beginnings. Return 1 where a row does not hold, else 0."""
    short, missed = "--bounded" in arguments, 0
    chosen = [one for one in arguments if not one.startswith("--")]
    print("| figure | wanted | measured | holds |\n|---|---|---|---|")
    for name, function in FIGURES.items():
        if chosen and not any(name.startswith(one) for one in chosen):
            continue
        try:
            wanted, measured, holds = function(short)
        except RtmbsError as error:
            wanted, measured, holds = "a run", f"{type(error).__name__}: {str(error)[:80]}", False
        print(f"| {name} | {wanted} | {measured} | {'yes' if holds else 'no'} |", flush=True)
        missed |= not holds
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
