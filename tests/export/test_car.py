"""A car as a native library and as an FMU, steered, driven and braked: the numbers of a Simulation."""

import numpy as np
import pytest

import rtmbs
from bench.native_bytes import state_bytes
from rtmbs.vehicle import Ramp, read

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
CORNERS = ("fl", "fr", "rl", "rr")
MOTION = ("value", "rate", "acceleration")
TYRES = [f"tyre_{corner}.{what}" for corner in CORNERS for what in ("force", "torque")]
SEEN = [*TYRES, "chassis.orientation", *(f"wheel_{corner}.orientation" for corner in CORNERS)]
OUTPUTS = ["chassis.position", "chassis.angular_velocity", *(f"hub_{corner}.rate" for corner in CORNERS), *SEEN]
H, STEPS = 1e-3, 300


@pytest.fixture(scope="module")
def car():
    return read("sedan", variant="from_models", impossible_inertia="nearest").at_speed(20.0)


def inputs_of(car):
    """Return the names of the inputs, and a function that answers their values at a time."""
    ramp = Ramp(0.05, 0.15, 0.0, 0.3 * car.data.steering.ratio, blend=0.02)

    def at(t, late):
        brake = 300.0 if t > 0.2 else 0.0
        torques = car.drive_inputs(200.0) | {f"brake_{corner}.torque": brake for corner in CORNERS}
        return {"steering": ramp(t + H - late)} | torques

    return list(at(0.0, 0.0)), at


def simulated(car, late):
    """Return a Simulation after all steps, the steering ``late`` [s]."""
    sim, (_, at) = rtmbs.Simulation(car.compile(), h=H), inputs_of(car)
    for k in range(STEPS):
        for name, value in at(k * H, late).items():
            sim.inputs[name] = value
        assert sim.step().outcome.accepted
    return sim


def test_the_library_has_the_bytes_of_a_simulation(load, car):
    names, at = inputs_of(car)
    it = load(car.compile(), inputs=names, outputs=OUTPUTS)
    for k in range(STEPS):
        values = at(k * H, 0.0)
        for what, value in zip(MOTION, values.pop("steering"), strict=True):
            assert it.set(f"steering[{what}]", value) == 0
        assert [it.set(name, value) for name, value in values.items()] == [0] * len(values)
        assert it.library.rtmbs_taken(it.step())
    sim = simulated(car, 0.0)
    assert it.arrays == state_bytes(sim)
    assert sim["chassis.angular_velocity"][2] > 0.2  # it turns to the left
    for channel in SEEN:
        axes = "wxyz" if channel.endswith("orientation") else "xyz"
        found = np.array([it.read(f"{channel}[{axis}]") for axis in axes])
        assert found.tobytes() == sim.read([channel]).tobytes(), channel
    loads = sum(it.read(f"tyre_{corner}.force[z]") for corner in CORNERS)
    weight = 9.81 * sum(body.mass for body in car.bodies.values())
    assert loads == pytest.approx(weight, rel=0.05)  # the car heaves a little


@pytest.mark.parametrize("fmi", [2, 3])
def test_the_fmu_has_the_numbers_of_a_simulation(car, tmp_path, fmi):
    """An importer that sets the steering at the beginning of a step lets it lag by one step."""
    fmpy = pytest.importorskip("fmpy")
    names, at = inputs_of(car)
    start = rtmbs.Simulation(car.compile(), h=H)
    path = rtmbs.export_fmu(start, tmp_path / "car.fmu", fmi=fmi, inputs=names, outputs=OUTPUTS)
    columns = [f"steering[{what}]" for what in MOTION] + names[1:]
    given = np.zeros(STEPS + 1, dtype=[("time", "f8"), *((name, "f8") for name in columns)])
    for k in range(STEPS + 1):
        values = at(k * H, H)
        given[k] = (k * H, *values.pop("steering"), *values.values())
    found = fmpy.simulate_fmu(str(path), stop_time=STEPS * H, output_interval=H, input=given)
    sim = simulated(car, H)
    for axis, value in zip("xyz", sim["chassis.position"], strict=True):
        assert found[f"chassis.position[{axis}]"][-1] == pytest.approx(value, abs=1e-12)
    assert found["hub_rr.rate"][-1] == pytest.approx(sim["hub_rr.rate"], rel=1e-12)
    for axis, value in zip("wxyz", sim["chassis.orientation"], strict=True):
        assert found[f"chassis.orientation[{axis}]"][-1] == pytest.approx(value, abs=1e-12)
    for axis, value in zip("xyz", sim["tyre_fl.force"], strict=True):
        assert found[f"tyre_fl.force[{axis}]"][-1] == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("channel", ["chassis_pose.orientation", "momentum.linear"])
def test_what_only_python_evaluates_is_refused(car, tmp_path, channel):
    with pytest.raises(rtmbs.errors.InputError, match=rf"channel '{channel}' is evaluated in Python only"):
        rtmbs.export_library(car.compile(), tmp_path / "car", outputs=[channel])


@pytest.mark.slow
@pytest.mark.parametrize("fmi", [2, 3])
def test_cvode_integrates_a_car_that_brakes_on_one_side(car, tmp_path, fmi):
    """Derivatives of model exchange, integrated by fmpy's CVODE, beside steps of 0.1 ms and of 0.2 ms, extrapolated."""
    fmpy = pytest.importorskip("fmpy")
    torques = car.drive_inputs(200.0) | {"brake_fl.torque": 300.0, "brake_rl.torque": 200.0}
    end, outputs = 0.2, ["chassis.position", "chassis.angular_velocity", "hub_rl.rate"]
    start = rtmbs.Simulation(car.compile(), h=H)
    path = rtmbs.export_fmu(
        start, tmp_path / "car.fmu", fmi=fmi, inputs=list(torques), outputs=outputs, kind="model-exchange"
    )
    names = [*(f"chassis.angular_velocity[{axis}]" for axis in "xyz"), "chassis.position[x]", "hub_rl.rate"]
    given = np.array([(0.0, *torques.values())], dtype=[("time", "f8"), *((name, "f8") for name in torques)])
    found = fmpy.simulate_fmu(
        str(path), stop_time=end, output_interval=0.02, relative_tolerance=1e-9, solver="CVode",
        fmi_type="ModelExchange", input=given, output=names,
    )  # fmt: skip
    coarse, fine = (braked(car, torques, h, end) for h in (2e-4, 1e-4))
    wanted = fine + (fine - coarse) / 3.0  # steps have order two
    assert abs(wanted[2]) > 0.02  # brakes turn the car
    for name, value in zip(names, wanted, strict=True):
        assert found[name][-1] == pytest.approx(value, abs=2e-6), name


def braked(car, torques, h, end):
    """Return what a Simulation of a step ``h`` [s] has at the end."""
    sim = rtmbs.Simulation(car.compile(), h=h)
    for name, value in torques.items():
        sim.inputs[name] = value
    sim.run(end)
    return np.array([*sim["chassis.angular_velocity"], sim["chassis.position"][0], sim["hub_rl.rate"]])
