"""Differentials: flywheels against an own integration, closed forms, power balance, constant-velocity joints."""

import json
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import Differential, DrivenCar, HeldSteering, PedalTable, add_differentials, power_balance, read
from rtmbs.vehicle.data_file import data_path
from rtmbs.vehicle.driveline import BRISTLE, RATE, DrivelineLaw

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
INERTIAS, CASE, LOADS = np.array((1.2, 0.8)), 0.4, np.array((60.0, 5.0))
SLIP = Differential("limited_slip", preload=20.0, drive=0.3, coast=0.1, inertia=CASE)
ALL = {
    "front": "open",
    "rear": Differential("limited_slip", preload=40.0, drive=0.4, coast=0.2, inertia=0.3),
    "centre": Differential("limited_slip", preload=30.0, drive=0.3, coast=0.3, front_share=0.4),
}


@cache
def car_of():
    return read("sedan", variant="from_models")


@cache
def rest_of():
    return car_of().changed(steer=0.0).rest()


def flywheels(differential, locked_shaft=False):
    """Return two flywheels in the ground behind a differential, each with a constant torque against it."""
    model = rtmbs.Model("flywheels")
    for side, inertia in zip("lr", INERTIAS.tolist(), strict=True):
        model.add_body(side, mass=1.0, inertia=(inertia,) * 3)
        model.add_joint(f"shaft_{side}", rtmbs.Revolute((0.0, 1.0, 0.0)), "ground", side)
        model.add_force(
            f"load_{side}", lambda t, at, p: -p["torque"] + 0.0 * at.z, joint=f"shaft_{side}",
            parameters={"torque": LOADS["lr".index(side)]},
        )  # fmt: skip
    add_differentials(model, "drive", {"rear": ("shaft_l", "shaft_r")}, {"rear": differential})
    return model


def own_rates(torque, t_end, locking, stiff_case):
    """Return the rates of both flywheels by an adaptive integration of their own equations with Dahl's friction."""
    mass = np.diag(INERTIAS) + 0.25 * stiff_case

    def rates(t, y):
        w, z = y[:2], y[2]
        apart = w[0] - w[1]
        g = apart / np.sqrt(1.0 + (apart / RATE) ** 2)
        moved = -0.5 * locking * z / BRISTLE
        change = np.linalg.solve(mass, 0.5 * torque + np.array((moved, -moved)) - LOADS)
        return [*change, g - abs(g) * z / BRISTLE]

    return solve_ivp(rates, (0.0, t_end), np.zeros(3), rtol=1e-10, atol=1e-12, method="Radau").y[:2, -1]


@pytest.mark.parametrize(
    ("one", "torque"),
    [(Differential(inertia=CASE), 100.0), (SLIP, 100.0), (SLIP, 400.0), (SLIP, -100.0)],
    ids=["open", "slips", "sticks", "coasts"],
)
def test_flywheels(one, torque):
    """Rates behind open and limited-slip differentials equal those of an own integration."""
    sim = rtmbs.Simulation(flywheels(one).compile(), h=5e-4)
    sim.inputs["drive.torque"] = torque
    sim.run(0.5)
    wanted = own_rates(torque, 0.5, float(one.locking_torque(torque)), CASE)
    found = [float(sim[f"shaft_{side}.angle_rate"]) for side in "lr"]
    assert found == pytest.approx(wanted, abs=4e-4)  # of order two: 5e-5 at half the step
    assert float(sim["case_rear.angle_rate"]) == pytest.approx(np.mean(found), abs=1e-9)
    if torque == 400.0:
        assert abs(found[0] - found[1]) < 0.1  # it sticks, but for a small swing of the bristle


def test_locked_flywheels():
    """One rate, (T - loads) t / (sum of inertias)."""
    sim = rtmbs.Simulation(flywheels(Differential("locked")).compile(), h=1e-3)
    sim.inputs["drive.torque"] = 100.0
    sim.run(0.5)
    for side in "lr":
        wanted = (100.0 - LOADS.sum()) * 0.5 / INERTIAS.sum()
        assert float(sim[f"shaft_{side}.angle_rate"]) == pytest.approx(wanted, abs=1e-8)


def test_locking_factors():
    """A torque-sensitive one at its limit has outputs in the bias ratio; packs of plates have their closed form."""
    one = Differential.torque_sensitive(2.5)
    for torque in (300.0, -300.0):
        apart = float(one.locking_torque(torque))
        assert (abs(torque) + apart) / (abs(torque) - apart) == pytest.approx(2.5)
    packs = Differential.clutch(
        preload=30.0, drive_angle=np.radians(30.0), coast_angle=0.5 * np.pi, friction=0.1, faces=4,
        clutch_radius=0.06, ramp_radius=0.04,
    )  # fmt: skip
    axial = 200.0 / (0.04 * np.tan(np.radians(30.0)))
    assert packs.locking_torque(200.0) == pytest.approx(30.0 + 2.0 * 0.1 * 4 * 0.06 * axial)
    assert packs.locking_torque(-200.0) == pytest.approx(30.0, abs=1e-9)


def test_centre():
    """Outputs sum to the torque; full bristles move half of the locking torques; every clutch takes power."""
    places = {place: Differential(one) if isinstance(one, str) else one for place, one in ALL.items()}
    law = DrivelineLaw(places, [(0, 1), (2, 3)])
    rates = np.array((50.0, 52.0, 40.0, 41.0))
    joints = rtmbs.model.forces.JointKinematics(0.0 * rates, rates, ())
    states = {"rear": -BRISTLE, "centre": BRISTLE}
    torques, changes = law(0.0, joints, {"torque": 500.0}, states)
    front, rear = 0.4 * 500.0 - 0.5 * (30.0 + 0.3 * 500.0), 0.6 * 500.0 + 0.5 * (30.0 + 0.3 * 500.0)
    moved = 0.5 * (40.0 + 0.4 * rear)
    assert torques == pytest.approx([0.5 * front, 0.5 * front, 0.5 * rear + moved, 0.5 * rear - moved])
    assert changes == pytest.approx([0.0, 0.0], abs=1e-12)
    assert law.clutches == ["rear", "centre"]
    lost = 500.0 * (0.4 * rates[:2].mean() + 0.6 * rates[2:].mean()) - torques @ rates
    assert lost == pytest.approx(0.5 * (30.0 + 150.0) * (51.0 - 40.5) + moved * 1.0)


@pytest.mark.parametrize(
    "which", [ALL, pytest.param({"rear": "locked"}, marks=pytest.mark.slow)], ids=["all wheels", "locked"]
)
def test_power_balance(which):
    """Engine, clutches, brakes, tyres and springs give what the energy changes, with an error of order two."""
    errors = []
    for h in (2e-3, 1e-3):
        pedals = PedalTable(lambda t: max(0.0, np.sin(12.0 * t)), lambda t: 0.3 * max(0.0, -np.sin(12.0 * t)))
        car = car_of().changed(differentials=which)
        driven = DrivenCar(car, 20.0, pedals, HeldSteering(0.15), rest=rest_of(), h=h)
        result = driven.run(0.4)
        errors.append(power_balance(driven.car, result).error)
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    shafts = {"rl": "shaft_rear", "rr": "shaft_rear"} if "centre" not in which else {"fl": "shaft_fl", "rr": "shaft_rr"}
    for corner, shaft in shafts.items():  # both ends of a constant-velocity joint turn alike about its bisector
        chassis, wheel = (rotations(result[f"{body}.orientation"][-1]) for body in ("chassis", f"wheel_{corner}"))
        axis = driven.car.axle(corner).spin_axis * ([-1.0, 1.0, -1.0] if corner[1] == "r" else [1.0, 1.0, 1.0])
        d, n = chassis @ (0.0, 1.0, 0.0), wheel @ axis
        turns = result[f"wheel_{corner}.angular_velocity"][-1] - result["chassis.angular_velocity"][-1]
        assert turns @ (d + n) / (1.0 + d @ n) == pytest.approx(result[f"{shaft}.angle_rate"][-1], abs=1e-6)


def test_split_friction():
    """With one driven wheel on ice the other gets half of the torque of an open car, and nearly all of a locked one."""
    gained = {}
    for kind in (None, "open", "locked"):
        options = {} if kind is None else {"differentials": {"front": kind}}
        moving = car_of().changed(steer=0.0, **options).at_speed(5.0, rest_of())
        sim = rtmbs.Simulation(moving.compile(), h=2e-3)
        sim.inputs["tyre_fr.friction"] = sim.inputs["tyre_rr.friction"] = 0.05
        for name, value in moving.drive_inputs(900.0).items():
            sim.inputs[name] = value
        sim.run(0.4)
        gained[kind] = float(sim["chassis.velocity"][0]) - 5.0
        rates = [float(sim[f"hub_{corner}.angle_rate"]) for corner in ("fl", "fr")]
        assert (abs(rates[0] - rates[1]) < 0.02) == (kind == "locked")
    assert gained["open"] == pytest.approx(gained[None], rel=0.01)  # through shafts as without
    assert 1.7 < gained["locked"] / gained["open"] < 2.0


def test_in_a_file(tmp_path):
    """The file of a car has differentials, one for all variants or by variant; each field is read."""
    given = json.loads(data_path("sedan").read_text(encoding="utf-8"))
    drive, path = given["powertrain_and_brakes"], tmp_path / "car.json"
    drive["driven_axle"] = "all"

    def car(differentials):
        drive["differentials"] = differentials
        path.write_text(json.dumps(given), encoding="utf-8")
        return read(path)

    assert set(car({}).differentials) == {"front", "rear", "centre"}
    ramps = {"type": "clutch", "preload": 50, "drive_angle": 0.8, "coast_angle": 1.0, "friction": 0.1, "faces": 6,
             "clutch_radius": 0.06, "ramp_radius": 0.045}  # fmt: skip
    both = {"rear": ramps, "front": {"type": "torque_sensitive", "bias_ratio": 2.0}}
    found = car({"from_json": both, "from_models": {"rear": {"type": "open"}}})
    assert found.differentials["front"].drive == pytest.approx(1.0 / 3.0)
    assert found.differentials["rear"].preload == 50.0
    assert found.driven == ("fl", "fr", "rl", "rr")
    for wrong, words in (
        ({"rear": ramps | {"colour": 1}}, "there is no field of .* 'colour'"),
        ({"rear": {"type": "clutch"}}, "missing .* give the fields preload, drive_angle"),
        ({"rear": {"type": "viscous"}}, "type is 'viscous'; it must be one of open, locked"),
        ({"middle": {"type": "open"}}, "there is no place of a differential named 'middle'"),
    ):
        with pytest.raises(rtmbs.errors.RtmbsError, match=words):
            car(wrong)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Differential("viscous"), "kind is 'viscous'; it must be one of open, locked, limited_slip"),
        (lambda: Differential("limited_slip"), "limited_slip needs preload, drive or coast above zero"),
        (lambda: Differential("open", preload=3.0), "open has no preload, drive or coast"),
        (lambda: Differential("locked", inertia=-1.0), "inertia is -1; it must be zero or more"),
        (lambda: Differential(front_share=1.0), "front_share is 1; it must be between 0 and 1"),
        (lambda: Differential.torque_sensitive(1.0), "bias_ratio is 1; it must be above 1"),
        (lambda: car_of().changed(differentials={"centre": "open", "rear": "open"}), "give front and rear"),
        (lambda: car_of().changed(differentials={"rear": 3}), "differential 'rear' is 3; it must be a Differential"),
        (lambda: car_of().changed(differentials="locked"), "it must map front, rear, centre to differentials"),
    ],
)  # fmt: skip
def test_refusals(make, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        make()
