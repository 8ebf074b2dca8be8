"""Jumps of functions of time: jump times before a run, mean inputs of a step across jumps."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, ModelError, StepError
from rtmbs.library.linkages import add_bar
from rtmbs.simulation.jumps import MOST_AHEAD, NONE, TINY, fill_timed_rows, find_jumps, jump_times, mean_value, pieces
from rtmbs.system.system import Signal

STEPS = (0.02, 0.01, 0.005, 0.0025)
END = 0.4
TIMES = (0.24, 0.2371, 0.2)  # on a boundary of every step; inside of every step; on a boundary again


class Counted:
    """A function of time that counts how often it is asked."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, t):
        self.calls += 1
        return np.reshape(self.function(t), -1)


def found(function, t, h, jumps=None, size=1):
    counted = Counted(function)
    signal = Signal(0, size, counted, "f", jumps)
    start, end = np.reshape(function(t), -1), np.reshape(function(t + h), -1)
    return find_jumps(signal, t, h, start, end), counted.calls


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.3, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("jumps", [None, ()], ids=["watched", "declared"])
@pytest.mark.parametrize("t", [0.0, 0.35, 4321.0])
def test_a_jump_is_found_where_it_is(share, jumps, t):
    h, rng = 5e-3, np.random.default_rng(3)
    for _ in range(20):
        slope, low, jump = rng.normal(size=3)
        high = low + jump + math.copysign(4.0 * h * abs(slope), jump)  # smaller ones cost no order unless declared
        time = t + share * h

        def function(s, slope=slope, low=low, high=high, time=time):
            return slope * math.sin(s) + (low if s < time else high)

        start = np.array([slope * math.sin(t) + low])  # share 0: the jump comes right after the start
        counted = Signal(0, 1, lambda s: np.array([function(s)]), "f", jumps if jumps is None else (time,))
        (there,) = find_jumps(counted, t, h, start, np.array([function(t + h)]))
        assert there.share == pytest.approx(share, abs=1e-8 + 1e-11 * t / h)
        smooth = slope * math.sin(time)
        np.testing.assert_allclose((there.before[0], there.after[0]), (smooth + low, smooth + high), atol=1e-8)


def test_smooth_functions_do_not_jump_and_cost_one_call_mostly():
    rng, calls, steps = np.random.default_rng(1), 0, 0
    for _ in range(300):
        a, w, phase, b = rng.normal(), 10.0 ** rng.uniform(-1, 2), rng.uniform(0, 7), rng.normal()
        for t in rng.uniform(0.0, 100.0, 10):
            jumps, asked = found(lambda s, a=a, w=w, p=phase, b=b: a * math.sin(w * s + p) + b, t, 5e-3)
            assert not jumps
            calls, steps = calls + asked, steps + 1
    assert calls < 1.3 * steps
    assert found(lambda s: abs(s - 0.5), 0.497, 5e-3) == ([], pytest.approx(4, abs=3))  # a kink is no jump
    assert found(lambda s: 2.0, 0.0, 5e-3) == ([], 0)  # what stays costs nothing


def test_the_mean_is_that_of_the_input_over_the_step():
    def function(s):
        return 2.0 * s + (s >= 0.3) - 4.0 * (s >= 0.7)

    jumps, _ = found(function, 0.0, 1.0, (0.3, 0.7))
    assert [jump.share for jump in jumps] == pytest.approx([0.3, 0.7])
    start, end = np.array([function(0.0)]), np.array([function(1.0)])
    mean = 0.5 * (start + mean_value(jumps, start, end))
    assert mean[0] == pytest.approx(1.0 + 0.7 - 4.0 * 0.3, abs=1e-8)


# ----------------------------------------------------------------------------------------------------- order in loops


def pushed(m, value):
    m.add_force("push", rtmbs.Motor(value), joint=next(iter(m.joints)))
    return m


def spatial(value):
    """A crank, a rod on a ball and a universal joint, a slider; axes askew."""
    m = rtmbs.Model("skew", gravity=(1.0, -2.0, -9.0))
    corner, pin, end = (0.0, 0.0, 0.0), (0.05, 0.11, 0.31), (0.2, 0.93, 0.1)
    add_bar(m, "crank", corner, pin, 0.8)
    add_bar(m, "rod", pin, end, 0.6, axial=0.02)
    m.add_body("slider", mass=1.3, inertia=(0.01, 0.01, 0.01), position=end)
    m.add_joint("pivot", rtmbs.Revolute((1.0, 0.1, -0.2)), m.ground, "crank", point=corner)
    m.add_joint("ball", rtmbs.Spherical(), "crank", "rod", point=pin)
    m.add_joint("rail", rtmbs.Prismatic((0.1, 1.0, 0.05)), m.ground, "slider", point=end)
    m.add_joint("cross", rtmbs.Universal((1.0, 0.0, 0.3), (0.3, 0.0, -1.0)), "rod", "slider", point=end, cut=True)
    return pushed(m, value)


MACHINES = {
    "crank-rocker": lambda value: pushed(rtmbs.library.build("crank_rocker"), value),
    "skew slider-crank": spatial,
}


def last(simulation, joint):
    result = simulation.run(END)
    values = [result[name][-1] for name in result.names() if name.startswith(f"{joint}.")]
    return {
        "motion": np.array([value for value in values if np.ndim(value) == 0]),
        "reaction": result[f"{joint}.reaction"][-1],
    }


def by_input(build, time, joint):
    """The end of a run whose input is changed by hand between two of its small steps."""
    n = 2000
    simulation = rtmbs.Simulation(build(rtmbs.Input(-1.0)).compile(), h=time / n)
    simulation.run(time)
    simulation.inputs["push.torque"] = 2.0
    simulation.h = (END - time) / n
    return last(simulation, joint)


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("name", MACHINES)
def test_order_two_across_a_jump(name, time):
    build = MACHINES[name]
    joint = "rocker_pivot" if name == "crank-rocker" else "rail"
    exact = by_input(build, time, joint)

    def torque(t):
        return 2.0 if t >= time else -1.0

    for value in (torque, rtmbs.Staircase((0.0, time), (-1.0, 2.0))):
        ends = [last(rtmbs.Simulation(build(value).compile(), h=h), joint) for h in STEPS]
        for what, right in exact.items():
            errors = [np.linalg.norm(end[what] - right) for end in ends]
            order = np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
            assert 1.8 < order < 2.5, (what, errors)


def test_a_wrench_that_jumps_twice_in_a_step_is_exact_on_a_free_body():
    m = rtmbs.Model("free", gravity=(0, 0, 0))
    m.add_body("ball", mass=2.0, inertia=(1, 1, 1))
    m.add_joint("free", rtmbs.Floating(), m.ground, "ball")
    push = rtmbs.Staircase((0.0, 0.42, 0.57), ((1.0, 0, 0), (3.0, -2.0, 0), (0, 0, 4.0)))
    m.add_force("push", rtmbs.Wrench(force=push), body="ball")
    result = rtmbs.Simulation(m.compile(), h=0.2).run(1.0)
    impulse = 0.42 * np.array([1.0, 0, 0]) + 0.15 * np.array([3.0, -2.0, 0]) + 0.43 * np.array([0, 0, 4.0])
    np.testing.assert_allclose(result["ball.velocity"][-1], impulse / 2.0, atol=1e-9)
    np.testing.assert_allclose(result["ball.acceleration"][-1], (0, 0, 2.0), atol=1e-9)
    np.testing.assert_allclose(result["push.force"][[2, 3]], ((1.0, 0, 0), (0, 0, 4.0)), atol=1e-12)


def test_a_step_that_fails_after_a_jump_leaves_the_state_as_it_was():
    def torque(t):
        return 1.0 if t < 0.25 else 1e300

    simulation = rtmbs.Simulation(pushed(rtmbs.library.build("crank_rocker"), torque).compile(), h=0.1)
    simulation.run(0.2)
    before = simulation.state.copy()
    assert not simulation.step().outcome.accepted
    for name in ("z", "zd", "zdd", "lam", "u"):
        np.testing.assert_array_equal(getattr(simulation.state, name), getattr(before, name))


# ------------------------------------------------------------------------------------------------------------ drivers


def cart(profile):
    """A driven cart that carries a four-bar, which swings freely."""
    m = rtmbs.Model("cart")
    m.add_body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("rail", rtmbs.Prismatic((0, 1, 0.2)), m.ground, "cart", point=(0, 0, 0))
    corners = ((0, 0, 0.0), (0, 0.25, -0.1), (0, 0.7, -0.5), (0, 0.6, 0.0))
    for name, a, b, mass in (("crank", 0, 1, 0.7), ("coupler", 1, 2, 1.1), ("rocker", 3, 2, 0.9)):
        add_bar(m, name, corners[a], corners[b], mass)
    for name, a, b, place in (("a", "cart", "crank", 0), ("b", "crank", "coupler", 1), ("d", "cart", "rocker", 3)):
        m.add_joint(name, rtmbs.Revolute((1, 0, 0)), a, b, point=corners[place])
    m.add_joint("c", rtmbs.Revolute((1, 0, 0)), "coupler", "rocker", point=corners[2], cut=True)
    m.set_initial("a", rate=3.0)
    m.add_driver("pull", profile, joint="rail")
    return m


def pull(time, jumps=None):
    return rtmbs.Function(
        lambda t: 2.0 * max(t - time, 0.0) ** 2, lambda t: 4.0 * max(t - time, 0.0), lambda t: 4.0 * (t >= time), jumps
    )


@pytest.mark.parametrize("time", [0.24, 0.2371])
@pytest.mark.parametrize("declared", [False, True])
def test_order_two_when_the_acceleration_of_a_driver_jumps(time, declared):
    def end(h, jumps):
        result = rtmbs.Simulation(cart(pull(time, jumps)).compile(), h=h).run(END)
        return {
            "motion": np.array([result[f"a.{what}"][-1] for what in ("angle", "rate", "acceleration")]),
            "reaction": np.append(result["a.reaction"][-1], result["pull.force"][-1]),
        }

    fine, finer = end(END / 2000, (time,)), end(END / 4000, (time,))
    ends = [end(h, (time,) if declared else None) for h in STEPS]
    for what in fine:
        exact = finer[what] + (finer[what] - fine[what]) / 3.0
        errors = [np.linalg.norm(found[what] - exact) for found in ends]
        assert 1.8 < np.polyfit(np.log(STEPS), np.log(errors), 1)[0] < 2.5, (what, errors)


@pytest.mark.parametrize(
    ("f", "fd", "what"),
    [
        (lambda t: 0.1 * (t >= 0.05), lambda t: 0.0, "value jumps from 0 to 0.1"),
        (lambda t: 0.1 * max(t - 0.05, 0.0), lambda t: 0.1 * (t >= 0.05), "rate jumps from 0 to 0.1"),
    ],
)
def test_a_driver_that_no_finite_force_can_follow_is_refused(f, fd, what):
    with pytest.raises(ModelError, match=rf"'pull': its {what} at t = 0.05"):
        cart(rtmbs.Function(f, fd, lambda t: 0.0, jumps=(0.05,))).compile()
    simulation = rtmbs.Simulation(cart(rtmbs.Function(f, fd, lambda t: 0.0)).compile(), h=0.004)
    with pytest.raises(InputError, match=rf"'pull': its {what} at t = 0.05"):
        simulation.run(0.4)
    assert simulation.t == pytest.approx(0.048)


@pytest.mark.parametrize(
    ("jumps", "words"), [((math.nan,), "finite"), ("soon", "must be"), ([[0.1, 0.2]], "shape")], ids=str
)
def test_jumps_that_are_no_times_are_refused_by_name(jumps, words):
    def torque(t):
        return 0.0

    torque.jumps = jumps
    with pytest.raises(ModelError, match=f"force 'push'.*jumps.*{words}"):
        pushed(rtmbs.library.build("crank_rocker"), torque).compile()
    with pytest.raises(ModelError, match=f"driver 'pull'.*jumps.*{words}"):
        cart(pull(0.1, jumps))


def test_a_staircase_with_times_that_do_not_increase_is_refused():
    for times, values, words in (
        ((0.0, 0.0), (1.0, 2.0), "increase"),
        ((), (), "empty"),
        ((0.0,), (1.0, 2.0), "shape"),
    ):
        with pytest.raises(ModelError, match=f"Staircase: .*{words}"):
            rtmbs.Staircase(times, values)


def test_a_saved_state_goes_on_across_a_jump_to_the_same_bytes(tmp_path):
    def simulation():
        return rtmbs.Simulation(
            MACHINES["crank-rocker"](lambda t: math.sin(t) - 2.0 * (t >= 0.2371)).compile(), h=0.005
        )

    whole, first, second = simulation(), simulation(), simulation()
    whole.run(0.4)
    first.run(0.235)
    first.state.save(tmp_path / "state.npz")
    second.restore(tmp_path / "state.npz")
    second.run(0.4)
    for name in ("z", "zd", "zdd", "lam", "u"):
        assert getattr(second.state, name).tobytes() == getattr(whole.state, name).tobytes()


H = 1e-3


def simulation(torque, **options):
    model = rtmbs.library.build("crank_rocker")
    model.add_force("motor", rtmbs.Motor(torque), joint="crank_pivot")
    return rtmbs.Simulation(model.compile(), h=H, **options)


def by_hand(sim, steps):
    for _ in range(steps):
        assert sim.step().outcome.accepted
    return sim.state


def bytes_of(state):
    return [getattr(state, name).tobytes() for name in ("z", "zd", "zdd", "lam", "u")]


SIGNALS = {
    "smooth": lambda t: 3.0 * math.sin(20.0 * t),
    "one jump": lambda t: 2.0 if t > 0.1034 else -1.0,
    "a jump at a step": lambda t: 2.0 if t >= 0.1 else -1.0,
    "a jump in every step": lambda t: math.floor(t / H + 0.3) % 3 - 1.0,
    "a kink": lambda t: max(0.0, t - 0.12) * 40.0,
}


@pytest.mark.parametrize("name", SIGNALS)
def test_a_run_has_the_bytes_of_steps(name):
    run, steps = simulation(SIGNALS[name]), simulation(SIGNALS[name])
    run.run(0.3)
    by_hand(steps, 300)
    assert bytes_of(run.state) == bytes_of(steps.state)


@pytest.mark.parametrize("name", ["smooth", "one jump"])
def test_chosen_steps_see_the_function(name):
    """A run with a tolerance takes rows back and goes on from them: its inputs are those of its times."""
    sim = simulation(SIGNALS[name])
    sim.run(0.3, tolerance=1e-5)
    assert sim.state.u[-1] == SIGNALS[name](sim.t)
    steps = simulation(SIGNALS[name])
    steps.change(h=5e-5) if hasattr(steps, "h_changes") else None
    fine = rtmbs.Simulation(steps.system, h=5e-5)
    fine.run(0.3)
    np.testing.assert_allclose(sim.state.z, fine.state.z, atol=1e-4)


def test_rows_end_where_a_step_must_look():
    sim = simulation(SIGNALS["one jump"])
    rows = np.tile(sim.state.u, (MOST_AHEAD + 50, 1))
    by_hand(sim, 90)
    assert fill_timed_rows(sim.system, sim.state, rows) == 13
    sim = simulation(SIGNALS["smooth"])
    assert fill_timed_rows(sim.system, sim.state, rows) == MOST_AHEAD
    t = H * np.arange(1, MOST_AHEAD + 1)
    slot = sim.system.signals[0].slot
    np.testing.assert_array_equal(rows[:MOST_AHEAD, slot], [SIGNALS["smooth"](one) for one in t])


def test_what_a_function_raises_passes_with_its_time():
    def torque(t):
        if t > 0.0505:
            raise ValueError("no torque is known")
        return 1.0

    sim = simulation(torque)
    with pytest.raises(ValueError, match="no torque is known") as caught:
        sim.run(0.2)
    assert caught.value.__notes__ == ["in the function of time 'motor.torque' at t = 0.051 s"]
    assert sim.t == pytest.approx(0.05)
    assert bytes_of(sim.state) == bytes_of(by_hand(simulation(torque), 50))


def test_a_value_that_is_no_number_fails_its_own_step():
    sim = simulation(lambda t: math.nan if t > 0.0505 else math.sin(t))
    with pytest.raises(StepError, match="motor"):
        sim.run(0.2)
    assert sim.t == pytest.approx(0.05)


# ---- where functions of time jump, found before a run ---------------------------------------------------------------


def system_of(*values):
    """Return a mass on a rail under motors with these functions of time."""
    model = rtmbs.Model("jumps", gravity=(0.0, 0.0, 0.0))
    body = model.add_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", body)
    for k, value in enumerate(values):
        model.add_force(f"push_{k}", rtmbs.Motor(value), joint="rail")
    return model.compile()


class Steps:
    """Jumps at declared times, and says so."""

    def __init__(self, *times):
        self.jumps = times

    def __call__(self, t):
        return float(sum(t >= time for time in self.jumps))


@pytest.mark.parametrize("seed", range(20))
def test_jumps_of_random_functions_are_found_once(seed):
    rng = np.random.default_rng(seed)
    h, t, t_end = 1e-2, float(rng.uniform(-1, 1)), 2.0
    told = np.sort(rng.uniform(t, t_end, 3))
    hidden = float(rng.uniform(t + h, t_end - h))
    size, slope = rng.choice((-1.0, 1.0)) * rng.uniform(1.0, 5.0), rng.uniform(-1.0, 1.0)
    system = system_of(Steps(*told), lambda t: size * (t > hidden) + slope * t, lambda t: math.sin(3.0 * t))
    found = jump_times(system, t, t_end, h)
    assert found == pytest.approx(sorted([*told, hidden]), abs=1e-9 * h * 2.0)


def test_two_functions_that_jump_together_have_one_time():
    system = system_of(Steps(0.25), Steps(0.25), lambda t: 3.0 if t < 0.25 else -1.0)
    assert jump_times(system, 0.0, 1.0, 1e-2) == pytest.approx([0.25], abs=1e-11)


def test_smooth_functions_and_constants_jump_nowhere():
    system = system_of(lambda t: math.sin(9.0 * t), lambda t: 2.0, lambda t: math.exp(-t), Steps())
    assert jump_times(system, 0.0, 3.0, 1e-2) == []


def test_declared_times_where_nothing_jumps_do_not_count():
    class Idle:
        jumps = (0.5,)

        def __call__(self, t):
            return math.cos(t)

    assert jump_times(system_of(Idle()), 0.0, 1.0, 1e-2) == []


def test_ends_count():
    system = system_of(Steps(0.0, 1.0, 2.0))
    assert jump_times(system, 0.0, 1.0, 1e-2) == [0.0, 1.0]


def test_a_driver_that_jumps_is_refused():
    model = rtmbs.Model("driven")
    body = model.add_body("mass", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    profile = rtmbs.Function(lambda t: 0.0 if t < 0.505 else 1.0, lambda t: 0.0, lambda t: 0.0)
    model.add_driver("drive", profile, joint="rail")
    sim = rtmbs.Simulation(model.compile(), 1e-2)
    before = sim.state.copy()
    for run in (lambda: sim.run(1.0, tolerance=1e-4), lambda: rtmbs.refined(sim.system, 1e-2, 1.0)):
        with pytest.raises(InputError, match=r"driver 'drive': its value jumps from 0 to 1 at t = 0.505 s"):
            run()
    assert sim.state.motion() == before.motion()
    assert sim.t == 0.0


GRID_H = 5e-3


def labels(found):
    """Grid times that get a sample, in order."""
    out = []
    for piece in found:
        if piece.grid != NONE:
            out += range(piece.grid, piece.grid + piece.steps)
        if piece.behind != NONE:
            out.append(piece.behind)
    return out


def test_a_grid_without_jumps_is_one_piece():
    (piece,) = pieces(0.0, GRID_H, 200, [])
    assert piece == (0.0, 200 * GRID_H, 200, 1, NONE, 200 * GRID_H)


@pytest.mark.parametrize("seed", range(40))
def test_every_grid_time_is_sampled_once_and_no_piece_holds_a_jump(seed):
    rng = np.random.default_rng(seed)
    t, steps = float(rng.uniform(-1.0, 1.0)), int(rng.integers(1, 30))
    inside = rng.uniform(t, t + steps * GRID_H, rng.integers(0, 6))
    on_grid = t + GRID_H * rng.integers(0, steps + 1, rng.integers(0, 4))
    beside = t + GRID_H * (rng.integers(1, steps + 1, rng.integers(0, 3)) + rng.choice((-0.5, 0.5)) * TINY)
    jumps = sorted({*inside.tolist(), *on_grid.tolist(), *np.minimum(beside, t + steps * GRID_H).tolist()})
    jumps = [jump for k, jump in enumerate(jumps) if k == 0 or jump - jumps[k - 1] > 3 * TINY * GRID_H]
    found = pieces(t, GRID_H, steps, jumps)
    assert [label for label in labels(found) if label > 0] == list(range(1, steps + 1))
    here = t
    for piece in found:
        assert piece.start == here
        assert piece.start <= piece.end <= piece.go
        assert piece.go - piece.end <= 2.0 * TINY * GRID_H
        assert piece.steps * GRID_H >= (piece.end - piece.start) * (1.0 - 2.0 * TINY)
        assert not any(piece.start < jump < piece.end for jump in jumps)
        if piece.grid != NONE:
            ends = t + GRID_H * np.arange(piece.grid, piece.grid + piece.steps)
            assert abs(ends[-1] - piece.end) <= TINY * GRID_H
        here = piece.go
    assert abs(here - (t + steps * GRID_H)) <= TINY * GRID_H
