"""Phi and its derivatives: hand-written forms, complex step, differences, and the closures of a Simulation."""

import numpy as np
import pytest

import rtmbs
from bench.measures.driven import chain_of_everything, paper_slider_crank, random_triad
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.equations import KinematicEquations, Programs
from rtmbs.model import JOINT_TYPES
from rtmbs.numerics.rotations.quaternions import quaternions, rotations, world_rates
from rtmbs.semirecursive import page

SEEDS = range(6)


def at_random(seed, spread=0.3, left_out=()):
    """Return equations of a mechanism with every joint type, and a random place near its reference pose."""
    rng = np.random.default_rng(seed)
    equations = KinematicEquations(chain_of_everything(rng, left_out))
    q = equations.start + spread * rng.normal(size=equations.n)
    qd, lam = rng.normal(size=equations.n), rng.normal(size=equations.m)
    drivers = equations.drivers_at(np.array([rng.uniform(0.0, 2.0)]))[0]
    return rng, equations, q, qd, drivers, lam


@pytest.mark.parametrize("seed", SEEDS)
def test_the_jacobian_is_that_of_a_complex_step(seed):
    _, equations, q, *_ = at_random(seed, left_out=("Screw",))  # the angle of its pitch is an arctan2
    own = KinematicEquations(without_turns(equations.model))
    f = own.drivers_at(np.array([0.3]))[0, 0]
    J = Programs(own).jacobian(q, f).toarray()
    step = 1e-30
    columns = [own.phi(q + 1j * step * unit, f).imag / step for unit in np.eye(own.n)]
    np.testing.assert_allclose(J, np.array(columns).T, rtol=1e-12, atol=1e-13)
    assert own.m == equations.m - 2


def without_turns(model):
    """Take the driven angles away from a model: arctan2 knows no complex numbers."""
    for name in ("turn", "fork"):
        del model.drivers[name]
    return model


@pytest.mark.parametrize("seed", SEEDS)
def test_every_derivative_is_that_of_differences(seed):
    _, equations, q, qd, (f, fd, fdd), lam = at_random(seed, 0.05)
    programs, h = Programs(equations), 3e-4

    def along(s):
        return equations.phi(q + s * qd, f + s * fd + 0.5 * s * s * fdd)

    J = programs.jacobian(q, f).toarray()
    first = (8.0 * (along(h) - along(-h)) - along(2 * h) + along(-2 * h)) / (12.0 * h)
    np.testing.assert_allclose(J @ qd + programs.by_time(q, f, fd), first, rtol=0, atol=1e-8)
    second = (16.0 * (along(h) + along(-h)) - along(2 * h) - along(-2 * h) - 30.0 * along(0.0)) / (12.0 * h * h)
    np.testing.assert_allclose(-programs.acceleration_side(q, qd, np.array((f, fd, fdd))), second, rtol=1e-6, atol=3e-6)
    ahead, behind = (programs.jacobian(q + s * qd, f + s * fd).toarray().T @ lam for s in (h, -h))
    np.testing.assert_allclose(
        programs.bent(q, qd, np.array((f, fd, fdd)), lam), (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_those_written_by_hand(seed):
    """Each joint by its conditions of Haug: coincident points, d1, d2, in matrices."""
    _, equations, q, _, drivers, _ = at_random(seed, 0.1)
    phi, bodies = equations.phi(q, drivers[0]), q[: SIZE * len(equations.bodies)].reshape(-1, SIZE)
    A, r = rotations(bodies[:, 3:]), bodies[:, :3]
    number = {name: k for k, name in enumerate(equations.bodies)}
    for joint in equations.model.joints.values():
        a, b = number[joint.a.name], number[joint.b.name]
        d = r[a] + A[a] @ joint.point_a - r[b] - A[b] @ joint.point_b
        own = phi[[owner == joint.name for owner in equations.rows.owner]]
        frame_a, frame_b = A[a] @ joint.axes_a, A[b] @ joint.axes_b
        wanted = [
            (frame_a @ row.u) @ d if row.kind == "translation" else (frame_a @ row.u) @ (frame_b @ row.v)
            for row in joint.type.equations()
        ]
        if isinstance(joint.type, rtmbs.Screw):  # the row of its pitch: tests/physics/test_screw.py
            own = own[:-1]
        if joint.type.equations()[:1] and {row.label for row in joint.type.equations()} >= {"x", "y", "z"}:
            wanted[:3] = d
        np.testing.assert_allclose(own, wanted, rtol=0, atol=1e-13)
    norms = phi[[label == "norm" for label in equations.rows.label]]
    np.testing.assert_allclose(norms, np.sum(bodies[:, 3:] ** 2, axis=1) - 1.0, rtol=0, atol=1e-14)
    rod = equations.model.rods["rod"]
    ends = [r[number[m.body.name]] + A[number[m.body.name]] @ m.point for m in rod.between]
    distance = np.linalg.norm(ends[1] - ends[0])
    assert phi[equations.row_names.index("rod.distance")] == pytest.approx(
        (distance**2 - rod.length**2) / (2 * rod.length), abs=1e-13
    )


# A floating joint has no rows, and those of a joint with a pitch are of its auxiliary body.
@pytest.mark.parametrize("kind", [name for name in JOINT_TYPES if name not in ("Floating", "Screw")])
@pytest.mark.parametrize("seed", range(3))
def test_joint_rows_are_the_closures_of_a_simulation(kind, seed):
    """Two bodies on floating joints, closed by a joint: Phi at any pose, and Phi_q qd against Phi_z zd."""
    rng = np.random.default_rng((seed, 5))
    model = rtmbs.Model("pair")
    for name in "ab":
        place, turn = rng.normal(size=3), random_triad(rng)
        model.add_body(name, mass=1.0, inertia=(1, 1, 1), position=place, orientation=turn)
        model.add_joint(f"free_{name}", rtmbs.Floating(), "ground", name, point=(0, 0, 0))
    model.add_joint(
        "closed", JOINT_TYPES[kind].example(random_triad(rng)), "a", "b", point=rng.normal(size=3), cut=True
    )
    system = model.compile()
    z, zd = 0.2 * rng.normal(size=(1, system.n)), rng.normal(size=(1, system.n))
    R0, u = np.tile(np.eye(3), (2, 1, 1)), system.u0
    wanted = page.closures(np, system.tables, u, R0, z)[0]
    rate = page.closure_velocities(np, system.tables, u, R0, z, zd)[0]
    q, qd = coordinates_of(system, R0, z, zd)
    equations = KinematicEquations(model)
    programs, own = Programs(equations), [owner == "closed" for owner in equations.rows.owner]
    found, speed = programs.phi(q, np.zeros(0))[own], (programs.jacobian(q, np.zeros(0)) @ qd)[own]
    carrier = rotations(q[None, SIZE + 3 : 2 * SIZE])[0] @ model.joints["closed"].axes_a
    if found.size >= 3 and system.row_names[0].endswith(".x"):  # ours in world axes, theirs in those of body a
        spin = np.array(world_rates(q[None, SIZE + 3 : 2 * SIZE])[0] @ qd[SIZE + 3 : 2 * SIZE])
        speed[:3] = carrier.T @ (speed[:3] - np.cross(spin, found[:3]))
        found[:3] = carrier.T @ found[:3]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(speed, rate, rtol=0, atol=1e-11)


def coordinates_of(system, R0, z, zd):
    """Return q and qd of the state of a System, from the swept frames and velocities."""
    _, A, r, _, V = page.motion(np, system.tables, R0, z, zd)
    q, qd = [np.array([0, 0, 0, 1.0, 0, 0, 0])], [np.zeros(7)]
    for info in list(system.bodies.values())[1:]:
        turn = A[0, info.dof] @ info.rotation
        place = r[0, info.dof] + A[0, info.dof] @ info.position
        e = quaternions(turn[None])[0]
        omega = V[0, info.dof, 3:]
        ed = 0.25 * world_rates(e[None])[0].T @ omega
        q.append(np.concatenate((place, e)))
        qd.append(np.concatenate((V[0, info.dof, :3] + np.cross(omega, place), ed)))
    return np.concatenate(q), np.concatenate(qd)


def test_the_tape_is_made_once_and_its_jacobian_is_sparse():
    programs = Programs(KinematicEquations(paper_slider_crank()))
    entries = len(programs.values.row)
    assert entries < 0.2 * programs.m * programs.n
    assert programs.tape.operations < 400
