"""Loops drawn in random and degenerate poses: in one line, folded, mirrored, all bodies at the origin, out of reach.

A loop is assembled so that every joint holds, or it is refused and an own search finds no closed pose either. Planar
chains of hinges close exactly when no bar is longer than all others together. For the rest SciPy's least squares starts
from many poses, on loop equations written down here.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.campaign import Campaign, Tally, each
from rtmbs.errors import StartError
from rtmbs.model.joints import JointType

Array = NDArray[np.float64]

POSES = ("in line", "folded", "random", "mirrored")
TREE = ("Revolute", "Spherical", "Universal", "Cylindrical", "Prismatic", "Planar")
CLOSING = ("Spherical", "Revolute", "Universal", "Cylindrical", "Line")
CLOSED, OPEN = 1e-7, 1e-5  # of the size of a loop: of an assembly, and what an own search may not go below
AT_REACH = 1e-3  # relative: chains that close stretched out are left to either answer
STARTS = 40  # of the own search


def case(seed: int, tally: Tally) -> str:
    """Return what is wrong with one loop, or nothing."""
    rng = np.random.default_rng((seed, 55))
    return planar_chain(rng, tally) if seed % 2 else spatial_loop(rng, tally)


# ---- planar chains of hinges -----------------------------------------------------------------------------------------


def planar_chain(rng: np.random.Generator, tally: Tally) -> str:
    """Judge a chain of hinges with parallel axes, skew in the world."""
    size, plane = 10.0 ** rng.uniform(-3.0, 3.0), Rotation.random(rng=rng).as_matrix()
    bars = size * rng.uniform(0.2, 1.0, rng.integers(3, 6))
    ground = size * rng.uniform(0.2, 1.0) if rng.random() < 0.6 else bars.sum() * rng.uniform(0.9, 1.3)
    lengths = np.append(bars, ground)
    reach = 2.0 * lengths.max() / lengths.sum() - 1.0  # above zero: the longest is longer than the others together
    pose = POSES[rng.integers(len(POSES))]
    angles = angles_of(pose, len(bars), rng)
    model = rtmbs.Model(pose, gravity=rng.normal(size=3))
    hinge = rtmbs.Revolute(axis=tuple(plane[:, 2]))
    for k, (length, angle) in enumerate(zip(bars, angles, strict=True)):
        turn = plane @ Rotation.from_euler("z", angle).as_matrix()
        mass = size**3 * rng.uniform(0.1, 2.0)
        model.add_body(f"b{k}", mass=mass, inertia=(0.1 * mass * length**2,) * 3, orientation=turn)
        end = (0.0, 0.0, 0.0) if k == 0 else (bars[k - 1], 0.0, 0.0)
        model.add_joint(f"j{k}", hinge, f"b{k - 1}" if k else "ground", f"b{k}", point_a=end, point_b=(0.0, 0.0, 0.0))
    pivot = tuple(ground * plane[:, 0])
    model.add_joint("last", hinge, f"b{len(bars) - 1}", "ground", point_a=(bars[-1], 0.0, 0.0), point_b=pivot)
    try:
        sim = rtmbs.Simulation(model.compile(), h=1e-3)
    except StartError as error:
        return planar_refusal(error, reach, pose)
    if reach > AT_REACH:
        return f"assembled out of reach by {reach:.2g}, {pose}"
    gap = 0.0
    for k in range(len(bars)):
        tip = place(sim, f"b{k}", (bars[k], 0.0, 0.0))
        following = place(sim, f"b{k + 1}", (0.0, 0.0, 0.0)) if k + 1 < len(bars) else np.array(pivot)
        gap = max(gap, float(np.linalg.norm(tip - following)) / size)
    tally.largest("gap of a planar chain", gap)
    return "" if gap < CLOSED else f"gap {gap:.2g}, {pose}"


def planar_refusal(error: StartError, reach: float, pose: str) -> str:
    """Return what is wrong with a refusal of a chain."""
    if reach > AT_REACH and "cannot close" not in str(error):
        return f"out of reach, but told {error}"
    return f"closes (reach {reach:.2g}), {pose}, but refused: {error}" if reach < -AT_REACH else ""


def angles_of(pose: str, count: int, rng: np.random.Generator) -> Array:
    """Return the angles of the bars at the reference pose [rad]."""
    if pose == "in line":
        return np.zeros(count)
    if pose == "folded":
        return np.pi * (np.arange(count) % 2)
    if pose == "mirrored":
        return -np.pi / 2 + np.pi * (np.arange(count) % 2)
    return rng.uniform(-np.pi, np.pi, count)


def place(sim: rtmbs.Simulation, body: str, point: tuple[float, float, float]) -> Array:
    """Return where a point of body axes stands (3,) [m]."""
    w, *xyz = sim[f"{body}.orientation"]
    return np.asarray(sim[f"{body}.position"] + Rotation.from_quat([*xyz, w]).as_matrix() @ point)


# ---- loops of all joints ---------------------------------------------------------------------------------------------


class Loop:
    """A chain of bodies from ground, closed to ground by its last joint; bodies stand at the origin, some turned."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.size = float(10.0 ** rng.uniform(-2.0, 2.0))
        count = int(rng.integers(2, 5))
        kinds = [TREE[k] for k in rng.integers(len(TREE), size=count)] + [CLOSING[rng.integers(len(CLOSING))]]
        self.types: list[JointType] = [
            getattr(rtmbs, kind).example(Rotation.random(rng=rng).as_matrix()) for kind in kinds
        ]
        self.points = self.size * rng.normal(size=(count + 1, 2, 3)) * (0.0 if rng.random() < 0.1 else 1.0)
        self.points[0, 0] = 0.0
        turned = rng.random() < 0.5
        self.turns = [Rotation.random(rng=rng).as_matrix() if turned else np.eye(3) for _ in range(count)]
        self.mass = self.size**3 * rng.uniform(0.1, 2.0, count)

    def model(self) -> rtmbs.Model:
        """Return the model; ``points[k]`` are those of joint k in axes of its bodies."""
        model = rtmbs.Model("loop")
        count = len(self.mass)
        for k, mass in enumerate(self.mass):
            inertia = mass * self.size**2 * np.array([0.1, 0.15, 0.2])
            model.add_body(f"b{k}", mass=mass, inertia=inertia, orientation=self.turns[k])
        for k, kind in enumerate(self.types):
            ends = (f"b{k - 1}" if k else "ground", f"b{k}" if k < count else "ground")
            point_a, point_b = (tuple(point) for point in self.points[k])
            model.add_joint(f"j{k}", kind, *ends, point_a=point_a, point_b=point_b, cut=k == count)
        return model

    def unknowns(self) -> int:
        return sum(len(kind.dofs()) for kind in self.types[:-1])

    def open_by(self, x: Array) -> Array:
        """Return what is open at the last joint, over the size, for coordinates (n,) of the others."""
        R, end, used = np.eye(3), np.zeros(3), 0
        for k, kind in enumerate(self.types[:-1]):
            dofs = kind.dofs()
            R, end = self.through(k, R, end, x[used : used + len(dofs)])
            used += len(dofs)
        last = len(self.types) - 1
        tip = end + R @ self.turns[-1] @ self.points[last, 0]
        gap, kind = (tip - self.points[last, 1]) / self.size, self.types[-1]
        return np.concatenate((self.point_rows(kind, R, gap), self.axis_rows(kind, R.T)))

    def reference(self, k: int) -> Array:
        """Return the reference orientation (3, 3) of body k; ground's for -1."""
        return self.turns[k] if k >= 0 else np.eye(3)

    def through(self, k: int, R: Array, origin: Array, x: Array) -> tuple[Array, Array]:
        """Return the turn since the reference pose and the origin of body k, from those of the body before."""
        dofs = self.types[k].dofs()
        point = origin + R @ self.reference(k - 1) @ self.points[k, 0]
        if any(dof.kind == "rotation" for dof in dofs):
            R = R @ Rotation.from_rotvec(x[-3:]).as_matrix()
        else:
            for dof, value in zip(dofs, x, strict=True):
                if dof.kind == "prismatic":
                    point = point + R @ dof.axis * value * self.size
                else:
                    R = R @ Rotation.from_rotvec(value * dof.axis).as_matrix()
        return R, point - R @ self.turns[k] @ self.points[k, 1]

    def point_rows(self, kind: JointType, R: Array, gap: Array) -> Array:
        """Return the rows of the point: body a carries the axis that it may leave along."""
        if isinstance(kind, rtmbs.Line | rtmbs.Cylindrical):
            axis = R @ kind.axis
            return np.asarray(gap - axis * (axis @ gap))
        return gap

    def axis_rows(self, kind: JointType, relative: Array) -> Array:
        """Return the rows of the axes, which point the same way in a and b; ``relative`` turns b against a."""
        if isinstance(kind, rtmbs.Revolute | rtmbs.Cylindrical):
            return np.asarray(relative @ kind.axis - kind.axis)
        if isinstance(kind, rtmbs.Universal):
            return np.array([kind.axis_a @ relative @ kind.axis_b])
        return np.zeros(0)

    def closest(self, rng: np.random.Generator) -> float:
        """Return the least of what is left open by a search from many poses."""
        least = np.inf
        for _ in range(STARTS):
            begin = rng.uniform(-np.pi, np.pi, self.unknowns())
            found = least_squares(self.open_by, begin, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200)
            least = min(least, float(np.abs(found.fun).max(initial=0.0)))
            if least < 1e-9:
                break
        return least


def spatial_loop(rng: np.random.Generator, tally: Tally) -> str:
    """Judge a loop of all kinds of joint."""
    loop = Loop(rng)
    kinds = " ".join(type(kind).__name__ for kind in loop.types)
    try:
        sim = rtmbs.Simulation(loop.model().compile(), h=1e-3)
    except StartError as error:
        told = str(error)
        if any(words in told for words in ("cannot close", "wrong way round", "contradict each other")):
            least = loop.closest(rng)
            return "" if least > OPEN else f"{kinds}: an own search closes it to {least:.1g}, but refused: {told}"
        return f"{kinds}: another reason: {told}" if "no inertia" not in told and "singular" not in told else ""
    gap = 0.0
    for k in range(len(loop.types)):
        a, b = (k - 1, k if k < len(loop.mass) else -1)
        here, there = (seen(sim, body) for body in (a, b))
        x, y = (R @ point + origin for (R, origin), point in zip((here, there), loop.points[k], strict=True))
        turn_a, turn_b = here[0] @ loop.reference(a).T, there[0] @ loop.reference(b).T
        gap = max(gap, *np.abs(joint_rows(loop, loop.types[k], turn_a, turn_b, (x - y) / loop.size)))
    tally.largest("gap of a loop", gap)
    return "" if gap < CLOSED else f"{kinds}: gap {gap:.2g}"


def seen(sim: rtmbs.Simulation, body: int) -> tuple[Array, Array]:
    """Return orientation and origin of a body; ground for -1."""
    if body < 0:
        return np.eye(3), np.zeros(3)
    w, *xyz = sim[f"b{body}.orientation"]
    return Rotation.from_quat([*xyz, w]).as_matrix(), sim[f"b{body}.position"]


def joint_rows(loop: Loop, kind: JointType, A: Array, B: Array, gap: Array) -> list[float]:
    """Return what is open at a joint whose bodies turned by A and B since the reference pose."""
    relative, away = A.T @ B, A.T @ gap
    if isinstance(kind, rtmbs.Prismatic):
        axis = np.array(kind.axis)
        return [*(away - axis * (axis @ away)), *(relative - np.eye(3)).ravel()]
    if isinstance(kind, rtmbs.Planar):
        normal = np.array(kind.normal)
        return [float(normal @ away), *(relative @ normal - normal)]
    return [*loop.point_rows(kind, np.eye(3), away), *loop.axis_rows(kind, relative)]


def run(cases: int, seed: int) -> Tally:
    """Try so many loops."""
    return each(case, cases, seed)


CAMPAIGN = Campaign(
    "assembly", "Every loop is assembled, or no closed pose is found by an own search either", 2_000, 120, run
)
