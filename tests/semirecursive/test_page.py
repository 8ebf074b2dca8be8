"""``page.py`` against things it does not share: virtual power about mass centres, energy, closed forms, derivatives.

The reference below knows positions only, written step by step with rotation matrices; velocities come from complex
steps of positions, accelerations from differences of those velocities.
"""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import jacobian, make_vjp

from rtmbs.semirecursive import page, page_elements
from rtmbs.system.dof_layout import elements_of
from rtmbs.system.tables import DISTANCE, PRISMATIC, RELATION, REVOLUTE, ROTATION, TRANSLATION
from tests.cases import quick
from tests.mechanisms import Mechanism, committed, exponential, random_motion, random_tables

TINY = 1e-40
SEEDS = (1, 2, 3, 4, 5)
CASES = quick(SEEDS, *SEEDS[:3])  # the large ones take seconds


@pytest.fixture(params=CASES)
def case(request):
    """A random mechanism of 3 to 30 dofs and a random state, rows of a batch of one."""
    mechanism, motion = random_case(request.param)
    return mechanism, as_batch(motion)


@pytest.fixture(params=CASES)
def boundary(request):
    """The same at a step boundary, where rates of rotation dofs are derivatives of their coordinates."""
    mechanism, motion = committed(*random_case(request.param))
    return mechanism, as_batch(motion)


def random_case(seed):
    mechanism = random_tables(seed, n=(3, 7, 12, 20, 30)[SEEDS.index(seed)])
    return mechanism, random_motion(seed, mechanism.tables)


def as_batch(motion):
    return motion._replace(z=motion.z[None], zd=motion.zd[None], zdd=motion.zdd[None])


def error(found, expected) -> float:
    """Return the largest difference relative to the largest entry."""
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300)


def complex_jacobian(f, x):
    """Return df/dx (k, n) of f: (1, n) -> (1, k) by complex steps, one row of the batch a direction."""
    steps = x + 1j * TINY * np.eye(x.shape[1])
    return np.concatenate([f(row[None]) for row in steps]).imag.T / TINY


def central_jacobian(f, x, step=1e-6):
    """Return df/dx (k, n) by central differences."""
    return np.concatenate([(f(x + e) - f(x - e)) / (2 * step) for e in step * np.eye(x.shape[1])]).T


# ----------------------------------------------------------------------------------- a reference that knows positions


def poses(mechanism, z):
    """Return lists A and r, ground last (so that index -1 is ground), one step after the other."""
    dofs = mechanism.tables.dofs
    A, r = [], []
    for i, p in enumerate(dofs.parent):
        A_parent, r_parent = (A[p], r[p]) if p >= 0 else (np.eye(3), np.zeros(3))
        frame = A_parent @ dofs.offset_rotation[i]
        if dofs.reference[i] >= 0:
            frame = frame @ mechanism.R0[dofs.reference[i]] @ exponential(z[i : i + 3] @ dofs.axis[i : i + 3])
        u, origin = dofs.axis[i], r_parent + A_parent @ dofs.offset[i]
        if dofs.kind[i] == REVOLUTE:  # columns: what the turn does to the unit vectors
            turned = [e * np.cos(z[i]) + np.cross(u, e) * np.sin(z[i]) + u * u[k] * (1 - np.cos(z[i]))
                      for k, e in enumerate(np.eye(3))]  # fmt: skip
            frame = frame @ np.array(turned).T
            origin = origin + frame @ u * (dofs.pitch[i] * z[i])
        elif dofs.kind[i] == PRISMATIC:
            origin = origin + frame @ u * z[i]
        A.append(frame)
        r.append(origin)
    grounds = 1 + len(mechanism.tables.origins.fixed)  # the last rows are ground
    return [*A, *[np.eye(3)] * grounds], [*r, *[np.zeros(3)] * grounds]


def point(mechanism, z, dof, local):
    A, r = poses(mechanism, z)
    return r[dof] + A[dof] @ local


def spin(rate_of_A, A):
    """Return w of dA A^T = w~."""
    W = rate_of_A @ A.T
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def directional(f, z, dz):
    """Return the derivative of f (any shape) along dz by a complex step."""
    return np.asarray(f(z + 1j * TINY * dz)).imag / TINY


def centres_and_frames(mechanism, z):
    A, r = poses(mechanism, z)
    centres = [r[i] + A[i] @ c for i, c in enumerate(mechanism.tables.dofs.mass_center)]
    return np.array(centres), np.array(A[: len(z)])


def twists(mechanism, z, zd):
    """Return velocities of the mass centres and angular velocities (n, 3)."""
    _, A = centres_and_frames(mechanism, z)
    v = directional(lambda x: centres_and_frames(mechanism, x)[0], z, zd)
    Ad = directional(lambda x: centres_and_frames(mechanism, x)[1], z, zd)
    return v, np.array([spin(*pair) for pair in zip(Ad, A, strict=True)])


def reference_residual(mechanism, z, zd, zdd):
    """Return M zdd - Q by virtual power: inertia about mass centres, every force by the motion of its own point."""
    tables, u = mechanism.tables, mechanism.u
    dofs, units = tables.dofs, np.eye(len(z))
    _, A = centres_and_frames(mechanism, z)
    J = np.array([A[i] @ dofs.inertia[i] @ A[i].T for i in range(len(z))])
    w = twists(mechanism, z, zd)[1]

    def along(t):
        return np.array(twists(mechanism, z + t * zd + t * t / 2 * zdd, zd + t * zdd))

    h = 1e-3  # sixth-order difference of exact velocities
    rates = sum(c * (along(k * h) - along(-k * h)) for k, c in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))) / h
    force = dofs.mass[:, None] * (rates[0] - u[:3])
    torque = np.array([J[i] @ rates[1, i] + np.cross(w[i], J[i] @ w[i]) for i in range(len(z))])
    inertia = [
        sum((virtual * [force, torque]).ravel()) for virtual in (np.array(twists(mechanism, z, e)) for e in units)
    ]
    return np.array(inertia) - np.array([applied_power(mechanism, z, zd, e) for e in units])


def applied_power(mechanism, z, zd, virtual):
    """Return the power of joint forces, springs and wrenches on a virtual velocity."""
    tables, u = mechanism.tables, mechanism.u
    power = 0.0
    for i, slot in zip(tables.joint_forces.dof, tables.joint_forces.slot, strict=True):
        k, c, rest, load = u[slot : slot + 4]
        power += (-k * (z[i] - rest) - c * zd[i] + load) * virtual[i]
    for s, slot in enumerate(tables.forces.springs.slot):
        k, c, rest, tension = u[slot : slot + 4]
        length = spring_length(mechanism, s)
        pull = k * (length(z) - rest) + c * directional(length, z, zd) + tension
        power -= pull * directional(length, z, virtual)
    _, A = centres_and_frames(mechanism, z)
    for k, slot in enumerate(tables.forces.wrenches.slot):
        b = tables.connectors.b[tables.forces.wrenches.connector[k]]
        f, n = u[slot : slot + 3], u[slot + 3 : slot + 6]
        if tables.forces.wrenches.follows[k]:
            f, n = A[b] @ tables.forces.wrenches.axes[k] @ f, A[b] @ tables.forces.wrenches.axes[k] @ n
        move = directional(lambda x, k=k, b=b: point(mechanism, x, b, tables.forces.wrenches.point[k]), z, virtual)
        power += f @ move + n @ twists(mechanism, z, virtual)[1][b]
    return power


def spring_length(mechanism, s):
    tables = mechanism.tables
    connector = tables.forces.springs.connector[s]

    def length(z):
        x_a = point(mechanism, z, tables.connectors.a[connector], tables.forces.springs.point_a[s])
        d = point(mechanism, z, tables.connectors.b[connector], tables.forces.springs.point_b[s]) - x_a
        return np.sqrt(d @ d)

    return length


def reference_closures(mechanism, z):
    """Return Phi row by row."""
    tables, u = mechanism.tables, mechanism.u
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    A, r = poses(mechanism, z)
    Phi = []
    for l in range(len(closures.point_a)):
        a, b = connectors.a[l], connectors.b[l]
        x_a, x_b = r[a] + A[a] @ closures.point_a[l], r[b] + A[b] @ closures.point_b[l]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            axis_a, axis_b = A[a] @ closures.axis_a[row], A[b] @ closures.axis_b[row]
            if closures.kind[row] == TRANSLATION:
                Phi.append(axis_a @ (x_a - x_b))
            elif closures.kind[row] == DISTANCE:
                slot, length = closures.slot[row], closures.length[row]
                target = u[slot] if slot >= 0 else length
                Phi.append(((x_b - x_a) @ (x_b - x_a) - target**2) / (2 * length))
            elif closures.kind[row] == RELATION:
                here, begin = slice(*connectors.pointer[l : l + 2]), connectors.pointer[tables.couplers.first[0]]
                ratio = tables.couplers.ratio[here.start - begin : here.stop - begin]
                constant = u[closures.slot[row]] if closures.slot[row] >= 0 else closures.length[row]
                Phi.append(sum(c * z[i] for c, i in zip(ratio, connectors.dof[here], strict=True)) - constant)
            else:
                Phi.append(axis_a @ axis_b)
            Phi[-1] = Phi[-1] - closures.assembly_offset[row]
    return np.array(Phi + [z[i] - u[slot] for i, slot in zip(drivers.dof, drivers.slot, strict=True)])


# --------------------------------------------------------------------------------------------------- physics, by seed


def test_frames_agree_with_the_walk_step_by_step(case):
    mechanism, motion = case
    A, r = page.frames(np, mechanism.tables, mechanism.R0, motion.z)
    A_walk, r_walk = poses(mechanism, motion.z[0])
    assert error(A[0], A_walk[: A.shape[1]]) < 1e-13
    assert error(r[0], r_walk[: A.shape[1]]) < 1e-13


def test_velocities_are_those_of_the_points_at_the_origin(boundary):
    mechanism, motion = boundary
    *_, V = page.motion(np, mechanism.tables, mechanism.R0, motion.z, motion.zd)
    centre, _ = centres_and_frames(mechanism, motion.z[0])
    v, w = twists(mechanism, motion.z[0], motion.zd[0])
    bearing = mechanism.tables.dofs.tip == np.arange(len(v))  # within an element V is a sum on the way
    expected = np.concatenate((v - np.cross(w, centre), w), axis=1)
    assert error(V[0, bearing], expected[bearing]) < 1e-12


def test_residual_is_virtual_power_about_mass_centres(boundary):
    mechanism, (z, zd, zdd, *_) = boundary
    expected = reference_residual(mechanism, z[0], zd[0], zdd[0])
    assert error(page.inverse_dynamics(np, *mechanism, z, zd, zdd)[0], expected) < 1e-11


def test_mass_matrix_and_force_make_the_residual(case):
    mechanism, (z, zd, zdd, alpha, _) = case
    M, Q = page.mass_matrix(np, *mechanism, z), page.force(np, *mechanism, z, zd)
    Phi, Phi_z = page.closures(np, *mechanism, z), page.closure_jacobian(np, *mechanism, z)
    expected = M[0] @ zdd[0] - Q[0] + Phi_z[0].T @ (alpha * Phi[0])
    assert error(page.residual(np, *mechanism, alpha, z, zd, zdd)[0], expected) < 1e-12
    assert error(M[0], M[0].T) < 1e-13
    assert np.linalg.eigvalsh(M[0])[0] > 0


def kinetic_energy(mechanism, z, zd):
    return page.dot(np, zd, page.turn(np, page.mass_matrix(np, *mechanism, z), zd))[0] / 2


def potential_energy(mechanism, z):
    tables, u = mechanism.tables, mechanism.u
    centres, _ = centres_and_frames(mechanism, z[0])
    energy = -np.sum(tables.dofs.mass[:, None] * centres * u[:3])
    for i, slot in zip(tables.joint_forces.dof, tables.joint_forces.slot, strict=True):
        energy += u[slot] * (z[0, i] - u[slot + 2]) ** 2 / 2 - u[slot + 3] * z[0, i]
    for s, slot in enumerate(tables.forces.springs.slot):
        length = spring_length(mechanism, s)(z[0])
        energy += u[slot] * (length - u[slot + 2]) ** 2 / 2 + u[slot + 3] * length
    return energy


def test_power_of_the_residual_is_the_rate_of_energy(boundary):
    """Without dampers and given wrenches: zd . (M zdd - Q) = d/dt (kinetic + potential)."""
    mechanism, (z, zd, zdd, *_) = boundary
    u = mechanism.u.copy()
    u[np.concatenate((mechanism.tables.forces.springs.slot, mechanism.tables.joint_forces.slot)) + 1] = 0.0
    u[(mechanism.tables.forces.wrenches.slot[:, None] + np.arange(6)).ravel()] = 0.0
    mechanism = mechanism._replace(u=u)
    zt, zdt = z + 1j * TINY * zd, zd + 1j * TINY * zdd
    rate = (kinetic_energy(mechanism, zt, zdt) + potential_energy(mechanism, zt)).imag / TINY
    power = np.sum(zd * page.inverse_dynamics(np, *mechanism, z, zd, zdd))
    assert abs(power - rate) < 1e-12 * np.abs(zd * page.inverse_dynamics(np, *mechanism, z, zd, zdd)).sum()


# -------------------------------------------------------------------------------------------------------------- loops


def test_closures_row_by_row(case):
    mechanism, motion = case
    expected = reference_closures(mechanism, motion.z[0])
    assert error(page.closures(np, *mechanism, motion.z)[0], expected) < 1e-12


def test_closure_jacobian_and_loop_force(boundary):
    mechanism, motion = boundary
    expected = complex_jacobian(lambda z: reference_closures(mechanism, z[0])[None], motion.z)
    assert error(page.closure_jacobian(np, *mechanism, motion.z)[0], expected) < 1e-12
    assert error(page.loop_force(np, *mechanism, motion.lam, motion.z)[0], expected.T @ motion.lam) < 1e-12


def later(mechanism, t):
    """Return the inputs at time t: drivers and driven distances follow f + fd t + fdd t^2 / 2, fd + fdd t, fdd."""
    u = mechanism.u.astype(type(t))
    driven = mechanism.tables.closures.slot
    for slot in np.concatenate((mechanism.tables.drivers.slot, driven[driven >= 0])):
        f, fd, fdd = mechanism.u[slot : slot + 3]
        u[slot : slot + 3] = f + fd * t + fdd * t * t / 2, fd + fdd * t, fdd
    return mechanism._replace(u=u)


def test_closure_rates_are_time_derivatives(boundary):
    mechanism, (z, zd, zdd, *_) = boundary
    t = 1j * TINY
    zt, zdt = z + t * zd, zd + t * zdd
    Phid = page.closures(np, *later(mechanism, t), zt).imag / TINY
    Phidd = page.closure_velocities(np, *later(mechanism, t), zt, zdt).imag / TINY
    assert error(page.closure_velocities(np, *mechanism, z, zd), Phid) < 1e-12
    assert error(page.closure_accelerations(np, *mechanism, z, zd, zdd), Phidd) < 1e-12


def test_every_row_is_blind_to_a_common_rigid_motion(case):
    """The wrenches of a connector are opposite about the origin: columns above the common ancestor cancel."""
    mechanism, motion = case
    tables = mechanism.tables
    T, A, r, S, V = page.motion(np, tables, mechanism.R0, motion.z, motion.zd)
    G, _ = page.row_wrenches(np, tables, A, r, V)
    connector = page.row_connectors(tables)
    on_b, on_a = (
        page.on_ground(np, T[None], 0 * T[0], ends[connector])[0] for ends in (tables.connectors.b, tables.connectors.a)
    )
    both = (on_b - on_a)[None] * np.einsum("bmk,bnk->bmn", G, S)  # by T, without the branches of the tables
    frames = int(tables.closures.row_pointer[tables.couplers.first[0]])  # couplers see coordinates alone
    assert error(page.closure_jacobian(np, *mechanism, motion.z)[:, :frames], both[:, :frames]) < 1e-14
    assert not np.any(both[:, frames:])


# -------------------------------------------------------------------------------------------------------- derivatives


def test_derivatives_of_the_force_vouch_for_each_other(case):
    mechanism, (z, zd, *_) = case
    n = z.shape[1]
    by_z, by_zd = (lambda x: page.force(np, *mechanism, x, zd)), (lambda x: page.force(np, *mechanism, z, x))
    exact = complex_jacobian(by_z, z), complex_jacobian(by_zd, zd)
    assert error(central_jacobian(by_z, z), exact[0]) < 1e-7
    assert error(central_jacobian(by_zd, zd), exact[1]) < 1e-8

    rows = np.ones((n, 1))  # row i of the batch gives row i of the Jacobian, all in one reverse pass
    for k, derivative in enumerate(exact):
        state = [rows * z, rows * zd]
        pull, _ = make_vjp(lambda x, k=k, s=state: page.force(anp, *mechanism, *s[:k], x, *s[k + 1 :]))(state[k])
        assert error(pull(np.eye(n)), derivative) < 1e-12


@pytest.mark.parametrize("case", quick(SEEDS, 1), indirect=True)
def test_autograd_goes_through_the_other_functions(case):
    mechanism, (z, zd, zdd, alpha, lam) = case
    functions = {
        "residual": lambda xp, x: page.residual(xp, *mechanism, alpha, x, zd, zdd),
        "loop_force": lambda xp, x: page.loop_force(xp, *mechanism, lam, x),
        "closures": lambda xp, x: page.closures(xp, *mechanism, x),
        "closure_velocities": lambda xp, x: page.closure_velocities(xp, *mechanism, x, zd),
        "closure_accelerations": lambda xp, x: page.closure_accelerations(xp, *mechanism, x, zd, zdd),
        "mass_matrix": lambda xp, x: xp.sum(page.mass_matrix(xp, *mechanism, x), axis=-1),
    }
    for name, f in functions.items():
        traced = jacobian(lambda x, f=f: f(anp, x))(z)[0, :, 0]
        assert error(traced, complex_jacobian(lambda x, f=f: f(np, x), z)) < 1e-12, name


# --------------------------------------------------------------------------------------------------------- namespaces

STRICT = SimpleNamespace(**{name: getattr(np, name) for name in page_elements.ALLOWED})
RECURSIVE = page_elements.recursive(STRICT)


class Scalar:
    """One recorded number, as a recorder of scalar operations sees it; here it only counts the operations."""

    count = 0

    def __init__(self, value):
        self.value = value

    @staticmethod
    def make(value):
        Scalar.count += 1
        return Scalar(value)

    def __add__(self, x):
        return Scalar.make(self.value + getattr(x, "value", x))

    def __sub__(self, x):
        return Scalar.make(self.value - getattr(x, "value", x))

    def __mul__(self, x):
        return Scalar.make(self.value * getattr(x, "value", x))

    def __truediv__(self, x):
        return Scalar.make(self.value / getattr(x, "value", x))

    def __rsub__(self, x):
        return Scalar.make(x - self.value)

    def __neg__(self):
        return Scalar.make(-self.value)

    def sin(self):
        return Scalar.make(np.sin(self.value))

    def cos(self):
        return Scalar.make(np.cos(self.value))

    def sqrt(self):
        return Scalar.make(np.sqrt(self.value))

    __radd__, __rmul__ = __add__, __mul__


def everything(xp, mechanism, z, zd, zdd, alpha, lam):
    """Return the value of every function of a state, by name."""
    return {
        "mass_matrix": page.mass_matrix(xp, *mechanism, z),
        "force": page.force(xp, *mechanism, z, zd),
        "residual": page.residual(xp, *mechanism, alpha, z, zd, zdd),
        "closures": page.closures(xp, *mechanism, z),
        "closure_velocities": page.closure_velocities(xp, *mechanism, z, zd),
        "closure_accelerations": page.closure_accelerations(xp, *mechanism, z, zd, zdd),
        "closure_jacobian": page.closure_jacobian(xp, *mechanism, z),
        "loop_force": page.loop_force(xp, *mechanism, lam, z),
    }


@pytest.mark.parametrize("xp", [STRICT, RECURSIVE], ids=["allowed functions only", "sums by recursion"])
def test_namespaces_give_the_same_numbers(case, xp):
    mechanism, motion = case
    expected = everything(np, mechanism, *motion)
    for name, value in everything(xp, mechanism, *motion).items():
        assert error(value, expected[name]) < 1e-13, name


def test_recorded_scalars_pass():
    mechanism = random_tables(6, n=5)
    motion = random_motion(6, mechanism.tables)
    z, zd, zdd = (x[None] for x in motion[:3])
    expected = everything(np, mechanism, z, zd, zdd, *motion[3:])
    recorded = (np.vectorize(Scalar, otypes=[object])(x) for x in (z, zd, zdd))
    for name, value in everything(RECURSIVE, mechanism, *recorded, *motion[3:]).items():
        numbers = np.vectorize(lambda x: getattr(x, "value", x), otypes=[float])(value)
        assert error(numbers, expected[name]) < 1e-13, name


def test_rows_of_a_batch_do_not_mix(case):
    mechanism, motion = case
    other = random_motion(77, mechanism.tables)
    both = [np.concatenate((x, y[None])) for x, y in zip(motion[:3], other[:3], strict=True)]
    together = everything(np, mechanism, *both, motion.alpha, motion.lam)
    alone = everything(np, mechanism, *motion)
    for name, value in together.items():
        assert error(value[:1], alone[name]) < 1e-13, name


# ------------------------------------------------------------------------------------------------------- closed forms


def single_chain(kinds, axes, mass, mass_center, inertia, offset=None):
    """Return a serial chain without closures and forces; gravity (0, 0, -9.81)."""
    n = len(kinds)
    mechanism = random_tables(0, n, closures=(), drivers=0, joint_forces=0, springs=0, wrenches=0)
    kind, parent = np.array(kinds), np.arange(-1, n - 1)
    reference = np.where((kind == ROTATION) & (np.append(-1, kind[:-1]) != ROTATION), 0, -1)
    base, tip = elements_of(parent, reference)
    dofs = mechanism.tables.dofs._replace(
        kind=kind,
        parent=parent,
        base=base,
        tip=tip,
        offset_rotation=np.tile(np.eye(3), (n, 1, 1)),
        offset=np.zeros((n, 3)) if offset is None else np.array(offset, dtype=float),
        axis=np.array(axes, dtype=float),
        reference=reference,
        mass=np.array(mass, dtype=float),
        mass_center=np.array(mass_center, dtype=float),
        inertia=np.array([np.diag(J) for J in inertia], dtype=float),
    )
    return Mechanism(mechanism.tables._replace(dofs=dofs), np.array([0.0, 0.0, -9.81]), np.eye(3)[None])


def acceleration(mechanism, z, zd):
    z, zd = np.array([z], dtype=float), np.array([zd], dtype=float)
    return np.linalg.solve(page.mass_matrix(np, *mechanism, z)[0], page.force(np, *mechanism, z, zd)[0])


def test_a_body_under_gravity_alone_falls():
    body = single_chain([PRISMATIC] * 3 + [REVOLUTE] * 3, np.tile(np.eye(3), (2, 1)), [0] * 5 + [3], [[0, 0, 0]] * 6,
                        [[0, 0, 0]] * 5 + [[1, 2, 2.5]])  # fmt: skip
    found = acceleration(body, [0.3, 0.1, 5, 0.2, -0.4, 0.5], [1, 2, 3, 0, 0, 0])
    assert np.allclose(found, [0, 0, -9.81, 0, 0, 0], atol=1e-13)


def test_physical_pendulum():
    m, c, J, angle = 2.0, 0.7, 0.3, 0.9
    pendulum = single_chain([REVOLUTE], [[1, 0, 0]], [m], [[0, 0, -c]], [[J, 9, 9]], offset=[[4, 5, 6]])
    found = acceleration(pendulum, [angle], [3.0])
    assert found == pytest.approx(-m * 9.81 * c * np.sin(angle) / (J + m * c * c), rel=1e-13)


def test_bead_on_a_turning_rod():
    """About the vertical: s'' = s w^2, and the rod's turn w' = -2 s s' w / s^2 for a massless rod."""
    bead = single_chain([REVOLUTE, PRISMATIC], [[0, 0, 1], [1, 0, 0]], [0, 1.5], [[0, 0, 0]] * 2, [[0, 0, 0]] * 2)
    s, sd, w = 0.8, 0.6, 2.5
    found = acceleration(bead, [0.4, s], [w, sd])
    assert np.allclose(found, [-2 * sd * w / s, s * w * w], rtol=1e-13)


def test_torque_free_body_turns_by_euler():
    """The rates of a rotation are the body's angular velocity in its own axes, at every pose."""
    J = np.array([1.0, 2.0, 2.5])
    body = single_chain([ROTATION] * 3, np.eye(3), [0, 0, 1], [[0, 0, 0]] * 3, [[0, 0, 0]] * 2 + [J])
    w = np.array([0.5, -0.7, 1.1])
    for delta in ([0, 0, 0], [0.4, -1.2, 0.9]):
        assert np.allclose(acceleration(body, delta, w), -np.cross(w, J * w) / J, rtol=1e-12)
