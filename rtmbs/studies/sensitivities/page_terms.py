"""Terms for tapes of a step: loop equations and energies in the page form, laws called in Python (METHODS 1.7, 1.37).

``semirecursive/page.py`` writes ratios of couplers into an array of floats, which cannot hold a traced number. With
traced ratios it evaluates the couplers without them, and the products with the coordinates are added here. The rules of
``semirecursive/page.py`` hold. Loads whose work a balance does not count stand in no component that keeps one.

Force laws that are called in Python have tapes with exact derivatives along the branches that they take. A law with an
``if`` is another function on each of its branches. A step knows the branch of every law at each iterate.
"""

# Traced arrays pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.ad.interpret import interpreted
from rtmbs.ad.program import lowered
from rtmbs.ad.simd_programs import SimdProgram
from rtmbs.ad.trace import RecordedPath, path_at
from rtmbs.ad.traced import recorder
from rtmbs.errors import InputError
from rtmbs.forces.algebra import points, relative_motion, take
from rtmbs.forces.bushings import PRELOAD
from rtmbs.numerics.rotations.plain import cross, dot, logarithm, turn
from rtmbs.semirecursive import page as untyped_page
from rtmbs.semirecursive import page_elements as untyped_arrays
from rtmbs.semirecursive.page import mass_geometry
from rtmbs.semirecursive.page_elements import motion, path_sum
from rtmbs.system.system import CalledLaw, System
from rtmbs.system.tables import FRAME_INPUTS, GRAVITY_SLOT, ROTATION

# Arrays of several namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls


page: Any = untyped_page


def closures(xp, tables, u, R0, z):
    """Return Phi (B, m)."""
    bare, C = split(xp, tables)
    return with_products(xp, tables, page.closures(xp, bare, u, R0, z), C, z)


def closure_velocities(xp, tables, u, R0, z, zd):
    """Return Phid (B, m)."""
    bare, C = split(xp, tables)
    return with_products(xp, tables, page.closure_velocities(xp, bare, u, R0, z, zd), C, zd)


def closure_accelerations(xp, tables, u, R0, z, zd, zdd):
    """Return Phidd (B, m)."""
    bare, C = split(xp, tables)
    return with_products(xp, tables, page.closure_accelerations(xp, bare, u, R0, z, zd, zdd), C, zdd)


def closure_jacobian(xp, tables, u, R0, z):
    """Return Phi_z (B, m, n)."""
    bare, C = split(xp, tables)
    J = page.closure_jacobian(xp, bare, u, R0, z)
    if C is None:
        return J
    first, last = coupled(tables)
    each = xp.stack([C] * z.shape[0])
    return xp.concatenate((J[:, :first], each, J[:, last:]), axis=1)


def loop_force(xp, tables, u, R0, lam, z):
    """Return Phi_z^T lam (B, n); lam (m,) or (B, m)."""
    return xp.sum(closure_jacobian(xp, tables, u, R0, z) * lam[..., :, None], axis=-2)


def split(xp, tables):
    """Return tables without traced or complex ratios, and these ratios (k, n); None where ratios are floats."""
    ratio = tables.couplers.ratio
    if isinstance(ratio, np.ndarray) and ratio.dtype.kind == "f":
        return tables, None
    connectors, n = tables.connectors, len(tables.dofs.parent)
    numbers = tables.closures.connector[int(tables.couplers.first[0]) :]
    rows, begin = [], int(connectors.pointer[numbers[0]])
    for number in numbers:
        branch = range(int(connectors.pointer[number]), int(connectors.pointer[number + 1]))
        own = {int(connectors.dof[e]): ratio[e - begin] for e in branch}
        rows.append(xp.stack([own.get(i, 0.0 * ratio[0]) for i in range(n)]))
    return tables._replace(couplers=tables.couplers._replace(ratio=np.zeros(ratio.shape[0]))), xp.stack(rows)


def coupled(tables):
    """Return the first row of couplers, and the first behind them."""
    return int(tables.closures.row_pointer[int(tables.couplers.first[0])]), len(tables.closures.kind)


def with_products(xp, tables, rows, C, x):
    """Return rows (B, m) with ratios C (k, n) times x (B, n) added to those of the couplers."""
    if C is None:
        return rows
    first, last = coupled(tables)
    added = rows[:, first:last] + xp.sum(C * x[:, None, :], axis=-1)
    return xp.concatenate((rows[:, :first], added, rows[:, last:]), axis=1)


# Arrays of several namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls


def members(tables):
    """Return one mask (n,) for each component that keeps a balance."""
    return [tables.balance.component == first for first in tables.balance.first]


def kinetic(xp, tables, R0, z, v, w):
    """Return v . M w (B, k) of each component; v, w (B, n)."""
    T, A, r, S, V = motion(xp, tables, R0, z, v)
    W = path_sum(xp, T, S * w[..., None])
    g, J = mass_geometry(xp, tables, A, r)
    mass = tables.dofs.mass
    v_g, w_g = (x[..., :3] + cross(xp, x[..., 3:], g) for x in (V, W))
    each = mass * dot(xp, v_g, w_g) + dot(xp, V[..., 3:], turn(xp, J, W[..., 3:]))
    return summed(xp, [xp.sum(each * mask, axis=-1) for mask in members(tables)])


def summed(xp, columns):
    """Return columns (B,) side by side (B, k)."""
    return xp.stack(columns, axis=-1)


def potential(xp, tables, u, R0, z):
    """Return weight, elastic energy and potentials of constant loads (B, k) of each component."""
    _, A, r, _, V = motion(xp, tables, R0, z, 0 * z)
    gravity = u[GRAVITY_SLOT : GRAVITY_SLOT + 3]
    center = r + turn(xp, A, tables.dofs.mass_center) - placed(tables.origins)
    weight = -tables.dofs.mass * dot(xp, center, gravity)
    stored = [(weight, np.arange(len(tables.dofs.mass)))]
    stored += [(elastic + load, dof) for elastic, load, dof in elements(xp, tables, u, z, A, r, V)]
    return summed(xp, [sum(xp.sum(one * mask[dof], axis=-1) for one, dof in stored) for mask in members(tables)])


def placed(origins):
    """Return the origins (n, 3) of the parts of all dofs at the reference pose, from which heights are measured."""
    origin = origins.grid[:, None] * np.floor(origins.fixed / origins.grid[:, None] + 0.5)
    return np.where(origins.row[:, None] == -1, 0.0, np.vstack((np.zeros((1, 3)), origin))[-1 - origins.row])


def exchange(xp, tables, u, R0, z):
    """Return the energy (B, k) that each component can exchange with its kinetic one, as in the balance of a step."""
    _, A, r, _, V = motion(xp, tables, R0, z, 0 * z)
    gravity = u[GRAVITY_SLOT : GRAVITY_SLOT + 3]
    reach = xp.sqrt(dot(xp, gravity, gravity)) * tables.balance.length[0]
    stored = [(tables.dofs.mass * reach + 0 * z, np.arange(len(tables.dofs.mass)))]
    stored += [(xp.sqrt(elastic * elastic), dof) for elastic, _, dof in elements(xp, tables, u, z, A, r, V)]
    return summed(xp, [sum(xp.sum(one * mask[dof], axis=-1) for one, dof in stored) for mask in members(tables)])


def elements(xp, tables, u, z, A, r, V):
    """Return elastic energies (B, e), those of constant loads, and the dof of each, kind by kind."""
    dof, slot = tables.joint_forces.dof, tables.joint_forces.slot
    stretch = take(z, dof) - u[slot + 2]
    found = [(0.5 * u[slot] * stretch * stretch, -u[slot + 3] * take(z, dof), dof)]
    for table, energy in ((tables.forces.springs, spring_energy), (tables.forces.bushings, bushing_energy)):
        if len(table.connector):
            found.append((*energy(xp, tables, u, A, r, V), lower_ends(tables, table.connector)))
    return found


def lower_ends(tables, connector):
    """Return the dof (k,) of the lower end of connectors."""
    return np.maximum(tables.connectors.a, tables.connectors.b)[connector]


def spring_energy(xp, tables, u, A, r, V):
    """Return stiffness / 2 (l - length)^2 and tension l (B, ns)."""
    springs = tables.forces.springs
    x_a, _ = points(xp, A, r, V, tables.connectors.a[springs.connector], springs.point_a)
    x_b, _ = points(xp, A, r, V, tables.connectors.b[springs.connector], springs.point_b)
    d, slot = x_b - x_a, springs.slot
    l = xp.sqrt(dot(xp, d, d))
    return 0.5 * u[slot] * (l - u[slot + 2]) * (l - u[slot + 2]), u[slot + 3] * l


def bushing_energy(xp, tables, u, A, r, V):
    """Return q . K q / 2 and -preload . q (B, nb)."""
    bushings = tables.forces.bushings
    frames = bushings.frame_a, bushings.frame_b
    _, _, r_b, R, _, _ = relative_motion(xp, tables.connectors, bushings.connector, *frames, A, r, V)
    q, slot = xp.concatenate((r_b, logarithm(xp, R)), axis=-1), bushings.slot[:, None]
    K = u[slot + np.arange(36)].reshape(len(slot), 6, 6)
    return dot(xp, 0.5 * turn(xp, K, q), q), -dot(xp, u[slot + PRELOAD + np.arange(6)], q)


def damped(xp, tables, u, h, way, change):
    """Return the work (B, k) of joint dampers over a step: -d (way^2 / h + h/12 change^2), of rates ``change``."""
    dof, slot = tables.joint_forces.dof, tables.joint_forces.slot
    own, more = take(way, dof), take(change, dof)
    work = -u[slot + 1] * (own * own / h + h / 12.0 * more * more)
    return summed(xp, [xp.sum(work * mask[dof], axis=-1) for mask in members(tables)])


def change_of_acceleration(xp, dofs, h, before, zd, zdd):
    """Return zdd - before (B, n), for a rotation less h zd x zdd, which its increment includes (METHODS 1.7)."""
    columns = []
    for i in range(len(dofs.kind)):
        change = zdd[:, i] - before[:, i]
        if dofs.kind[i] == ROTATION:
            first = int(dofs.tip[i]) - 2
            j, k = first + (i - first + 1) % 3, first + (i - first + 2) % 3
            change = change - h * (zd[:, j] * zdd[:, k] - zd[:, k] * zdd[:, j])
        columns.append(change)
    return xp.stack(columns, axis=-1)


Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Ways = tuple[int, ...]  # the number of the path of every called law
XP = untyped_arrays.recursive(recorder)
AGREED = 1e-9  # of its values: a tape that says something else than its law


@dataclass
class BranchedLaw:
    """One law and the branches met so far."""

    law: CalledLaw
    paths: list[RecordedPath] = field(default_factory=list)
    programs: list[SimdProgram] = field(default_factory=list)

    def ways(self, x: Array, p: Array) -> Integers:
        """Return the numbers (K,) of the branches at inputs (K, n) and parameters (K, k)."""
        found = np.full(len(x), -1)
        for number in range(len(self.paths)):
            self.settle(found, number, x, p)
        for row in range(len(x)):
            if found[row] < 0:
                self.meet(x[row], p[row])
                self.settle(found, len(self.paths) - 1, x, p)
                found[row] = len(self.paths) - 1
        return found

    def settle(self, found: Integers, number: int, x: Array, p: Array) -> None:
        """Write the number of a branch where none was found before and its conditions hold."""
        left = np.flatnonzero(found < 0)
        if len(left):
            found[left[self.paths[number].holds(self.programs[number](x[left], p[left]))]] = number

    def meet(self, x: Array, p: Array) -> None:
        """Record the branch at a point; raises InputError for a law that no tape holds."""
        name, values = self.law.name, self.law.function(x, p)
        function = self.law.function.__self__  # type: ignore[attr-defined]
        try:
            path = path_at(function, len(values), x, p)
        except Exception as error:  # the user's function meets traced numbers: it may raise anything
            raise InputError(
                f"force {name!r} is called in Python, and has no exact derivative: {str(error).split('. ')[0]}"
            ) from error
        program = SimdProgram(lowered(path.tape))
        found = program(x[None], p[None])[0, : len(values)]
        if not np.all(np.abs(found - values) <= AGREED * max(np.abs(values).max(), 1e-300)):
            raise InputError(
                f"force {name!r} was recorded as {found.tolist()} where a call gives {values.tolist()}; it must do the "
                "same with recorded values as with numbers"
            )
        self.paths.append(path)
        self.programs.append(program)


def kinds_of(rows: Integers) -> tuple[Integers, Integers]:
    """Return the distinct rows (c, w), and the index (K,) of each row (K, w) among them."""
    if np.array_equal(rows, np.broadcast_to(rows[:1], rows.shape)):
        return rows[:1], np.zeros(len(rows), np.int64)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    return kinds, which.ravel()


class PythonLaws:
    """All force laws of a System that are called in Python."""

    def __init__(self, system: System) -> None:
        self.laws, self.tables = [BranchedLaw(law) for law in system.called], system.tables

    def __bool__(self) -> bool:
        return bool(self.laws)

    def inputs(self, tables: Any, R0: Any, z: Any, zd: Any) -> list[Any]:
        """Return the inputs (n,) of every law at z, zd (n,)."""
        kinematics = page.called_kinematics(XP, tables, R0, z[None], zd[None])[0]
        found, recorded = [], int(tables.laws.counts[0])
        for law in (one.law for one in self.laws):
            if law.row >= 0:
                found.append(kinematics[law.row - recorded].reshape(FRAME_INPUTS))
            else:
                mine = tables.laws.input[tables.laws.force_entry[law.entry : law.entry + law.n, 1]]
                found.append(XP.stack([(zd if rate else z)[dof] for dof, rate in mine]))
        return found

    def ways(self, inputs: Array, u: Array) -> Integers:
        """Return the ways (K, laws) of inputs (K, sum of n), law after law, and of inputs of the System u (K, nu)."""
        if not self.laws:
            return np.zeros((len(u), 0), np.int64)
        ends = np.cumsum([one.law.n for one in self.laws])[:-1]
        parts = zip(self.laws, np.split(inputs, ends, axis=1), strict=True)
        columns = [one.ways(np.ascontiguousarray(x), np.ascontiguousarray(u[:, one.law.slot])) for one, x in parts]
        return np.column_stack(columns)

    def forces(self, row: Any, z: Any, zd: Any, ways: Sequence[int]) -> Any:
        """Return the generalised forces (n,) of all laws on their ways."""
        tables, u, R0 = row
        wrenches: list[Any] = []
        forces: list[Any] = []
        inputs = self.inputs(tables, R0, z, zd)
        for one, x, way in zip(self.laws, inputs, ways, strict=True):
            path = one.paths[way]
            values = interpreted(recorder, one.programs[way].program, x[None], u[one.law.slot], slice(path.m))[0]
            (wrenches if one.law.row >= 0 else forces).append(values)
        W = XP.stack(wrenches)[None] if wrenches else np.zeros((1, 0, 6))
        Q = XP.concatenate(forces)[None] if forces else np.zeros((1, 0))
        return page.called_forces(XP, tables, R0, z[None], zd[None], W, Q)[0]
