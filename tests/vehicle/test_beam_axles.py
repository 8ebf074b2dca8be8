"""Solid axle and twist beam: kinematics against own closures, torque of the beam, rest, refusals."""

import numpy as np
import pytest
from scipy.optimize import brentq, root
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.vehicle import AntiRollBar, Ramp, SolidAxle, TwistBeam, rig
from tests.vehicle.test_suspensions import STRUT, car_of

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
CENTRE = np.array([-1.388, 0.76, 0.125])
SOLID = {"wheel_centre": CENTRE, "strut_chassis": (-1.35, 0.5, 0.5), "strut_axle": (-1.388, 0.5, 0.15), **STRUT}
LOWER = ((-0.9, 0.5, 0.0), (-1.38, 0.6, 0.02))
UPPER = ((-0.95, 0.5, 0.2), (-1.38, 0.15, 0.26))  # both upper links lead to the middle and hold it sideways
MIDDLE, PANHARD = ((-0.95, 0.05, 0.22), (-1.38, 0.02, 0.26)), ((-1.5, -0.5, 0.17), (-1.5, 0.5, 0.15))
TWIST = {
    "wheel_centre": CENTRE, "strut_chassis": (-1.3, 0.55, 0.5), "strut_axle": (-1.3, 0.55, 0.05),
    "hinge_outer": (-0.95, 0.65, 0.17), "hinge_inner": (-0.99, 0.4, 0.16), **STRUT,
}  # fmt: skip
TRAVELS = (-0.05, 0.0, 0.04)


def jittered(rng, ends):
    """Return a pair of points with random moves of 20 mm."""
    return tuple(np.array(point) + rng.uniform(-0.02, 0.02, 3) for point in ends)


def beam_pose(links, left, right):
    """Return the turn and the displacement of the beam at travels of both wheel centres, by an own closure solver."""
    centres = [CENTRE, CENTRE * (1.0, -1.0, 1.0)]
    middle = CENTRE * (1.0, 0.0, 1.0)

    def missed(x):
        R = Rotation.from_rotvec(x[3:]).as_matrix()
        placed = [middle + x[:3] + R @ (point - middle) for point in (*(b for _, b in links), *centres)]
        gaps = [np.dot(p - a, p - a) - np.dot(b - a, b - a) for p, (a, b) in zip(placed, links, strict=False)]
        return [*gaps, placed[-2][2] - CENTRE[2] - left, placed[-1][2] - CENTRE[2] - right]

    x = root(missed, np.zeros(6), tol=1e-14).x
    assert np.max(np.abs(missed(x))) < 1e-14
    R = Rotation.from_rotvec(x[3:]).as_matrix()
    return R, middle + x[:3] + R @ (CENTRE - middle) - CENTRE


@pytest.mark.parametrize("panhard", [False, True])
def test_solid_axle(panhard):
    """Path, toe and camber in heave and roll over random links; 14 freedoms; loads sum to the weight."""
    rng = np.random.default_rng(4)
    pairs = [jittered(rng, LOWER)] if panhard else [jittered(rng, LOWER), jittered(rng, UPPER)]
    once = {"upper_link": jittered(rng, MIDDLE), "panhard_rod": jittered(rng, PANHARD)} if panhard else {}
    car = car_of(rear=SolidAxle(**SOLID, links=tuple(pairs), **once, toe=0.01, camber=-0.02).axle(), steer=0.0)
    mirror = np.array((1.0, -1.0, 1.0))
    links = [*pairs, *(tuple(mirror * point for point in ends) for ends in pairs), *once.values()]
    n0 = car.spin_axis("rl")
    for motion, sign in (("bump", 1.0), ("roll", -1.0)):
        wheel = rig(car, "rear", motion, values=TRAVELS).left
        for k, travel in enumerate(TRAVELS):
            R, moved = beam_pose(links, travel, sign * travel)
            n = R @ n0
            wanted = (*moved, np.arcsin(n[2]), np.arctan2(-n[0], n[1]))
            found = (wheel.x[k], wheel.y[k], wheel.z[k], wheel.camber[k], wheel.toe[k])
            assert found == pytest.approx(wanted, abs=1e-9)
    rest = car.rest()
    weight = 9.81 * sum(body.mass for body in car.bodies.values())
    assert sum(rest.wheel_loads.values()) == pytest.approx(weight, rel=1e-8)
    assert panhard or rest.wheel_loads["rl"] == pytest.approx(rest.wheel_loads["rr"], rel=1e-6)
    sim = rtmbs.Simulation(car.at_speed(15.0, rest).compile(), 1e-3)
    assert sim.start_report.degrees_of_freedom == 14


def test_twist_beam():
    """The wheel turns about its hinge; the beam twists by its stiffness times the angle between both arms."""
    car = car_of(rear=TwistBeam(**TWIST, torsion_stiffness=6000.0, toe=0.01).axle(), steer=0.0)
    outer, inner = np.array(TWIST["hinge_outer"]), np.array(TWIST["hinge_inner"])
    axis = (outer - inner) / np.linalg.norm(outer - inner)
    wheel = rig(car, "rear", "roll", values=TRAVELS).left

    def turned(angle):
        R = Rotation.from_rotvec(angle * axis).as_matrix()
        return R, outer + R @ (CENTRE - outer) - CENTRE

    for k, travel in enumerate(TRAVELS):
        R, moved = turned(brentq(lambda angle, z=travel: turned(angle)[1][2] - z, -0.3, 0.3, xtol=1e-15))
        n = R @ car.spin_axis("rl")
        found = (wheel.x[k], wheel.y[k], wheel.camber[k], wheel.toe[k])
        assert found == pytest.approx((*moved[:2], np.arcsin(n[2]), np.arctan2(-n[0], n[1])), abs=1e-9)
    level = TWIST | {"hinge_inner": (-0.95, 0.4, 0.17)}  # along y: angles about one axis
    bar = AntiRollBar(np.array([-1.2, 0.0, 0.1]), 0.4, -0.1, 0.05, 1e3, part="trailing_arm")
    car = car_of(
        rear=TwistBeam(**level, torsion_stiffness=6000.0, anti_roll_bar=bar).axle(), steer=Ramp(0.05, 0.15, 0.0, 0.4)
    )
    result = rtmbs.Simulation(car.at_speed(15.0).compile(), 1e-3).run(0.3)
    angle = result["arm_hinge_rl.angle"] + result["arm_hinge_rr.angle"]  # the right axis is a mirror image
    assert np.max(np.abs(angle)) > 0.02
    assert np.linalg.norm(result["twist_r.torque"], axis=1) == pytest.approx(6000.0 * np.abs(angle), abs=1e-6)


def test_refusals():
    with pytest.raises(rtmbs.errors.ModelError, match="SolidAxle: 3 links; it must be 4: two for each pair"):
        SolidAxle(**SOLID, links=(LOWER,), upper_link=MIDDLE).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="it must be on the left, y above zero"):
        SolidAxle(**SOLID | {"wheel_centre": (-1.4, -0.8, 0.1)}, links=(LOWER, UPPER)).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="torsion_stiffness is -1 and torsion_damping 0; they must be"):
        TwistBeam(**TWIST, torsion_stiffness=-1.0).axle()
