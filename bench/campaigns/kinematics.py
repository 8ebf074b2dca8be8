"""Random driven mechanisms: kinematics against a Simulation of the same model, and against its closures.

A mechanism is a tree of one to six bodies on random joints, closed by a joint at the reference pose where that leaves
something free, with as many coordinates driven as are free. Masses are uneven, so that the Simulation runs too. At
every sample the bodies of both must stand and move alike, and all equations must hold. Where the error of the steps is
larger than the limits, smaller steps are taken and extrapolated. Where kinematics
comes to a dead centre, the Simulation must end or open its loops. Samples close together must tell the same motion,
near singular poses too.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally
from rtmbs.errors import ModelError, StartError, StepError, TopologyError
from rtmbs.kinematics import Analysis, MotionError
from rtmbs.model import JOINT_TYPES, Sine

Array = NDArray[np.float64]
Channels = dict[tuple[str, str], Array]  # by body and quantity

KINDS = ("Revolute", "Revolute", "Revolute", "Prismatic", "Cylindrical", "Universal", "Planar")
LOOPS = ("Spherical", "Revolute", "Universal", "Line", "Cylindrical", "Planar")
T_END, SAMPLES, STEP = 0.5, 26, 2.5e-4
DRAWS = 60  # of one seed, until a mechanism moves
SINGULAR = 3e-3  # smallest singular value below which the two are not compared
LIMITS = {"position": 1e-7, "orientation": 1e-7, "velocity": 1e-6, "angular_velocity": 1e-6}
HELD = 1e-9  # largest |Phi|
OPEN = 1e-5  # [m or 1] by which a Simulation opens its loops where there is no way on: penalties give way
FINER = 20  # samples close together for one
BRANCH = 1e-6  # largest difference between the two, in typical sizes
END = 0.01  # [s] after the dead centre


def random_mechanism(rng: np.random.Generator) -> rtmbs.Model:
    """Return a tree, most with a loop, without drivers."""
    model = rtmbs.Model("driven", gravity=(0.0, 0.0, 0.0))
    names, places = ["ground"], {"ground": np.zeros(3)}
    for k in range(int(rng.integers(1, 7))):
        name, parent = f"b{k}", names[-1] if rng.random() < 0.7 else str(rng.choice(names))
        places[name] = places[parent] + rng.normal(size=3) * 0.5
        mass, moments = 10.0 ** rng.uniform(-1, 1), rng.uniform(0.2, 1.0, 3)
        model.add_body(
            name, mass=mass, inertia=tuple(mass * 0.05 * (moments.sum() - moments)), position=places[name],
            orientation=turn(rng), center_of_mass=0.1 * rng.normal(size=3),
        )  # fmt: skip
        kind = JOINT_TYPES[str(rng.choice(KINDS))].example(turn(rng))
        ends = (parent, name) if rng.random() < 0.7 else (name, parent)
        model.add_joint(f"j{k}", kind, *ends, point=0.5 * (places[parent] + places[name]) + 0.1 * rng.normal(size=3))
        names.append(name)
    if len(names) > 2 and rng.random() < 0.8:
        a, b = (str(name) for name in rng.choice(names, 2, replace=False))
        point = 0.5 * (places[a] + places[b]) + 0.3 * rng.normal(size=3)
        model.add_joint("loop", JOINT_TYPES[str(rng.choice(LOOPS))].example(turn(rng)), a, b, point=point, cut=True)
    return model


def turn(rng: np.random.Generator) -> Array:
    """Return a random rotation."""
    return np.asarray(Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix())


def driven(seed: int) -> rtmbs.Model:
    """Return the first mechanism of a seed that moves, with its freedom driven; StartError when there is none."""
    for draw in range(DRAWS):
        rng = np.random.default_rng((seed, draw, 10))
        model = random_mechanism(rng)
        if drive(rng, model):
            return model
    raise StartError(f"no draw of seed {seed} makes a mechanism that moves")


def drive(rng: np.random.Generator, model: rtmbs.Model) -> bool:
    """Drive joint coordinates until nothing is free; False when there is nothing to drive, or not all can be."""
    coordinates = [
        (name, coordinate) for name, joint in model.joints.items() if name != "loop"
        for coordinate in joint.type.coordinates
    ]  # fmt: skip
    rng.shuffle(coordinates)
    free = freedom(model)
    for number, (joint, coordinate) in enumerate(coordinates):
        if free <= 0:
            break
        size = rng.uniform(0.02, 0.3)
        model.add_driver(f"d{number}", Sine(size, float(rng.uniform(2.0, 8.0))), joint=(joint, str(coordinate)))
        left = freedom(model)
        if left >= free:
            del model.drivers[f"d{number}"]
        free = min(free, left)
    return free == 0 and bool(model.drivers)


def freedom(model: rtmbs.Model) -> int:
    """Return how many directions are free at the reference pose."""
    analysis = Analysis(model)
    try:
        return analysis.run_at([0.0]).mobility.degrees_of_freedom
    except StartError:
        return -1


def differences(model: rtmbs.Model, tally: Tally) -> list[str]:
    """Return what differs between the two motions."""
    motion, error = moved(model, 1)
    wrong = same_branch(model, motion, tally)
    if error is not None:
        return wrong + same_end(model, error, tally)
    if motion.samples.weak.min() < SINGULAR or motion.singular:
        count(tally, "cases near a singular pose")
        return wrong
    count(tally, "cases compared")
    gap = max(float(np.abs(motion[name]).max()) for name in motion.names() if name.endswith(".violation"))
    tally.largest("|Phi|", gap)
    wrong += [f"|Phi| {gap:.1e}"] if gap > HELD else []
    theirs = simulated(model, STEP)
    apart = distances(model, motion, theirs)
    if any(apart[what] > limit for what, limit in LIMITS.items()):
        count(tally, "cases whose Simulation was extrapolated")
        apart = distances(model, motion, extrapolated(model, theirs))
    for what, limit in LIMITS.items():
        tally.largest(f"difference in {what}", apart[what])
        if not apart[what] <= limit:
            wrong.append(f"{what} differs by {apart[what]:.1e}")
    return wrong


def moved(model: rtmbs.Model, finer: int) -> tuple[rtmbs.Result, MotionError | None]:
    """Return the motion, or the part before a dead centre with its error."""
    try:
        return Analysis(model).run_at(np.linspace(0.0, T_END, (SAMPLES - 1) * finer + 1)), None
    except MotionError as error:
        return error.result, error


def same_branch(model: rtmbs.Model, motion: rtmbs.Result, tally: Tally) -> list[str]:
    """Return what is wrong where samples close together lead elsewhere."""
    fine, _ = moved(model, FINER)
    theirs = fine.samples.q[::FINER]
    both = min(len(motion), len(theirs))
    size = Analysis(model).equations.sizes()
    apart = float(np.max(np.abs(motion.samples.q[:both] - theirs[:both]) / size, initial=0.0))
    tally.largest("difference from samples close together", apart)
    wrong = [f"samples close together lead elsewhere, {apart:.1e} away"] if apart > BRANCH else []
    if len(theirs) < len(motion):
        wrong.append(f"samples close together end at {fine.t[-1]:.4g} s, others at {motion.t[-1]:.4g} s")
    return wrong


def simulated(model: rtmbs.Model, h: float) -> Channels:
    """Return the motion of all bodies by a Simulation of step h."""
    result = rtmbs.Simulation(model.compile(), h=h).run(T_END, record=rtmbs.Every(T_END / (SAMPLES - 1)))
    return {(body, what): result[f"{body}.{what}"] for body in list(model.bodies)[1:] for what in LIMITS}


def extrapolated(model: rtmbs.Model, first: Channels) -> Channels:
    """Return the motion to which steps of STEP, a half and a quarter of it lead, their error being of second order.

    Quaternions are extrapolated with the sign of ``first``.
    """
    half, quarter = (simulated(model, STEP / parts) for parts in (2, 4))
    found = {}
    for key, values in first.items():
        coarse, fine = half[key], quarter[key]
        if key[1] == "orientation":
            coarse, fine = (one * np.sign(np.sum(one * values, axis=1))[:, None] for one in (coarse, fine))
        found[key] = (4.0 * fine - coarse) / 3.0
    return found


def distances(model: rtmbs.Model, motion: rtmbs.Result, theirs: Channels) -> dict[str, float]:
    """Return the largest difference of each quantity over all bodies."""
    largest = dict.fromkeys(LIMITS, 0.0)
    for (body, what), values in theirs.items():
        ours = motion[f"{body}.{what}"]
        if what == "orientation":
            values = values * np.sign(np.sum(ours * values, axis=1))[:, None]
        largest[what] = max(largest[what], float(np.abs(ours - values).max()))
    return largest


def same_end(model: rtmbs.Model, error: MotionError, tally: Tally) -> list[str]:
    """Return what is wrong where kinematics found no position: a Simulation must end or open its loops there too.

    No step that leaves a loop open may be called CONVERGED.
    """
    count(tally, "cases that come to a dead centre")
    sim = rtmbs.Simulation(model.compile(), h=STEP)
    gap, good = 0.0, len(error.result)
    try:
        sim.run(error.result.t[-1] if good else 0.0)
        while sim.t < min(error.t + END, T_END):
            gap, outcomes = last_step(sim)
            if gap > OPEN and "CONVERGED" in outcomes:
                return [f"a step to {sim.t:.4g} s is called CONVERGED with a loop open by {gap:.1e}"]
    except StepError:
        return []
    if gap > OPEN:
        tally.largest("loop that a Simulation opens behind a dead centre, said in the outcome", gap)
        return []
    return [f"kinematics ends at {error.t:.4g} s, the simulation holds its loops to {gap:.1e}"]


def last_step(sim: rtmbs.Simulation) -> tuple[float, dict[str, int]]:
    """Take one step; return by how much loops and drivers are open after it, and how it ended."""
    result = sim.run(sim.t + STEP)
    gaps = [np.abs(result[name][-1]).max() for name in result.names() if name.endswith(".violation")]
    return float(max(gaps)), result.outcomes


def run(cases: int, seed: int) -> Tally:
    """Compare the two for every mechanism; one that cannot be moved or stepped through counts for neither."""
    tally = Tally()
    for k in range(seed, seed + cases):
        try:
            wrong = differences(driven(k), tally)
        except (ModelError, TopologyError, StartError, StepError) as error:
            tally.survive()
            count(tally, f"cases without a motion ({type(error).__name__})")
            continue
        if wrong:
            tally.fail(f"seed {k}: {', '.join(wrong)}")
        else:
            tally.survive()
    return tally


def count(tally: Tally, what: str) -> None:
    """Count a case of a kind."""
    tally.largest(what, tally.worst.get(what, 0.0) + 1.0)


CAMPAIGN = Campaign(
    name="kinematics",
    claim="a driven mechanism moves in kinematics as its Simulation does, and all of its equations hold",
    full=400,
    bounded=25,
    run=run,
)
