"""Random mechanisms with floating and ball joints: inverse dynamics is Newton and Euler's in maximal coordinates.

The cases take turns. Trees follow functions of time; the reference differentiates products of their poses by the rule
of Leibniz. Trees, and spatial four-bars on floating bases, follow the record of a run under another gravity. Masses
span two decades, principal axes and joint axes are skew, bodies and joints have frames of their own, and joints point
from the tip to the base too. The reference balances forces and moments in NumPy; loops by a linear system of all
constraint forces and drives.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from bench.measures.random_mechanisms import Rng, triad, unit
from rtmbs.model.checks import rotation_of_quaternion

Array = NDArray[np.float64]

KINDS = ("Floating", "Floating", "Spherical", "Spherical", "Revolute", "Prismatic")
ALLOWED = 1e-9  # of the largest force or moment
LOOP = 1e-8  # likewise: a run closes its loops to its tolerances
TIMES = np.linspace(0.0, 0.3, 7)
TURNING = ("Floating", "Spherical")


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` mechanisms from ``seed`` on."""
    return each(judged, cases, seed)


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with one case."""
    rng = np.random.default_rng((case, 31))
    kind = case % 3
    model, joints = floating_loop(rng) if kind == 2 else tree(rng)
    system = model.compile()
    if kind == 0:
        motion, poses = prescribed(rng, model, joints)
        found = rtmbs.inverse_dynamics(system, motion, TIMES)
        moving = {name: moved(*pose) for name, pose in poses.items()}
    else:
        for name in joints:
            size = {"Floating": 6, "Spherical": 3}.get(type(model.joints[name].type).__name__, 1)
            if kind == 1 or name in ("root", "crank"):
                rate = rng.normal(size=size)
                model.set_initial(name, rate=rate if size > 1 else float(rate[0]), pin=False)
        system = model.compile()
        record = rtmbs.Simulation(system, h=2e-3).run(0.2, record=rtmbs.Every(0.05))
        drives = ["root", "crank"] if kind == 2 else None
        found = rtmbs.inverse_dynamics(
            system, record, drives=drives, inputs={"gravity": -model.gravity}, tolerance=1e-6 if kind == 2 else None
        )
        moving = {name: motion_of(found.result if kind == 2 else record, name) for name in list(model.bodies)[1:]}
    gravity = -model.gravity if kind else model.gravity
    error = apart(model, joints, found, moving, np.asarray(gravity), kind == 2)
    tally.largest(("tree, functions", "tree, record", "loop, record")[kind], error)
    given = sum(found.power.values())
    missed = float(
        np.abs(given - work(model, found, moving, np.asarray(gravity))).max() / max(np.abs(given).max(), 1.0)
    )
    tally.largest("power", missed)
    bound = LOOP if kind == 2 else ALLOWED
    return "" if error < bound and missed < bound else f"forces are {error:.2g} off, power {missed:.2g}"


# ----------------------------------------------------------------------------------------------------------- mechanisms


def body(rng: Rng, model: rtmbs.Model, name: str, at: Array) -> None:
    """Add a body with axes of its own and skew principal axes."""
    mass, size = float(10.0 ** rng.uniform(-1.0, 1.0)), rng.uniform(0.1, 0.5, 3)
    principal = mass / 3.0 * (np.sum(size**2) - size**2)
    axes = triad(rng)
    model.add_body(
        name, mass=mass, inertia=axes @ np.diag(principal) @ axes.T, center_of_mass=0.2 * rng.normal(size=3),
        position=at + 0.2 * rng.normal(size=3), orientation=triad(rng),
    )  # fmt: skip


def joint_type(kind: str, axis: Array) -> Any:
    """Return a joint type along an axis, or one without."""
    return getattr(rtmbs, kind)() if kind in TURNING else getattr(rtmbs, kind)(axis=axis)


def tree(rng: Rng) -> tuple[rtmbs.Model, list[str]]:
    """Return a tree of 1 to 5 bodies, one turning joint at least, and its joints from ground outwards."""
    model = rtmbs.Model("tree", gravity=tuple(5.0 * rng.normal(size=3)))
    names, joints = ["ground"], []
    for k in range(int(rng.integers(1, 6))):
        parent, name, at = str(rng.choice(names)), f"body {k}", rng.normal(size=3)
        body(rng, model, name, at)
        kind = str(rng.choice(KINDS[:4] if k == 0 else KINDS))
        ends = (name, parent) if rng.random() < 0.5 else (parent, name)
        turned = {"axes_a": triad(rng), "axes_b": triad(rng)} if rng.random() < 0.5 else {}
        points = {"point_a": 0.3 * rng.normal(size=3), "point_b": 0.3 * rng.normal(size=3)}
        model.add_joint(f"joint {k}", joint_type(kind, unit(rng)), *ends, **points, **turned)
        names.append(name)
        joints.append(f"joint {k}")
    return model, joints


def floating_loop(rng: Rng) -> tuple[rtmbs.Model, list[str]]:
    """Return a four-bar of two hinges, a ball and a universal joint on a floating base: seven degrees of freedom."""
    model = rtmbs.Model("loop", gravity=tuple(5.0 * rng.normal(size=3)))
    at = np.array([(0.0, 0.0, 0.0), (0.1, 0.1, 0.4), (1.0, 0.2, 0.7), (1.0, 0.0, 0.0)]) + 0.1 * rng.normal(size=(4, 3))
    names = ("base", "input", "coupler", "output")
    for name, place in zip(names, at, strict=True):
        body(rng, model, name, place)
    axes = [np.array([0.0, 1.0, 0.0]) + 0.2 * rng.normal(size=3) for _ in range(2)]
    across = triad(rng)
    model.add_joint("root", rtmbs.Floating(), *(("ground", "base") if rng.random() < 0.5 else ("base", "ground")))
    model.add_joint("crank", rtmbs.Revolute(axis=axes[0]), "base", "input", point=at[0])
    ends = ("input", "coupler") if rng.random() < 0.5 else ("coupler", "input")
    model.add_joint("ball", rtmbs.Spherical(), *ends, point=at[1])
    model.add_joint("cross", rtmbs.Universal(across[0], across[1]), "coupler", "output", point=at[2])
    model.add_joint("rocker", rtmbs.Revolute(axis=axes[1]), "output", "base", point=at[3])
    return model, list(model.joints)


# ----------------------------------------------------------------------------------------- motion and its derivatives

Jet = tuple[Array, Array, Array]  # (S, ...) with two derivatives


def product(x: Jet, y: Jet) -> Jet:
    """Return X Y with two derivatives."""
    return x[0] @ y[0], x[1] @ y[0] + x[0] @ y[1], x[2] @ y[0] + 2.0 * x[1] @ y[1] + x[0] @ y[2]


def transposed(x: Jet) -> Jet:
    """Return X^T with two derivatives."""
    return tuple(np.swapaxes(one, 1, 2) for one in x)  # type: ignore[return-value]


def column(x: Any) -> Array:
    """Return vectors (S, 3) as columns (S, 3, 1)."""
    return np.asarray(x)[..., None]


def fixed(x: Any, S: int) -> Jet:
    """Return a constant matrix or column over S times."""
    x = np.asarray(x, np.float64)
    one = np.broadcast_to(x if x.ndim == 2 else x[:, None], (S, 3, 3 if x.ndim == 2 else 1))
    return one, np.zeros_like(one), np.zeros_like(one)


class Wave:
    """value + amplitude sin(frequency t + phase), with two derivatives."""

    def __init__(self, rng: Rng) -> None:
        self.value, self.amplitude, self.frequency, self.phase = (
            *rng.normal(size=2),
            rng.uniform(1.0, 6.0),
            rng.normal(),
        )

    def __call__(self, t: Any) -> tuple[Any, Any, Any]:
        a, w, angle = self.amplitude, self.frequency, self.frequency * t + self.phase
        return self.value + a * np.sin(angle), a * w * np.cos(angle), -a * w * w * np.sin(angle)


def turn(axis: Array, angle: tuple[Array, Array, Array]) -> Jet:
    """Return the rotation about an axis by an angle, with two derivatives."""
    q, qd, qdd = (np.asarray(one)[:, None, None] for one in angle)
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    s, c = np.sin(q), np.cos(q)
    first, second = c * K + s * K @ K, -s * K + c * K @ K
    return np.eye(3) + s * K + (1.0 - c) * K @ K, qd * first, qdd * first + qd**2 * second


def quaternion(waves: list[Wave], axes: list[Array]) -> Any:
    """Return a function of t: the quaternion of turns about two axes, one after the other, with two derivatives."""

    def times(p: Array, q: Array) -> Array:
        return np.concatenate(([p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])))

    def at(t: float) -> tuple[Array, Array, Array]:
        parts = []
        for wave, axis in zip(waves, axes, strict=True):
            f, fd, fdd = (0.5 * one for one in wave(t))
            along, across = np.array([np.cos(f), *np.sin(f) * axis]), np.array([-np.sin(f), *np.cos(f) * axis])
            parts.append((along, fd * across, fdd * across - fd * fd * along))
        (p, pd, pdd), (q, qd, qdd) = parts
        return times(p, q), times(pd, q) + times(p, qd), times(pdd, q) + 2.0 * times(pd, qd) + times(p, qdd)

    return at


def prescribed(rng: Rng, model: rtmbs.Model, joints: list[str]) -> tuple[dict[str, Any], dict[str, tuple[Jet, Jet]]]:
    """Return a motion of all joints for inverse dynamics, and the poses of all bodies with two derivatives."""
    S = len(TIMES)
    motion: dict[str, Any] = {}
    poses = {"ground": (fixed(np.eye(3), S), fixed(np.zeros(3), S))}
    for name in joints:
        joint = model.joints[name]
        kind = type(joint.type).__name__
        R, x = fixed(joint.axes_a @ joint.axes_b.T, S), fixed(np.zeros(3), S)
        waves, axes = [Wave(rng) for _ in range(5)], [unit(rng), unit(rng)]
        if kind in TURNING:
            of = quaternion(waves[:2], axes)
            taken = np.array([of(t) for t in TIMES])
            motion[f"{name}.orientation"] = of if rng.random() < 0.5 else taken
            R = product(turn(axes[0], waves[0](TIMES)), turn(axes[1], waves[1](TIMES)))
        if kind == "Floating":
            motion[f"{name}.position"] = waves[2:]
            x = tuple(column(np.stack([wave(TIMES)[order] for wave in waves[2:]], axis=1)) for order in range(3))
            x = product(fixed(joint.axes_a, S), x)  # type: ignore[arg-type]
        if kind == "Revolute":
            motion[name] = waves[0]
            R = product(turn(joint.axes_a @ joint.type.axis, waves[0](TIMES)), R)
        if kind == "Prismatic":
            motion[name] = waves[0]
            along = joint.axes_a @ joint.type.axis
            x = tuple(column(np.outer(one, along)) for one in waves[0](TIMES))  # type: ignore[assignment]
        place(poses, joint, R, x)
    del poses["ground"]
    return motion, poses


def place(poses: dict[str, tuple[Jet, Jet]], joint: Any, R: Jet, x: Jet) -> None:
    """Add the pose of the body beyond a joint: R turns b to a, x is the way of the joint's points in axes of a."""
    S = len(TIMES)
    a, b = joint.a.name, joint.b.name
    pa, pb = fixed(joint.point_a, S), fixed(joint.point_b, S)
    if a in poses:
        A, r = poses[a]
        B = product(A, R)
        way = [p + q for p, q in zip(pa, x, strict=True)]
        poses[b] = B, plus(r, product(A, tuple(way)), product(B, pb), -1.0)  # type: ignore[arg-type]
        return
    B, r = poses[b]
    A = product(B, transposed(R))
    way = [p + q for p, q in zip(pa, x, strict=True)]
    poses[a] = A, plus(r, product(B, pb), product(A, tuple(way)), -1.0)  # type: ignore[arg-type]


def plus(x: Jet, y: Jet, z: Jet, sign: float) -> Jet:
    """Return x + y + sign z."""
    return tuple(p + q + sign * s for p, q, s in zip(x, y, z, strict=True))  # type: ignore[return-value]


def vector(W: Array) -> Array:
    """Return the vectors (S, 3) of the skew parts of matrices (S, 3, 3)."""
    return 0.5 * np.stack((W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]), axis=1)


def moved(A: Jet, r: Jet) -> dict[str, Array]:
    """Return the motion of a body from its pose with two derivatives."""
    back = np.swapaxes(A[0], 1, 2)
    found = {"A": A[0], "omega": vector(A[1] @ back), "alpha": vector(A[2] @ back)}
    return found | {name: one[:, :, 0] for name, one in zip(("r", "v", "a"), r, strict=True)}


def motion_of(result: Any, name: str) -> dict[str, Array]:
    """Return the recorded motion of a body."""
    whats = {
        "r": "position", "v": "velocity", "a": "acceleration", "omega": "angular_velocity",
        "alpha": "angular_acceleration",
    }  # fmt: skip
    found = {short: np.asarray(result[f"{name}.{what}"]) for short, what in whats.items()}
    return found | {"A": np.array([rotation_of_quaternion(q) for q in result[f"{name}.orientation"]])}


# ------------------------------------------------------------------------------------------------------------ reference


def needs(model: rtmbs.Model, moving: dict[str, dict[str, Array]], gravity: Array) -> dict[str, Array]:
    """Return force and moment (S, 6) that every body needs, about the world's origin."""
    found = {}
    for name, m in moving.items():
        one = model.bodies[name]
        c = m["A"] @ one.center_of_mass
        a = m["a"] + np.cross(m["alpha"], c) + np.cross(m["omega"], np.cross(m["omega"], c))
        J = m["A"] @ one.inertia @ np.swapaxes(m["A"], 1, 2)
        spin = np.einsum("sij,sj->si", J, m["omega"])
        f = one.mass * (a - gravity)
        n = np.einsum("sij,sj->si", J, m["alpha"]) + np.cross(m["omega"], spin) + np.cross(m["r"] + c, f)
        found[name] = np.hstack((f, n))
    return found


def work(model: rtmbs.Model, found: Any, moving: dict[str, dict[str, Array]], gravity: Array) -> Array:
    """Return the power (S,) that the drives must give: that of the forces that all bodies need."""
    total = np.zeros(len(found.t))
    for name, wrench in needs(model, moving, gravity).items():
        m = moving[name]
        v = m["v"] - np.cross(m["omega"], m["r"])
        total += np.sum(wrench * np.hstack((v, m["omega"])), axis=1)
    return total


def point(joint: Any, side: str, moving: dict[str, dict[str, Array]], S: int) -> tuple[Array, Array]:
    """Return where the point of a joint is on a body (S, 3), and the body's axes (S, 3, 3)."""
    one, local = getattr(joint, side), getattr(joint, f"point_{side}")
    if one.name == "ground":
        return np.tile(local, (S, 1)), np.tile(np.eye(3), (S, 1, 1))
    m = moving[one.name]
    return m["r"] + m["A"] @ local, m["A"]


def apart(
    model: rtmbs.Model, joints: list[str], found: Any, moving: dict[str, dict[str, Array]], gravity: Array, loop: bool
) -> float:
    """Return the largest error of reactions and drives over the largest force, or moment."""
    S = len(found.t)
    wrenches = (of_loop if loop else of_tree)(model, joints, needs(model, moving, gravity), moving, S)
    size = max(float(np.abs(one).max()) for one in wrenches.values())
    worst = 0.0
    for name, wrench in wrenches.items():
        worst = max(worst, float(np.abs(found.result[f"{name}.reaction"] - wrench).max()))
        kind = type(model.joints[name].type).__name__
        _, A = point(model.joints[name], "a", moving, S)
        if kind == "Floating":
            worst = max(worst, *(off(found, f"{name}.f{x}", wrench[:, k]) for k, x in enumerate("xyz")))
        if kind in TURNING and not (loop and kind == "Spherical"):
            worst = max(worst, *(off(found, f"{name}.n{x}", wrench[:, 3 + k]) for k, x in enumerate("xyz")))
        if kind in ("Revolute", "Prismatic") and name in found.forces:
            along = A @ (model.joints[name].axes_a @ model.joints[name].type.axis)
            part = wrench[:, 3:] if kind == "Revolute" else wrench[:, :3]
            worst = max(worst, off(found, name, np.sum(along * part, axis=1)))
    return worst / max(size, 1e-300)


def off(found: Any, name: str, wanted: Array) -> float:
    """Return the largest error of a drive."""
    return float(np.abs(found.forces[name] - wanted).max())


def of_tree(model: rtmbs.Model, joints: list[str], need: dict[str, Array], moving: Any, S: int) -> dict[str, Array]:
    """Return the wrench (S, 6) on body b of every joint at its point of b: what all bodies beyond need."""
    beyond = {name: one.copy() for name, one in need.items()}
    found, known = {}, {"ground"}
    entered = {}
    for name in joints:
        a, b = model.joints[name].a.name, model.joints[name].b.name
        entered[name] = (a, b) if a in known else (b, a)
        known.add(entered[name][1])
    for name in reversed(joints):
        parent, child = entered[name]
        if parent != "ground":
            beyond[parent] = beyond[parent] + beyond[child]
        wrench = beyond[child] * (1.0 if model.joints[name].b.name == child else -1.0)
        x, _ = point(model.joints[name], "b", moving, S)
        found[name] = np.hstack((wrench[:, :3], wrench[:, 3:] - np.cross(x, wrench[:, :3])))
    return found


def of_loop(model: rtmbs.Model, joints: list[str], need: dict[str, Array], moving: Any, S: int) -> dict[str, Array]:
    """Return the wrenches of the joints of the floating four-bar, by one linear system of all their components."""
    found = {name: np.zeros((S, 6)) for name in joints}
    bodies = list(need)
    for s in range(S):
        columns, owners = [], []
        for name in joints:
            joint = model.joints[name]
            x, A = (one[s] for one in point(joint, "b", moving, S))
            _, B = (one[s] for one in point(joint, "a", moving, S))
            for basis in carried(name, joint, A, B):
                at_origin = np.concatenate((basis[:3], basis[3:] + np.cross(x, basis[:3])))
                column = np.zeros(6 * len(bodies))
                for end, sign in ((joint.b.name, 1.0), (joint.a.name, -1.0)):
                    if end != "ground":
                        column[6 * bodies.index(end) : 6 * bodies.index(end) + 6] += sign * at_origin
                columns.append(column)
                owners.append((name, basis))
        wanted = np.concatenate([need[one][s] for one in bodies])
        for (name, basis), value in zip(owners, np.linalg.solve(np.array(columns).T, wanted), strict=True):
            found[name][s] += value * basis
    return found


def carried(name: str, joint: Any, B: Array, A: Array) -> list[Array]:
    """Return the wrenches (6,) at the point of b that a joint of the four-bar passes on, its drive's among them."""
    forces, moments = [np.eye(6)[k] for k in range(3)], [np.eye(6)[k] for k in range(3, 6)]
    if name in ("root", "crank"):
        return forces + moments
    if name == "ball":
        return forces
    if name == "cross":
        e, f = A @ joint.axes_a @ joint.type.axis_a, B @ joint.axes_b @ joint.type.axis_b
        return [*forces, np.concatenate((np.zeros(3), np.cross(e, f)))]
    axis = A @ joint.axes_a @ joint.type.axis
    across = np.linalg.svd(axis[None])[2][1:]
    return forces + [np.concatenate((np.zeros(3), one)) for one in across]


CAMPAIGN = Campaign(
    name="inverse_dynamics",
    claim="forces, reactions and power of a motion with floating and ball joints are those of maximal coordinates",
    full=200,
    bounded=12,
    run=run,
)
