"""Constraints written in plain NumPy: a bead on curves, a cam with its follower, and joints written by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs import PenaltyTrapezoidal, Simulation
from rtmbs.errors import InputError, ModelError
from rtmbs.model import Floating, Model, Prismatic, Revolute, Spherical
from rtmbs.simulation.options import by_name
from tests.contracts.machines import accepted_steps, beside, difference
from tests.mechanisms import random_rotation

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
G = 9.81


def parabola(t, pose, parameters):
    x, y, z = pose.r
    return y, z - 0.5 * x**2


def helix(t, pose, parameters):
    x, y, z = pose.r
    return x - np.cos(z / 0.3), y - np.sin(z / 0.3)


def bead(curve, place, mass=1.3, rate=None, **more):
    """A bead on a wire that is fixed in the world."""
    model = Model("bead")
    model.add_body("bead", mass=mass, inertia=(0.1, 0.2, 0.3), position=place)
    model.add_joint("free", Floating(), "ground", "bead", point=place)
    model.add_marker("origin", "ground")
    model.add_marker("ring", "bead", place)
    model.add_constraint("wire", curve, between=("origin", "ring"), **more)
    if rate is not None:
        model.set_initial("free", position=(0, 0, 0, 1, 0, 0, 0), rate=(*rate, 0, 0, 0))
    return model


def on_parabola(t):
    """Return position, velocity, acceleration (S,) along x and the force on the bead (S, 3)."""

    def rate(_, y):
        return y[1], (-G * y[0] - y[0] * y[1] ** 2) / (1.0 + y[0] ** 2)

    x, v = solve_ivp(rate, (0.0, t[-1]), [1.0, 0.0], "DOP853", t, rtol=1e-12, atol=1e-12).y
    a = rate(0.0, (x, v))[1]
    return x, v, a, 1.3 * np.stack((a, 0.0 * a, v * v + x * a + G), axis=1)


def test_a_bead_on_a_parabola_is_of_order_two():
    """Position, rate, acceleration and reaction against an integration of the reduced equation."""
    errors = []
    for h in (0.02, 0.01, 0.005):
        result = Simulation(
            bead(parabola, (1.0, 0.0, 0.5)).compile(), h=h, method=PenaltyTrapezoidal(hold_energy=False)
        ).run(1.0)
        x, v, a, force = on_parabola(result["t"])
        found = (
            result["ring.position"][:, 0] - x,
            result["ring.velocity"][:, 0] - v,
            result["ring.acceleration"][:, 0] - a,
            result["wire.reaction"][:, :3] - force,
        )
        errors.append([np.abs(one).max() for one in found])
        assert np.abs(result["wire.reaction"][:, 3:]).max() < 1e-9  # smooth wire: no torque about the ring
        assert np.abs(result["wire.violation"]).max() < 1e-6
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.all((orders[-1] > 1.9) & (orders[-1] < 2.5)), orders
    assert np.all(np.array(errors)[-1] < (1e-3, 1e-2, 3e-2, 5e-2)), errors


def test_a_bead_slides_down_a_helix():
    """Radius 1, climb 0.3 a radian: constant acceleration along the curve, closed form."""
    result = Simulation(bead(helix, (1.0, 0.0, 0.0)).compile(), h=1e-3).run(0.5)
    t, c = result["t"], 0.3
    spin = -G * c / (1.0 + c * c)  # of the angle
    angle, rate = 0.5 * spin * t**2, spin * t
    np.testing.assert_allclose(result["ring.position"][:, 2], c * angle, atol=1e-6)
    np.testing.assert_allclose(result["ring.velocity"][:, 2], c * rate, atol=1e-5)
    inward = -(rate**2)[:, None] * np.stack((np.cos(angle), np.sin(angle), 0 * t), axis=1)
    along = spin * np.stack((-np.sin(angle), np.cos(angle), c + 0 * t), axis=1)
    force = 1.3 * (inward + along + (0.0, 0.0, G))
    np.testing.assert_allclose(result["wire.reaction"][:, :3], force, atol=2e-3)


def test_a_wire_that_moves_by_a_function_of_time():
    """x = 0.2 sin(3 t), y = 0: the bead follows in position, rate, acceleration and force."""

    def swaying(t, pose, parameters):
        return pose.r[0] - parameters["width"] * np.sin(3.0 * t), pose.r[1]

    model = bead(swaying, (0.0, 0.0, 0.0), parameters={"width": 0.2})
    sim = Simulation(model.compile(), h=1e-3)
    assert len(sim.system.tables.balance.first) == 0  # work of the wire is not counted
    result = sim.run(2.0)
    t = result["t"]
    np.testing.assert_allclose(result["ring.position"][:, 0], 0.2 * np.sin(3 * t), atol=1e-8)
    np.testing.assert_allclose(result["ring.velocity"][:, 0], 0.6 * np.cos(3 * t), atol=1e-6)
    np.testing.assert_allclose(result["ring.acceleration"][:, 0], -1.8 * np.sin(3 * t), atol=1e-5)
    np.testing.assert_allclose(result["wire.reaction"][:, 0], 1.3 * -1.8 * np.sin(3 * t), atol=1e-4)
    assert sim.inputs["wire.width"] == 0.2


def test_a_parameter_does_not_open_the_loop_without_a_word():
    """A step would close it, moving the bead by any distance in one step."""

    def parabola(t, pose, parameters):
        return pose.r[1], pose.r[2] - parameters["width"] * pose.r[0] ** 2

    sim = Simulation(bead(parabola, (0.6, 0.0, 0.288), parameters={"width": 0.8}).compile(), h=1e-3)
    for value in (0.81, 0.8001):
        with pytest.raises(InputError, match=r"^input 'wire\.width' opens 'wire\.equation_2' by .* of its size"):
            sim.inputs["wire.width"] = value
    assert sim.inputs["wire.width"] == 0.8
    sim.inputs["wire.width"] = 0.8
    with pytest.raises(InputError, match=r"^input 'wire\.width' is a parameter of a constraint"):
        sim.inputs.ramp("wire.width")
    sim.run(0.1)
    assert np.max(np.abs(sim["wire.violation"])) < 1e-6


def test_a_parameter_that_changes_nothing_here_may_be_set():
    """At x = 0 the wire passes the same point, whatever its width."""

    def parabola(t, pose, parameters):
        return pose.r[1], pose.r[2] - parameters["width"] * pose.r[0] ** 2

    sim = Simulation(bead(parabola, (0.0, 0.0, 0.0), parameters={"width": 0.8}).compile(), h=1e-3)
    sim.inputs["wire.width"] = 2.0
    sim.run(0.05)
    assert sim.inputs["wire.width"] == 2.0


def cam(eccentricity=0.1):
    """A cam with a harmonic profile lifts a follower against gravity; it runs down by itself."""

    def profile(t, pose, parameters):
        angle, lift = pose.z
        return lift - parameters["size"] * (1.0 - np.cos(2.0 * angle))

    model = Model("cam", gravity=(0.0, 0.0, -G))
    model.add_body("cam", mass=2.0, inertia=(0.05, 0.05, 0.05))
    model.add_body("follower", mass=0.5, position=(0, 0, 1))
    model.add_joint("shaft", Revolute(Y), "ground", "cam")
    model.add_joint("guide", Prismatic(Z), "ground", "follower", point=(0, 0, 1))
    model.add_constraint("profile", profile, joints=["shaft", "guide"], parameters={"size": eccentricity})
    model.set_initial("shaft", position=0.3, rate=12.0)
    return model


def cam_motion(t, e=0.1, J=0.05, m=0.5):
    """Return angle, rate, acceleration of the cam and the force on the follower."""

    def rate(_, y):
        s, sd, sdd = e * (1 - np.cos(2 * y[0])), 2 * e * np.sin(2 * y[0]), 4 * e * np.cos(2 * y[0])
        return y[1], -(m * sd * sdd * y[1] ** 2 + m * G * sd) / (J + m * sd * sd) + 0.0 * s

    z, zd = solve_ivp(rate, (0.0, t[-1]), [0.3, 12.0], "DOP853", t, rtol=1e-12, atol=1e-12).y
    zdd = rate(0.0, (z, zd))[1]
    lift = 2 * e * np.sin(2 * z) * zdd + 4 * e * np.cos(2 * z) * zd**2
    return z, zd, zdd, m * (lift + G)


def test_a_cam_and_its_follower_are_of_order_two():
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        result = Simulation(cam().compile(), h=h, method=PenaltyTrapezoidal(hold_energy=False)).run(0.3)
        found = [result[f"shaft.{name}"] for name in ("angle", "rate", "acceleration")]
        found.append(result["profile.force"][:, 1])
        errors.append([np.abs(a - b).max() for a, b in zip(found, cam_motion(result["t"]), strict=True)])
        slope = 0.2 * np.sin(2 * result["shaft.angle"])
        np.testing.assert_allclose(result["profile.force"][:, 0], -slope * result["profile.force"][:, 1], atol=1e-6)
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert np.all((orders[-1] > 1.9) & (orders[-1] < 2.3)), (orders, errors)


def test_a_cam_keeps_its_energy():
    result = Simulation(cam().compile(), h=2e-3).run(3.0)
    assert np.ptp(result["energy.total"]) < 1e-2 * np.ptp(result["energy.kinetic"])


# ----------------------------------------------------------------------------------------------------- joints by hand


def together(t, pose, parameters):
    return pose.r


def parallel(t, pose, parameters):
    return np.concatenate((pose.r, pose.R[:2, 2]))


def at_distance(t, pose, parameters):
    return np.sqrt(np.dot(pose.r, pose.r)) - parameters["length"]


HAND = {"spherical": (Spherical(), together), "revolute": (None, parallel), "rod": (None, at_distance)}


def loop(seed, kind, by_hand, mass=1.0):
    """A loop of bodies with skew axes that closes by a joint, or by the same equations in plain NumPy."""
    rng = np.random.default_rng(seed)
    model = Model(kind, gravity=(1.0, -3.0, -9.0))
    places, before = rng.normal(size=(4, 3)), "ground"
    for k in range(3 if kind != "revolute" else 4):
        name = f"bar {k}"
        turn = random_rotation(rng)
        model.add_body(
            name, mass=mass * 10.0 ** rng.uniform(-1, 1), inertia=mass * rng.uniform(0.4, 0.6, 3),
            position=places[k], orientation=turn, center_of_mass=0.2 * rng.normal(size=3),
        )  # fmt: skip
        if kind == "revolute":
            model.add_joint(
                f"joint {k}", Spherical() if k % 2 else Revolute(random_rotation(rng)[0]), before, name, point=places[k]
            )
        else:
            model.add_joint(
                f"joint {k}",
                Spherical() if k == 1 else Revolute(random_rotation(rng)[0]),
                before,
                name,
                point=places[k],
            )
        before = name
    end, axes = rng.normal(size=3), random_rotation(rng)
    model.add_marker("post", "ground", end, axes=axes)
    model.add_marker("tip", before, end + (0.7 if kind == "rod" else 0.0), axes=axes)
    if not by_hand:
        if kind == "rod":
            model.add_rod("last", ("post", "tip"))
        else:
            one = Spherical() if kind == "spherical" else Revolute(axes[:, 2])
            model.add_joint("last", one, "ground", before, point=end, cut=True)
    else:
        more = {"parameters": {"length": 0.7 * np.sqrt(3.0)}} if kind == "rod" else {}
        model.add_constraint("last", HAND[kind][1], between=("post", "tip"), **more)
    model.set_initial("joint 0", rate=1.0)
    return model


@pytest.mark.parametrize("kind", HAND)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_joint_written_by_hand_is_the_joint(kind, seed):
    """Motion and reaction, with skew axes and masses a hundred apart; differences are those of the penalties."""
    built = [Simulation(loop(seed, kind, hand).compile(), h=1e-3) for hand in (False, True)]
    assert built[0].start_report.degrees_of_freedom == built[1].start_report.degrees_of_freedom
    one, other = (sim.run(0.1) for sim in built)
    for name in ("tip.position", "tip.velocity"):
        np.testing.assert_allclose(other[name], one[name], atol=2e-6, err_msg=name)
    size = np.abs(one["last.reaction"]).max()
    np.testing.assert_allclose(other["last.reaction"], one["last.reaction"], atol=2e-5 * size)


def test_the_same_equations_twice_are_redundant():
    model = loop(1, "spherical", False)
    model.add_constraint("again", together, between=("post", "tip"))
    sim = Simulation(model.compile(), h=1e-3)
    assert len(sim.start_report.redundant) == 3
    once = Simulation(loop(1, "spherical", False).compile(), h=1e-3)
    np.testing.assert_allclose(sim.run(0.1)["tip.position"], once.run(0.1)["tip.position"], atol=1e-6)


def test_groups_and_both_forms_of_the_step():
    model = beside(cam(), loop(1, "spherical", True))
    system = model.compile()
    whole, groups, readable = (
        Simulation(system, h=1e-3, **by_name(**options)) for options in ({}, {"threads": 2}, {"fused": False})
    )
    for sim in (whole, groups, readable):
        accepted_steps(sim, 20)
    assert difference(whole.state, groups.state) < 1e-12
    assert difference(whole.state, readable.state) < 1e-12


def test_a_restart_goes_on_bit_for_bit(tmp_path):
    sim = Simulation(cam().compile(), h=1e-3)
    accepted_steps(sim, 20)
    sim.state.save(tmp_path / "state")
    again = Simulation(cam().compile(), h=1e-3)
    again.restore(tmp_path / "state")
    accepted_steps(sim, 5)
    accepted_steps(again, 5)
    np.testing.assert_array_equal(again.state.z, sim.state.z)


# ---------------------------------------------------------------------------------------------------- what is refused


def returning(value):
    return lambda t, pose, parameters: value


BAD = {
    "not a function": (3.0, "is not a function"),
    "other arguments": (lambda x: x, "must be called as function"),
    "nothing": (returning(None), "returned None"),
    "too many": (lambda t, pose, parameters: pose.R, "shape"),
    "seven": (lambda t, pose, parameters: np.concatenate((pose.r, pose.r, pose.r[:1])), "from 1 to 6"),
    "rates": (lambda t, pose, parameters: pose.v[0], "r and R"),
    "a constant": (returning(0.0), "does not depend on the pose"),
    "only the time": (lambda t, pose, parameters: t, "does not depend on the pose"),
    "no number": (lambda t, pose, parameters: np.log(-1.0 + 0.0 * pose.r[0]), "finite"),
    "a kink": (lambda t, pose, parameters: np.abs(pose.r[1]) + pose.r[0], "kink|finite"),
    "a jump": (lambda t, pose, parameters: np.where(pose.r[1] > 0.0, 1.0, 0.0) + pose.r[0], "jumps"),
    "an if": (lambda t, pose, parameters: pose.r[0] if pose.r[0] > 0 else -pose.r[0], "cannot be recorded"),
    "raises": (lambda t, pose, parameters: pose.r[5], "raised|IndexError"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_constraint_is_refused_by_name(case):
    function, said = BAD[case]
    with pytest.raises(ModelError, match=r"constraint 'wire'") as caught:
        bead(function, (1.0, 0.0, 0.5)).compile()
    assert any(word in str(caught.value) for word in said.split("|")), caught.value


def test_where_it_acts_is_checked():
    model = bead(parabola, (1.0, 0.0, 0.5))
    for wrong, said in (
        ({}, "one of the two"),
        ({"between": ("origin", "ring"), "joints": ["free"]}, "one of the two"),
        ({"joints": ["free"]}, "no coordinate of its own"),
        ({"between": ("origin", "rong")}, "ring"),
        ({"between": ("origin", "ring"), "equations": 7}, "from 1 to 6"),
    ):
        with pytest.raises(rtmbs.errors.RtmbsError, match=said):
            model.add_constraint("other", parabola, **wrong)
    with pytest.raises(ModelError, match="equations= says 3"):
        bead(parabola, (1.0, 0.0, 0.5), equations=3).compile()
