"""Drives that make what drivers say: forces as of the same motion without drivers, on loops of several kinds."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns import turned
from rtmbs.errors import InputError, UnknownNameError

T = np.linspace(0.0, 0.5, 6)
WAVE = rtmbs.Sine(0.3, 4.0)


def library_loop(name, joint, drive):
    """Return a maker of a mechanism of the library, the joint that is driven, and one that gets a drive."""

    def build():
        model = rtmbs.library.build(name)
        model.initials.clear()  # the driver says where and how fast
        return model

    return build, joint, drive


def turned_loop(case):
    """Return a mechanism with redundant loops on skew axes, likewise."""
    rng = np.random.default_rng(case)
    R, o = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    model = turned.mechanism(case, R, o)
    joints = [name for name, info in model.compile().joints.items() if info.in_tree and len(info.coordinates) == 1]
    return lambda: turned.mechanism(case, R, o), "a", next((one for one in joints if one != "a"), "a")


LOOPS = {
    "planar": library_loop("crank_rocker", "crank_pivot", "rocker_pivot"),
    "slider": library_loop("slider_crank", "pivot", "slide"),
    "overconstrained": library_loop("bricard", "joint_1", "joint_3"),
    **{f"redundant {case}": turned_loop(case) for case in (0, 1, 3)},
}


@pytest.mark.parametrize("case", LOOPS)
def test_a_driver_says_the_motion_and_a_drive_makes_it(case):
    build, joint, drive = LOOPS[case]
    wanted = rtmbs.inverse_dynamics(build().compile(), {joint: WAVE}, T, drives=[drive])
    model = build()
    model.add_driver("told", WAVE, joint=joint)
    system = model.compile()
    found = rtmbs.inverse_dynamics(system, None, T, drives=[drive])
    size = np.abs(wanted.forces[drive]).max()
    assert size > 0.1
    np.testing.assert_allclose(found.forces[drive], wanted.forces[drive], atol=1e-8 * size)
    assert np.all(found.forces["told"] == 0.0)
    assert np.all(found.power["told"] == 0.0)
    assert np.all(found.result["told.force"] == 0.0)
    for name in system.joints:
        reaction = wanted.result[f"{name}.reaction"]
        np.testing.assert_allclose(
            found.result[f"{name}.reaction"], reaction, atol=1e-7 * max(size, np.abs(reaction).max()), err_msg=name
        )
    alone = rtmbs.inverse_dynamics(system, None, T)
    np.testing.assert_allclose(alone.power["told"], found.power[drive], atol=1e-7 * np.abs(found.power[drive]).max())


def stewart(height=1.1):
    """Return a platform on six legs, each a universal joint, a slide and a ball, none of them alike."""
    model = rtmbs.Model("stewart")
    plate = model.add_body("plate", mass=30.0, inertia=(1.0, 1.5, 2.2), center_of_mass=(0.03, -0.02, 0.05),
                           position=(0, 0, height))  # fmt: skip
    for i in range(6):
        a, b = 2 * np.pi * (i // 2) / 3 + 0.2 * (-1) ** i, 2 * np.pi * ((i + 1) // 2) / 3 - 0.4 * (-1) ** i
        foot, top = np.array((np.cos(a), np.sin(a), 0.0)), np.array((0.6 * np.cos(b), 0.6 * np.sin(b), height))
        along = (top - foot) / np.linalg.norm(top - foot)
        across = np.cross(along, (0.0, 0.0, 1.0)) / np.linalg.norm(np.cross(along, (0.0, 0.0, 1.0)))
        inertia = 0.1 * (np.eye(3) - 0.9 * np.outer(along, along))
        low = model.add_body(f"low{i}", mass=3.0, position=foot, center_of_mass=0.3 * along, inertia=inertia)
        up = model.add_body(f"up{i}", mass=2.0, position=top, center_of_mass=-0.3 * along, inertia=inertia)
        universal = rtmbs.Universal(axis_a=across, axis_b=np.cross(along, across))
        model.add_joint(f"uni{i}", universal, model.ground, low, point=foot)
        model.add_joint(f"leg{i}", rtmbs.Prismatic(axis=along), low, up, point=top)
        model.add_joint(f"ball{i}", rtmbs.Spherical(), up, plate, point=top)
    return model


LEGS = [f"leg{i}" for i in range(6)]


@pytest.fixture(scope="module")
def platform():
    model = stewart()
    waves = [rtmbs.Sine(0.03 + 0.01 * k, 3.0 + 0.4 * k) for k in range(6)]
    rtmbs.library.drive_pose(model, "plate", position=waves[:3], angles=waves[3:])
    return model.compile()


def test_legs_make_the_pose_that_drivers_say(platform):
    found = rtmbs.inverse_dynamics(platform, None, T, drives=LEGS)
    at = found.result
    legs = {
        leg: np.stack([at[f"{leg}.{what}"] for what in ("displacement", "rate", "acceleration")], 1) for leg in LEGS
    }
    wanted = rtmbs.inverse_dynamics(stewart().compile(), legs, T)
    for leg in LEGS:
        np.testing.assert_allclose(found.forces[leg], wanted.forces[leg], rtol=1e-8)
        np.testing.assert_allclose(found.power[leg], wanted.power[leg], atol=1e-8 * np.abs(wanted.power[leg]).max())
    told = rtmbs.inverse_dynamics(platform, None, T)
    np.testing.assert_allclose(sum(found.power.values()), sum(told.power.values()), rtol=1e-8, atol=1e-8)
    assert not any(np.any(found.forces[name]) for name in found.forces if name not in LEGS)


def test_seven_drives_of_a_platform_share_by_least_squares(platform):
    """A driver among the drives: no other forces that make the motion have a smaller sum of force^2 / weight."""
    weights = {leg: 1.0 + k for k, leg in enumerate(LEGS)} | {"drive plate z": 0.5}
    found = rtmbs.inverse_dynamics(platform, None, T, drives=weights)
    alone = rtmbs.inverse_dynamics(platform, None, T, drives=LEGS)
    less = rtmbs.inverse_dynamics(platform, None, T, drives=[*LEGS[1:], "drive plate z"])

    def cost(one):
        return sum(one.forces[name] ** 2 / weight for name, weight in weights.items())

    way = {name: less.forces[name] - alone.forces[name] for name in weights if name in less.forces}
    way["leg0"] = -alone.forces["leg0"]
    slope = sum(found.forces[name] * way[name] / weight for name, weight in weights.items())
    size = sum(np.abs(found.forces[name] * way[name]) / weight for name, weight in weights.items())
    assert np.all(np.abs(slope) < 1e-7 * size)
    assert np.all(cost(found) < cost(alone))
    np.testing.assert_allclose(sum(found.power.values()), sum(alone.power.values()), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(found.result["drive plate z.force"], found.forces["drive plate z"])


def test_a_driven_distance_shares_with_a_drive():
    """One degree of freedom: force / weight goes with the rate of what each drive moves."""
    model = LOOPS["planar"][0]()
    model.add_marker("anchor", "ground", point=(0.3, 1.2, 0.0))
    model.add_marker("eye", "coupler", point=model.bodies["coupler"].position)
    far = np.linalg.norm(model.bodies["coupler"].position - np.array((0.3, 1.2, 0.0)))
    model.add_driver("piston", rtmbs.Sine(0.1, 4.0, offset=float(far)), between=("anchor", "eye"))
    system = model.compile()
    weights = {"rocker_pivot": 3.0, "piston": 0.7}
    found = rtmbs.inverse_dynamics(system, None, T, drives=weights)
    alone = rtmbs.inverse_dynamics(system, None, T)
    rate = {"piston": np.array([0.4 * np.cos(4.0 * t) for t in T]), "rocker_pivot": found.result["rocker_pivot.rate"]}
    for name in weights:
        np.testing.assert_allclose(found.power[name], found.forces[name] * rate[name], atol=1e-9)
    left = found.forces["piston"] * rate["rocker_pivot"] * weights["rocker_pivot"]
    right = found.forces["rocker_pivot"] * rate["piston"] * weights["piston"]
    np.testing.assert_allclose(left, right, atol=1e-8 * np.abs(left).max())
    np.testing.assert_allclose(sum(found.power.values()), alone.power["piston"], atol=1e-9)
    both = rtmbs.inverse_dynamics(system, None, T, drives=["piston"])
    np.testing.assert_allclose(both.forces["piston"], alone.forces["piston"], rtol=1e-9)


def test_what_drives_cannot_make(platform):
    with pytest.raises(InputError, match=r"^drives 'leg0', .* cannot make this motion at t = 0 s: .* misses .*; add a"):
        rtmbs.inverse_dynamics(platform, None, T, drives=LEGS[:5])
    with pytest.raises(InputError, match=r"drives none cannot .* or name driver 'drive plate z' among the drives\n"):
        rtmbs.inverse_dynamics(platform, None, T, drives=[])
    with pytest.raises(UnknownNameError, match="did you mean 'drive plate yaw'"):
        rtmbs.inverse_dynamics(platform, None, T, drives=["drive plate jaw"])
