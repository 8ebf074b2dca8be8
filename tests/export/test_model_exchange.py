"""Model exchange, FMI 3.0 and 2.0: fmpy integrates by CVODE what the FMU gives derivatives of.

The references are the equations of the mechanisms written by hand in their one coordinate, and closed forms.
"""

import ctypes

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.errors import InputError, UnknownNameError

fmpy = pytest.importorskip("fmpy")
from fmpy.fmi2 import FMU2Model  # noqa: E402
from fmpy.fmi3 import FMU3Model  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

BOTH = pytest.mark.parametrize("fmi", [3, 2])
REFUSED = r"tatus|failed|rror"
GRAVITY, CRANK, ROD, SPIN = 9.81, 0.3, 0.9, 12.0  # m/s^2, m, m, rad/s
MASSES = (2.0, 1.5, 3.0)  # of crank, rod and slider [kg]
INERTIAS = (0.05, 0.2)  # about the z axis through the centre of mass [kg m^2]


def slider_crank():
    """Return a planar slider-crank that turns; centres of mass are in the middle of the bars."""
    model = rtmbs.Model("slider crank", gravity=(0.0, -GRAVITY, 0.0))
    crank = model.add_body("crank", mass=MASSES[0], inertia=(1.0, 1.0, INERTIAS[0]), center_of_mass=(CRANK / 2, 0, 0))
    rod = model.add_body(
        "rod", mass=MASSES[1], inertia=(1.0, 1.0, INERTIAS[1]), center_of_mass=(ROD / 2, 0, 0), position=(CRANK, 0, 0)
    )
    slider = model.add_body("slider", mass=MASSES[2], inertia=(1.0, 1.0, 1.0), position=(CRANK + ROD, 0, 0))
    hinge = rtmbs.Revolute(axis=(0, 0, 1))
    model.add_joint("pivot", hinge, "ground", crank, point=(0, 0, 0))
    model.add_joint("pin", hinge, crank, rod, point=(CRANK, 0, 0))
    model.add_joint("wrist", hinge, rod, slider, point=(CRANK + ROD, 0, 0))
    model.add_joint("guide", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", slider)
    model.set_initial("pivot", 0.0, SPIN)
    return model


def pose(angle):
    """Return x of the slider, and angle and centre of the rod, for a crank angle."""
    tilt = -np.arcsin(CRANK * np.sin(angle) / ROD)
    slider = CRANK * np.cos(angle) + ROD * np.cos(tilt)
    middle = np.array([CRANK * np.cos(angle) + ROD / 2 * np.cos(tilt), CRANK / 2 * np.sin(angle)])
    return slider, tilt, middle


def reduced_mass(angle):
    """Return the generalised mass of the crank angle."""
    tilt = -np.arcsin(CRANK * np.sin(angle) / ROD)
    turn = -CRANK * np.cos(angle) / (ROD * np.cos(tilt))
    slide = -CRANK * np.sin(angle) - ROD * np.sin(tilt) * turn
    middle = np.array([-CRANK * np.sin(angle) - ROD / 2 * np.sin(tilt) * turn, CRANK / 2 * np.cos(angle)])
    turning = INERTIAS[0] + MASSES[0] * CRANK**2 / 4 + INERTIAS[1] * turn**2
    return turning + MASSES[1] * middle @ middle + MASSES[2] * slide**2


def crank_motion(times):
    """Return crank angle and rate (2, k): M(a) a'' + M'(a) a'^2 / 2 + V'(a) = 0, M' by differences of order four."""

    def rates(_, state):
        angle, rate = state
        step = 1e-3
        places, weights = (-2, -1, 1, 2), (1 / 12, -8 / 12, 8 / 12, -1 / 12)
        slope = sum(w * reduced_mass(angle + p * step) for p, w in zip(places, weights, strict=True)) / step
        weight = GRAVITY * (MASSES[0] + MASSES[1]) * CRANK / 2 * np.cos(angle)
        return rate, -(0.5 * slope * rate**2 + weight) / reduced_mass(angle)

    found = solve_ivp(rates, (0.0, times[-1]), (0.0, SPIN), "DOP853", times, rtol=1e-11, atol=1e-12)
    return found.y


@pytest.fixture(scope="module")
def systems():
    """Mechanisms of these tests by name, compiled once."""
    return {"slider crank": slider_crank().compile()}


@BOTH
def test_cvode_turns_a_crank_through_its_dead_points(systems, fmi, tmp_path):
    """No coordinate but the crank angle serves in the dead points."""
    path = tmp_path / "crank.fmu"
    outputs = ["pivot.rate", "slider.position", "energy.total"]
    rtmbs.export_fmu(systems["slider crank"], path, fmi=fmi, outputs=outputs, kind="model-exchange")
    assert validate_fmu(str(path)) == []
    found = fmpy.simulate_fmu(
        str(path), stop_time=2.0, output_interval=0.05, relative_tolerance=1e-9, solver="CVode",
        fmi_type="ModelExchange", output=["pivot.rate", "slider.position[x]", "energy.total"],
    )  # fmt: skip
    angle, rate = crank_motion(found["time"])
    assert angle[-1] > 2 * 2 * np.pi
    np.testing.assert_allclose(found["pivot.rate"], rate, atol=1e-4)
    np.testing.assert_allclose(found["slider.position[x]"], [pose(one)[0] for one in angle], atol=1e-5)
    assert np.ptp(found["energy.total"]) < 1e-5 * np.max(np.abs(found["energy.total"]))


class Host:
    """One instance for model exchange, by single calls."""

    def __init__(self, path):
        self.description = fmpy.read_model_description(str(path))
        self.three = self.description.fmiVersion.startswith("3")
        guid = self.description.instantiationToken if self.three else self.description.guid
        self.fmu = (FMU3Model if self.three else FMU2Model)(
            guid=guid, unzipDirectory=fmpy.extract(str(path)),
            modelIdentifier=self.description.modelExchange.modelIdentifier, instanceName="one",
        )  # fmt: skip
        self.vr = {variable.name: variable.valueReference for variable in self.description.modelVariables}
        self.size = self.description.numberOfContinuousStates
        self.fmu.instantiate(loggingOn=True)

    def start(self):
        if not self.three:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        self.events()
        return self

    def events(self):
        found = (self.fmu.updateDiscreteStates if self.three else self.fmu.newDiscreteStates)()
        self.fmu.enterContinuousTimeMode()
        return found

    @property
    def x(self):
        values = (ctypes.c_double * self.size)()
        self.fmu.getContinuousStates(values, self.size)
        return np.array(values)

    @x.setter
    def x(self, values):
        self.fmu.setContinuousStates((ctypes.c_double * self.size)(*values), self.size)

    @property
    def dx(self):
        values = (ctypes.c_double * self.size)()
        (self.fmu.getContinuousStateDerivatives if self.three else self.fmu.getDerivatives)(values, self.size)
        return np.array(values)

    def get(self, name):
        return (self.fmu.getFloat64 if self.three else self.fmu.getReal)([self.vr[name]])[0]

    def set(self, name, value):
        (self.fmu.setFloat64 if self.three else self.fmu.setReal)([self.vr[name]], [value])


@pytest.fixture(params=[3, 2])
def host(request, systems, tmp_path):
    path = tmp_path / "crank.fmu"
    rtmbs.export_fmu(
        systems["slider crank"], path, fmi=request.param, inputs=["gravity"], outputs=["wrist.angle"],
        kind="model-exchange",
    )  # fmt: skip
    one = Host(path).start()
    yield one
    one.fmu.freeInstance()


def test_directional_derivatives_are_those_of_differences(host):
    host.x = host.x + np.array([0.3, 0.0])
    names = [f"state[{k + 1}]" for k in range(host.size)], [f"der(state[{k + 1}])" for k in range(host.size)]
    x, step = host.x, 1e-4
    unknowns = [host.vr[name] for name in (*names[1], "wrist.angle")]
    for k, name in enumerate(names[0]):
        found = host.fmu.getDirectionalDerivative(unknowns, [host.vr[name]], [2.0])
        sides = []
        for side in (step, -step):
            host.x = x + side * np.eye(host.size)[k]
            sides.append([*host.dx, host.get("wrist.angle")])
        host.x = x
        np.testing.assert_allclose(found, (np.array(sides[0]) - sides[1]) / step, rtol=1e-5, atol=1e-5)
    found = host.fmu.getDirectionalDerivative(unknowns, [host.vr["gravity[1]"]], [1.0])
    before = host.dx
    host.set("gravity[1]", -GRAVITY + 1.0)
    np.testing.assert_allclose(found, [*(host.dx - before), 0.0], rtol=1e-6, atol=1e-8)


def test_a_state_goes_on_with_the_same_bytes(host):
    rng = np.random.default_rng(35)
    for _ in range(20):
        host.x = host.x + rng.uniform(-0.2, 0.2, host.size)
        host.fmu.completedIntegratorStep()
        kept = (host.fmu.getFMUState if host.three else host.fmu.getFMUstate)()
        moved = host.x + rng.uniform(-0.1, 0.1, host.size)
        host.x = moved
        first = host.dx.tobytes(), host.get("wrist.angle")
        host.x = moved + 0.2
        host.fmu.enterEventMode()
        host.events()
        (host.fmu.setFMUState if host.three else host.fmu.setFMUstate)(kept)
        host.x = moved
        assert (host.dx.tobytes(), host.get("wrist.angle")) == first


def test_calls_in_a_wrong_order_are_refused_and_change_nothing(host):
    before = host.x.tobytes(), host.dx.tobytes()
    wrong = [host.fmu.exitInitializationMode, host.fmu.enterContinuousTimeMode, host.fmu.enterInitializationMode]
    wrong += [host.fmu.updateDiscreteStates if host.three else host.fmu.newDiscreteStates]
    for call in wrong:
        with pytest.raises(Exception, match=REFUSED):
            call()
    for values in (np.full(host.size, np.nan), np.full(host.size, 1e101)):
        with pytest.raises(Exception, match=REFUSED):
            host.x = values
    assert (host.x.tobytes(), host.dx.tobytes()) == before


@BOTH
def test_a_jump_of_a_function_of_time_is_an_event(fmi, tmp_path):
    """A mass under a stair of force, and a body that tumbles freely beside it."""
    model = rtmbs.Model("mass", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=2.0, inertia=np.eye(3))
    model.add_joint("slide", rtmbs.Prismatic(axis=(1.0, 0.0, 0.0)), "ground", body)
    model.add_force("push", rtmbs.Motor(rtmbs.Staircase([0.0, 0.3, 0.7], [1.0, 5.0, -2.0])), joint="slide")
    top = model.add_body("top", mass=1.0, inertia=(1.0, 2.0, 3.0))
    model.add_joint("free", rtmbs.Floating(), "ground", top)
    model.set_initial("free", rate=(0.0, 0.0, 0.0, 0.1, 6.0, 0.2))
    path = tmp_path / "mass.fmu"
    rtmbs.export_fmu(
        model.compile(), path, fmi=fmi, outputs=["slide.rate", "top.angular_velocity"], kind="model-exchange"
    )
    assert validate_fmu(str(path)) == []
    found = fmpy.simulate_fmu(
        str(path), stop_time=1.0, output_interval=0.1, relative_tolerance=1e-9, fmi_type="ModelExchange"
    )
    found = found[np.unique(found["time"], return_index=True)[1]]  # an event has two rows
    t = found["time"]
    impulse = np.minimum(t, 0.3) + 5.0 * np.clip(t - 0.3, 0.0, 0.4) - 2.0 * np.clip(t - 0.7, 0.0, None)
    np.testing.assert_allclose(found["slide.rate"], impulse / 2.0, atol=1e-7)

    def euler(_, w):
        return [(2.0 - 3.0) * w[1] * w[2], (3.0 - 1.0) / 2.0 * w[2] * w[0], (1.0 - 2.0) / 3.0 * w[0] * w[1]]

    wanted = solve_ivp(euler, (0.0, 1.0), (0.1, 6.0, 0.2), "DOP853", t, rtol=1e-11, atol=1e-12).y
    turning = [found[f"top.angular_velocity[{axis}]"] for axis in "xyz"]
    np.testing.assert_allclose(np.linalg.norm(turning, axis=0), np.linalg.norm(wanted, axis=0), atol=1e-6)


def test_bad_requests_are_refused(systems, tmp_path):
    with pytest.raises(UnknownNameError, match="model-exchange"):
        rtmbs.export_fmu(systems["slider crank"], tmp_path / "x.fmu", kind="model exchange")
    driven = rtmbs.library.build("driven_fourbar").compile()
    with pytest.raises(InputError, match="no degree of freedom"):
        rtmbs.export_fmu(driven, tmp_path / "x.fmu", kind="model-exchange")
