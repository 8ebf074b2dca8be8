"""Assembly: the pose nearest to the initial values that closes every loop (METHODS 1.15).

Dot products of axes, the loop equations of a cut joint, are closed as well where axes point against each other, and
have minima in between. The rotation vector that leads one side onto the other has neither. Where the pose of the loop
equations faces the wrong way, it takes the place of the rotation equations of each cut joint that has axes to align.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from rtmbs.errors import RtmbsError, StartError
from rtmbs.numerics.rotations.quaternions import quaternions, right_jacobian
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.loop_jacobian import loop_groups, loop_jacobian
from rtmbs.semirecursive.start.checks import facing_away
from rtmbs.semirecursive.start.nearest import REFUSED, NearestPose, length_of, scaled_entries, worst_of
from rtmbs.system.contact_tables import rate_mask
from rtmbs.system.tables import REVOLUTE

Array = NDArray[np.float64]
FACING_EVALUATIONS = 200
SMALL = 1e-9  # sine below which two axes are parallel


class LoopEquations(Protocol):
    """Loop equations of joint coordinates, as ``Assembly`` has them."""

    equations: SemiRecursiveEquations
    typical: Array

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,)."""

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative (m, n) of the gap by z / typical."""

    def turns_of(self, z: Array) -> csc_array:
        """Return the matrix (n, n) from changes of z to turns."""


def turned_to_face(loops: LoopEquations, wanted: Array, free: NDArray[np.int64]) -> Array | None:
    """Return the pose (n,) to which least squares lead from ``wanted``; None without axes to align or without a pose.

    ``free`` are the coordinates that may change.
    """
    from scipy.optimize import least_squares  # takes long to load, and few starts need it

    if not len(free) or not any(len(one.aligned_a) for one in loops.equations.system.closures):
        return None

    def at(x: Array) -> Array:
        z = wanted.copy()
        z[free] += x * loops.typical[free]
        return z

    try:
        found = least_squares(
            lambda x: facing_gap(loops, at(x))[0],
            np.zeros(len(free)),
            lambda x: facing_gap(loops, at(x))[1][:, free],
            max_nfev=FACING_EVALUATIONS,
        )
    except (RtmbsError, ValueError):  # a rotation vector of a whole turn, a gap beyond all numbers
        return None
    return at(found.x)


def facing_gap(loops: LoopEquations, z: Array) -> tuple[Array, Array]:
    """Return the gap with angles in place of dot products (k,), and its derivative (k, n) by z / typical."""
    equations, system = loops.equations, loops.equations.system
    gap, J = loops.gap(z), loops.scaled_jacobian(z).toarray()
    ws, connectors = equations.ws, equations.tables.connectors
    reference = equations.tables.dofs.reference
    turns = loops.turns_of(z) if np.any(reference >= 0) else None
    kept = np.ones(len(gap), np.bool_)
    errors, slopes = [gap], [J]
    for k, info in enumerate(system.closures):
        if not len(info.aligned_a):
            continue
        c = int(equations.tables.closures.connector[k])
        kept[(system.closure_of_row == k) & system.row_is_rotation] = False
        a, b = (
            A @ axes.T for A, axes in ((ws.A[connectors.a[c]], info.aligned_a), (ws.A[connectors.b[c]], info.aligned_b))
        )
        own = slice(connectors.pointer[c], connectors.pointer[c + 1])
        spin = np.zeros((3, len(z)))
        np.add.at(spin.T, connectors.dof[own], connectors.sign[own, None] * ws.S[connectors.dof[own], 3:])
        spin = spin if turns is None else spin @ turns
        error, slope = turn_onto(a, b)
        errors.append(error)
        slopes.append(slope @ spin * loops.typical)
    errors[0], slopes[0] = gap[kept], J[kept]
    return np.concatenate(errors), np.concatenate(slopes)


def turn_onto(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rotation vector (3,) that leads directions a (3, k) onto b, its derivative (3, 3) by turns of b."""
    if a.shape[1] == 1:
        axis, other = a[:, 0], b[:, 0]
        normal, cosine = np.cross(axis, other), float(axis @ other)
        sine = float(np.linalg.norm(normal))
        if sine < SMALL:  # parallel, or against each other: then about any normal
            normal = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))]) if cosine < 0.0 else normal
        size = float(np.linalg.norm(normal))
        vector = normal * (np.arctan2(sine, cosine) / size) if size > 0.0 else normal
        across = np.eye(3) - np.outer(axis, axis)
    else:
        U, _, Vt = np.linalg.svd(b @ a.T)
        R = U @ np.diag((1.0, 1.0, np.linalg.det(U @ Vt))) @ Vt
        w, *xyz = quaternions(R[None])[0]
        size = float(np.linalg.norm(xyz))
        vector = np.array(xyz) * (2.0 * np.arctan2(size, w) / size if size > 0.0 else 2.0)
        across = np.eye(3)
    return vector, across @ np.linalg.inv(right_jacobian(-vector))


TURN = 2.0 * np.pi
STAGES = 24  # poses on the way from the reference pose to far pinned values
BESIDE = (0.03, 0.3, 1.0, 3.0)  # in typical sizes: how far beside a pose others are tried
AGAIN = 6 * (1.0, 3.0)  # likewise, where loops close and axes face away
DRAWS = 4  # of a size, each to both sides
PATIENCE = 30  # iterations of a try
ANYWHERE, MOST_EVALUATIONS = 24, 100  # poses from which least squares begin, and evaluations of each
TIGHT: Any = {"max_nfev": 1000, "xtol": 1e-15, "ftol": 1e-15}  # of one loop alone
NEARLY = 1e-3  # gap below which they are closed for good by the iteration
LOOKED_BESIDE = 200  # coordinates; beyond, every try takes long
LESS = 0.9  # of the gap: a pose is taken for less open below it, and for another one of the same minimum above
AS_NEAR = 1e-3  # relative difference of the distances of two assemblies that are as near
DIFFERENT = 1e-3  # in typical sizes: two assemblies further apart than this are two


class Assembly(NearestPose):
    """Loops and drivers as equations of joint coordinates, pins kept."""

    def __init__(self, equations: SemiRecursiveEquations, R0: Array, scale: Array, typical: Array) -> None:
        self.equations, self.R0 = equations, R0
        self.scale, self.typical = scale, typical
        self.jacobian = loop_jacobian(equations.system)
        self.groups = loop_groups(equations.system)
        binds_rates = rate_mask(equations.tables.contacts, equations.m)
        self.of_positions = np.where(binds_rates, 0.0, 1.0 / scale)  # factor of each row where poses are looked for
        self.other_way: Array | None = None  # an assembly (n,) as near as the one that was taken

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,), order one."""
        return np.asarray(self.equations.close(z, self.R0) / self.scale)

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative of the gap by z / typical; rotation dofs change by their rotation vector.

        Rows that bind rates alone are zero: no pose is nearer for them.
        """
        J, reference = self.jacobian.matrix(self.equations), self.equations.tables.dofs.reference
        J = J @ self.turns_of(z) if np.any(reference >= 0) else J
        return scaled_entries(J, self.of_positions, self.typical)

    def turns_of(self, z: Array) -> csc_array:
        """Return the matrix (n, n) from changes of z to what Phi_z takes."""
        return turns(self.equations.tables.dofs.reference, z)

    def scaled(self, J: csc_array) -> csc_array:
        """Return a matrix (m, n) in row scales and typical sizes."""
        return scaled_entries(J, 1.0 / self.scale, self.typical)

    def assemble(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the assembled z (n,), pinned coordinates led from zero to their values when the direct way fails.

        Far from a closed pose |Phi| has minima that are no assembly; on the way from the reference pose there is none.
        Bars drawn in one line, or all bodies at one point, stand between several ways to assemble: Gauss-Newton cannot
        leave such a pose, so poses beside it are tried, and those on which a cut joint faces the right way.
        ``self.other_way`` is then the other assembly that is as near. The caller judges the gap that is left.
        """
        self.other_way = None
        if not self.equations.m:
            self.gap(wanted)
            return self.unwound(wanted + 0.0, wanted, pinned)
        direct = self.solve(wanted, pinned, weights)
        if self.assembled(direct):
            return direct
        closed = worst_of(self.gap(direct)) <= REFUSED  # but some axes face away
        found = None if closed else self.led(wanted, pinned, weights)
        if found is None:
            found = self.from_beside(direct, wanted, pinned, weights)
        self.gap(found)
        return found

    def assembled(self, z: Array) -> bool:
        """Return whether every loop is closed at z, and every cut joint faces the right way."""
        return worst_of(self.gap(z)) <= REFUSED and not facing_away(self.equations)

    def led(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array | None:
        """Return the pose (n,) on the way from the reference pose, pinned coordinates led to their values; or None."""
        if not np.any(pinned):
            return None
        z = np.where(pinned, 0.0, wanted)
        for share in np.linspace(0.0, 1.0, STAGES + 1):
            z = self.solve(np.where(pinned, share * wanted, z), pinned, weights)
            if worst_of(self.gap(z)) > REFUSED:
                return None
        z = self.unwound(z, wanted, pinned)
        return z if self.assembled(z) else None

    def from_beside(self, direct: Array, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the nearest of the assemblies (n,) that poses beside ``wanted`` lead to, or the least open pose found.

        ``direct`` (n,) is where the direct way ended. Directions are drawn with one seed, so that a model assembles the
        same way in every process.
        """
        least, draws, closes = direct, np.random.default_rng(0), worst_of(self.gap(direct)) <= REFUSED
        for k, size in enumerate(BESIDE + AGAIN if len(wanted) <= LOOKED_BESIDE else ()):
            if k >= len(BESIDE) and not closes:
                break
            shakes = size * self.typical * draws.standard_normal((DRAWS, len(wanted)))
            tried = [
                self.near(wanted + side * np.where(pinned, 0.0, shake), wanted, pinned, weights)
                for shake in shakes
                for side in (1.0, -1.0)
            ]
            if found := [z for z in tried if self.assembled(z)]:
                return self.nearest(found, wanted, weights)
            opened = [float(np.linalg.norm(self.gap(z))) for z in (least, *tried)]
            closes |= any(worst_of(self.gap(z)) <= REFUSED for z in tried)
            if min(opened) < LESS * opened[0]:
                least = tried[int(np.argmin(opened)) - 1]
        found = self.from_anywhere(wanted, pinned, weights)
        return self.nearest(found, wanted, weights) if found else least

    def from_anywhere(self, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> list[Array]:
        """Return the assemblies (n,) that SciPy's least squares lead to from poses all around ``wanted``.

        A trust region leaves flat valleys of the gap, as those of long slides, in which the damped iteration stays.
        """
        from scipy.optimize import least_squares  # takes long to load, and few starts need it

        free = np.flatnonzero(~pinned & (self.typical > 0.0))
        if not 0 < len(free) <= LOOKED_BESIDE:
            return []
        faced = turned_to_face(self, wanted, free)
        if faced is not None and self.assembled(faced := self.near(faced, wanted, pinned, weights)):
            return [faced]

        def at(x: Array) -> Array:
            z = wanted.copy()
            z[free] += x * self.typical[free]
            return z

        def jacobian(x: Array) -> Array:
            self.gap(at(x))
            return self.scaled_jacobian(at(x)).toarray()[:, free]

        draws, found = np.random.default_rng(1), []
        for k in range(ANYWHERE):
            begin = AGAIN[k % len(AGAIN)] * draws.standard_normal(len(free))
            try:
                end = least_squares(lambda x: self.gap(at(x)), begin, jacobian, max_nfev=MOST_EVALUATIONS)
            except (RtmbsError, ValueError):  # a rotation vector of a whole turn, a gap beyond all numbers
                continue
            if length_of(end.fun) <= NEARLY:
                z = self.near(at(end.x), wanted, pinned, weights)
                found += [z] if self.assembled(z) else []
        return found

    def gap_alone(self, rows: NDArray[np.int64], pinned: NDArray[np.bool_]) -> float:
        """Return the largest gap over its scale that least squares leave of some rows, all others open."""
        from scipy.optimize import least_squares

        free, start = np.flatnonzero(~pinned & (self.typical > 0.0)), self.equations.system.z0
        if not 0 < len(free) <= LOOKED_BESIDE:
            return 0.0

        def at(x: Array) -> Array:
            z = start.copy()
            z[free] += x * self.typical[free]
            return z

        def jacobian(x: Array) -> Array:
            self.gap(at(x))
            return np.asarray(self.scaled_jacobian(at(x)).toarray()[np.ix_(rows, free)])

        try:
            found = least_squares(lambda x: self.gap(at(x))[rows], np.zeros(len(free)), jacobian, **TIGHT)
        except (RtmbsError, ValueError):
            return 0.0
        return worst_of(found.fun)

    def nearest(self, found: list[Array], wanted: Array, weights: Array) -> Array:
        """Return the assembly (n,) nearest to ``wanted``; another one that is as near becomes ``other_way``."""
        costs = [float(np.sum(weights * ((z - wanted) / self.typical) ** 2)) for z in found]
        best = found[int(np.argmin(costs))]
        equal = [z for z, cost in zip(found, costs, strict=True) if cost <= (1.0 + AS_NEAR) * min(costs)]
        apart = [float(np.max(np.abs(z - best) / self.typical, initial=0.0)) for z in equal]
        self.other_way = equal[int(np.argmax(apart))] if max(apart) > DIFFERENT else None
        return best

    def near(self, begin: Array, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
        """Return the pose (n,) that ``begin`` leads to, as near to ``wanted`` as its branch comes."""
        with self.patience(PATIENCE):
            z = self.approach(begin, wanted, pinned, weights, 0.0)
        if not self.assembled(z):
            return z
        nearest = self.approach(z, wanted, pinned, weights, 1.0)
        return nearest if self.assembled(nearest) else z

    def unwound(self, z: Array, wanted: Array, pinned: NDArray[np.bool_]) -> Array:
        """Take whole turns off free angles, so that each lies within half a turn of what was wanted: the same pose."""
        tables = self.equations.tables
        free = ~pinned & (tables.dofs.kind == REVOLUTE) & (tables.dofs.pitch == 0.0)
        free[tables.drivers.dof] = False
        z = np.where(free, z - TURN * np.round((z - wanted) / TURN), z)
        for i in np.flatnonzero(tables.dofs.reference >= 0):
            size = np.linalg.norm(z[i : i + 3])
            if not pinned[i] and size > 0.5 * TURN:
                z[i : i + 3] *= 1.0 - TURN / size  # the same rotation, the other way round
        return z


def turns(reference: NDArray[np.int64], z: Array) -> csc_array:
    """Return the matrix (n, n) from changes of z to what Phi_z takes: T(delta) of rotation dofs, else the identity."""
    n, first = len(z), np.flatnonzero(reference >= 0)
    own = (first[:, None] + np.arange(3)).ravel()
    plain = np.setdiff1d(np.arange(n), own)
    rows = np.concatenate((plain, np.repeat(own, 3)))
    columns = np.concatenate((plain, np.tile(own.reshape(-1, 1, 3), (1, 3, 1)).ravel()))
    blocks = right_jacobian(z[own.reshape(-1, 3)])
    return csc_array(coo_array((np.concatenate((np.ones(len(plain)), blocks.ravel())), (rows, columns)), shape=(n, n)))


def check_closed(assembly: Assembly, gap: Array, pinned: NDArray[np.bool_]) -> None:
    """Refuse a start whose loops stay open; raises StartError naming the joint, the gap and the pins."""
    if worst_of(gap) <= REFUSED:
        return
    system, scale = assembly.equations.system, assembly.scale
    row = int(np.argmax(np.where(np.isfinite(gap), np.abs(gap), np.inf)))
    closure, unit = system.closure_of_row[row], "" if system.row_is_rotation[row] else " m"
    name = system.closure_names[closure] if closure >= 0 else system.row_names[row]
    together = system.block_of_row == system.block_of_row[row]
    size = float(np.linalg.norm((gap * scale)[together]))
    alone = assembly.gap_alone(np.flatnonzero(system.closure_of_row == closure), pinned) if closure >= 0 else 0.0
    alone_told = ", and it stays open where all other loops may be open" if alone > REFUSED else ""
    pins = [name for name, pin in zip(system.coordinate_names, pinned, strict=True) if pin]
    hint = f"; pinned initial values: {', '.join(pins[:6])}{' ...' if len(pins) > 6 else ''}" if pins else ""
    if any(joint.type == "Floating" and pinned[list(joint.dofs)].any() for joint in system.joints.values()):
        hint += " (the position of a Floating joint leads from its point on the one body to its point on the other)"
    raise StartError(
        f"the loop at {name!r} cannot close: a gap of {size:.4g}{unit} is left at"
        f" the nearest pose found{alone_told}; check the points and lengths of this loop{hint}, or give an initial"
        " value closer to a closed pose"
    )
