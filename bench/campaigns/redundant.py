"""Random mechanisms and the same ones with joints doubled and tripled: nothing but the sharing of loads may change."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from rtmbs.errors import RtmbsError, StartError
from rtmbs.integrators.newton import MISS
from rtmbs.model import JointType

Array = NDArray[np.float64]

STEPS = 15
STEP = 2e-3  # [s] of a mechanism of 1 m under 9.81 m/s^2
# Loops close to a share of the whole, beside which a part may be 3,000 times smaller; a structure near a singular pose
# sags by what its penalties give, and there either run may miss a reaction by MISS.
ALLOWED = {
    "first acceleration": 1e-6,
    "first reaction": 5e-6,
    "motion": 2e-6,
    "last reaction": 1e-4,
    "last reaction, behind doubtful ones": 2.0 * MISS,
}
OFF = 1e-5  # of the size: how far an inconsistent joint is off
TYPES = ("Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Spherical", "Fixed")
CLOSING = ("Revolute", "Cylindrical", "Universal", "Spherical", "Prismatic", "Planar")
LOOPED = ("Universal", "Cylindrical", "Spherical", "Revolute")
SLIDES = ("displacement", "x", "y")
UNITS = ((1.0, 1.0, 1.0), (1e9, 1e18, 1e9), (1e-3, 1e-9, 1 / 3600), (1e3, 1e3, 1.0), (39.37, 2.2, 1.0))


@dataclass(frozen=True)
class Plan:
    """One mechanism: sizes in metres, kilograms, seconds; every number of it is drawn before anything is built."""

    seed: int
    units: tuple[float, float, float]  # of length, mass and time, in one metre, kilogram and second
    far: float  # distance from the origin, in sizes
    parts: tuple[tuple[float, float], ...]  # size [m] and mass [kg] of each mechanism
    forced: bool  # cuts are given, so that the trees are the same and rates may be set


@dataclass(frozen=True)
class Joined:
    """A joint of a mechanism and what doubles it."""

    name: str
    type: JointType
    ends: tuple[str, str]
    point: Array
    copies: tuple[Array, ...]  # points of the copies
    cut: bool
    size: float


def drawn(seed: int) -> Plan:
    """Return the plan of one case."""
    rng = np.random.default_rng((seed, 81))
    parts = ((1.0, 1.0),)
    if rng.random() < 0.25:
        parts = ((30.0, 1e4), (0.01, 1e-3))
    far = float(10.0 ** rng.uniform(1.0, 4.0)) if rng.random() < 0.3 else 0.0
    return Plan(seed, UNITS[rng.integers(len(UNITS))], far, parts, bool(rng.random() < 0.6))


def direction(rng: np.random.Generator) -> Array:
    axis = rng.normal(size=3)
    return np.asarray(axis / np.linalg.norm(axis))


def joint_type(kind: str, rng: np.random.Generator) -> tuple[JointType, Array, Array]:
    """Return a joint with skew axes, a shift of its point that changes nothing, and one that contradicts it."""
    axis = direction(rng)
    across = np.cross(axis, direction(rng))
    across /= np.linalg.norm(across)
    slide, any_way = rng.uniform(0.3, 1.5) * axis, rng.uniform(0.3, 1.5) * direction(rng)
    if kind == "Universal":
        return rtmbs.Universal(axis, across), np.zeros(3), axis
    if kind == "Spherical":
        return rtmbs.Spherical(), np.zeros(3), axis
    if kind == "Fixed":
        return rtmbs.Fixed(), any_way, axis
    if kind == "Planar":
        return rtmbs.Planar(axis), rng.uniform(0.3, 1.5) * across, axis
    if kind == "Prismatic":
        return rtmbs.Prismatic(axis), any_way, across
    return getattr(rtmbs, kind)(axis), slide, across


def mechanism(
    plan: Plan, redundant: bool, wrong: bool = False, only: int = -1
) -> tuple[rtmbs.Model, list[Joined], str]:
    """Return the model of a plan, or only one part of it, its joints, and the joint that contradicts another."""
    rng = np.random.default_rng((plan.seed, 82))
    length, mass, time = plan.units
    gravity = 9.81 * direction(rng) * length / time**2
    model = rtmbs.Model(f"redundant {plan.seed}", gravity=gravity)
    joints: list[Joined] = []
    worst = ""
    for part, (size, weight) in enumerate(plan.parts):
        if only not in (-1, part):
            continue
        rng, unit = np.random.default_rng((plan.seed, 83, part)), size * length
        origin = unit * plan.far * direction(rng) + 3.0 * part * plan.parts[0][0] * length
        bodies, links = tree(rng, model, str(part), origin, unit, weight * mass)
        for name, kind, ends, point, cut in links:
            type_, along, against = joint_type(kind, rng)
            count = int(rng.integers(1 if name == links[0][0] else 0, 3)) if kind != "Fixed" else 0
            copies = tuple(point + unit * k * along for k in range(1, count + 1))
            joints.append(Joined(name, type_, ends, point, copies, cut, unit))
            add(model, joints[-1], redundant, plan.forced)
            if wrong and copies and not worst:
                worst = contradict(model, joints[-1], against)
        spread(rng, model, bodies, unit)
        if plan.forced:
            own = [joint for joint in joints if not joint.cut and joint.name.startswith(f"{part} ")]
            set_rates(rng, model, own, time)
    return model, joints, worst


Link = tuple[str, str, tuple[str, str], Array, bool]


def tree(
    rng: np.random.Generator, model: rtmbs.Model, part: str, origin: Array, unit: float, mass: float
) -> tuple[list[str], list[Link]]:
    """Add bodies; return their names, and (name, kind, ends, point, cut) of the joints of a tree and perhaps a loop."""
    count = int(rng.integers(1, 6))
    loop = count >= 3 and rng.random() < 0.7
    names, links = ["ground"], []
    for k in range(count):
        body = f"{part} body {k}"
        own = mass * float(np.exp(rng.uniform(-1.5, 1.5)))
        moments = own * unit**2 * (0.05 + rng.uniform(0.1, 0.15, 3))
        place = origin + unit * rng.normal(size=3)
        model.add_body(body, mass=own, center_of_mass=0.4 * unit * rng.normal(size=3), inertia=moments, position=place)
        parent = names[-1] if loop or rng.random() < 0.6 else str(rng.choice(names))
        kinds = TYPES[:6] if k == 0 or rng.random() < 0.85 else TYPES
        kind = (
            str(rng.choice(("Universal", "Cylindrical", "Spherical", "Revolute"))) if loop else str(rng.choice(kinds))
        )
        links.append((f"{part} joint {k}", kind, (parent, body), origin + unit * rng.normal(size=3), False))
        names.append(body)
    if loop:
        ends = (names[-1], "ground")
        links.append((f"{part} closing", str(rng.choice(CLOSING)), ends, origin + unit * rng.normal(size=3), True))
    return names[1:], links


def add(model: rtmbs.Model, joint: Joined, redundant: bool, forced: bool) -> None:
    """Add a joint and its requested copies."""
    cut = True if joint.cut and forced else None
    model.add_joint(joint.name, joint.type, *joint.ends, point=joint.point, **({"cut": True} if cut else {}))
    for k, point in enumerate(joint.copies if redundant else ()):
        extra = {"cut": True} if forced else {}
        model.add_joint(f"{joint.name} copy {k}", joint.type, *joint.ends, point=point, **extra)


def contradict(model: rtmbs.Model, joint: Joined, against: Array) -> str:
    """Add a copy whose points do not meet; return its name."""
    ends = [model.ground if name == "ground" else model.bodies[name] for name in joint.ends]
    places = [joint.copies[0] - np.asarray(end.position) for end in ends]
    name = f"{joint.name} wrong"
    shifted = places[1] + OFF * joint.size * against
    model.add_joint(name, joint.type, *joint.ends, point_a=places[0], point_b=shifted, cut=True)
    return name


def spread(rng: np.random.Generator, model: rtmbs.Model, bodies: list[str], unit: float) -> None:
    """Mark two points of every body: the motion is theirs."""
    for body in bodies:
        for k in range(2):
            place = np.asarray(model.bodies[body].position) + unit * rng.normal(size=3)
            model.add_marker(f"{body} point {k}", body, place)


def set_rates(rng: np.random.Generator, model: rtmbs.Model, joints: list[Joined], time: float) -> None:
    """Let every joint of a tree that only turns start with a rate that the loops may change.

    How near two rates are depends on the size of the mechanism when some are of displacements, and copies change it.
    """
    if any(name in SLIDES for joint in joints for name in joint.type.coordinates):
        return
    for joint in joints:
        if joint.type.coordinates:
            rates = rng.normal(size=len(joint.type.coordinates)) / time
            model.set_initial(joint.name, rate=rates[0] if len(rates) == 1 else tuple(rates), pin=False)


# ----------------------------------------------------------------------------------------------------------- one case


@dataclass(frozen=True)
class Run:
    """What a run of one model gave."""

    sim: rtmbs.Simulation
    accelerations: dict[str, Array]  # of every marked point at the start
    points: dict[str, Array]  # their positions at the end
    wrenches: tuple[dict[str, Array], dict[str, Array]]  # of every joint and its copies, at the start and the end
    doubtful: bool  # some in between may be wrong, and their samples say so


def run(plan: Plan, redundant: bool) -> Run:
    """Compile and run a plan; raises RtmbsError when that cannot be done."""
    model, joints, _ = mechanism(plan, redundant)
    for joint in joints:
        for k, point in enumerate((joint.point, *(joint.copies if redundant else ()))):
            model.add_marker(f"{joint.name} at {k}", joint.ends[1], point)
    smallest = min(size for size, _ in plan.parts)
    h = STEP * np.sqrt(smallest) * plan.units[2]
    sim = rtmbs.Simulation(model.compile(), h=h)
    result = sim.run(STEPS * h)
    marked = [name for name in model.markers if " point " in name]
    return Run(
        sim,
        {name: result[f"{name}.acceleration"][0] for name in marked},
        {name: result[f"{name}.position"][-1] for name in marked},
        (summed(result, joints, redundant, 0), summed(result, joints, redundant, -1)),
        any(np.any(result[f"{joint.name}.reaction_doubtful"]) for joint in joints),
    )


def summed(result: rtmbs.Result, joints: list[Joined], redundant: bool, sample: int) -> dict[str, Array]:
    """Return the sum of the reactions of every joint and its copies (6,), about the point of the joint proper."""
    wrenches = {}
    for joint in joints:
        total = np.zeros(6)
        about = result[f"{joint.name} at 0.position"][sample]
        names = [joint.name, *(f"{joint.name} copy {k}" for k in range(len(joint.copies) if redundant else 0))]
        for k, name in enumerate(names):
            one = result[f"{name}.reaction"][sample]
            arm = result[f"{joint.name} at {k}.position"][sample] - about
            total += np.concatenate([one[:3], one[3:] + np.cross(arm, one[:3])])
        wrenches[joint.name] = total
    return wrenches


def differences(plan: Plan, one: Run, other: Run) -> dict[str, float]:
    """Return the largest differences: accelerations and reactions in terms of the largest, positions in sizes.

    With other trees the integrator is another one, and only the start can be compared. Reactions are unique when the
    mechanism without copies has no redundant equation. An acceleration is small beside that of gravity.
    """
    found: dict[str, float] = {}
    weight_of = float(np.linalg.norm(one.sim.equations.u[:3]))
    for part, (size, _) in enumerate(plan.parts):
        unit, prefix = size * plan.units[0], f"{part} "
        scale = np.array([1.0, 1.0, 1.0, 1 / unit, 1 / unit, 1 / unit])
        pairs = {
            "first acceleration": (one.accelerations, other.accelerations, 1.0, weight_of),
            "first reaction": (one.wrenches[0], other.wrenches[0], scale, 0.0),
            "motion": (one.points, other.points, 1.0, unit),
            "last reaction": (one.wrenches[1], other.wrenches[1], scale, 0.0),
        }
        compared = pairs if plan.forced else list(pairs)[:2]
        for name in compared:
            if "reaction" in name and one.sim.start_report.redundant:
                continue
            mine, theirs, weight, given = pairs[name]
            own = [key for key in mine if key.startswith(prefix)]
            apart = max(float(np.max(np.abs((mine[key] - theirs[key]) * weight))) for key in own)
            largest = max([given, *(float(np.max(np.abs(mine[key] * weight))) for key in own if name != "motion")])
            if name == "last reaction" and (one.doubtful or other.doubtful):
                name += ", behind doubtful ones"
            found[name] = max(found.get(name, 0.0), apart / largest)
    return found


def fault(plan: Plan, one: Run, other: Run, joints: list[Joined]) -> str:
    """Return what is wrong with the rank that the start found; empty when nothing is."""
    free, doubled = one.sim.start_report, other.sim.start_report
    if free.degrees_of_freedom != doubled.degrees_of_freedom:
        return f"{doubled.degrees_of_freedom} degrees of freedom instead of {free.degrees_of_freedom}"
    system, names = other.sim.system, set(doubled.redundant)
    if len(names) != system.m - system.n + free.degrees_of_freedom:
        return f"{len(names)} redundant rows named"
    copied = {joint.name for joint in joints if joint.copies}
    spare = {name.split(".")[0].split(" copy")[0] for name in names} - copied
    if spare - {name.split(".")[0] for name in free.redundant} and not free.redundant:
        return f"rows of {sorted(spare)} named as redundant, which nothing doubles"
    kept = np.array([name not in names for name in system.row_names])
    other.sim.equations.close(other.sim.state.z, other.sim.state.R0)
    P = other.sim.equations.closure_jacobian()[kept]
    for _ in range(20):  # whatever the units: rows and columns of one size
        P = P / np.maximum(np.linalg.norm(P, axis=1, keepdims=True), 1e-300)
        P = P / np.maximum(np.linalg.norm(P, axis=0, keepdims=True), 1e-300)
    if len(P) and np.linalg.svd(P, compute_uv=False)[-1] < 1e-7:
        return "the rows that are not named depend on each other"
    alone = [freedoms(plan, part) for part in range(len(plan.parts))] if len(plan.parts) > 1 else []
    if alone and sum(alone) != free.degrees_of_freedom:
        return f"{free.degrees_of_freedom} degrees of freedom together, {alone} alone"
    return ""


def freedoms(plan: Plan, part: int) -> int:
    """Return the degrees of freedom of one part by itself, all joints doubled."""
    model = mechanism(plan, True, only=part)[0]
    return rtmbs.Simulation(model.compile(), h=STEP * plan.units[2]).start_report.degrees_of_freedom


def judge(seed: int, tally: Tally) -> bool:
    """Try one case; False when the mechanism itself could not be run, so that it says nothing."""
    plan = drawn(seed)
    joints = mechanism(plan, True)[1]
    try:
        one = run(plan, False)
    except RtmbsError:
        return False
    try:
        other = run(plan, True)
    except RtmbsError as refusal:
        tally.fail(f"seed {seed}: {type(refusal).__name__}: {str(refusal)[:150]}")
        return True
    wrong = fault(plan, one, other, joints) or refused(plan)
    for name, apart in differences(plan, one, other).items():
        tally.largest(name, apart)
        if apart > ALLOWED[name]:
            wrong = wrong or f"{name} differs by {apart:.2g}"
    if wrong:
        tally.fail(f"seed {seed}: {wrong}")
    else:
        tally.survive()
    return True


def refused(plan: Plan) -> str:
    """Return what is wrong with the refusal of a joint that contradicts another; empty when nothing is."""
    model, _, worst = mechanism(plan, True, wrong=True)
    family = worst.removesuffix(" wrong")
    try:
        rtmbs.Simulation(model.compile(), h=STEP * plan.units[2])
    except StartError as refusal:
        return "" if family in str(refusal) else f"{worst} is refused without its name: {str(refusal)[:100]}"
    return f"{worst} contradicts its neighbours and is not refused"


def campaign(cases: int, seed: int) -> Tally:
    """Try so many mechanisms; those that cannot be run by themselves are drawn again."""
    tally = Tally()
    while tally.tried < cases:
        judge(seed, tally)
        seed += 1
    return tally


CAMPAIGN = Campaign(
    "redundant",
    "Doubled and tripled joints change no motion, no rank and no sum of reactions; contradictory ones are refused.",
    2000,
    60,
    campaign,
)
