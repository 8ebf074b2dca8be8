"""Modes against closed forms.

Modes of bodies that spin on ball and floating joints: in axes in which the motion is steady.
"""

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.errors import InputError
from tests.studies.analysis.cases import G, chain, sleeping_top, turning_pendulum


def test_a_hanging_chain_has_the_zeros_of_a_laguerre_polynomial():
    """20 equal masses: w^2 = g / l times the zeros of L_20; for many links the zeros of Bessel's J0 (METHODS 1.35)."""
    count, length = 20, 0.3
    found = rtmbs.modes(rtmbs.Simulation(chain(count, length).compile()))
    zeros = np.polynomial.laguerre.lagroots(np.eye(count + 1)[count])
    np.testing.assert_allclose(found.frequencies, np.sqrt(G / length * zeros) / (2 * np.pi), rtol=1e-9)
    np.testing.assert_allclose(found.damping, 0.0, atol=1e-9)
    assert found.stable
    assert found.shapes.shape == (count, count)


def test_a_long_chain_comes_near_to_bessel():
    count, whole = 60, 2.0
    found = rtmbs.modes(rtmbs.Simulation(chain(count, whole / count).compile()))
    bessel = np.array([2.404825557695773, 5.520078110286311]) / 2.0 * np.sqrt(G / whole) / (2 * np.pi)
    np.testing.assert_allclose(found.frequencies[:2], bessel, rtol=2e-2)


def test_nutation_and_precession_of_a_top():
    """It w^2 - Iz W w + m g l = 0 of an upright top on its pivot, It about the pivot."""
    spin, mass, height, transverse, axial = 60.0, 0.5, 0.2, 0.03, 0.005
    found = rtmbs.modes(rtmbs.Simulation(sleeping_top(spin, mass, height, transverse, axial).compile()))
    It = transverse + mass * height**2
    roots = np.abs(np.roots([It, -axial * spin, mass * G * height]))
    np.testing.assert_allclose(
        np.sort(found.frequencies[found.frequencies > 1e-3]), np.sort(roots) / (2 * np.pi), rtol=1e-6
    )


def test_a_governor_in_its_turn():
    rate, length = 8.0, 0.5
    found = rtmbs.modes(rtmbs.Simulation(turning_pendulum(rate, length).compile()))
    wanted = rate * np.sqrt(1.0 - (G / (length * rate**2)) ** 2) / (2.0 * np.pi)
    np.testing.assert_allclose(found.frequencies, [wanted], rtol=1e-6)


@pytest.mark.parametrize("length", [1.0, 1e3, 1e2, 1.0 / 0.0254, 1.0 / 0.3048, 1e-3])
@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_a_rod_between_two_balls_turns_about_itself_once_in_any_unit(length, damping):
    """Rounding makes the double zero a real pair in one unit and an imaginary one in another."""
    model = rtmbs.Model("rod", gravity=(0.0, 0.0, -9.81 * length))
    a, b, foot = (length * np.array(p) for p in ((0.08, 0.0, 0.02), (0.45, 0.07, 0.25), (0.35, 0.1, 0.05)))
    reach = np.linalg.norm(b - a)
    along = (b - a) / reach
    inertia = 0.025 * reach**2 * (np.eye(3) - np.outer(along, along)) + 1e-6 * length**2 * np.outer(along, along)
    small = (1e-3 * length**2,) * 3
    model.add_body("crank", mass=0.4, center_of_mass=a / 2, inertia=small)
    model.add_body("rocker", mass=0.9, position=foot, center_of_mass=(b - foot) / 2, inertia=small)
    model.add_body("rod", mass=0.3, position=a, center_of_mass=(b - a) / 2, inertia=inertia)
    model.add_joint("A", rtmbs.Revolute(axis=(0, 0, 1)), model.ground, "crank", point=(0, 0, 0))
    model.add_joint("D", rtmbs.Revolute(axis=(0.3, 1.0, 0.2)), model.ground, "rocker", point=foot)
    model.add_joint("B", rtmbs.Spherical(), "crank", "rod", point=a)
    model.add_joint("C", rtmbs.Spherical(), "rod", "rocker", point=b)
    spring = rtmbs.TorsionSpring(stiffness=3.0 * length**2, damping=damping * length**2)
    model.add_force("spring", spring, joint="A")
    found = rtmbs.equilibrium(model.compile()).modes
    assert len(found.frequencies) == 2
    assert found.frequencies[0] < 1e-4 * found.frequencies[1]
    assert found.stable


def test_directions_that_nothing_holds_are_modes_once():
    """Two free rails are two modes, one with a damper decays and stands still; a slow saddle keeps both its ways."""
    model = rtmbs.Model("rails", gravity=(0, 0, 0))
    for name, mass in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        model.add_body(name, mass=mass, inertia=(1, 1, 1))
        model.add_joint(f"rail_{name}", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", name)
    model.add_force("damper", rtmbs.TorsionSpring(stiffness=0.0, damping=6.0), joint="rail_c")
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    np.testing.assert_allclose(np.sort(found.eigenvalues.real), [-2.0, 0.0, 0.0, 0.0], atol=1e-12)
    model.add_force("unstable", rtmbs.TorsionSpring(stiffness=-2.0, damping=0.0), joint="rail_b")
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    np.testing.assert_allclose(np.sort(found.eigenvalues.real), [-2.0, -1.0, 0.0, 0.0, 1.0], atol=1e-12)


def damped(c):
    model = rtmbs.Model("damped", gravity=(0, 0, 0))
    body = model.add_body("mass", mass=2.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    ends = model.add_marker("a", "ground", point=(-1.0, 0, 0)), model.add_marker("b", body, point=(0.0, 0, 0))
    model.add_force("spring", rtmbs.SpringDamper(200.0, c, 1.0), between=ends)
    return rtmbs.Simulation(model.compile())


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.9, 1.5])
def test_damping_ratios(ratio):
    w = 10.0
    found = rtmbs.modes(damped(2.0 * ratio * w * 2.0))
    if ratio < 1.0:
        np.testing.assert_allclose([found.frequencies[0], found.damping[0]], [w / (2 * np.pi), ratio], atol=1e-9)
        np.testing.assert_allclose(found.damped_frequencies, [w * np.sqrt(1 - ratio**2) / (2 * np.pi)])
    else:
        np.testing.assert_allclose(found.eigenvalues, w * (-ratio + np.array([1, -1]) * np.sqrt(ratio**2 - 1)))
        np.testing.assert_allclose(found.damping, 1.0)
    assert found.stable


def test_left_and_right_eigenvectors():
    sim = rtmbs.Simulation(chain(4).compile())
    found = rtmbs.modes(sim)
    A = found.linearisation.A
    np.testing.assert_allclose(A @ found.right, found.right * found.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(found.left.conj().T @ A, found.eigenvalues[:, None] * found.left.conj().T, atol=1e-7)
    np.testing.assert_allclose(np.diag(found.left.conj().T @ found.right), 1.0)


def test_what_falls_over_grows():
    model = chain(1, 0.5)
    model.set_initial("hinge_link0", position=np.pi, rate=0.0)
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    assert not found.stable
    np.testing.assert_allclose(np.sort(found.eigenvalues.real), [-np.sqrt(G / 0.5), np.sqrt(G / 0.5)])


def test_the_table_names_what_moves():
    text = str(rtmbs.modes(rtmbs.Simulation(chain(3).compile())))
    assert text.splitlines()[0].split() == ["Hz", "damping", "s", "[1/s]", "moves", "most"]
    assert "hinge_link2.angle 1" in text


def test_a_held_mechanism_has_no_modes():
    model = turning_pendulum()
    start = -np.arccos(G / (0.5 * 8.0**2))
    model.add_driver("hold", rtmbs.ConstantRate(0.0, start=start), joint="hinge_ball")
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    assert len(found.eigenvalues) == 0
    assert found.stable


def test_bad_input():
    with pytest.raises(InputError, match=r"^modes takes a Simulation or a Linearisation, not 'fourbar'"):
        rtmbs.modes("fourbar")


SPIN = 300.0  # [rad/s]
TURNED = Rotation.from_rotvec((0.4, -0.7, 1.1)).as_matrix()


def rotor(joint, inertia=(0.25, 0.16, 0.16), across=(1e4, 1e4), spin=SPIN, world=None, rod=False):
    """A disc about its first axis on a ball joint, held by springs at both ends; its axes and all else turned."""
    world = np.eye(3) if world is None else world
    model = rtmbs.Model("rotor", gravity=(0, 0, 0))
    frame = {"orientation": world}
    if joint == "gimbal":
        for name in ("outer", "inner"):
            model.add_body(name, mass=0.0, inertia=(0, 0, 0), **frame)
    model.add_body("disc", mass=10.0, inertia=inertia, **frame)
    if joint == "gimbal":
        chain = ("ground", "outer", "inner", "disc")
        for k, axis in enumerate((1, 2, 0)):
            model.add_joint(f"hinge{k}", rtmbs.Revolute(tuple(world[:, axis])), chain[k], chain[k + 1], point=(0, 0, 0))
        model.set_initial("hinge2", rate=spin)
    else:
        model.add_joint("ball", joint, model.ground, "disc", point=(0, 0, 0))
        rates = (spin, 0.0, 0.0)
        model.set_initial("ball", rate=(0.0, 0.0, 0.0, *rates) if isinstance(joint, rtmbs.Floating) else rates)
    stiffness = world @ np.diag((0.0, *across)) @ world.T
    for side in (-1.0, 1.0):
        ends = [
            model.add_marker(f"{name} {side:g}", name, tuple(side * world[:, 0]), frame="ground")
            for name in ("ground", "disc")
        ]
        model.add_force(
            f"spring {side:g}",
            lambda t, kinematics, p: np.concatenate((-stiffness @ kinematics.r, 0.0 * kinematics.r)),
            between=tuple(ends),
        )
    if rod:
        foot = model.add_marker("foot", "ground", tuple(world @ (1.0, 0.0, -0.7)))
        model.add_rod("rod", between=("disc 1", foot))
    return rtmbs.Simulation(model.compile())


def paces(found):
    """Return |Im s| of all modes that oscillate, in order."""
    return np.sort(np.abs(found.eigenvalues.imag[np.abs(found.eigenvalues) > 1e-3 * SPIN]))


def whirl(k, inertia, spin):
    """Return w of It w^2 +- Ip W w - 2 k = 0, of a symmetric disc on springs at a distance of 1 m."""
    p, q = inertia[0] * spin / (2.0 * inertia[1]), 2.0 * k / inertia[1]
    return np.sort([np.sqrt(p * p + q) - p, np.sqrt(p * p + q) + p])


@pytest.mark.parametrize("world", [np.eye(3), TURNED], ids=["upright", "turned"])
def test_whirls_of_a_ball_jointed_rotor(world):
    found = rtmbs.modes(rotor(rtmbs.Spherical(), world=world))
    np.testing.assert_allclose(paces(found), whirl(1e4, (0.25, 0.16, 0.16), SPIN), rtol=1e-9)
    assert found.axes.name == "parent"
    assert found.axes.steady
    assert "axes of the parent" in found.table()
    for i in range(len(found.eigenvalues)):  # what the eigenvectors belong to
        L, matrix = found.axes.map, np.linalg.solve(found.axes.map, found.axes.matrix @ found.axes.map)
        size = np.abs(matrix).max() * np.abs(found.right[:, i]).max()
        assert np.abs(matrix @ found.right[:, i] - found.eigenvalues[i] * found.right[:, i]).max() < 1e-9 * size
        assert L.shape == matrix.shape


@pytest.mark.parametrize("world", [np.eye(3), TURNED], ids=["upright", "turned"])
@pytest.mark.parametrize("rod", [False, True], ids=["free", "in a loop"])
def test_uneven_supports_as_in_a_gimbal(world, rod):
    """Supports that do not turn are uneven: only axes of the parent have constant coefficients."""
    found = rtmbs.modes(rotor(rtmbs.Spherical(), across=(1e4, 3e4), world=world, rod=rod))
    other = rtmbs.modes(rotor("gimbal", across=(1e4, 3e4), world=world, rod=rod))
    assert found.axes.steady
    assert other.axes.steady
    np.testing.assert_allclose(paces(found), paces(other), rtol=1e-8)
    if rod:  # the rod holds one tilt, so nothing is left of the gyroscope
        np.testing.assert_allclose(paces(found), np.sqrt(2e4 / 0.16), rtol=1e-8)


def test_a_floating_rotor_has_the_same_whirls():
    found = rtmbs.modes(rotor(rtmbs.Floating(), world=TURNED))
    aside = np.sqrt(2e4 / 10.0)
    np.testing.assert_allclose(paces(found)[-4:], [aside, aside, *whirl(1e4, (0.25, 0.16, 0.16), SPIN)], rtol=1e-8)


def test_an_uneven_rotor_is_looked_at_in_its_own_axes():
    """Euler's equations beside the spin: with theta a small turn in body axes, w = theta' + W e1 x theta."""
    p, a, b = inertia = (0.25, 0.16, 0.21)
    found = rtmbs.modes(rotor(rtmbs.Spherical(), inertia=inertia))
    W, k = SPIN, 2e4
    A = np.zeros((4, 4))  # of theta2, theta3, w2, w3
    A[0, [1, 2]], A[1, [0, 3]] = (W, 1.0), (-W, 1.0)
    A[2, [0, 3]], A[3, [1, 2]] = (-k / a, (b - p) * W / a), (-k / b, (p - a) * W / b)
    wanted = scipy.linalg.eigvals(A)
    np.testing.assert_allclose(paces(found), np.sort(wanted.imag[wanted.imag > 0.0]), rtol=1e-9)
    assert found.axes.name == "body"
    assert found.axes.steady
    assert "turn with the body" in found.table()


def test_what_is_uneven_on_both_sides_is_said():
    found = rtmbs.modes(rotor(rtmbs.Spherical(), inertia=(0.25, 0.16, 0.21), across=(1e4, 3e4)))
    assert not found.axes.steady
    assert "not steadily" in found.table()


def test_a_ball_jointed_top_is_the_gimballed_one():
    spin, mass, height, transverse, axial = 60.0, 0.5, 0.2, 0.03, 0.005
    model = rtmbs.Model("top", gravity=(0, 0, -G))
    model.add_body("rotor", mass=mass, inertia=(transverse, transverse, axial), center_of_mass=(0, 0, height))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "rotor")
    model.set_initial("ball", rate=(0, 0, spin))
    found = rtmbs.modes(rtmbs.Simulation(model.compile()))
    other = rtmbs.modes(rtmbs.Simulation(sleeping_top(spin, mass, height, transverse, axial).compile()))
    np.testing.assert_allclose(np.abs(found.eigenvalues), np.abs(other.eigenvalues), rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("spin", [600.0, 1200.0])
def test_a_slow_precession_of_a_fast_top_is_not_steady(spin):
    """In neither axes: its nutation would be off by 4e-3, and its precession too."""
    mass, reach, across, along, tilt = 2.0, 0.1, 0.03, 0.005, 1.0
    pivot = across + mass * reach**2
    pace = np.roots((pivot * np.cos(tilt), -along * spin, mass * G * reach)).real.min()
    model = rtmbs.Model("top")
    axes = Rotation.from_euler("x", tilt).as_matrix()
    model.add_body("top", mass=mass, center_of_mass=(0, 0, reach), inertia=(across, across, along), orientation=axes)
    model.add_joint("ball", rtmbs.Spherical(), "ground", "top", point=(0, 0, 0))
    upright = np.array((0.0, 0.0, 1.0))
    turn = pace * upright + (spin - pace * np.cos(tilt)) * axes[:, 2]
    model.set_initial("ball", rate=tuple(axes.T @ turn))
    found = rtmbs.modes(rtmbs.Simulation(model.compile(), h=1e-4))
    assert not found.axes.steady
    assert "not steadily" in found.table()


def test_a_swing_at_its_lowest_point_is_not_steady():
    """Its coefficients are even in the angle, so they have no slope there."""
    model = rtmbs.Model("swing", gravity=(0, 0, -G))
    model.add_body("bob", mass=1.0, inertia=(0.1, 0.2, 0.3), center_of_mass=(0, 0, -0.5))
    model.add_joint("hinge", rtmbs.Revolute((1, 0, 0)), "ground", "bob")
    model.set_initial("hinge", rate=2.0)
    assert not rtmbs.modes(rtmbs.Simulation(model.compile())).axes.steady


def test_a_crank_in_motion_is_not_steady():
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile())
    found = rtmbs.modes(sim)
    assert not found.axes.steady
    assert "not steadily" in found.table()


def test_campbell_says_where_the_motion_is_not_steady():
    def at(spin):
        return rotor(rtmbs.Spherical(), inertia=(0.25, 0.16, 0.21), across=(1e4, 3e4), spin=spin)

    assert "not steady at spin = 100, 200" in rtmbs.campbell(at, [0.0, 100.0, 200.0], "spin").table()
    even = rtmbs.campbell(lambda spin: rotor(rtmbs.Spherical(), spin=spin), np.linspace(0.0, 800.0, 17), "spin")
    backward = np.sqrt(2e4 / (0.16 + 0.25))
    assert min(abs(value - backward) for value, _ in even.critical(1.0)) < 1e-4 * backward
    assert "not steady" not in even.table()
