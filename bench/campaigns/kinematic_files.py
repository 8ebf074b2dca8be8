"""Random mechanisms in space as model files: every joint, rod, coupler and driver against an own solver.

A mechanism is a tree of one to four bodies on random joints with skew axes, with a loop where that leaves something
free. Rods, couplers and drivers take one freedom each until none is left. The file places everything by triads. The own
solver walks the tree in joint coordinates, with the definitions of docs/language.md written out in NumPy. Newton and
SciPy's Levenberg-Marquardt solve it at every sample. Its velocities and accelerations are differences of sixth order of
its positions.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from bench.campaigns.campaign import Campaign, Tally
from rtmbs import language
from rtmbs.errors import MotionError, StartError
from rtmbs.kinematics import Analysis
from rtmbs.numerics.rotations.quaternions import rotations

Array = NDArray[np.float64]
Poses = dict[str, tuple[Array, Array]]  # origin and axes of every body

T_END, SAMPLES, H = 0.3, 7, 1e-3  # [s]; H of the differences
MOST, HELD = 12, 3e-15  # iterations of one Jacobian; what they leave
DRAWS = 80  # of one seed, until nothing is free
SINGULAR = 1e12  # condition of a Jacobian from which no iteration begins
WEAK = 0.05  # smallest singular value of the own equations below which the two are not compared
LIMITS = {"position": 1e-8, "orientation": 1e-8, "velocity": 1e-7, "acceleration": 1e-4}
TREE = {  # own coordinates of every joint: "s" slides along and "t" turns about an axis of its frame, "b" turns freely
    "revolute": ("t2",), "translational": ("s2",), "cylindrical": ("s2", "t2"), "screw": ("t2",),
    "universal": ("t2", "t0"), "planar": ("s0", "s1", "t2"), "spherical": ("b",), "line": ("s2", "b"),
    "fixed": (), "floating": ("s0", "s1", "s2", "b"),
}  # fmt: skip
LOOPS = ("spherical", "line", "cylindrical", "planar", "revolute", "universal", "screw", "translational")
KINDS = tuple(TREE)
WEIGHTS = np.array([6, 3, 3, 1, 2, 1, 3, 1, 0.5, 0.5])
FREE = 3  # numbers of a free turn: a rotation vector


@dataclass(frozen=True)
class OwnJoint:
    """A joint of the tree or of a loop, with its frame at the reference pose in the world."""

    name: str
    kind: str
    a: str
    b: str
    point: Array  # (3,) [m]
    axes: Array  # (3, 3) columns f, g, h
    pitch: float = 0.0  # [m a turn]
    first: int = 0  # of its coordinates


@dataclass
class Mechanism:
    """A mechanism: its text, and the residuals of the own solver."""

    rng: np.random.Generator
    text: list[str] = field(default_factory=list)
    reference: Poses = field(default_factory=dict)
    joints: list[OwnJoint] = field(default_factory=list)
    size: int = 0  # of the joint coordinates
    residuals: list[Callable[[Array, Poses, float], list[float]]] = field(default_factory=list)
    used: list[str] = field(default_factory=list)  # statements, to be counted
    triads: int = 0

    def triad(self, body: str, point: Array, axes: Array) -> str:
        """Write a triad at a place of the reference pose; return its name."""
        x, R = self.reference[body]
        name = f"t{self.triads}"
        self.triads += 1
        p, f, h = R.T @ (point - x), R.T @ axes[:, 0], R.T @ axes[:, 2]
        self.text.append(f"triad {name} (body = {body}, pqr = [{row(p)}, {row(p + h)}, {row(p + 2.0 * f + 0.3 * h)}]);")
        return name

    def poses(self, q: Array) -> Poses:
        """Return where all bodies stand at the coordinates of the tree."""
        found = {"ground": self.reference["ground"]}
        for joint in self.joints:
            found[joint.b] = moved(joint, q, found[joint.a], self.reference)
        return found

    def residual(self, q: Array, t: float) -> Array:
        """Return what is to be zero, as many as coordinates when all is driven."""
        poses = self.poses(q)
        return np.array([value for one in self.residuals for value in one(q, poses, t)])


def row(values: Array) -> str:
    return f"({', '.join(repr(float(value)) for value in values)})"


def moved(joint: OwnJoint, q: Array, parent: tuple[Array, Array], reference: Poses) -> tuple[Array, Array]:
    """Return the pose of the joint's second body: first to its place in the reference pose, then by its coordinates."""
    R, x, place = np.eye(3), np.zeros(3), joint.first
    for what in TREE[joint.kind]:
        if what == "b":
            R = R @ Rotation.from_rotvec(q[place : place + FREE]).as_matrix()
            place += FREE
            continue
        axis = np.eye(3)[int(what[1])]
        if what[0] == "s":
            x = x + axis * q[place]
        else:
            R = R @ Rotation.from_rotvec(axis * q[place]).as_matrix()
            x = x + axis * joint.pitch * q[place] / (2.0 * np.pi)
        place += 1
    (xa, Ra), (xb, Rb), (X, A) = reference[joint.a], reference[joint.b], parent
    J = A @ Ra.T @ joint.axes  # frame of the joint, carried by the first body
    at = X + A @ Ra.T @ (joint.point - xa) + J @ x
    B = J @ R @ joint.axes.T @ Rb
    return at + B @ Rb.T @ (xb - joint.point), B


def point_of(poses: Poses, reference: Poses, body: str, point: Array) -> Array:
    """Return where a point of a body is, given in the world at the reference pose."""
    (x, R), (X, A) = reference[body], poses[body]
    return np.asarray(X + A @ R.T @ (point - x))


def axis_of(poses: Poses, reference: Poses, body: str, axis: Array) -> Array:
    """Return where an axis of a body points, given in the world at the reference pose."""
    return np.asarray(poses[body][1] @ reference[body][1].T @ axis)


def random_tree(rng: np.random.Generator) -> Mechanism:
    """Return bodies on random joints; one axis in three is parallel to the last, so that joints keep axes."""
    one = Mechanism(rng)
    one.reference["ground"] = (np.zeros(3), np.eye(3))
    names = ["ground"]
    axes = turn(rng)
    for k in range(int(rng.integers(1, 5))):
        parent, name = str(rng.choice(names[-2:])), f"b{k}"
        x, R = one.reference[parent][0] + rng.normal(size=3) * 0.6, turn(rng)
        one.reference[name] = (x, R)
        one.text.append(f"BODY {name} (pqr = [{row(x)}, {row(x + 1.5 * R[:, 2])}, {row(x + R[:, 0] - R[:, 2])}]);")
        kind = str(rng.choice(KINDS, p=WEIGHTS / WEIGHTS.sum()))
        axes = axes if rng.random() < 0.33 else turn(rng)
        point = 0.5 * (x + one.reference[parent][0]) + 0.2 * rng.normal(size=3)
        pitch = float(rng.uniform(0.1, 1.0)) if kind == "screw" else 0.0
        joint = OwnJoint(f"j{k}", kind, parent, name, point, axes, pitch, one.size)
        write_joint(one, joint)
        one.joints.append(joint)
        one.size += sum(FREE if what == "b" else 1 for what in TREE[kind])
        names.append(name)
    return one


def write_joint(one: Mechanism, joint: OwnJoint) -> None:
    """Write a joint between two triads; of a universal joint h of the second triad is f of the first."""
    other = np.column_stack((joint.axes[:, 1], joint.axes[:, 2], joint.axes[:, 0]))
    seconds = other if joint.kind == "universal" else joint.axes
    a, b = one.triad(joint.a, joint.point, joint.axes), one.triad(joint.b, joint.point, seconds)
    pitch = f", pitch = {joint.pitch!r}" if joint.kind == "screw" else ""
    one.text.append(f"{joint.kind} joint {joint.name} (triad = {a}, triad = {b}{pitch});")
    one.used.append(f"{joint.kind} joint")


def turn(rng: np.random.Generator) -> Array:
    return np.asarray(Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix())


def two_bodies(one: Mechanism) -> tuple[str, str]:
    a, b = one.rng.choice(list(one.reference), 2, replace=False)
    return str(a), str(b)


def somewhere(one: Mechanism, body: str) -> Array:
    return np.asarray(one.reference[body][0] + one.rng.normal(size=3) * 0.5)


# ---- what takes freedom: each writes its statement and returns its residuals ----------------------------------------

Residual = Callable[[Array, Poses, float], list[float]]


def law(one: Mechanism, value: float) -> tuple[str, Callable[[float], float]]:
    """Return a function of time that begins at a value, as text and in Python."""
    size, w = float(one.rng.uniform(0.03, 0.2) * one.rng.choice([-1, 1])), float(one.rng.uniform(1.0, 5.0))
    v = repr(value)
    choices: list[tuple[str, Callable[[float], float]]] = [
        (f"{v} + {size!r} * sin({w!r} * TIME)", lambda t: value + size * np.sin(w * t)),
        (f"{v} + {size!r} * (1 - cos({w!r} * TIME))", lambda t: value + size * (1.0 - np.cos(w * t))),
        (f"{v} + {size!r} * TIME - TIME ^ 2 / 7", lambda t: value + size * t - t * t / 7.0),
        (f"sine({size!r}, {w!r}, offset = {v})", lambda t: value + size * np.sin(w * t)),
        (f"constant rate(rate = {size!r}, start = {v})", lambda t: value + size * t),
        (f"{v} * exp({size!r} * TIME)", lambda t: value * np.exp(size * t)),
        (f"{v} + {size!r} * smooth step(-1, 1, -0.5, 0.5)", lambda t: value + size * (step_of(0.5 + 0.5 * t) - 0.5)),
    ]
    return choices[int(one.rng.integers(len(choices)))]


def step_of(s: float) -> float:
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def drive_coordinate(one: Mechanism, name: str) -> Residual | None:
    """A driver of a joint coordinate of the tree."""
    places = [
        (joint, place, word) for joint in one.joints for place, word in named_coordinates(joint)
    ]  # fmt: skip
    if not places:
        return None
    joint, place, word = places[int(one.rng.integers(len(places)))]
    text, f = law(one, 0.0)
    one.text.append(f"driver {name} ({joint.name}{'.' + word if word else ''} = {text});")
    one.used.append("driver of a joint coordinate")
    return lambda q, poses, t: [q[place] - f(t)]


def named_coordinates(joint: OwnJoint) -> Iterator[tuple[int, str]]:
    """Yield the coordinates with a name in the language: place in q, and the name."""
    if joint.kind in ("revolute", "translational", "screw"):
        yield joint.first, ""
    elif joint.kind == "cylindrical":
        yield joint.first, "displacement"
        yield joint.first + 1, "angle"
    elif joint.kind == "universal":
        yield joint.first, "angle_a"
        yield joint.first + 1, "angle_b"
    elif joint.kind == "planar":
        yield joint.first + 2, "angle"


def drive_body(one: Mechanism, name: str) -> Residual | None:
    """A driver of an absolute coordinate: x, y, z, yaw, pitch or roll."""
    body = str(one.rng.choice(list(one.reference)[1:]))
    word = str(one.rng.choice(["x", "y", "z", "yaw", "pitch", "roll"]))
    start = absolute(one.reference[body], word)
    if word in ("yaw", "pitch", "roll") and (
        abs(absolute(one.reference[body], "pitch")) > 1.0 or (word != "pitch" and abs(start) > 2.5)
    ):
        return None
    text, f = law(one, start)
    one.text.append(f"driver {name} ({body}{'.' if one.rng.random() < 0.5 else ''}{word} = {text});")
    one.used.append(f"driver of {word}")
    turns = word in ("yaw", "pitch", "roll")
    return lambda q, poses, t: [wrapped(absolute(poses[body], word) - f(t), turns)]


def wrapped(value: float, turns: bool) -> float:
    return float(np.remainder(value + np.pi, 2.0 * np.pi) - np.pi) if turns else value


def absolute(pose: tuple[Array, Array], word: str) -> float:
    """Return a coordinate of a body in the world; R = Rz(yaw) Ry(pitch) Rx(roll)."""
    x, R = pose
    if word in "xyz":
        return float(x["xyz".index(word)])
    yaw, pitch, roll = Rotation.from_matrix(R).as_euler("ZYX")
    return float({"yaw": yaw, "pitch": pitch, "roll": roll}[word])


def drive_distance(one: Mechanism, name: str) -> Residual | None:
    """A driver of the distance of two triads."""
    a, b = two_bodies(one)
    p, r = somewhere(one, a), somewhere(one, b)
    text, f = law(one, float(np.linalg.norm(p - r)))
    first, second = one.triad(a, p, turn(one.rng)), one.triad(b, r, turn(one.rng))
    one.text.append(f"driver {name} (distance({first}, {second}) = {text});")
    one.used.append("driver of a distance")
    return lambda q, poses, t: [
        float(np.linalg.norm(point_of(poses, one.reference, a, p) - point_of(poses, one.reference, b, r))) - f(t)
    ]


def drive_angle(one: Mechanism, name: str) -> Residual | None:
    """A driver of the angle of two axes of two bodies, between 0 and pi."""
    a, b = two_bodies(one)
    A, B = turn(one.rng), turn(one.rng)
    if one.rng.random() < 0.5:  # across an axis that a joint may keep
        axes = one.joints[int(one.rng.integers(len(one.joints)))].axes
        A, B = axes, axes @ Rotation.from_rotvec([0.0, 0.0, one.rng.uniform(0.5, 2.5)]).as_matrix()
        k = l = 0
    else:
        k, l = (int(n) for n in one.rng.integers(0, 3, 2))
    start = float(np.arccos(np.clip(A[:, k] @ B[:, l], -1.0, 1.0)))
    if not 0.5 < start < 2.6:
        return None
    text, f = law(one, start)
    first, second = one.triad(a, somewhere(one, a), A), one.triad(b, somewhere(one, b), B)
    one.text.append(f"driver {name} (angle({first}.{'fgh'[k]}, {second}.{'fgh'[l]}) = {text});")
    one.used.append("driver of an angle of two axes")

    def residual(q: Array, poses: Poses, t: float) -> list[float]:
        u, v = axis_of(poses, one.reference, a, A[:, k]), axis_of(poses, one.reference, b, B[:, l])
        return [float(np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v)) - f(t)]

    return residual


def drive_point(one: Mechanism, name: str) -> Residual | None:
    """A driver of x, y or z of a triad."""
    body = str(one.rng.choice(list(one.reference)[1:]))
    point, k = somewhere(one, body), int(one.rng.integers(3))
    text, f = law(one, float(point[k]))
    one.text.append(f"driver {name} ({one.triad(body, point, turn(one.rng))}.{'xyz'[k]} = {text});")
    one.used.append("driver of a triad")
    return lambda q, poses, t: [float(point_of(poses, one.reference, body, point)[k]) - f(t)]


def hold_on_line(one: Mechanism, name: str) -> Residual | None:
    """A point on a straight line of another body, as a curve: two equations."""
    a, b = two_bodies(one)
    point, direction = somewhere(one, a), turn(one.rng)
    x, R = one.reference[b]
    p, d = R.T @ (point - x), R.T @ direction[:, 0]
    along = ", ".join(f"{u!r} + {v!r} * (s + s^3)" for u, v in zip(p.tolist(), d.tolist(), strict=True))
    triad = one.triad(a, point, turn(one.rng))
    one.text.append(f"point on curve {name} (triad = {triad}, body = {b}, curve = ({along}));")
    one.used.append("point on curve")

    def residual(q: Array, poses: Poses, t: float) -> list[float]:
        apart = point_of(poses, one.reference, a, point) - point_of(poses, one.reference, b, point)
        return [float(apart @ axis_of(poses, one.reference, b, direction[:, k])) for k in (1, 2)]

    return residual


def hold_rod(one: Mechanism, name: str) -> Residual | None:
    """A rod between two triads."""
    a, b = two_bodies(one)
    p, r = somewhere(one, a), somewhere(one, b)
    length = float(np.linalg.norm(p - r))
    first, second = one.triad(a, p, turn(one.rng)), one.triad(b, r, turn(one.rng))
    said = f", length = {length!r}" if one.rng.random() < 0.5 else ""
    one.text.append(f"rod {name} (triad = {first}, triad = {second}{said});")
    one.used.append("rod")
    return lambda q, poses, t: [
        float(np.linalg.norm(point_of(poses, one.reference, a, p) - point_of(poses, one.reference, b, r))) - length
    ]


def couple(one: Mechanism, name: str) -> Residual | None:
    """A gear, rack and pinion, screw, differential or coupler of coordinates of the tree."""
    angles, slides, both = [], [], []
    for joint in one.joints:
        for place, word in named_coordinates(joint):
            kind = slides if word == "displacement" or joint.kind == "translational" else angles
            kind.append((f"{joint.name}.{word}" if word else joint.name, place))
        if joint.kind == "cylindrical":
            both.append(joint)
    rng, number = one.rng, float(one.rng.uniform(0.3, 1.5))
    kind = str(rng.choice(["gear", "rack and pinion", "screw", "differential", "coupler"]))
    said, terms = f"{number!r}", list[tuple[float, int]]()
    if kind == "gear" and len(angles) > 1:
        (a, i), (b, j) = (angles[k] for k in rng.permutation(len(angles))[:2])
        terms, said = [(1.0, i), (number, j)], f"joint = {a}, joint = {b}, ratio = {said}"
    elif kind == "rack and pinion" and angles and slides:
        (a, i), (b, j) = slides[int(rng.integers(len(slides)))], angles[int(rng.integers(len(angles)))]
        terms, said = [(1.0, i), (-number, j)], f"rack = {a}, pinion = {b}, radius = {said}"
    elif kind == "screw" and both:
        joint = both[int(rng.integers(len(both)))]
        terms = [(1.0, joint.first), (-number / (2.0 * np.pi), joint.first + 1)]
        said = f"joint = {joint.name}, pitch = {said}"
    elif kind == "differential" and len(angles) > 2:
        (a, i), (b, j), (c, k) = (angles[k] for k in rng.permutation(len(angles))[:3])
        terms = [(1.0, i), (number, j), (-1.0 - number, k)]
        said = f"first = {a}, second = {b}, carrier = {c}, ratio = {said}"
    elif kind == "coupler" and len(angles) > 1:
        (a, i), (b, j) = (angles[k] for k in rng.permutation(len(angles))[:2])
        terms, said = [(1.3, i), (-number, j)], f"joint = {a}, joint = {b}, ratios = (1.3, {-number!r})"
    if not terms or len({place for _, place in terms}) < len(terms):
        return None
    text, f = law(one, 0.0)
    one.text.append(f"{kind} {name} ({said}, offset = {text});")
    one.used.append(kind)
    return lambda q, poses, t: [sum(factor * q[place] for factor, place in terms) - f(t)]


def close_loop(one: Mechanism, name: str) -> Residual | None:
    """A joint that closes a loop, by points and axes."""
    if len(one.reference) < 3:
        return None
    a, b = two_bodies(one)
    kind = str(one.rng.choice(LOOPS))
    point, axes = somewhere(one, a), turn(one.rng)
    pitch = float(one.rng.uniform(0.1, 1.0)) if kind == "screw" else 0.0
    joint = OwnJoint(name, kind, a, b, point, axes, pitch)
    write_joint(one, joint)

    def residual(q: Array, poses: Poses, t: float) -> list[float]:
        apart = point_of(poses, one.reference, b, point) - point_of(poses, one.reference, a, point)
        A, B = (np.column_stack([axis_of(poses, one.reference, body, axes[:, k]) for k in range(3)]) for body in (a, b))
        local = A.T @ apart
        aligned = [float(A[:, 0] @ B[:, 2]), float(A[:, 1] @ B[:, 2])]
        angle = np.arctan2(A[:, 1] @ B[:, 0], A[:, 0] @ B[:, 0])
        return {
            "spherical": [*local], "revolute": [*local, *aligned], "line": [*local[:2]], "planar": [local[2], *aligned],
            "cylindrical": [*local[:2], *aligned], "universal": [*local, float(A[:, 2] @ B[:, 0])],
            "screw": [*local[:2], *aligned, float(local[2] - pitch * angle / (2.0 * np.pi))],
            "translational": [*local[:2], *aligned, float(angle)],
        }[kind]  # fmt: skip

    return residual


TAKERS = (
    drive_coordinate, drive_body, drive_body, drive_distance, drive_angle, drive_point, drive_point, hold_on_line,
    hold_rod, couple,
)  # fmt: skip


def jacobian(one: Mechanism, q: Array, t: float) -> Array:
    """Return the derivative of the residuals by central differences."""
    step = 1e-6
    columns = [(one.residual(q + e, t) - one.residual(q - e, t)) / (2.0 * step) for e in step * np.eye(one.size)]
    return np.stack(columns, axis=1)


def weakest(one: Mechanism, q: Array, t: float) -> float:
    return float(np.linalg.svd(jacobian(one, q, t), compute_uv=False)[-1])


def driven(seed: int) -> Mechanism | None:
    """Return the first draw of a seed in which all that moves is driven; None when there is none."""
    for draw in range(DRAWS):
        one = random_tree(np.random.default_rng((seed, draw, 77)))
        if one.size and drive(one):
            return one
    return None


def drive(one: Mechanism) -> bool:
    """Add a loop and takers of freedom until as many equations as coordinates hold, each independent of the others."""
    q, equations = np.zeros(one.size), 0
    takers = [close_loop] if one.rng.random() < 0.6 else []
    for attempt in range(40):
        taker = takers.pop() if takers else TAKERS[int(one.rng.integers(len(TAKERS)))]
        text, used, triads = len(one.text), len(one.used), one.triads
        residual = taker(one, f"e{attempt}")
        if residual is not None:
            one.residuals.append(residual)
            found = len(one.residual(q, 0.0))
            if found <= one.size and weakest(one, q, 0.0) > 3.0 * WEAK:
                equations = found
                if equations == one.size:
                    return True
                continue
            one.residuals.pop()
        del one.text[text:], one.used[used:]
        one.triads = triads
    return False


def file_text(one: Mechanism) -> str:
    system = f"SYSTEM (KINEMATIC ANALYSIS, ending time = {T_END}, print interval = {T_END / (SAMPLES - 1)!r});"
    return "\n".join(["MODEL random", system, *one.text, "ENDMODEL"])


# ---- comparison -----------------------------------------------------------------------------------------------------


def solved(one: Mechanism, q: Array, t: float) -> Array | None:
    """Return the coordinates at a time near known ones, or None."""
    for start in (q, None):
        x = q if start is not None else marquardt(one, q, t)
        J = jacobian(one, x, t)
        for _ in range(MOST if np.all(np.isfinite(J)) and np.linalg.cond(J) < SINGULAR else 0):
            x = x - np.linalg.solve(J, one.residual(x, t))
            if np.abs(one.residual(x, t)).max() < HELD:
                return np.asarray(x)
    return None


def marquardt(one: Mechanism, q: Array, t: float) -> Array:
    """Return where Levenberg and Marquardt lead."""
    return np.asarray(root(one.residual, q, (t,), method="lm", jac=lambda x, t: jacobian(one, x, t)).x)


def own_motion(one: Mechanism) -> tuple[list[dict[str, list[Array]]], float] | None:
    """Return position, velocity and acceleration of all bodies at the samples, and the weakest pose; None at an end."""
    q, rows, weak = np.zeros(one.size), [], np.inf
    for t in np.linspace(0.0, T_END, SAMPLES):
        found = solved(one, q, t)
        if found is None or np.abs(found - q).max() > 0.5:
            return None
        q = found
        weak = min(weak, weakest(one, q, t))
        if weak < WEAK:
            return None
        around = [solved(one, q, t + k * H) for k in range(-3, 4)]
        if any(part is None for part in around):
            return None
        poses = [one.poses(part) for part in around if part is not None]
        rows.append({body: body_motion([pose[body] for pose in poses]) for body in list(one.reference)[1:]})
    return rows, weak


def body_motion(poses: list[tuple[Array, Array]]) -> list[Array]:
    """Return x, R, v, omega, a, alpha from seven poses, by differences of sixth order."""
    xs, Rs = (np.array([pose[k] for pose in poses]) for k in (0, 1))
    first = np.array([-1, 9, -45, 0, 45, -9, 1]) / (60.0 * H)
    second = np.array([2, -27, 270, -490, 270, -27, 2]) / (180.0 * H * H)
    x, R, v, a = xs[3], Rs[3], np.tensordot(first, xs, 1), np.tensordot(second, xs, 1)
    Rd, Rdd = np.tensordot(first, Rs, 1), np.tensordot(second, Rs, 1)
    return [x, R, v, vector(Rd @ R.T), a, vector(Rdd @ R.T + Rd @ Rd.T)]


def vector(W: Array) -> Array:
    """Return omega of a matrix with the cross product omega x ... as its skew part."""
    return 0.5 * np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]])


def differences(one: Mechanism, tally: Tally) -> str:
    """Return what differs between the two motions, or nothing."""
    own = own_motion(one)
    document = language.build(file_text(one))
    try:
        motion = Analysis(document.model, document.constraints).run_at(np.linspace(0.0, T_END, SAMPLES))
    except (MotionError, StartError) as error:
        if own is None:
            count(tally, "cases that both end or call singular")
            return ""
        return f"rtmbs ends: {error}"
    if own is None:
        count(tally, "cases near a singular pose, not compared")
        return ""
    count(tally, "cases compared")
    for used in one.used:
        count(tally, f"compared with: {used}")
    apart = dict.fromkeys(LIMITS, 0.0)
    for k, rows in enumerate(own[0]):
        for body, (x, R, v, omega, a, alpha) in rows.items():
            for what, named, theirs in (
                ("position", "position", x), ("velocity", "velocity", v), ("acceleration", "acceleration", a),
                ("velocity", "angular_velocity", omega), ("acceleration", "angular_acceleration", alpha),
            ):  # fmt: skip
                scale = 1.0 + float(np.abs(theirs).max())
                apart[what] = max(apart[what], float(np.abs(motion[f"{body}.{named}"][k] - theirs).max()) / scale)
            ours = rotations(motion[f"{body}.orientation"][k][None])[0]
            apart["orientation"] = max(apart["orientation"], float(np.abs(ours - R).max()))
    for what, value in apart.items():
        tally.largest(f"difference in {what}", value)
    return ", ".join(f"{what} differs by {apart[what]:.1e}" for what, most in LIMITS.items() if not apart[what] <= most)


def count(tally: Tally, what: str) -> None:
    tally.largest(what, tally.worst.get(what, 0.0) + 1.0)


def run(cases: int, seed: int) -> Tally:
    """Compare the two for every mechanism."""
    tally = Tally()
    for k in range(seed, seed + cases):
        one = driven(k)
        if one is None:
            count(tally, "seeds without a mechanism that can be driven")
            tally.survive()
            continue
        wrong = differences(one, tally)
        if wrong:
            tally.fail(f"seed {k}: {wrong}")
        else:
            tally.survive()
    return tally


CAMPAIGN = Campaign(
    name="kinematic_files",
    claim="a model file in space moves as an own solver of its statements does: joints, rods, couplers and drivers",
    full=700,
    bounded=30,
    run=run,
)
