"""Runs of the variational midpoint rule with a tolerance: errors, order, momenta, jumps, events, plain Python."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.momentum import kept, mechanism
from bench.campaigns.tolerances import ALLOWED, case_of
from bench.campaigns.variational_kinks import case_of as kinked_case
from bench.measures.refined import maxwell
from rtmbs import At, Every, Simulation, VariationalMidpoint, library, refined
from rtmbs.errors import InputError
from rtmbs.integrators.variational_midpoint import ExtrapolatedMidpoint
from tests.cases import spread
from tests.simulation.falling import HEIGHT, G, falling

METHOD = VariationalMidpoint()
JUMP = 0.1234567


def built(name, **options):
    return Simulation(library.build(name).compile(), 5e-3, VariationalMidpoint(**options))


@pytest.mark.parametrize("name", ["pendulum", "top", "crank_rocker", "planar_slider_crank", "fourbar"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_the_error_stays_below_three_tolerances(name, tolerance):
    sim = built(name)
    exact = refined(sim.system, 1e-3, 0.4, runs=3)
    result = sim.run(0.4, tolerance=tolerance, record=Every(0.04))
    assert np.allclose(result.t, exact.t[::40], rtol=0, atol=1e-12)
    for channel in [one for one in exact.names() if one.split(".")[-1] in ("angle", "orientation")]:
        off = np.abs(result[channel] - exact[channel][::40]).max()
        assert off < 3.0 * tolerance + exact.error(channel).max(), channel
    assert set(result.outcomes) == {"CONVERGED"}
    assert sim.method == VariationalMidpoint()
    assert sim.h == 5e-3


@pytest.mark.parametrize("seed", range(7))
def test_random_mechanisms_against_equations_of_their_own(seed):
    error, what = case_of(seed + 7, METHOD)
    assert error <= ALLOWED, what


def errors_of_steps(name, h, t_end):
    """Return the errors in coordinates and rates of steps of one size, against much smaller ones."""
    ends = []
    for size in (h, h / 2, h / 16):
        sim = built(name, tol=1e-13)
        state, work = sim.state.copy(), sim._store.work
        stepper = ExtrapolatedMidpoint(sim.method, sim.equations, work)
        for _ in range(round(t_end / size)):
            taken = stepper.take(state, size, np.repeat(state.u[None], 4, axis=0))
            assert taken.report.outcome.accepted
            state = taken.new
        pose = np.concatenate((state.z, state.R0.ravel()))
        ends.append((pose, state.zd, state.zdd, state.lam))
    return [[np.abs(a - b).max(initial=0.0) for a, b in zip(one, ends[-1], strict=True)] for one in ends[:-1]]


@pytest.mark.parametrize(("name", "h"), [("crank_rocker", 0.04), ("top", 0.01)])
def test_positions_rates_accelerations_and_multipliers_have_order_six(name, h):
    coarse, fine = errors_of_steps(name, h, 8 * h)
    for a, b in zip(coarse, fine, strict=True):
        if a > 1e-11:
            assert 5.0 < np.log2(a / b) < 7.5


@pytest.mark.parametrize("name", ["pendulum", "top", "crank_rocker", "fourbar"])
def test_the_kernel_and_plain_python_take_the_same_steps(name):
    runs = [built(name, fused=fused).run(0.2, tolerance=1e-5) for fused in (True, False)]
    one, other = runs
    assert one.steps.steps == other.steps.steps
    for channel in [c for c in one.names() if c.split(".")[-1] in ("angle", "rate", "acceleration", "position")]:
        size = max(float(np.abs(one[channel]).max()), 1.0)
        assert np.abs(one[channel] - other[channel]).max() < 1e-7 * size, channel


def test_force_states_and_their_accelerations():
    system = maxwell().compile()
    exact = refined(system, 5e-4, 0.4, runs=3)
    result = Simulation(system, 5e-3, METHOD).run(0.4, tolerance=1e-6, record=Every(0.1))
    way = next(name for name in exact.names() if name.endswith(".way"))
    assert np.abs(result[way] - exact[way][::200]).max() < 1e-5
    assert np.abs(result["rail.acceleration"] - exact["rail.acceleration"][::200]).max() < 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_momenta_stay_through_extrapolation(seed):
    model, kind, axis = mechanism(seed)
    result = Simulation(model.compile(), 1e-2, METHOD).run(1.0, tolerance=1e-4)
    names = ("momentum.linear", "momentum.angular_about_origin")
    linear, angular = (np.asarray(result[name]) for name in names)
    size = max(float(np.abs(linear).max()), float(np.abs(angular).max()), 1.0)
    for momentum in kept(kind, axis, linear, angular):
        assert np.abs(momentum - momentum[:1]).max(initial=0.0) < 1e-12 * size


class Declared:
    jumps = (JUMP,)

    def __call__(self, t):
        return 30.0 if t <= JUMP else -5.0


def jumping(t):
    return 30.0 if t < JUMP else -5.0


@pytest.mark.parametrize("value", [jumping, Declared()], ids=["watched", "declared"])
def test_no_step_goes_over_a_jump(value):
    sim = falling(value)
    sim.change(method=METHOD)
    result = sim.run(0.3, tolerance=1e-7)
    left, a, b = 0.3 - JUMP, 5.0, -12.5
    exact = HEIGHT + 0.5 * a * JUMP**2 + a * JUMP * left + 0.5 * b * left**2
    assert result["rail.displacement"][-1] == pytest.approx(exact, abs=1e-10)
    assert not ((result.t[:-1] < JUMP - 1e-9) & (result.t[1:] > JUMP + 1e-9)).any()


def test_events_come_at_their_times():
    sim = falling()
    sim.change(method=METHOD)
    reached = (2.0 * HEIGHT / G) ** 0.5
    hits = []

    def bounce(sim):
        hits.append(sim.t)
        sim.set("rail.displacement", HEIGHT)

    result = sim.run(1.0, tolerance=1e-6, when=rtmbs.Event(lambda s: s.z[0], action=bounce, direction=-1))
    assert hits[0] == pytest.approx(reached, abs=1e-9)
    assert [one.t for one in result.events] == hits


def test_a_moving_function_of_time_and_times_between_steps():
    times = np.sort(np.random.default_rng(3).uniform(0.0, 0.5, 12))
    sim = falling(lambda t: 20.0 + 4.0 * np.sin(20.0 * t))
    sim.change(method=METHOD)
    result = sim.run(0.5, tolerance=1e-7, record=At(times))
    exact = HEIGHT + 2.0 / 20.0 * (times - np.sin(20.0 * times) / 20.0)
    assert np.abs(result["rail.displacement"][1 : len(times) + 1] - exact).max() < 1e-7


def test_observers_see_every_step_in_chunks_and_one_by_one():
    class Times(rtmbs.Observer):
        def start(self, sim, steps):
            self.t = [sim.state.t]

        def look(self, sim, report):
            assert report.t == pytest.approx(sim.state.t, abs=1e-15)
            self.t.append(sim.state.t)

    times, meters = Times(), [rtmbs.EnergyMeter(), rtmbs.EnergyMeter()]
    one = built("pendulum").run(0.3, tolerance=1e-5, observers=[times, meters[0]])
    other = built("pendulum").run(0.3, tolerance=1e-5, observers=[meters[1]])
    assert np.array_equal(times.t, one.t)
    assert one["t"].tobytes() == other["t"].tobytes()
    assert meters[0].summary() == pytest.approx(meters[1].summary(), rel=1e-9, abs=1e-12)


def two_springs(**options):
    """Return an oscillator whose stiffness changes where it passes zero."""
    model = rtmbs.Model("two springs", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    model.add_force("law", lambda t, k, p: -np.where(k.z > 0.0, 400.0, 100.0) * k.z, joint="rail", **options)
    model.set_initial("rail", position=1.0, rate=0.0)
    return Simulation(model.compile(), 1e-3, METHOD)


FAST, SLOW = np.pi / 20.0, np.pi / 10.0  # half periods [s]


def place(t):
    """Return where the oscillator is, by half periods in closed form."""
    t = (t + 0.5 * FAST) % (FAST + SLOW)
    return np.sin(20.0 * t) if t < FAST else -2.0 * np.sin(10.0 * (t - FAST))


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-8])
def test_steps_end_at_kinks(tolerance):
    result = two_springs().run(2.0, tolerance=tolerance)
    assert abs(float(result["rail.displacement"][-1]) - place(2.0)) < tolerance
    assert not any("kink" in text for text in result.warnings)
    kinks = 0.5 * FAST + np.cumsum([0.0, *[SLOW, FAST] * 3])
    for t in kinks[kinks < 2.0]:
        assert np.abs(result.t - t).min() < 1e-2 * tolerance, t


def test_a_law_that_python_calls_is_named_for_its_kinks():
    sim = two_springs(trace=False)
    result = sim.run(0.3, tolerance=1e-3)
    assert any("a kink of force laws (law) within a step" in text for text in result.warnings)


@pytest.mark.parametrize("trace", [True, False])
def test_an_event_at_a_kink_comes_at_its_time(trace):
    """The step to the event is taken anew: it has seen no force behind the kink."""
    times = []
    event = rtmbs.Event(lambda s: s.z[0], action=lambda sim: times.append(sim.t))
    result = two_springs(**({} if trace else {"trace": False})).run(2.0, tolerance=1e-6, when=event)
    exact = 0.5 * FAST + np.cumsum([0.0, *[SLOW, FAST] * 5])
    exact = exact[exact < 2.0]
    assert len(times) == len(exact)
    assert np.abs(np.array(times) - exact).max() < 1e-7
    assert abs(float(result["rail.displacement"][-1]) - place(2.0)) < 1e-6


def test_a_force_that_jumps_back_and_forth_ends_in_words():
    model = rtmbs.Model("dry friction", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    model.add_force("friction", lambda t, k, p: -5.0 * np.sign(k.zd), joint="rail")
    model.set_initial("rail", position=0.0, rate=1.0)
    with pytest.raises(InputError, match="friction"):
        Simulation(model.compile(), 1e-3, METHOD).run(1.0, tolerance=1e-6)


@pytest.mark.parametrize("seed", spread(range(12), 4))
def test_random_mechanisms_with_kinks_against_equations_of_their_own(seed):
    error, what, _ = kinked_case(seed + 100)
    assert not error > ALLOWED, what


def test_smooth_forces_are_not_said_to_have_kinks():
    assert not any("kink" in text for text in built("crank_rocker").run(0.2, tolerance=1e-4).warnings)


def test_the_log_tells_every_try():
    log = (result := built("crank_rocker").run(0.5, tolerance=1e-4)).steps
    assert np.allclose(np.cumsum(log.h[log.taken]), result.t[1:], rtol=0, atol=1e-12)
    assert np.all(log.error[log.taken] <= 1.0)
    assert np.all(~(log.error[~log.taken] <= 1.0))


def chip(point: tuple[float, ...]) -> Simulation:
    """Return a light body that is thrown 6 m beside the origin, with its joint at ``point``."""
    m = rtmbs.Model("thrown", gravity=(0, 0, -9.81))
    m.add_body("chip", mass=0.9, inertia=(3e-6, 3.6e-6, 4.5e-6), position=(3, -3, 1.5))
    m.add_joint("free", rtmbs.Floating(), "ground", "chip", point=point)
    m.set_initial("free", rate=(1.0, 2.0, 0.5, 50.0, 30.0, 5.0))
    return Simulation(m.compile(), 1e-4, VariationalMidpoint())


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "python"])
def test_a_run_that_is_refused_in_its_first_step_names_a_coordinate(kernel, monkeypatch):
    """It said ``because of ''``: only steps that were taken had a worst coordinate."""
    if not kernel:
        monkeypatch.setattr(rtmbs.simulation.extrapolated_run, "KERNEL_FAILURES", 0)
    with pytest.raises(InputError, match=r"at t = 0 s, because of 'free\.rotation_\d': nothing bends there"):
        chip((0, 0, 0)).run(0.1, tolerance=1e-8)
    assert set(chip((3, -3, 1.5)).run(0.1, tolerance=1e-8).outcomes) == {"CONVERGED"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", [1e300, 1e99])
def test_a_run_from_an_input_too_large_ends_in_words(value):
    """No step starts from accelerations out of range: the run names that, and no place of an empty list."""
    model = rtmbs.library.build("pendulum")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="pivot")
    sim = rtmbs.Simulation(model.compile(), h=1e-3, method=rtmbs.VariationalMidpoint())
    sim.inputs["motor.torque"] = value
    with pytest.raises(rtmbs.errors.RtmbsError):
        sim.run(3e-3, tolerance=1e-4)
