"""Bushings: deformations, wrench, energy and tangent against independent means; inputs, groups, files, bad input."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import ModelError
from rtmbs.forces.bushings import curve_values, spline
from rtmbs.language import build, write
from rtmbs.model.forces import curve
from rtmbs.semirecursive import page, page_elements
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.passes import commit_rotations
from rtmbs.semirecursive.sources import SOURCES, PageForce, make_source
from tests.mechanisms import exponential, random_rotation

POINTS = ((-1.0, -30.0), (-0.2, -5.0), (0.0, 0.0), (0.3, 10.0), (1.0, 80.0))
SOFT = ((-2.0, -10.0), (-0.5, 0.0), (0.4, 3.0), (2.0, 50.0))


def symmetric(rng, scale=10.0):
    """Return a positive definite stiffness (6, 6)."""
    B = rng.normal(size=(6, 6))
    return scale * (B @ B.T + np.eye(6))


def two_bodies(seed, **bushing):
    """Return a base that floats, a body on a ball in it, and a bushing in skew axes between the two."""
    rng = np.random.default_rng(seed)
    model = rtmbs.Model("bushed", gravity=rng.normal(size=3) - (0.0, 0.0, 9.81))
    for name, mass in (("base", 1.3), ("arm", 27.0)):
        model.add_body(
            name,
            mass=mass,
            center_of_mass=0.2 * rng.normal(size=3),
            inertia=mass * np.array((0.1, 0.2, 0.25)),
            position=rng.normal(size=3),
            orientation=random_rotation(rng),
        )
    model.add_joint("free", rtmbs.Floating(), "ground", "base")
    model.add_joint("ball", rtmbs.Spherical(), "base", "arm", point=(0.1, 0.2, 0.3))
    turn = random_rotation(rng)
    model.add_marker("a", "base", rng.normal(size=3), axes=turn)
    tilt = exponential(0.8 * rng.normal(size=3))
    model.add_marker("b", "arm", rng.normal(size=3), axes=turn @ tilt)
    values = {"stiffness": symmetric(rng), "damping": symmetric(rng, 0.1)} | bushing
    model.add_force("bush", rtmbs.Bushing(**values), between=("a", "b"))
    return model


def state_of(system, seed):
    """Return z at a step boundary, zd and R0 of a random state."""
    rng = np.random.default_rng((seed, 5))
    z, zd, R0 = 0.5 * rng.normal(size=system.n), rng.normal(size=system.n), system.R0.copy()
    commit_rotations(system.tables.dofs, z, R0)
    return z, zd, R0


CASES = {
    "linear": {},
    "one number": {"stiffness": 50.0, "damping": 1.0},
    "no damping": {"damping": 0.0},
    "preload": {"force": (3.0, -2.0, 1.0), "torque": (0.3, 0.5, -0.7)},
    "curves": {"curve_x": POINTS, "curve_rz": SOFT, "curve_ry": POINTS},
    "asymmetric": {"stiffness": np.arange(36.0).reshape(6, 6), "damping": np.arange(36.0)[::-1].reshape(6, 6)},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("source", SOURCES)
def test_tangent_agrees_with_every_source(case, source):
    system = two_bodies(1, **CASES[case]).compile()
    z, zd, R0 = state_of(system, 1)
    equations = SemiRecursiveEquations(system)
    equations.residual(z, zd, np.zeros(system.n), R0)
    found = equations.assemble(0.0, 0.0, 1.0), equations.assemble(0.0, 1.0, 0.0)
    wanted = make_source(source, system)(z, zd, R0, system.u0)
    exact = source in ("complex-step", "autograd", "autograd-forward", "trace")
    for mine, theirs in zip(found, wanted, strict=True):
        scale = max(np.abs(mine).max(), 1.0)
        np.testing.assert_allclose(mine, theirs, atol=(1e-11 if exact else 1e-5) * scale)


@pytest.mark.parametrize("case", CASES)
def test_kernel_is_the_page(case):
    system = two_bodies(2, **CASES[case]).compile()
    z, zd, R0 = state_of(system, 2)
    mine = SemiRecursiveEquations(system).force(z, zd, R0)
    theirs = PageForce(system)(np.concatenate((z, zd))[None], np.concatenate((system.u0, R0.ravel())))[0]
    np.testing.assert_allclose(mine, theirs, atol=1e-12 * np.abs(theirs).max())


@pytest.mark.parametrize("case", ["linear", "one number", "preload", "curves"])
def test_force_is_minus_the_gradient_of_the_energy(case):
    """Central differences of the energy along every coordinate, in sixth order."""
    model = two_bodies(3, **CASES[case] | {"damping": 0.0})
    model.gravity = np.zeros(3)
    system = model.compile()
    z, _, R0 = state_of(system, 3)
    equations, still = SemiRecursiveEquations(system), np.zeros(system.n)
    Q = equations.force(z, still, R0)
    weights, gradient, h = (45.0, -9.0, 1.0), np.zeros(system.n), 1e-2
    for i in range(system.n):
        for k, weight in enumerate(weights, start=1):
            step = np.zeros(system.n)
            step[i] = k * h
            ahead, behind = (equations.energies(z + sign * step, still, R0)[2] for sign in (1.0, -1.0))
            gradient[i] += weight * (ahead - behind) / (60.0 * h)
    # a curve's third derivative jumps at its points
    np.testing.assert_allclose(-gradient, Q, atol=(3e-4 if case == "curves" else 1e-8) * np.abs(Q).max())


def test_damping_takes_what_its_quadratic_form_says():
    """Power of the bushing is -qd . C qd, by the channels of a motion, for a full C and large rotations."""
    rng = np.random.default_rng(4)
    C = symmetric(rng, 0.05)
    model = two_bodies(4, stiffness=0.0, damping=C)
    model.gravity = np.zeros(3)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    sim.state.zd[:] = rng.normal(size=sim.system.n)
    result = sim.run(0.3, record=rtmbs.Every(0.002))
    qd = np.column_stack((result["bush.displacement_rate"], result["bush.rotation_rate"]))
    lost = np.einsum("si,ij,sj->s", qd, C, qd)
    E = np.asarray(result["energy.total"])
    t = np.asarray(result["t"])
    for s in range(5, len(t) - 5, 10):
        slope = (E[s + 1] - E[s - 1]) / (t[s + 1] - t[s - 1])
        np.testing.assert_allclose(-slope, lost[s], rtol=5e-3, atol=1e-6)


def test_channels_measure_large_rotations():
    """Channels against the rotation vector of scipy and the forces of the formula, written here again."""
    from scipy.linalg import expm
    from scipy.spatial.transform import Rotation

    K = symmetric(np.random.default_rng(7))
    model = two_bodies(7, stiffness=K, damping=0.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    result = sim.run(0.3, record=rtmbs.Every(0.05))
    markers = {name: model.markers[name] for name in "ab"}

    def axes(name, s):
        marker = markers[name]
        w, *xyz = result[f"{marker.body.name}.orientation"][s]
        return Rotation.from_quat([*xyz, w]).as_matrix() @ marker.axes

    largest = 0.0
    for s in range(len(result["t"])):
        A, B = axes("a", s), axes("b", s)
        theta = Rotation.from_matrix(A.T @ B).as_rotvec()
        r = A.T @ (result["b.position"][s] - result["a.position"][s])
        np.testing.assert_allclose(result["bush.rotation"][s], theta, atol=1e-12)
        np.testing.assert_allclose(result["bush.displacement"][s], r, atol=1e-12)
        p = -K @ np.concatenate((r, theta))
        np.testing.assert_allclose(result["bush.force"][s], p[:3], atol=1e-10 * np.abs(p).max())
        # J by its definition: exp((theta + d)~) = exp((J d)~) exp(theta~)
        J = np.array([left_column(expm, theta, e) for e in np.eye(3)]).T
        n = np.linalg.solve(J.T, p[3:])
        np.testing.assert_allclose(result["bush.torque"][s], n, atol=1e-6 * np.abs(p).max())
        energy = 0.5 * np.concatenate((r, theta)) @ K @ np.concatenate((r, theta))
        np.testing.assert_allclose(result["bush.energy"][s], energy, rtol=1e-11)
        largest = max(largest, np.linalg.norm(theta))
    assert largest > 0.5


def left_column(expm, theta, e, h=1e-6):
    def tilde(x):
        return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])

    W = (expm(tilde(theta + h * e)) - expm(tilde(theta - h * e))) / (2 * h) @ expm(tilde(theta)).T
    return W[2, 1], W[0, 2], W[1, 0]


# ------------------------------------------------------------------------------------------------------------- curves


def test_a_curve_goes_through_its_points_smoothly_and_monotone():
    table = curve(POINTS, "curve")
    columns = spline(table)
    for x, f in POINTS:
        assert curve_values(*columns, len(table), np.float64(x))[0] == pytest.approx(f, abs=1e-12)
        near = [curve_values(*columns, len(table), np.float64(x + d))[1] for d in (-1e-9, 1e-9)]
        assert near[0] == pytest.approx(near[1], rel=1e-6)
    q = np.linspace(-1.5, 1.5, 1001)
    f, slope, stored = np.array([curve_values(*columns, len(table), one) for one in q]).T
    assert np.all(np.diff(f) > 0.0)
    middle = slice(1, -1)
    np.testing.assert_allclose(np.gradient(stored, q)[middle], f[middle], atol=1e-2)
    np.testing.assert_allclose(np.gradient(f, q)[middle], slope[middle], atol=1.0)
    assert curve_values(*columns, len(table), np.float64(0.0))[2] == pytest.approx(0.0, abs=1e-14)


def test_a_straight_curve_is_a_stiffness():
    straight = [(-1.0, -30.0), (0.0, 0.0), (0.5, 15.0)]
    K = np.zeros(6)
    K[0] = 30.0
    curved = two_bodies(8, stiffness=0.0, curve_x=straight).compile()
    linear = two_bodies(8, stiffness=K).compile()
    z, zd, R0 = state_of(linear, 8)
    one, other = (SemiRecursiveEquations(system) for system in (curved, linear))
    np.testing.assert_allclose(one.force(z, zd, R0), other.force(z, zd, R0), atol=1e-11)
    assert one.energies(z, zd, R0)[2] == pytest.approx(other.energies(z, zd, R0)[2])


# --------------------------------------------------------------------------------------------------- inputs and files


def test_inputs_by_name():
    sim = rtmbs.Simulation(two_bodies(9).compile(), h=1e-3)
    K = np.asarray(sim.inputs["bush.stiffness"])
    assert K.shape == (6, 6)
    before = sim.state.zdd.copy()
    sim.inputs["bush.stiffness"] = 2.0 * K
    assert np.max(np.abs(sim.state.zdd - before)) > 1e-3
    sim.inputs["bush.force"] = (100.0, 0.0, 0.0)
    sim.run(0.01)


def test_a_preload_may_be_a_function_of_time():
    timed = two_bodies(10, force=lambda t: (3.0, -2.0, 1.0)).compile()
    constant = two_bodies(10, force=(3.0, -2.0, 1.0)).compile()
    ends = [rtmbs.Simulation(system, h=1e-3) for system in (timed, constant)]
    for sim in ends:
        sim.run(0.05)
    np.testing.assert_array_equal(ends[0].state.z, ends[1].state.z)


def test_fingerprint_knows_curves_and_axes():
    prints = {
        two_bodies(11, **case).compile().fingerprint
        for case in ({}, {"curve_x": POINTS}, {"curve_y": POINTS}, {"curve_x": SOFT})
    }
    assert len(prints) == 4


def several(threads):
    """Return a simulation of three separate mechanisms with bushings to ground, curves in one of them."""
    model = rtmbs.Model("three")
    rng = np.random.default_rng(12)
    for k in range(3):
        model.add_body(f"b{k}", mass=1.0 + k, inertia=(0.1, 0.2, 0.25), position=(k, 0, 0))
        model.add_joint(f"j{k}", rtmbs.Floating(), "ground", f"b{k}", point=(k, 0, 0))
        axes = random_rotation(rng)
        model.add_marker(f"g{k}", "ground", (k, 0.1, 0), axes=axes)
        model.add_marker(f"m{k}", f"b{k}", (k, 0.2, 0), axes=axes)
        curves = {"curve_z": POINTS} if k == 1 else {}
        model.add_force(f"f{k}", rtmbs.Bushing(symmetric(rng), 0.5, **curves), between=(f"g{k}", f"m{k}"))
    return rtmbs.Simulation(model.compile(), h=1e-3, threads=threads)


def test_groups_step_the_same_way():
    alone, shared = several(1), several(2)
    for sim in (alone, shared):
        sim.run(0.1)
    np.testing.assert_allclose(alone.state.z, shared.state.z, atol=1e-12)


def test_state_is_restored_bit_for_bit(tmp_path):
    system = two_bodies(13, curve_x=POINTS).compile()
    first, second = (rtmbs.Simulation(system, h=1e-3) for _ in range(2))
    first.run(0.02)
    first.state.save(tmp_path / "state")
    second.restore(tmp_path / "state")
    for sim in (first, second):
        sim.run(0.04)
    np.testing.assert_array_equal(first.state.z, second.state.z)


TEXT = """MODEL mount SYSTEM (DYNAMIC ANALYSIS);
BODY engine (mass = 10, inertia = (1, 2, 3));
triad a (body = ground); triad b (body = engine);
JOINT
bushing mount (triad = a, triad = b, stiffness = [1e4, 1e4, 2e4, 50, 60, 70], damping = 3,
  force = [0, 0, 98.1], curve z = [(-0.1, -500), (0, 0), (0.1, 800)]);
ENDMODEL
""".replace("JOINT\n", "floating joint free (body = ground, body = engine);\n")


def test_a_file_says_it_and_is_written():
    document = build(TEXT)
    law = document.model.forces["mount"].law
    np.testing.assert_array_equal(np.diag(law.stiffness), (1e4, 1e4, 2e4, 50, 60, 70))
    assert law.curve_z.shape == (3, 2)
    again = build(write(document))
    assert again.model.compile().fingerprint == document.model.compile().fingerprint
    np.testing.assert_array_equal(again.model.compile().u0, document.model.compile().u0)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"stiffness": (1.0, 2.0)}, ["'bush'", "stiffness", "6 x 6"]),
        ({"stiffness": float("nan")}, ["'bush'", "stiffness", "nan"]),
        ({"stiffness": "stiff"}, ["'bush'", "stiffness"]),
        ({"stiffness": 1.0, "damping": np.zeros((3, 3))}, ["'bush'", "damping", "6 x 6"]),
        ({"stiffness": 1.0, "force": (1.0, 2.0)}, ["'bush'", "force", "3 numbers"]),
        ({"stiffness": 1.0, "curve_x": [(0.0, 1.0)]}, ["'bush'", "curve_x", "two or more pairs"]),
        ({"stiffness": 1.0, "curve_rx": [(0.0, 1.0), (0.0, 2.0)]}, ["'bush'", "curve_rx", "ascend"]),
        ({"stiffness": 1.0, "curve_z": 5.0}, ["'bush'", "curve_z", "pairs"]),
    ],
)
def test_bad_values_are_refused(values, words):
    with pytest.raises(ModelError) as error:
        two_bodies(14, **values)
    for word in words:
        assert word in str(error.value)


def test_page_uses_allowed_functions_only():
    """Without curves, which branch, the page form needs what the page allows."""
    from types import SimpleNamespace

    strict = SimpleNamespace(**{name: getattr(np, name) for name in page_elements.ALLOWED})
    system = two_bodies(15).compile()
    z, zd, R0 = state_of(system, 15)
    force = page.force(strict, system.tables, system.u0, R0, z[None], zd[None])
    assert np.all(np.isfinite(force))
