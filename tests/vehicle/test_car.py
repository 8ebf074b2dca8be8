"""Cars of data files: rest, modes, step steer, braking against independent programs; rest on a slope; symmetry; flaws.

References: an own energy model (its loads, pose and modes) and compiled runs of Project Chrono 10 (step steer and
braking, with tyres whose forces follow the steady slip of the wheel centre), extrapolated to a step of zero.
"""

import json
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import ModelError
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import BrushTyre, Car, read
from rtmbs.vehicle.axle import part
from rtmbs.vehicle.car import CORNERS, nearest_possible
from rtmbs.vehicle.data_file import data_path, read_data
from rtmbs.vehicle.steering import Ramp
from tests.cases import quick

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
AT_REST = {  # loads front, rear [N], height [m], pitch [rad]; left wheels: heights [m], camber and toe [deg]
    ("sedan", "from_json"): (
        4178.172, 4019.364, 0.2308368, 0.04562288, 0.3290977, 0.329665, 0.7174297, 0.6888183, 0.9330345, 0.904601,
    ),
    ("sedan", "from_models"): (
        4029.839, 4202.217, 0.22108842, 0.01043066, 0.3296496, 0.3290041, -0.1354518, -0.8252287, -0.2609468, 0.0805341,
    ),
    ("hmmwv", "from_json"): (
        6492.35, 6128.89, 0.588421, 0.0028620, 0.455148, 0.455641, -0.9432, -2.4062, -1.2294, 0.4018,
    ),
}  # fmt: skip
MODES = {  # frequency of the undamped oscillator [Hz] and damping ratio
    ("sedan", "from_json"): "2.441/0.119 4.209/0.201 4.614/0.227 19.287/0.742 19.331/0.733 19.357/0.702 19.363/0.688",
    ("sedan", "from_models"): "1.292/1 1.347/1 1.631/0.724 5.460/0.555 6.695/0.485 7.678/1 10.252/1 24.236/1 26.004/1 "
    "39.855/1 40.661/1",
    ("hmmwv", "from_json"): "2.073/0.249 2.722/0.322 3.276/0.386 9.657/0.610 9.847/0.306 10.273/0.322 10.574/0.596",
}
PINNED = {  # likewise, with contact points that do not move sideways in their mean
    ("sedan", "from_json"): "2.011/0.100 2.441/0.119 4.209/0.201 18.294/0.650 19.331/0.733 19.357/0.702 19.518/0.742",
    ("sedan", "from_models"): "1.292/1 1.548/1 1.631/0.724 4.629/0.552 5.460/0.555 7.678/1 14.110/0.999 26.004/1 "
    "39.855/1 40.518/1",
    ("hmmwv", "from_json"): "2.073/0.249 2.165/0.229 3.276/0.386 8.696/0.582 8.928/0.297 9.657/0.610 9.847/0.306",
}
STEP_STEER = """
4.1 17.8018 0.100964 0.004631 3643.5 4805.3 3465.5 4498.2
4.2 17.7807 0.173626 0.009599 3290.9 5140.8 3070.9 4897.1
4.3 17.7581 0.185236 0.012388 3038.8 5389.1 2807.7 5152.3
4.5 17.7096 0.186039 0.015453 2786.3 5642.6 2558.1 5410.3
5.0 17.5834 0.183980 0.016676 2686.1 5741.2 2459.8 5509.7
"""  # t, vx, yaw rate, roll, loads
BRAKING = """
4.1 22.3112 0.049311 4919.2 3321.9 67.8433 67.3037
4.2 21.8668 0.056144 5823.2 2403.9 65.9056 62.9076
4.3 21.2675 0.057324 5771.6 2336.9 64.1765 59.8673
4.5 20.0614 0.056999 5843.8 2421.5 60.5306 57.0744
5.0 17.0502 0.056839 5788.6 2411.4 51.4276 48.5087
"""  # t, vx, pitch, loads front and rear, spin front and rear
BEGIN = 4.0 - 2.0  # of the tables; the runs settle for 2 s in place of 4 s
each = pytest.mark.parametrize(("file", "variant"), AT_REST, ids=lambda name: name)


def rows(text: str) -> np.ndarray:
    return np.array([[float(word) for word in line.split()] for line in text.strip().splitlines()])


@cache
def at_rest(file, variant):
    return read(file, variant=variant).rest()


@each
def test_rest(file, variant):
    """Loads within 5e-6, pitch within 1e-7, heights within 2 um, angles within 0.002 degrees of the energy model."""
    front, rear, height, pitch, *wheels = AT_REST[file, variant]
    rest = at_rest(file, variant)
    mean = {axle: 0.5 * (rest.wheel_loads[f"{axle}l"] + rest.wheel_loads[f"{axle}r"]) for axle in "fr"}
    assert mean["f"] == pytest.approx(front, rel=5e-6)
    assert mean["r"] == pytest.approx(rear, rel=5e-6)
    assert rest.height == pytest.approx(height, abs=1e-6)
    assert rest.pitch == pytest.approx(pitch, abs=1e-7)
    found = [
        (rest.wheel_heights, 1.0), (rest.camber, 180 / np.pi), (rest.toe, 180 / np.pi)
    ]  # fmt: skip
    one_side = 0.0 if file == "sedan" else 2e-3  # a Pitman arm is on one side
    for (values, factor), wanted in zip(found, (wheels[0:2], wheels[2:4], wheels[4:6]), strict=True):
        for axle, value in zip("fr", wanted, strict=True):
            assert factor * values[f"{axle}l"] == pytest.approx(value, abs=2e-6 + 2e-3 * (factor > 1) + one_side)
    if file == "sedan":
        assert abs(rest.roll) < 1e-8
        assert rest.camber["fl"] == pytest.approx(-rest.camber["fr"], abs=1e-8)
    weight = 9.81 * read_total(file, variant)
    assert sum(rest.wheel_loads.values()) == pytest.approx(weight, rel=1e-8)


def read_total(file, variant):
    return json.loads(data_path(file).read_text(encoding="utf-8"))["variants"][variant]["total_mass"]


@each
def test_modes(file, variant):
    """All modes of ride and wheel hop, every printed digit; the four others are free on the road."""
    compare_modes(at_rest(file, variant), MODES[file, variant])


@each
def test_modes_of_pinned_contacts(file, variant):
    """The same with the mean of both contact points of an axle held sideways; loads and pose stay."""
    free, pinned = at_rest(file, variant), read(file, variant=variant).rest(pinned=True)
    compare_modes(pinned, PINNED[file, variant])
    assert pinned.wheel_loads == pytest.approx(free.wheel_loads, rel=1e-6)
    assert pinned.pitch == pytest.approx(free.pitch, abs=1e-8)


def compare_modes(rest, printed):
    """Compare the modes of a car at rest with printed frequencies and damping ratios; others are free on the road."""
    modes = rest.modes
    found = sorted((f, d) for f, d in zip(modes.frequencies, modes.damping, strict=True) if f > 0.01)
    wanted = [tuple(map(float, pair.split("/"))) for pair in printed.split()]
    assert len(found) == len(wanted)
    for (f, d), (f0, zeta) in zip(found, wanted, strict=True):
        assert f == pytest.approx(f0, abs=6e-4)
        assert d == pytest.approx(zeta, abs=1.1e-3)


def chassis_motion(car, result, k):
    """Return velocity of the centre of mass, angular velocity (chassis axes) and rotation of the chassis."""
    R = rotations(result["chassis.orientation"][k])
    w = result["chassis.angular_velocity"][k]
    return R.T @ (result["chassis.velocity"][k] + np.cross(w, R @ car.data.chassis.com)), R.T @ w, R


def as_in_chrono(steer, brakes=None, shafts=True):
    """Return the sedan with the tyre of the reference; its drive shafts turn without gyroscopic torque."""
    options = {"tyres": "tmeasy", "transient": False, "slip_point": "centre", "steer": steer, "brakes": brakes}
    car = read("sedan", variant="from_json", **options)
    if shafts:
        return car
    front, rear = (replace(axle, shaft_inertia=0.0) for axle in (car.data.front, car.data.rear))
    return Car(car.data._replace(front=front, rear=rear), car.tyres, **car.options)


def test_step_steer():
    """Speed, yaw rate, roll and loads within 0.5 % of their largest values in the reference."""
    rack = -0.0040579
    car = as_in_chrono(None, shafts=False)
    car = car.changed(steer=Ramp(2.0, 2.1, 0.0, rack / car.data.steering.ratio)).at_speed(18.212858)
    result = rtmbs.Simulation(car.compile(), 1e-3).run(3.0)
    wanted = rows(STEP_STEER)
    at_start = int(np.argmin(np.abs(result["t"] - 2.0)))
    assert chassis_motion(car, result, at_start)[0][0] == pytest.approx(17.8213, abs=1e-4)
    found = []
    for t in wanted[:, 0] - BEGIN:
        k = int(np.argmin(np.abs(result["t"] - t)))
        v, w, R = chassis_motion(car, result, k)
        loads = [result[f"tyre_{corner}.force"][k][2] for corner in CORNERS]
        found.append([v[0], w[2], np.arctan2(R[2, 1], R[2, 2]), *loads])
    error = np.abs(np.array(found) - wanted[:, 1:]) / np.max(np.abs(wanted[:, 1:]), axis=0)
    assert np.max(error) < 5e-3


def test_braking():
    """Speed, pitch, loads and spins within 0.15 % of the reference."""

    def torque(t):
        return 800.0 * np.minimum(np.maximum((t - 2.0) / 0.2, 0.0), 1.0)

    car = as_in_chrono(0.0, torque).at_speed(22.8529)
    result = rtmbs.Simulation(car.compile(), 1e-3).run(3.0)
    wanted = rows(BRAKING)
    at_start = int(np.argmin(np.abs(result["t"] - 2.0)))
    assert chassis_motion(car, result, at_start)[0][0] == pytest.approx(22.46, abs=1e-3)
    for t, *row in wanted:
        k = int(np.argmin(np.abs(result["t"] - (t - BEGIN))))
        v, _, R = chassis_motion(car, result, k)
        found = [v[0], np.arcsin(-R[2, 0]), *(result[f"tyre_{c}.force"][k][2] for c in ("fl", "rl"))]
        found += [result[f"hub_{c}.angle_rate"][k] for c in ("fl", "rl")]
        assert np.allclose(found, row, rtol=1.5e-3)


@pytest.mark.parametrize("tyres", quick(["pac2002", "tmeasy"], "tmeasy"))
def test_rest_on_a_slope(tyres):
    """A braked car on a 10 % slope moves less than 1 mm in 10 s; the brakes carry the weight along the road."""
    car = read("sedan", tyres=tyres, slope=0.1, brakes=1500.0, steer=0.0).at_speed(0.0)
    sim = rtmbs.Simulation(car.compile(), 1e-3)
    sim.run(8.0)
    result = sim.run(18.0)
    assert np.max(np.ptp(result["chassis.position"], axis=0)) < 1e-4
    along = sum(result[f"tyre_{corner}.force"][-1][0] for corner in CORNERS)
    assert along == pytest.approx(1671.261 * 9.81 * np.sin(np.arctan(0.1)), rel=1e-4)


def test_mirrored_steering_gives_the_mirrored_motion():
    """Left and right turns are mirror images, with Magic Formula tyres that have conicity."""
    runs = []
    for side in (1.0, -1.0):
        car = read("sedan", variant="from_models", steer=Ramp(0.05, 0.15, 0.0, 0.5 * side)).at_speed(20.0)
        runs.append(rtmbs.Simulation(car.compile(), 1e-3).run(0.6))
    left, right = (one["chassis.position"] for one in runs)
    assert np.max(np.abs(left - right * (1.0, -1.0, 1.0))) < 1e-10
    assert left[-1][1] > 0.05  # positive angles turn left


class LaneChange:
    """A steering angle that rises and falls to both sides as the cube of a sine."""

    def __call__(self, t):
        w, x = 2 * np.pi / 1.5, t - 0.1
        if not 0.0 < x < 1.5:
            return 0.0, 0.0, 0.0
        s, c = np.sin(w * x), np.cos(w * x)
        return 0.35 * s**3, 1.05 * w * s * s * c, 1.05 * w * w * (2 * s * c * c - s**3)


@pytest.mark.slow
def test_lane_change_has_order_two():
    """Halving the step divides the error of place and velocity after a lane change by four."""
    car = read("sedan", variant="from_models", steer=LaneChange()).at_speed(20.0, at_rest("sedan", "from_models"))
    system, ends = car.compile(), []
    for h in (2e-3, 1e-3, 5e-4, 1.25e-4):
        result = rtmbs.Simulation(system, h).run(1.7)
        ends.append([*result["chassis.position"][-1], *result["chassis.velocity"][-1][:2]])
    errors = np.abs(np.array(ends[:3]) - ends[3])
    assert np.all(errors[:2] / errors[1:] > 3.3)
    assert np.max(errors[1]) < 1e-5  # m, m/s at 1 ms


def test_a_car_is_a_model():
    """Bodies, forces and sensors are added as to any Model; hard points move both sides."""
    car = read("sedan", variant="from_models", steer=0.0)
    car.add_body("luggage", mass=200.0, inertia=(5, 5, 5), position=(-1.5, 0.0, 0.7))
    car.add_joint("straps", rtmbs.Fixed(), "chassis", "luggage", point=(-1.5, 0, 0.7))
    result = rtmbs.Simulation(car.compile(), 1e-3).run(3.0)
    assert result["chassis.position"][0] == pytest.approx(
        car.bodies["chassis"].position, abs=1e-9
    )  # it begins at design
    loads = [result[f"tyre_{corner}.force"][-1][2] for corner in CORNERS]
    assert sum(loads) == pytest.approx((1678.299 + 200.0) * 9.81, rel=1e-2)
    moved = car.with_points("rear", {"tie_rod.a": (-1.645, 0.17, 0.03)})
    assert moved.rest().toe["rl"] != pytest.approx(at_rest("sedan", "from_models").toe["rl"], abs=1e-4)
    assert moved.rest().toe["rl"] == pytest.approx(-moved.rest().toe["rr"], abs=1e-8)
    with pytest.raises(rtmbs.errors.UnknownNameError, match=r"there is no hard point named 'tie_rod\.c'"):
        car.with_points("rear", {"tie_rod.c": (0, 0, 0)})


def test_impossible_inertia():
    """Published inertias that no body has are named; the nearest possible one is taken when the user says so."""
    with pytest.warns(rtmbs.RtmbsWarning, match=r"inertia of tyre_mass \(wheel_fl, .*breaks the triangle inequality"):
        read("sedan")
    with pytest.raises(rtmbs.errors.ModelError, match="upper_arm"):
        read("hmmwv", impossible_inertia="error")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        car = read("sedan", impossible_inertia="nearest", spin=False)
    for body in car.bodies.values():
        a, b, c = np.linalg.eigvalsh(body.inertia)
        assert c <= a + b + 1e-12
    assert np.linalg.eigvalsh(nearest_possible(np.diag([1.0, 1.0, 2.9]))) == pytest.approx([1.3, 1.3, 2.6])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda car: car.update(wings=2), "there is no field of vehicle file .* named 'wings'"),
        (lambda car: car["chassis"].pop("mass"), "chassis: field 'mass' is missing; give it"),
        (lambda car: car.update(total_mass=1000.0), "total_mass is 1000.0, and .* follows from other fields"),
        (lambda car: car["axles"][0].update(type="swing"), "type is 'swing'; it must be one of double_wishbone"),
        (lambda car: car["axles"][0]["bodies"][1].update(com_right=[0, 0, 0]), "com_right is"),
        (lambda car: car["axles"][0]["joints"][5].update(length=0.4), "'tie_rod': length is 0.4, and"),
        (lambda car: car["axles"][0]["joints"][3].update(type="glue"), "'upper_ball': type is 'glue'"),
        (lambda car: car["axles"][1]["force_elements"][0].update(colour="red"), "named 'colour'"),
        (lambda car: car["axles"][1].update(degrees_of_freedom_per_side=3), "degrees_of_freedom_per_side is 3, and 2"),
        (lambda car: car["steering"].update(type="tiller"), "type is 'tiller'; it must be 'rack and pinion'"),
        (lambda car: car["steering"].update(max_rack_travel=1.0), "max_rack_travel is 1.0, and"),
        (lambda car: car["axles"][0]["joints"].pop(0), "no joint of the spindle; give a wheel bearing"),
    ],
)
def test_flaws_of_a_file(tmp_path, change, words):
    """Every field is read; each flaw has one sentence with the file and the field."""
    given = json.loads(data_path("sedan").read_text(encoding="utf-8"))
    change(given["variants"]["from_json"])
    path = tmp_path / "car.json"
    path.write_text(json.dumps(given), encoding="utf-8")
    with pytest.raises(rtmbs.errors.ModelError, match=words) as caught:
        read_data(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.update(wings=2), "named 'wings'"),
        (lambda file: file["tyres"].update(wooden={}), "there is no field of .*: tyres named 'wooden'"),
        (lambda file: file["tyres"]["pac2002"].update(mass=3.0), "pac2002: mass is 3.0, and 11.5 follows"),
        (lambda file: file["tyres"]["pac2002"].update(file_side="TOP"), "file_side is 'TOP'; it must be one of LEFT"),
        (lambda file: file["powertrain_and_brakes"].update(turbo=1), "powertrain_and_brakes named 'turbo'"),
    ],
)
def test_flaws_outside_of_the_variant(tmp_path, change, words):
    given = json.loads(data_path("sedan").read_text(encoding="utf-8"))
    change(given)
    path = tmp_path / "car.json"
    path.write_text(json.dumps(given), encoding="utf-8")
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        read_data(path)


def test_names_of_a_file(tmp_path):
    with pytest.raises(rtmbs.errors.ModelError, match="does not exist"):
        read(tmp_path / "none.json")
    with pytest.raises(rtmbs.errors.UnknownNameError, match=r"there is no variant of .* named 'coupe'"):
        read("sedan", variant="coupe")
    with pytest.raises(rtmbs.errors.ModelError, match="holds differences to another one"):
        read("hmmwv", variant="from_models")
    with pytest.raises(rtmbs.errors.UnknownNameError, match="there is no option of a car named 'colour'"):
        read("sedan", colour="red")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(rtmbs.errors.ModelError, match="is damaged"):
        read(tmp_path / "bad.json")


def random_sedan(rng):
    """Return a sedan with random hard points and tyres, and another chassis."""
    variant = str(rng.choice(("from_json", "from_models")))
    tyres = rng.choice(("pac2002", "tmeasy", "brush"))
    if tyres == "brush":
        stiffness, friction = rng.uniform(1.5e5, 3e5), rng.uniform(0.6, 1.2)
        tyres = BrushTyre(
            free_radius=0.344, vertical_stiffness=stiffness, tread_stiffness=rng.uniform(1e7, 4e7), friction=friction,
            vertical_damping=rng.uniform(100.0, 2000.0),
        )  # fmt: skip
    options = {"transient": bool(rng.integers(2)), "impossible_inertia": "nearest"}
    car = read("sedan", variant=variant, tyres=str(tyres) if isinstance(tyres, np.str_) else tyres, **options)
    for axle in ("front", "rear"):
        points = getattr(car.data, axle).hard_points
        size = 10.0 ** rng.uniform(-3.0, -1.7)  # 1 to 20 mm, now and then more
        if rng.random() < 0.1:
            size = 0.15
        moved = {name: value + rng.uniform(-size, size, 3) for name, value in points.items()}
        moved["wheel_centre"] = points["wheel_centre"]
        car = car.with_points(axle, moved)
    chassis, factor = car.data.chassis, rng.uniform(0.7, 1.4)
    com = chassis.com + rng.uniform(-0.15, 0.15, 3) * (1.0, 0.0, 1.0)
    new = part("chassis", factor * chassis.mass, com, factor * chassis.inertia, "chassis")
    return Car(car.data._replace(chassis=new), car.tyres, **car.options)


def test_a_start_is_the_pose_of_rest():
    """A car that is far from its design at rest starts in that pose, with both sides alike."""
    car = random_sedan(np.random.default_rng(13))
    rest = car.changed(steer=0.0).rest()
    assert rest.camber["fl"] < -0.05
    system = car.changed(steer=0.0).at_speed(20.0, rest).compile()
    assert not any(cut.auxiliary for cut in system.topology.cuts)  # initial values cost no coordinates
    sim = rtmbs.Simulation(system, h=1e-3)
    for corner, load in rest.wheel_loads.items():
        assert float(sim[f"tyre_{corner}.force"][2]) == pytest.approx(load, rel=1e-9)
    for axle in "fr":
        left, right = (sim[f"wheel_{axle}{side}.position"] for side in "lr")
        assert np.max(np.abs(left - (1.0, -1.0, 1.0) * right)) < 1e-13


@pytest.mark.parametrize(
    ("raised", "loads", "height"), [(0.12, 1e-3, 0.015), pytest.param(-0.02, 1e-5, 1e-4, marks=pytest.mark.slow)]
)
def test_rest_from_a_wrong_height(raised, loads, height):
    """A car that starts too high falls, one too low is pushed up. Both stand still, with the weight on their wheels.

    The rest of ``rest()`` has no side forces of tyres. Those that a fall leaves hold the car up to 11 mm higher.
    """
    rest = at_rest("sedan", "from_models")
    car = read("sedan", variant="from_models", steer=0.0, brakes=1500.0).at_speed(0.0, rest)
    pose = car.initials["chassis_pose"]
    car.initials["chassis_pose"] = replace(pose, position=pose.position + raised * (np.arange(7) == 2))
    result = rtmbs.Simulation(car.compile(), h=2e-3).run(10.0)
    found = {corner: result[f"tyre_{corner}.force"][:, 2] for corner in rest.wheel_loads}
    for corner, load in rest.wheel_loads.items():
        assert found[corner][-1] == pytest.approx(load, rel=loads)
        assert (found[corner][10] == 0.0) == (raised > 0.0)  # in the air
    total = sum(load[-1] for load in found.values())
    assert total == pytest.approx(9.81 * read_total("sedan", "from_models"), rel=1e-6)
    place = result["chassis.position"]
    assert place[-1, 2] == pytest.approx(rest.height, abs=height)
    assert np.max(np.abs(place[-1] - place[-1000])) < 2e-6


def test_accelerations_behind_changed_inputs():
    """Accelerations that follow inputs have the digits of those of a start, though loops weigh 1e6 times as much."""
    car = random_sedan(np.random.default_rng(3))  # arms of 2 kg beside a chassis of a tonne
    rest = car.changed(steer=0.0).rest()
    start = rtmbs.Simulation(car.changed(steer=0.05, brakes=300.0, friction=0.7).at_speed(20.0, rest).compile(), h=1e-3)
    sim = rtmbs.Simulation(car.changed(steer=0.05).at_speed(20.0, rest).compile(), h=1e-3)
    for corner in CORNERS:
        sim.inputs[f"brake_{corner}.torque"] = 300.0
        sim.inputs[f"tyre_{corner}.friction"] = 0.7
    wanted = start.state.zdd
    assert np.max(np.abs(wanted)) > 20.0
    assert sim.state.zdd == pytest.approx(wanted, abs=1e-10 * float(np.max(np.abs(wanted))), rel=0.0)


# --------------------------------------------------------------------------------------------------- a car of its parts


def parts(**given):
    """Return the parts of a small car with one double wishbone axle in front and one behind."""
    front = rtmbs.vehicle.DoubleWishbone(
        wheel_centre=(1.3, 0.75, 0.0), steered=True,
        upper_front=(1.4, 0.42, 0.17), upper_back=(1.2, 0.42, 0.16), upper_ball=(1.29, 0.66, 0.19),
        lower_front=(1.45, 0.37, -0.11), lower_back=(1.15, 0.37, -0.11), lower_ball=(1.305, 0.70, -0.13),
        tie_rod_inner=(1.18, 0.38, -0.06), tie_rod_outer=(1.17, 0.68, -0.07),
        strut_chassis=(1.3, 0.48, 0.38), strut_arm=(1.3, 0.58, -0.11),
        spring=rtmbs.vehicle.Spring(free_length=0.56, stiffness=7e4), damper=rtmbs.vehicle.Damper(4500.0),
    )  # fmt: skip
    rear = front.axle().with_points({name: at - (2.7, 0, 0) for name, at in front.axle().hard_points.items()})
    connections = tuple(replace(one, a="chassis") if one.name == "tie_rod" else one for one in rear.connections)
    moved = tuple(replace(one, com=one.com - (2.7, 0, 0)) for one in rear.parts)
    rack = rtmbs.vehicle.part("rack", 5.0, (1.18, 0.0, -0.06), (0.3, 0.01, 0.3), "rack")
    tyre = rtmbs.vehicle.BrushTyre(free_radius=0.32, vertical_stiffness=2.2e5, tread_stiffness=1.5e7, friction=1.0)
    return {
        "chassis": rtmbs.vehicle.part("body", 1300.0, (0.05, 0.0, 0.25), (400.0, 1800.0, 2000.0), "chassis"),
        "front": front, "rear": replace(rear, connections=connections, parts=moved), "tyres": tyre,
        "steering": rtmbs.vehicle.RackAndPinion(rack, (1.18, 0.0, -0.06), 0.008, 8.0),
    } | given  # fmt: skip


def test_a_car_of_its_parts():
    """Parts take names of their own, points are tuples, and an option leaves the name of the car alone."""
    car = Car(name="mine", steer=0.3, friction=0.9, **parts())
    assert car.name == car.data.name == "mine"
    assert {"chassis", "steering_link"} <= set(car.bodies)
    loads = car.rest().wheel_loads
    assert sum(loads.values()) == pytest.approx(9.81 * sum(body.mass for body in car.bodies.values()), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steering": "rack"}, "steering is 'rack'; it must be a RackAndPinion or a PitmanArm"),
        ({"chassis": "body"}, "chassis is 'body'; it must be a Part"),
        ({"rim": 3.0}, "rim is 3.0; it must be a Part"),
        ({"steer": "left"}, "steer is 'left'; it must be one number"),
        ({"spin": "no"}, "spin is 'no'; it must be True or False"),
        ({"tyres": {"fl": None, "rr": None}}, "tyres of fr, rl are missing; give one for each corner"),
        ({"front": parts()["rear"], "rear": parts()["front"]}, "front wheel centre is at x = -1.4 m, the rear"),
        ({"front": replace(parts()["front"], spring=7e4)}, "DoubleWishbone: spring is 70000.0; it must be a Spring"),
        ({"front": replace(parts()["front"], upright=9.0)}, "DoubleWishbone: upright is 9.0; it must be a Part"),
        ({"front": replace(parts()["front"], anti_roll_bar=2e4)}, "anti_roll_bar is 20000.0; it must be of the class"),
    ],
)  # fmt: skip
def test_parts_that_are_none(given, words):
    with pytest.raises(ModelError, match=words):
        Car(**parts(**given))


def test_steering_that_steers_nothing_is_told():
    with pytest.warns(rtmbs.RtmbsWarning, match="no axle hangs on the steering, so it steers nothing"):
        Car(**parts(front=replace(parts()["front"], steered=False)))
