"""Driver forces of kinematic motions with cams, driven points, angles and coordinates of bodies, by closed forms."""

import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import driving_forces, language
from rtmbs.errors import InputError
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.element_equations import PointDriver, PointOnCurve
from rtmbs.model.description import characteristic_length
from tests.cases import quick

TIMES = np.linspace(0.0, 1.0, 41)
G, TAPPET = 9.81, 1.7
E, R = 0.01, 0.048  # eccentricity and radius of the roller's path [m]


def eccentric_cam(driven: bool = True):
    """Return an eccentric disc with a roller on a tappet that slides along y, against gravity along -y."""
    model = rtmbs.Model("cam", gravity=(0.0, -G, 0.0))
    model.add_body("disc", mass=2.0, inertia=(0.01, 0.01, 0.02))
    model.add_body("tappet", mass=TAPPET, inertia=(0.1, 0.1, 0.1), position=(0.0, 0.047, 0.0))
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "disc", point=(0, 0, 0))
    model.add_joint("guide", rtmbs.Prismatic(axis=(0, 1, 0)), "ground", "tappet", point=(0, 0, 0))
    model.add_marker("roller", "tappet", (0.0, 0.047, 0.0))
    if driven:
        model.add_driver("drive", rtmbs.ConstantRate(2.0 * np.pi), joint="axle")

    def circle(s):
        return [E + R * np.cos(s), R * np.sin(s), 0.0 * s]

    return model, [PointOnCurve("contact", "roller", "disc", circle, np.pi / 2)]


def test_cam_and_follower():
    """The torque is the power of the tappet over the rate, and the contact force stands across the curve."""
    model, constraints = eccentric_cam()
    analysis = Analysis(model, constraints)
    motion = analysis.run_at(TIMES)
    found = driving_forces(analysis, motion)
    w, a = 2.0 * np.pi, 2.0 * np.pi * TIMES
    root = np.sqrt(R**2 - E**2 * np.cos(a) ** 2)
    half = E**2 * np.cos(a) * np.sin(a)
    rate = w * (E * np.cos(a) + half / root)
    second = w**2 * (-E * np.sin(a) + E**2 * np.cos(2 * a) / root - half**2 / root**3)
    np.testing.assert_allclose(motion["guide.displacement_rate"], rate, atol=1e-9)
    lift = TAPPET * (second + G)
    np.testing.assert_allclose(found.forces["drive"], lift * rate / w, atol=1e-9)
    np.testing.assert_allclose(found.power["drive"], lift * rate, atol=1e-8)
    across = np.array([-E * np.cos(a) / root, np.ones_like(a), np.zeros_like(a)]).T * lift[:, None]
    np.testing.assert_allclose(found.result["contact.force"], across, atol=1e-8)


@dataclass(frozen=True)
class Hastened:
    """A profile with another rate at the same value: the difference of two motions is a virtual velocity."""

    profile: Any

    def __call__(self, t):
        f, fd, fdd = self.profile(t)
        return f, fd + 1.0, fdd


def twists(motion, body):
    """Return velocity of the mass centre and angular velocity (S, 3), their rates, and axes (S, 3, 3)."""
    R = Rotation.from_quat(motion[f"{body.name}.orientation"], scalar_first=True).as_matrix()
    arm = R @ body.center_of_mass
    w, wd = motion[f"{body.name}.angular_velocity"], motion[f"{body.name}.angular_acceleration"]
    v = motion[f"{body.name}.velocity"] + np.cross(w, arm)
    vd = motion[f"{body.name}.acceleration"] + np.cross(wd, arm) + np.cross(w, np.cross(w, arm))
    return v, w, vd, wd, R


def virtual_power(model, motion, other):
    """Return the power (S,) of inertia and weight in the difference of the velocities of two motions, and its size."""
    total, size = 0.0, 0.0
    for body in list(model.bodies.values())[1:]:
        v, w, vd, wd, R = twists(motion, body)
        v_other, w_other = twists(other, body)[:2]
        inertia = R @ body.inertia @ R.transpose(0, 2, 1)
        moment = np.einsum("sij,sj->si", inertia, wd) + np.cross(w, np.einsum("sij,sj->si", inertia, w))
        force = body.mass * (vd - np.asarray(model.gravity))
        parts = np.hstack((force * (v_other - v), moment * (w_other - w)))
        total, size = total + parts.sum(axis=1), max(size, np.abs(parts).max())
    return total, size


def weighed(model, rng):
    """Give random masses, mass centres and inertias to all bodies."""
    for name in list(model.bodies)[1:]:
        turn = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
        size = characteristic_length(model)
        inertia = turn @ np.diag(rng.uniform(0.8, 1.2, 3)) @ turn.T * size**2 * 0.1
        for what, value in (
            ("mass", rng.uniform(0.5, 2.0)), ("center_of_mass", rng.normal(0.0, 0.2 * size, 3)), ("inertia", inertia)
        ):  # fmt: skip
            object.__setattr__(model.bodies[name], what, value)
    model.gravity = rng.normal(0.0, 5.0, 3)


def virtual_work_error(document, seed):
    """Return the largest difference of driver forces from virtual power, in the size of its largest part."""
    model = document.model
    weighed(model, np.random.default_rng(seed))
    times = np.linspace(0.03, 0.91, 7)
    analysis = Analysis(model, document.constraints)
    motion = analysis.run_at(times)
    found = driving_forces(analysis, motion)
    apart, size = 0.0, 0.0
    drivers = {one.name: one for one in (*model.drivers.values(), *document.constraints) if hasattr(one, "profile")}
    for name in drivers:
        changed, constraints = copy.copy(model), list(document.constraints)
        if name in model.drivers:
            driver = model.drivers[name]
            changed.drivers = {**model.drivers, name: replace(driver, profile=Hastened(driver.profile))}
        else:
            constraints = [
                one._replace(profile=Hastened(one.profile)) if one.name == name else one for one in constraints
            ]
        other = Analysis(changed, constraints).run_at(times)
        wanted, parts = virtual_power(model, motion, other)
        apart, size = max(apart, np.abs(found.forces[name] - wanted).max()), max(size, parts)
    assert len(found.forces) == len(drivers)
    return apart / size


FOLDER = Path(__file__).parents[3] / "docs" / "gallery" / "cookbook"
NAMES = sorted(file.stem for file in FOLDER.glob("*.mks"))
FEW = ("robot_arm", "bead_on_helix")  # driven triad; point on curve


@pytest.mark.parametrize("name", quick(NAMES, *FEW))
def test_virtual_power_of_every_driver_of_the_cookbook(name):
    assert virtual_work_error(language.read(FOLDER / f"{name}.mks"), 3) < 1e-9


def leaning_arm():
    """Return a body on a universal joint."""
    model = rtmbs.Model("leaning arm")
    model.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("hook", rtmbs.Universal(axis_a=(1, 0, 0), axis_b=(0, 1, 0)), "ground", "arm", point=(0, 0, 0))
    return model


def test_angle_of_two_axes_that_no_joint_keeps():
    model = leaning_arm()
    first = model.add_marker("fixed", "ground")
    second = model.add_marker("own", "arm")
    model.add_driver("lean", rtmbs.Sine(0.2, 3.0, offset=1.2), axes=((first, "f"), (second, "h")))
    model.add_driver("turn", rtmbs.Sine(0.3, 2.0), joint=("hook", "angle_a"))
    assert virtual_work_error(SimpleNamespace(model=model, constraints=()), 4) < 1e-9


def driven_plate(seed, arm):
    """Return a plate that six driven coordinates of its points hold alone, with an arm on it or without, and them."""
    rng = np.random.default_rng(seed)
    model = rtmbs.Model("plate")
    model.add_body("plate", mass=1.0, inertia=(0.1, 0.1, 0.1), position=rng.normal(0.0, 0.3, 3))
    if arm:
        model.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
        model.add_joint("hinge", rtmbs.Revolute(axis=rng.normal(size=3)), "arm", "plate", point=rng.normal(size=3))
        model.add_driver("swing", rtmbs.Sine(0.3, 2.0), joint="hinge")
    points = np.array([[1.0, 0.0, 0.0], [-0.4, 1.0, 0.0], [-0.3, -0.8, 0.1]]) + rng.uniform(-0.1, 0.1, (3, 3))
    drivers = []
    for point, axes in zip(points, ("xyz", "yz", "z"), strict=True):
        marker = model.add_marker(f"p{len(drivers)}", "plate", point)
        start = model.bodies["plate"].position + point
        for axis in axes:
            profile = rtmbs.Sine(0.1, rng.uniform(1.0, 4.0), offset=start["xyz".index(axis)])
            drivers.append(PointDriver(f"d{len(drivers)}", marker.name, axis, profile))
    return model, drivers


@pytest.mark.parametrize("arm", [False, True])
@pytest.mark.parametrize("seed", quick(range(6), 0))
def test_body_that_drivers_alone_hold(seed, arm):
    model, drivers = driven_plate(seed, arm)
    assert virtual_work_error(SimpleNamespace(model=model, constraints=drivers), seed) < 1e-9


def test_body_on_driven_distances_alone():
    """Six driven distances hold a body without a joint; their forces do the work of its weight and inertia."""
    model = rtmbs.Model("hexapod")
    model.add_body("platform", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.0, 0.0, 1.0))
    angles = np.pi / 3.0 * np.arange(6)
    for k, angle in enumerate(angles):
        ahead = angle + (0.35 if k % 2 else -0.35)
        foot = model.add_marker(f"foot{k}", "ground", (np.cos(angle), np.sin(angle), 0.0))
        top = model.add_marker(f"top{k}", "platform", (0.5 * np.cos(ahead), 0.5 * np.sin(ahead), 0.0))
        gap = np.linalg.norm(foot.point - top.point - np.array([0.0, 0.0, 1.0]))
        model.add_driver(f"leg{k}", rtmbs.Sine(0.05, 1.0 + 0.3 * k, offset=gap), between=(foot, top))
    assert virtual_work_error(SimpleNamespace(model=model, constraints=()), 8) < 1e-9


def test_free_body_without_a_joint_is_named():
    model, drivers = driven_plate(1, arm=False)
    analysis = Analysis(model, drivers[:5])
    motion = analysis.run_at([0.0, 0.1])
    with pytest.warns(rtmbs.RtmbsWarning, match=r"no driver holds 'plate\.[fn][xyz]'"):
        found = driving_forces(analysis, motion)
    assert not [name for name in found.result.names() if "driving_forces" in name]


def test_messages():
    model, constraints = eccentric_cam(driven=False)
    analysis = Analysis(model, constraints)
    with pytest.warns(rtmbs.RtmbsWarning, match="no driver holds 'axle.angle': the motion needs"):
        driving_forces(analysis, analysis.run_at([0.1, 0.2]))
    other = Analysis(eccentric_cam()[0], ())
    with pytest.raises(InputError, match="other coordinates than Analysis"):
        driving_forces(analysis, other.run_at([0.0]))
    with pytest.raises(InputError, match="takes a kinematic Analysis, not Model"):
        driving_forces(model, 3)
    bare, few = rtmbs.Model("bare"), rtmbs.Revolute(axis=(0, 0, 1))
    bare.add_body("b", mass=0.0)
    bare.add_joint("pin", few, "ground", "b", point=(0, 0, 0))
    bare.add_driver("drive", rtmbs.ConstantRate(1.0), joint="pin")
    light = Analysis(bare)
    with pytest.raises(InputError, match="no body of 'bare' has a mass"):
        driving_forces(light, light.run_at([0.0, 0.1]))
    with pytest.raises(InputError, match="takes the Result that the analysis returned, not 3"):
        driving_forces(analysis, 3)


def test_two_drivers_of_one_motion_share_it():
    """A weight is held by a driven point and by a driven coordinate of its body: each carries half."""
    model = rtmbs.Model("lift", gravity=(0.0, 0.0, -G))
    model.add_body("cage", mass=3.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("mast", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "cage", point=(0, 0, 0))
    model.add_marker("eye", "cage", (0.1, 0.0, 0.0))
    rise = rtmbs.Sine(0.2, 3.0)
    drivers = [PointDriver("rope", "eye", "z", rise), PointDriver("second rope", "eye", "z", rise)]
    analysis = Analysis(model, drivers)
    with pytest.warns(rtmbs.RtmbsWarning, match="'rope', 'second rope' are not unique"):
        found = driving_forces(analysis, analysis.run_at(TIMES))
    needed = 3.0 * (G - 0.2 * 9.0 * np.sin(3.0 * TIMES))
    for name in ("rope", "second rope"):
        np.testing.assert_allclose(found.forces[name], 0.5 * needed, rtol=1e-9)


@pytest.mark.parametrize("ends", [("ground", "cage"), ("cage", "ground")])
def test_a_coordinate_of_a_body_on_a_skew_slide(ends):
    """The force is along y, though the slide is skew: weight along the slide over its share of y."""
    model = rtmbs.Model("skew", gravity=(0.0, -G, 0.0))
    model.add_body("cage", mass=2.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("slide", rtmbs.Prismatic(axis=(1, 1, 0)), *ends, point=(0, 0, 0))
    model.add_driver("rise", rtmbs.Sine(0.2, 3.0), body=("cage", "y"))
    analysis = Analysis(model)
    motion = analysis.run_at(TIMES)
    second = -0.2 * 9.0 * np.sin(3.0 * TIMES)
    np.testing.assert_allclose(driving_forces(analysis, motion).forces["rise"], 2.0 * (2.0 * second + G), atol=1e-9)


def test_all_coordinates_of_a_floating_body():
    """Six drivers of one body on a floating joint: virtual power of each."""
    model = rtmbs.Model("plate")
    model.add_body("plate", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model.add_joint("free", rtmbs.Floating(), "ground", "plate", point=(0, 0, 0))
    for k, coordinate in enumerate(("x", "y", "z", "yaw", "pitch", "roll")):
        model.add_driver(coordinate, rtmbs.Sine(0.2, 2.0 + k, offset=0.1), body=("plate", coordinate))
    assert virtual_work_error(SimpleNamespace(model=model, constraints=()), 5) < 1e-9


def test_a_rod_that_may_spin():
    """A crank, a rod between balls and a slider: the spin of the rod is free, and the torque is that of the power."""
    model = rtmbs.Model("spin", gravity=(0.0, -G, 0.0))
    model.add_body("crank", mass=1.0, inertia=(0.01, 0.01, 0.02), center_of_mass=(0.1, 0.0, 0.0))
    model.add_body("rod", mass=0.5, inertia=(1e-12, 0.02, 0.02), center_of_mass=(0.3, 0, 0), position=(0.2, 0, 0))
    model.add_body("block", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(0.8, 0, 0))
    model.add_joint("axle", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "crank", point=(0, 0, 0))
    model.add_joint("pin", rtmbs.Spherical(), "crank", "rod", point=(0.2, 0, 0))
    model.add_joint("wrist", rtmbs.Spherical(), "rod", "block", point=(0.8, 0, 0))
    model.add_joint("guide", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "block", point=(0.8, 0, 0))
    model.add_driver("drive", rtmbs.ConstantRate(3.0), joint="axle")
    analysis = Analysis(model)
    motion = analysis.run_at(TIMES)
    found = driving_forces(analysis, motion)
    drivers = {"drive": replace(model.drivers["drive"], profile=Hastened(model.drivers["drive"].profile))}
    other = copy.copy(model)
    other.drivers = drivers
    wanted, size = virtual_power(model, motion, Analysis(other).run_at(TIMES))
    np.testing.assert_allclose(found.forces["drive"], wanted, atol=1e-9 * size)
