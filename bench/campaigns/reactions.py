"""Random mechanisms with reactions that balance leaves free: they are those of equal bushings that grow stiff.

Doors with several hinges, planar linkages of hinges out of their plane, carriages on parallel guides, plates on more
legs than needed, boxes of panels, doubled welds and gears, hinges of several types on one skew axis, constraints of the
user. Some stand on a base that accelerates or turns, some have rates, some sizes are odd, some joints have a stiffness
of their own. Every mechanism is built twice: joints in another order, another one cut, other bodies as base.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.own_bushings import GROUND, Along, Bushed, Link, Mass, Moving
from bench.measures.random_mechanisms import triad, unit
from rtmbs.errors import TopologyError
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.results.samples import Evaluation

Array = NDArray[np.float64]
Rng = np.random.Generator

ALLOWED = 1e-6  # of the largest force, or moment over the characteristic length
CHANGES = 1e-5  # a component that another stiffness changes by more is not unique
STEPS = 3
STEP = 1e-3  # [s] of a mechanism of 1 m under 9.81 m/s^2
UNITS = ((1.0, 1.0), (1e3, 1e6), (1e-3, 1e-8), (39.37, 2.2))  # of length and mass, in a metre and a kilogram
KINDS = ("door", "linkage", "stack", "guides", "legs", "box", "welds", "gears", "axis", "constraint", "plates")


@dataclass(frozen=True)
class Given:
    """Arguments of one joint."""

    name: str
    type: Any
    a: str
    b: str
    point: Array
    closes: bool  # it may be cut


class Plan:
    """A mechanism: every number is drawn before anything is built."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng((seed, 97))
        self.kind = KINDS[seed % len(KINDS)]
        self.slides = False  # a sleeve leaves what only all equations of a hinge hold
        self.size = 1.0  # characteristic length of the model [m], known when it is built
        self.length, self.mass = UNITS[0] if rng.random() < 0.6 else UNITS[rng.integers(1, len(UNITS))]
        self.pace = np.sqrt(self.length)  # a second of a mechanism of 1 m, where gravity is 9.81 m/s^2
        self.gravity = 9.81 * unit(rng)
        self.shift = self.length * 3.0 * rng.normal(size=3)
        self.bodies: dict[str, tuple[Mass, Array, Array]] = {}  # with place and orientation
        self.joints: list[Given] = []
        self.rods: list[tuple[str, str, str, Array, Array]] = []
        self.couplers: list[tuple[str, dict[str, float]]] = []
        self.constraints: list[tuple[str, str, str, Array]] = []
        self.base, self.motion = "ground", (0.0, 0.0)
        self.rates: dict[str, float] = {}
        self.loads: dict[str, tuple[Array, Array]] = {}
        self.stiffness: dict[str, tuple[float, float]] = {}
        if rng.random() < 0.4:
            self.carry()
        getattr(self, self.kind)()
        self.finish()

    def carry(self) -> None:
        """Put everything on a base that slides or turns as a driver says."""
        self.body("base", np.zeros(3))
        kind = rtmbs.Prismatic if self.rng.random() < 0.5 else rtmbs.Revolute
        self.joint("drive", kind(unit(self.rng)), "ground", "base", np.zeros(3), closes=False)
        size = self.length if kind is rtmbs.Prismatic else 1.0
        self.base, self.motion = "base", (0.3 * size, 3.0 / self.pace)

    def finish(self) -> None:
        """Draw loads, and the stiffness of some joints."""
        rng = self.rng
        for name in self.bodies:
            if rng.random() < 0.5:
                force = 9.81 * self.mass * rng.normal(size=3)
                self.loads[name] = force, self.length * 9.81 * self.mass * rng.normal(size=3)
        if rng.random() < 0.3:
            for given in self.joints:
                if rng.random() < 0.7:
                    sizes = np.exp(rng.uniform(-1.0, 1.0, 2))
                    self.stiffness[given.name] = float(sizes[0]), float(sizes[1])

    def at(self, x: Array) -> Array:
        return np.asarray(self.shift + self.length * np.asarray(x, np.float64))

    def body(self, name: str, near: Array) -> None:
        """Add a body with a mass centre near a place."""
        rng = self.rng
        mass = self.mass * float(np.exp(rng.uniform(-1.0, 1.0)))
        place, R = self.at(near + 0.3 * rng.normal(size=3)), triad(rng)
        center = R.T @ (self.at(near + 0.2 * rng.normal(size=3)) - place)
        axes = triad(rng)
        inertia = axes @ np.diag(mass * self.length**2 * rng.uniform(0.05, 0.09, 3)) @ axes.T
        self.bodies[name] = Mass(mass, center, inertia), place, R

    def joint(self, name: str, type: Any, a: str, b: str, point: Array, closes: bool = True) -> None:
        if closes and self.rng.random() < 0.3:  # the other way round
            a, b = b, a
        self.joints.append(Given(name, type, a, b, self.at(point), closes))

    # ---- kinds -------------------------------------------------------------------------------------------------------

    def door(self) -> None:
        """A body on two to four hinges of one axis."""
        axis = unit(self.rng)
        self.body("door", self.rng.normal(size=3))
        for k in range(self.rng.integers(2, 5)):
            self.joint(f"hinge{k}", rtmbs.Revolute(axis), self.base, "door", self.rng.normal() * axis)
        self.rates["hinge0"] = self.rng.normal() / self.pace

    def quadrilateral(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return corners of a four-bar in a random plane, its normal, and directions in it."""
        R = triad(self.rng)
        x, y, n = R.T
        corners = [np.array(p) + 0.1 * self.rng.normal(size=2) for p in ((0, 0), (0.2, 0.8), (1.2, 1.0), (1.1, 0))]
        return *(p[0] * x + p[1] * y for p in corners), n, x  # type: ignore[return-value]

    def linkage(self) -> None:
        """A four-bar whose hinges hold it in its plane; some joints leave more."""
        A, B, C, D, n, _ = self.quadrilateral()
        for name, place in (("crank", A + B), ("rod", B + C), ("rocker", C + D)):
            self.body(name, 0.5 * place)
        hinge = rtmbs.Revolute(n)
        self.joint("a", hinge, self.base, "crank", A)
        self.joint("b", hinge, "crank", "rod", B)
        self.slides = bool(self.rng.random() < 0.3)
        self.joint("c", rtmbs.Cylindrical(n) if self.slides else hinge, "rod", "rocker", C)
        self.joint("d", hinge, self.base, "rocker", D)
        self.rates["a"] = self.rng.normal() / self.pace

    def stack(self) -> None:
        """Two parallelograms, one upon the other."""
        R = triad(self.rng)
        x, y, n = R.T
        hinge, below = rtmbs.Revolute(n), self.base
        lean = 0.3 * x + 0.8 * y
        for k in range(2):
            foot = k * lean
            for name, place in ((f"l{k}", foot), (f"r{k}", foot + x), (f"top{k}", foot + lean)):
                self.body(name, place)
            self.joint(f"a{k}", hinge, below, f"l{k}", foot)
            self.joint(f"b{k}", hinge, below, f"r{k}", foot + x)
            self.joint(f"c{k}", hinge, f"l{k}", f"top{k}", foot + lean)
            self.joint(f"d{k}", hinge, f"r{k}", f"top{k}", foot + lean + x)
            below = f"top{k}"
        self.rates["a0"] = self.rng.normal() / self.pace

    def guides(self) -> None:
        """A carriage on parallel guides."""
        axis = unit(self.rng)
        self.body("carriage", np.zeros(3))
        for k in range(self.rng.integers(2, 5)):
            kind = rtmbs.Prismatic if k == 0 or self.rng.random() < 0.5 else rtmbs.Cylindrical
            self.joint(f"guide{k}", kind(axis), self.base, "carriage", self.rng.normal(size=3))
        self.rates["guide0"] = self.length * self.rng.normal() / self.pace

    def legs(self) -> None:
        """A plate on seven to nine rods, with a pendulum on it."""
        self.body("plate", np.zeros(3))
        self.joint("free", rtmbs.Floating(), self.base, "plate", np.zeros(3), closes=False)
        self.body("bob", np.array([0.0, 0.0, -1.0]))
        self.joint("pin", rtmbs.Revolute(unit(self.rng)), "plate", "bob", np.zeros(3), closes=False)
        for k in range(self.rng.integers(7, 10)):
            ends = self.at(self.rng.normal(size=3) * 1.5), self.at(0.8 * self.rng.normal(size=3))
            self.rods.append((f"rod{k}", self.base, "plate", *ends))
        self.rates["pin"] = self.rng.normal() / self.pace

    def box(self) -> None:
        """A ring of four panels, each with two hinges on the next one."""
        A, B, C, D, n, _ = self.quadrilateral()
        names, corners = ("p0", "p1", "p2"), (A, B, C, D)
        for k, name in enumerate(names):
            self.body(name, 0.5 * (corners[k] + corners[k + 1]))
        pairs = ((self.base, "p0"), ("p0", "p1"), ("p1", "p2"), (self.base, "p2"))
        for k, (a, b) in enumerate(pairs):
            for side in (0.0, 1.0):
                self.joint(f"e{k}{side:.0f}", rtmbs.Revolute(n), a, b, corners[k] + side * n)
        self.rates["e00"] = self.rng.normal() / self.pace

    def welds(self) -> None:
        """A pendulum of two bodies that are held to each other twice."""
        axis = unit(self.rng)
        self.body("upper", np.zeros(3))
        self.body("lower", np.array([0.0, 0.0, -1.0]))
        self.joint("pin", rtmbs.Revolute(axis), self.base, "upper", np.zeros(3), closes=False)
        for k in range(2):
            self.joint(f"weld{k}", rtmbs.Fixed(), "upper", "lower", self.rng.normal(size=3))
        extra = (rtmbs.Spherical(), rtmbs.Revolute(unit(self.rng)), rtmbs.Line(unit(self.rng)))
        self.joint("more", extra[self.rng.integers(3)], "upper", "lower", self.rng.normal(size=3))
        self.rates["pin"] = self.rng.normal() / self.pace

    def gears(self) -> None:
        """A parallelogram whose cranks are geared to each other as well."""
        R = triad(self.rng)
        x, y, n = R.T
        lean = 0.3 * x + 0.8 * y
        hinge = rtmbs.Revolute(n)
        for name, place in (("left", 0.5 * lean), ("right", x + 0.5 * lean), ("bar", lean + 0.5 * x)):
            self.body(name, place)
        self.joints += [
            Given("a", hinge, self.base, "left", self.at(np.zeros(3)), False),
            Given("d", hinge, self.base, "right", self.at(x), False),
            Given("b", hinge, "left", "bar", self.at(lean), True),
            Given("c", hinge, "right", "bar", self.at(lean + x), True),
        ]
        for k in range(self.rng.integers(1, 3)):
            size = float(np.exp(self.rng.normal()))
            self.couplers.append((f"gear{k}", {"a": size, "d": -size}))
        self.rates["a"] = self.rng.normal() / self.pace

    def axis(self) -> None:
        """A shaft in bearings of several types on one axis."""
        axis = unit(self.rng)
        side = np.cross(axis, unit(self.rng))
        self.body("shaft", self.rng.normal(size=3))
        self.joint("first", rtmbs.Revolute(axis), self.base, "shaft", np.zeros(3))
        kinds = (
            rtmbs.Revolute(axis), rtmbs.Cylindrical(axis), rtmbs.Spherical(), rtmbs.Line(axis),
            rtmbs.Universal(axis, side / np.linalg.norm(side)), rtmbs.Planar(axis),
        )  # fmt: skip
        for k in range(self.rng.integers(1, 4)):
            self.joint(f"more{k}", kinds[self.rng.integers(6)], self.base, "shaft", self.rng.normal() * axis)
        self.rates["first"] = self.rng.normal() / self.pace

    def constraint(self) -> None:
        """A door whose second support is a constraint of the user."""
        axis = unit(self.rng)
        self.body("door", self.rng.normal(size=3))
        self.joint("hinge", rtmbs.Revolute(axis), self.base, "door", np.zeros(3), closes=False)
        for k in range(self.rng.integers(1, 3)):
            self.constraints.append((f"held{k}", self.base, "door", self.at(self.rng.normal() * axis)))
        self.rates["hinge"] = self.rng.normal() / self.pace

    def plates(self) -> None:
        """A body on parallel planes, and an arm on it with two hinges."""
        normal, axis = unit(self.rng), unit(self.rng)
        self.body("puck", np.zeros(3))
        self.body("arm", np.ones(3))
        for k in range(self.rng.integers(2, 4)):
            self.joint(f"plane{k}", rtmbs.Planar(normal), self.base, "puck", self.rng.normal(size=3))
        for k in range(2):
            self.joint(f"hinge{k}", rtmbs.Revolute(axis), "puck", "arm", self.rng.normal() * axis)
        self.rates["hinge0"] = self.rng.normal() / self.pace


# ---- both models -----------------------------------------------------------------------------------------------------


def built(plan: Plan, rng: Rng, cuts: bool) -> rtmbs.Model:
    """Return the model: joints in a random order, ``cuts`` with a random one cut."""
    model = rtmbs.Model(f"reactions {plan.kind}", gravity=plan.gravity)
    for name, (body, place, R) in plan.bodies.items():
        model.add_body(
            name, mass=body.mass, inertia=body.inertia, center_of_mass=body.center, position=place, orientation=R
        )
    joints = [plan.joints[k] for k in rng.permutation(len(plan.joints))]
    cut = {next((given.name for given in joints if given.closes), "")} if cuts else set()
    if plan.kind == "welds":  # bodies that a weld of the tree holds are one, which nothing can hold twice
        cut = {"weld0", "weld1"}
    for given in joints:
        option = (None, None, "line", "point")[rng.integers(4)] if isinstance(given.type, rtmbs.Revolute) else None
        if given.name in plan.rates or not given.closes or plan.slides:
            option = None
        model.add_joint(
            given.name, given.type, given.a, given.b, point=given.point, cut=given.name in cut, closure=option
        )
    for name, a, b, p, q in plan.rods:
        model.add_marker(f"{name} a", a, p)
        model.add_marker(f"{name} b", b, q)
        model.add_rod(name, between=(f"{name} a", f"{name} b"))
    for name, ratios in plan.couplers:
        model.add_coupler(name, ratios)
    for name, a, b, p in plan.constraints:
        model.add_marker(f"{name} a", a, p)
        model.add_marker(f"{name} b", b, p)
        model.add_constraint(name, together, between=(f"{name} a", f"{name} b"))
    if plan.base != "ground":
        model.add_driver("wave", rtmbs.Sine(*plan.motion, phase=0.7), joint="drive")
    for name, rate in plan.rates.items():
        model.set_initial(name, rate=rate)
    for name, (force, moment) in plan.loads.items():
        model.add_force(f"load {name}", rtmbs.Wrench(force, moment), body=name)
    for name, (translation, rotation) in plan.stiffness.items():
        square = plan.size**2
        model.set_reaction_stiffness(name, 1e8 * translation, 1e8 * rotation * square)
    return model


def together(t: Any, pose: Any, parameters: Any) -> Any:
    """Zero where the points of two markers coincide, in axes and units of their own."""
    return 2.0 * pose.r


def reference(plan: Plan) -> Bushed:
    """Return the own model of a plan."""
    own = Bushed(plan.gravity)
    number = {"ground": GROUND} | {name: k for k, name in enumerate(plan.bodies)}
    frames = {"ground": (np.zeros(3), np.eye(3))} | {name: (x, R) for name, (_, x, R) in plan.bodies.items()}
    own.masses = [body for body, *_ in plan.bodies.values()]
    own.loads = {number[name]: load for name, load in plan.loads.items()}

    def link(
        name: str, kind: str, ends: tuple[str, str], points: tuple[Array, Array], axes: tuple[Array, Array]
    ) -> Link:
        (xa, Ra), (xb, Rb) = (frames[end] for end in ends)
        stiffness = plan.stiffness.get(name, (1.0, 1.0))
        return Link(
            name, kind, number[ends[0]], number[ends[1]], Ra.T @ (points[0] - xa), Rb.T @ (points[1] - xb),
            Ra.T @ axes[0], Rb.T @ axes[1], stiffness,
        )  # fmt: skip

    none = np.array([1.0, 0.0, 0.0])
    for given in plan.joints:
        fields = [np.asarray(value, np.float64) for value in vars(given.type).values()] or [none]
        axes = [one / np.linalg.norm(one) for one in fields]
        kind = type(given.type).__name__
        if kind != "Floating":
            own.links.append(link(given.name, kind, (given.a, given.b), (given.point,) * 2, (axes[0], axes[-1])))
    own.links += [link(name, "Rod", (a, b), (p, q), (none, none)) for name, a, b, p, q in plan.rods]
    own.links += [link(name, "Point", (a, b), (p, p), (none, none)) for name, a, b, p in plan.constraints]
    by_name = {one.name: one for one in own.links}
    own.along = [Along(name, [(by_name[j], ratio) for j, ratio in ratios.items()]) for name, ratios in plan.couplers]
    if plan.base != "ground":
        own.along.append(Along("wave", [(by_name["drive"], 1.0)]))
    return own


def motion_at(plan: Plan, result: rtmbs.Result, k: int) -> list[Moving]:
    """Return how the bodies move at a sample."""
    return [
        Moving(
            result[f"{name}.position"][k], rotation_of_quaternion(result[f"{name}.orientation"][k]),
            result[f"{name}.velocity"][k], result[f"{name}.angular_velocity"][k],
        )
        for name in plan.bodies
    ]  # fmt: skip


# ---- judgement -------------------------------------------------------------------------------------------------------


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    return each(judged, cases, seed)


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with one case."""
    plan, wrong = Plan(case), ""
    rng = np.random.default_rng((case, 98))
    plan.size = built(plan, rng, False).compile().length
    own, answers = reference(plan), []
    for cuts in (False, True):
        model = built(plan, rng, cuts)
        try:
            system = model.compile()
        except TopologyError:  # the joint cannot be cut
            continue
        load = rtmbs.workload(rtmbs.Simulation(system, h=STEP * plan.pace), STEPS * STEP * plan.pace)
        answers.append(compared(plan, own, load, rng, tally))
    for found, error in answers:
        if error and not wrong:
            wrong = f"{plan.kind}: {error}"
        apart = max(np.abs(found[name] - answers[0][0][name]).max() for name in found)
        tally.largest("between cuts and bases", float(apart))
    return wrong


def compared(plan: Plan, own: Bushed, load: Any, rng: Rng, tally: Tally) -> tuple[dict[str, Array], str]:
    """Return all reactions at the start over their size, and what is wrong with the first or the last ones."""
    result, L, wrong = load.result, plan.size, ""
    unique = raw(load.resampled)
    first: dict[str, Array] = {}
    for k in (0, STEPS):
        motion = motion_at(plan, result, k)
        if plan.base != "ground":
            own.along[-1].acceleration = float(rtmbs.Sine(*plan.motion, phase=0.7)(float(load.t[k]))[2])
        expected = own.reactions(motion, L)
        other = own.reactions(motion, L, np.exp(rng.normal(size=500)))
        names = [link.name for link in own.links]
        unit_of = np.array([1.0, 1.0, 1.0, 1.0 / L, 1.0 / L, 1.0 / L])
        size = max(float(np.abs(expected[name] * unit_of).max()) for name in names)
        for name in names:
            found = result[f"{name}.reaction"][k] * unit_of / size
            error = float(np.abs(found - expected[name] * unit_of / size).max())
            tally.largest("reactions", error)
            same = np.abs(expected[name] - other[name]) * unit_of / size < CHANGES
            free = result[f"{name}.reaction_doubtful"][k].astype(int) & 1
            kept = float(np.abs(found - unique[name][k] * unit_of / size)[free == 0].max(initial=0.0))
            tally.largest("unique components, changed", kept)
            if k == 0:
                first[name] = found
            if not error <= ALLOWED and not wrong:
                wrong = f"{name} at sample {k}: {error:.2g} of the largest reaction"
            if np.any(~same & (free == 0)) and not wrong:
                wrong = f"{name} at sample {k}: free components not named, {free} for {same}"
        for one in own.along:
            scale = L if one.terms[0][0].kind != "Prismatic" else 1.0
            found = result[f"{one.name}.force"][k].ravel()
            error = abs(found[0] - expected[one.name][0]) / (size * scale)
            tally.largest("couplers and drivers", float(error))
            if not error <= ALLOWED and not wrong:
                wrong = f"{one.name} at sample {k}: {error:.2g}"
    return first, wrong


def raw(resampled: Evaluation) -> dict[str, Array]:
    """Return the reactions as multipliers and balance give them, nothing shared."""
    from rtmbs.results.reactions import SharedReactions, held, reaction_values

    alone = Evaluation(resampled.system, resampled.tables, resampled.samples)
    alone.shared = {False: SharedReactions({}, {}, {})}
    system = resampled.system
    return {name: reaction_values(alone, system, name) for name in (*system.joints, *held(system))}


CAMPAIGN = Campaign(
    "reactions",
    "reactions that balance leaves free are those of equal bushings that grow stiff, for every cut and base",
    500,
    44,
    run,
)
