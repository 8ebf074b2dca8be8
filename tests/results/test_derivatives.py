"""Rates and accelerations of channels are the derivatives of the channels above them, along a smooth motion."""

from itertools import pairwise

import numpy as np
import pytest

from rtmbs.numerics.rotations.quaternions import quaternions
from rtmbs.results.motion_channels import unwrap
from rtmbs.results.samples import Samples
from tests.mechanisms import random_model, random_rotation
from tests.results.motions import result_of, rotations, smooth_motion, solved
from tests.results.test_cut_and_tree import KINDS, build, carried_over

STEP = 1e-4  # s
CLOSE = 2e-7  # relative: what central differences of this step can do
MIDDLES = np.array([0.3, 1.1, 1.9])
T = (MIDDLES[:, None] + STEP * np.array([-1, 0, 1])).ravel()


def differentiate(values):
    """Return central differences at the middles."""
    return (values[2::3] - values[0::3]) / (2 * STEP)


def check(result, pairs):
    for value, rate in pairs:
        found, expected = result[rate][1::3], differentiate(result[value])
        assert np.abs(found - expected).max() < CLOSE * (1 + np.abs(expected).max()), rate


def pairs_of(names, chains):
    """Return (value, derivative) names that exist, for chains of endings."""
    found = []
    for name in names:
        for chain in chains:
            for ending, following in pairwise(chain):
                if name.endswith(ending):
                    found.append((name, name.removesuffix(ending) + following))
    return [pair for pair in found if pair[1] in names]


CHAINS = (
    (".position", ".velocity"),
    (".violation", ".violation_rate", ".violation_acceleration"),
    *((f".{name}", f".{name}_rate", f".{name}_acceleration") for name in ("angle", "displacement", "x", "y")),
    (".angle_a", ".angle_a_rate", ".angle_a_acceleration"),
    (".angle_b", ".angle_b_rate", ".angle_b_acceleration"),
    (".angular_velocity", ".angular_acceleration"),
)


@pytest.mark.parametrize("seed", [1, 2])
def test_of_random_mechanisms(seed):
    """Bodies, markers, coordinates, floating and spherical joints; loop equations with drivers that follow the time."""
    model = random_model(seed, 12)
    system = model.compile()
    result = result_of(system, smooth_motion(system, T, seed))
    joints = {name for name, joint in system.joints.items() if joint.in_tree or joint.type in ("Floating", "Spherical")}
    names = [name for name in result.names() if name.split(".")[0] not in system.joints.keys() - joints]
    names += [name for name in result.names() if ".violation" in name and name not in names]
    pairs = pairs_of(names, CHAINS)
    assert len(pairs) > 80
    check(result, pairs)
    for name in (*list(model.bodies)[1:], *model.markers):
        check(result, [(f"{name}.velocity", f"{name}.acceleration")])
    for joint in model.joints.values():
        kind = type(joint.type).__name__
        if kind in ("Spherical", "Floating", "Line"):
            check(result, [(f"{joint.name}.rate", f"{joint.name}.acceleration")])
            spin_of_quaternions(result[f"{joint.name}.orientation"], result[f"{joint.name}.rate"], body_axes=True)
        if kind == "Floating":
            check(result, [(f"{joint.name}.velocity", f"{joint.name}.linear_acceleration")])
    for name in list(model.bodies)[1:]:
        spin_of_quaternions(result[f"{name}.orientation"], result[f"{name}.angular_velocity"], body_axes=False)


def spin_of_quaternions(q, w, body_axes):
    """Quaternions turn with this angular velocity: R' = w~ R in world axes, R' = R w~ in body axes."""
    R, Rd = rotations(q), differentiate(rotations(q))
    tilde = np.cross(np.eye(3), w[1::3, None, :])  # rows e_k x w, that is -w~ transposed: w~ itself
    expected = R[1::3] @ tilde if body_axes else tilde @ R[1::3]
    assert np.abs(Rd - expected).max() < CLOSE * (1 + np.abs(w).max())


@pytest.mark.parametrize("kind", KINDS)
def test_of_cut_joints(kind):
    tree, cut = build(kind, True), build(kind, True, cut=True)
    motion = smooth_motion(tree, T)
    result = result_of(cut, carried_over(cut, tree, motion, result_of(tree, motion)))
    check(result, pairs_of([name for name in result.names() if name.startswith("J.")], CHAINS))


def test_the_power_of_given_wrenches_is_the_rate_of_all_energies():
    tree = build("Universal", True)
    base = solved(tree, smooth_motion(tree, np.array([0.4])))
    s = STEP * np.array([-1, 0, 1])[:, None]  # along the true motion, to second order
    z, zd, zdd = base.z + base.zd * s + base.zdd * s * s / 2, base.zd + base.zdd * s, np.tile(base.zdd, (3, 1))
    repeated = [np.repeat(values, 3, axis=0) for values in (base.lam, base.R0, base.u)]
    result = result_of(tree, Samples(T[:3], z, zd, zdd, *repeated))
    power = 0.0
    for body in ("arm", "tip"):
        power += result[f"push {body}.force"][1] @ result[f"{body}.velocity"][1]
        power += result[f"push {body}.torque"][1] @ result[f"{body}.angular_velocity"][1]
    kinetic = differentiate(result["energy.kinetic"])[0]
    assert abs(differentiate(result["energy.total"])[0] - power) < CLOSE * abs(kinetic)
    total = result["energy.kinetic"] + result["energy.weight"] + result["energy.elastic"]
    np.testing.assert_allclose(result["energy.total"], total, rtol=1e-15)


def test_angles_are_unwrapped_by_their_rates():
    t = np.linspace(0, 1, 41)
    angle, rate = 0.3 + 60 * np.pi * t**2, 120 * np.pi * t  # up to 1.5 turns a sample
    wrapped = np.angle(np.exp(1j * angle))
    np.testing.assert_allclose(unwrap(wrapped, rate, t), angle, atol=1e-12)
    np.testing.assert_allclose(unwrap(-wrapped, -rate, t), -angle, atol=1e-12)
    np.testing.assert_array_equal(unwrap(np.array([3.0]), np.array([1.0]), np.array([0.0])), [3.0])


def test_quaternions_of_all_rotations():
    rng = np.random.default_rng(5)
    half_turns = [2 * np.outer(axis, axis) - np.eye(3) for axis in (*np.eye(3), np.array([0.6, 0.8, 0.0]))]
    R = np.array([np.eye(3), *half_turns, *(random_rotation(rng) for _ in range(200))])
    np.testing.assert_allclose(rotations(quaternions(R)), R, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(quaternions(R), axis=1), 1.0, atol=1e-15)
    assert quaternions(R[:1])[0, 0] == 1.0


def test_quaternions_do_not_jump():
    angle = np.linspace(0.0, 40.0, 400)
    c, s, zero, one = np.cos(angle), np.sin(angle), np.zeros(400), np.ones(400)
    R = np.array([[one, zero, zero], [zero, c, -s], [zero, s, c]]).transpose(2, 0, 1)
    expected = np.stack((np.cos(angle / 2), np.sin(angle / 2), zero, zero), axis=1)
    np.testing.assert_allclose(quaternions(R), expected, atol=1e-14)
