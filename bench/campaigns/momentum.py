"""Random mechanisms with a symmetry: the momenta that it keeps, by the variational midpoint rule over many steps.

A carriage floats, slides on a rail, slides on a table, turns on a post or does both on a pole; gravity, if there is
one, has no part in the direction of the symmetry. It carries a random loop in space and an arm, with springs, dampers
and a motor between them. Forces inside change no momentum, and neither do loops. A twin without damper and motor shows
what becomes of the energy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.variational_energy import drift
from rtmbs import Every, Model, Result, Simulation, VariationalMidpoint
from rtmbs.errors import StepError

KEEPS = 1e-9  # of the sizes of what adds up to a momentum
STEPS, SAMPLES = 10_000, 20
H = 2e-3  # [s]
FREEDOMS = {"Revolute": 1, "Prismatic": 1, "Cylindrical": 2, "Universal": 2, "Spherical": 3}

Array = NDArray[np.float64]


def unit(rng: np.random.Generator) -> Array:
    """Return a random direction."""
    v = rng.normal(size=3)
    return np.asarray(v / np.linalg.norm(v))


def example(rng: np.random.Generator, kind: str) -> Any:
    """Return a joint type along random axes."""
    axis = unit(rng)
    if kind == "Spherical":
        return rtmbs.Spherical()
    if kind == "Universal":
        across = np.cross(axis, unit(rng))
        return rtmbs.Universal(tuple(axis), tuple(across / np.linalg.norm(across)))
    return getattr(rtmbs, kind)(tuple(axis))


def add_body(rng: np.random.Generator, model: Model, name: str) -> None:
    """Add a body of random mass, mass centre and inertia."""
    mass = float(np.exp(rng.uniform(-1.0, 1.5)))
    axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    inertia = axes @ np.diag(mass * rng.uniform(0.05, 0.09, 3)) @ axes.T
    model.add_body(name, mass=mass, inertia=inertia, center_of_mass=tuple(0.3 * rng.normal(size=3)))


def base(rng: np.random.Generator, kind: str, axis: Array) -> tuple[Any, Array, int]:
    """Return the joint of the carriage, gravity, and the number of its rates."""
    across = np.cross(axis, unit(rng))
    none, along, level = np.zeros(3), 9.81 * axis, 9.81 * across / np.linalg.norm(across)
    return {
        "floats": (rtmbs.Floating(), none, 6),
        "rail": (rtmbs.Prismatic(tuple(axis)), level, 1),
        "table": (rtmbs.Planar(normal=tuple(axis)), along, 3),
        "post": (rtmbs.Revolute(axis=tuple(axis)), along, 1),
        "pole": (rtmbs.Cylindrical(axis=tuple(axis)), none, 2),
    }[kind]


def kept(kind: str, axis: Array, linear: Array, angular: Array) -> tuple[Array, Array]:
    """Return the parts of momentum and angular momentum about the origin (samples, k) that the symmetry keeps."""
    nothing, along, around = linear[:, :0], linear @ axis, angular @ axis
    return {
        "floats": (linear, angular),
        "rail": (along[:, None], nothing),
        "table": (linear - along[:, None] * axis, around[:, None]),
        "post": (nothing, around[:, None]),
        "pole": (along[:, None], around[:, None]),
    }[kind]


KINDS = "floats", "rail", "table", "post", "pole"


def mechanism(seed: int, conservative: bool = False) -> tuple[Model, str, Array]:
    """Return a random mechanism, the kind of its symmetry, and the axis; a conservative one has no damper and motor."""
    rng = np.random.default_rng((seed, 3302))
    kind, axis = KINDS[seed % len(KINDS)], unit(rng)
    joint, gravity, rates = base(rng, kind, axis)
    model = Model(f"{kind} {seed}", gravity=tuple(gravity))
    add_body(rng, model, "carriage")
    model.add_joint("base", joint, "ground", "carriage", point=(0.0, 0.0, 0.0))
    before, freedoms = "carriage", 0
    for k in range(int(rng.integers(2, 5))):
        chosen = str(rng.choice(list(FREEDOMS)))
        add_body(rng, model, f"link{k}")
        model.add_joint(f"j{k}", example(rng, chosen), before, f"link{k}", point=tuple(0.6 * rng.normal(size=3)))
        before, freedoms = f"link{k}", freedoms + FREEDOMS[chosen]
    closing = [one for one, free in FREEDOMS.items() if 6 - free < freedoms]
    if closing:
        last = example(rng, str(rng.choice(closing)))
        model.add_joint("closing", last, before, "carriage", point=tuple(0.6 * rng.normal(size=3)), cut=True)
    add_body(rng, model, "arm")
    model.add_joint("shoulder", example(rng, "Revolute"), "carriage", "arm", point=tuple(0.6 * rng.normal(size=3)))
    ends = [model.add_marker(f"end {name}", name, tuple(0.5 * rng.normal(size=3))) for name in ("arm", before)]
    stiffness, damping = rng.uniform((5.0, 0.0), (40.0, 1.0))
    model.add_force("spring", rtmbs.SpringDamper(stiffness, 0.0 if conservative else damping), between=tuple(ends))
    torque = float(rng.normal())
    if not conservative:
        model.add_force("motor", rtmbs.Motor(torque), joint="shoulder")
    model.set_initial("base", rate=tuple(rng.normal(size=rates)) if rates > 1 else float(rng.normal()), pin=False)
    model.set_initial("shoulder", rate=float(2.0 * rng.normal()))
    for name, one in model.joints.items():
        if name.startswith("j"):
            free = FREEDOMS[type(one.type).__name__]
            model.set_initial(name, rate=tuple(rng.normal(size=free)) if free > 1 else float(rng.normal()), pin=False)
    return model, kind, axis


def sizes(model: Model, result: Result) -> tuple[float, float]:
    """Return what the largest parts of momentum and angular momentum add up to, whatever their directions."""
    linear = angular = 0.0
    for name, body in model.bodies.items():
        if name != "ground":
            speed = np.linalg.norm(result[f"{name}.velocity"], axis=1).max()
            turning = np.linalg.norm(result[f"{name}.angular_velocity"], axis=1).max()
            reach = np.linalg.norm(result[f"{name}.position"], axis=1).max() + np.linalg.norm(body.center_of_mass)
            linear += body.mass * speed
            angular += body.mass * speed * reach + float(np.linalg.norm(body.inertia)) * turning
    return float(linear), float(angular)


def lost(model: Model, kind: str, axis: Array, method: Any = None, steps: int = STEPS) -> tuple[float, float]:
    """Return the largest changes of momentum and angular momentum that the symmetry keeps, over their sizes."""
    sim = Simulation(model.compile(), H, VariationalMidpoint() if method is None else method)
    result = sim.run(steps * H, record=Every(steps // SAMPLES * H))
    momenta = kept(kind, axis, result["momentum.linear"], result["momentum.angular_about_origin"])
    changes = [float(np.abs(part - part[0]).max(initial=0.0)) for part in momenta]
    return changes[0] / sizes(model, result)[0], changes[1] / sizes(model, result)[1]


def judge(loses: Callable[..., tuple[float, float]], seed: int, tally: Tally) -> str:
    """Return what is wrong with one mechanism."""
    model, kind, axis = mechanism(seed)
    linear, angular = loses(model, kind, axis)
    tally.largest("momentum lost", linear)
    tally.largest("angular momentum lost", angular)
    return "" if max(linear, angular) <= KEEPS else f"{kind}: lost {linear:.1e}, {angular:.1e}"


def drifts(seed: int, tally: Tally) -> str:
    """Return what is wrong with the energy of a mechanism without damper and motor, over four times as many steps."""
    model, kind, _ = mechanism(seed, conservative=True)
    try:
        found = drift(Simulation(model.compile(), H, VariationalMidpoint()), 4 * STEPS)
    except StepError:
        tally.largest("conservative ones that stop", tally.worst.get("conservative ones that stop", 0.0) + 1.0)
        return ""
    for key, happens in (("energies that drift", found.drifts), ("energies that are told", found.told)):
        tally.largest(key, tally.worst.get(key, 0.0) + float(happens))
    if not found.told:
        tally.largest("drift of the energy that is not told, of its swing", found.share)
        tally.largest("what stays of an energy that is not told, of the kinetic one", found.stays)
    return f"{kind}: energy: {found.wrong}" if found.wrong else ""


def judged(seed: int, tally: Tally) -> str:
    """Return what is wrong with the momenta and the energy of one mechanism."""
    return "; ".join(words for words in (judge(lost, seed, tally), drifts(seed, tally)) if words)


def run(cases: int, seed: int) -> Tally:
    """Step every mechanism."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "momentum",
    f"mechanisms with a symmetry keep its momenta to {KEEPS:g} of their sizes over {STEPS} steps of the variational "
    "midpoint rule; the energy of those without dampers and motors does not drift, or a warning tells",
    full=500,
    bounded=20,
    run=run,
)
