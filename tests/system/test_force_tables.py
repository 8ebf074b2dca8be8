"""Drivers of bodies in joint coordinates: the body goes where its driver says, whatever way the joint is written."""

import numpy as np
import pytest

from rtmbs import Model, Prismatic, Revolute, Simulation, Sine, Spherical
from rtmbs.errors import ModelError


def rotation(rng):
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


def placed(seed, backwards, joint_type, **placing):
    """A body somewhere, joined to ground by one joint; the joint's axes are those of some frame."""
    rng = np.random.default_rng(seed)
    model = Model("m")
    model.add_body("b", mass=1.0, inertia=(1, 1, 1), position=rng.normal(size=3), orientation=rotation(rng))
    ends = ("b", "ground") if backwards else ("ground", "b")
    placing = placing or {"point_a": rng.normal(size=3), "point_b": rng.normal(size=3)}
    model.add_joint("j", joint_type, *ends, **placing)
    return model


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("coordinate", ["x", "y", "z"])
@pytest.mark.parametrize("seed", range(5))
def test_a_body_that_slides_follows(seed, coordinate, backwards):
    axis = np.random.default_rng(seed + 100).normal(size=3)
    model = placed(seed, backwards, Prismatic(axis=axis))
    profile = Sine(0.3, 5.0, offset=0.2)
    model.add_driver("d", profile, body=("b", coordinate))
    result = Simulation(model.compile(), h=5e-3).run(0.5)
    k = "xyz".index(coordinate)
    wanted = np.array([profile(t) for t in result["t"]])
    for order, name in enumerate(("position", "velocity", "acceleration")):
        np.testing.assert_allclose(result[f"b.{name}"][:, k], wanted[:, order], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("z", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_body_that_turns_upright_follows(seed, z, backwards):
    model = placed(seed, backwards, Revolute(axis=(0, 0, z)), point=(1, 2, 3))
    profile = Sine(0.3, 5.0, offset=0.2)
    model.add_driver("d", profile, body=("b", "yaw"))
    result = Simulation(model.compile(), h=5e-3).run(0.2)
    w, x, y, zq = result["b.orientation"].T
    yaw = np.arctan2(2 * (x * y + w * zq), 1 - 2 * (y * y + zq * zq))
    np.testing.assert_allclose(np.cos(yaw - [profile(t)[0] for t in result["t"]]), 1.0, atol=1e-10)


def test_the_fingerprint_tells_profiles_apart():
    prints = set()
    for amplitude in (0.3, 0.4):
        model = placed(0, False, Prismatic(axis=(1, 1, 0)))
        model.add_driver("d", Sine(amplitude, 5.0), body=("b", "x"))
        prints.add(model.compile().fingerprint)
    assert len(prints) == 2


@pytest.mark.parametrize(
    ("joint_type", "body", "word"),
    [
        (Prismatic(axis=(0, 1, 0)), ("b", "x"), "b.x"),
        (Prismatic(axis=(0, 1, 0)), ("b", "yaw"), "b.yaw"),
        (Revolute(axis=(0, 1, 0)), ("b", "yaw"), "b.yaw"),
        (Revolute(axis=(0, 0, 1)), ("b", "roll"), "b.roll"),
        (Spherical(), ("b", "x"), "b.x"),
    ],
)
def test_a_driver_that_no_joint_follows_is_refused(joint_type, body, word):
    model = placed(0, False, joint_type, point=(0, 0, 0))
    model.add_driver("d", Sine(0.3, 5.0), body=body)
    with pytest.raises(ModelError, match=rf"driver 'd' prescribes {word}, which only a kinematic analysis follows"):
        model.compile()


def test_two_drivers_of_one_joint_are_refused():
    model = placed(0, False, Prismatic(axis=(1, 1, 0)))
    model.add_driver("d", Sine(0.3, 5.0), body=("b", "x"))
    model.add_driver("e", Sine(0.3, 5.0), joint="j")
    with pytest.raises(ModelError, match=r"driver 'e'.*'d' drives that already"):
        model.compile()
    assert list(model.drivers) == ["d", "e"]
    assert model.drivers["d"].body is not None
