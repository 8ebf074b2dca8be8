"""Every registered method of time integration: its order, what it leaves alone, how it fails, how it goes on."""

import re
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from bench.measures.spatial import Pose, spatial_motion
from rtmbs import METHODS, Outcome, Simulation, library, methods
from rtmbs.errors import InputError, StepError, UnknownNameError
from rtmbs.formulations import QR, AugmentedLagrangian, NullSpace, Recursive
from rtmbs.methods import Capability, capabilities_of
from rtmbs.simulation.simulation import store_of
from tests.cases import marked, quick
from tests.contracts.machines import closed_model, contents, with_force_states
from tests.contracts.reference_problems import PROBLEMS
from tests.dae.motions import skip_without
from tests.patches import ROOT

OVER_FORMULATIONS = {  # the same methods over other formulations, and other formulas of a method
    "runge-kutta over null-space": lambda: methods.RungeKutta(formulation=NullSpace()),
    "runge-kutta over augmented-lagrangian": lambda: methods.RungeKutta(formulation=AugmentedLagrangian()),
    "runge-kutta 5 over recursive": lambda: methods.RungeKutta(methods.DORMAND_PRINCE, formulation=Recursive()),
    "adams-bashforth-moulton 3 over qr": lambda: methods.AdamsBashforthMoulton(3, QR()),
    "solve-ivp Radau over qr": lambda: methods.SolveIVP("Radau", QR()),
    "tangent-space bdf": lambda: methods.TangentSpace("bdf", 2),
}
CASES = {**METHODS, **OVER_FORMULATIONS}
QUICK = (  # one of each kind: by kernels, of stages, with a history, with accelerations of its own, by tolerances
    "penalty-trapezoidal", "variational-midpoint", "velocity-verlet", "runge-kutta", "adams-bashforth",
    "adams-bashforth-moulton", "hht", "runge-kutta over null-space", "solve-ivp",
)  # fmt: skip
EVERY = pytest.mark.parametrize("name", CASES)
ALL = pytest.mark.parametrize("name", quick(CASES, *QUICK))
T = 0.2  # [s]
STEPS = (8e-3, 4e-3, 2e-3)  # [s]
QUANTITIES = ("z", "zd", "zdd", "lam", "s", "sd")
ROUNDING = 2e-11  # of a reference, and of a step
BY_TOLERANCE = 1e-6  # error of methods that choose their steps by tolerances of 1e-8


def method(name):
    skip_without(name)
    return CASES[name]()


def hanging():
    """Two links askew under an oscillating torque, a damper and a spring law: a tree, smooth in all it does."""
    model = rtmbs.Model("hanging")
    one = model.add_body("one", mass=1.3, inertia=(0.1, 0.2, 0.15), center_of_mass=(0.4, 0.1, 0.0))
    two = model.add_body("two", mass=0.4, inertia=(0.03, 0.02, 0.05), center_of_mass=(0.3, 0.0, -0.1))
    a = model.add_joint("a", rtmbs.Revolute(axis=(0.1, 1.0, 0.2)), "ground", one)
    b = model.add_joint("b", rtmbs.Universal(axis_a=(1, 0, 0), axis_b=(0, 1, 0)), one, two, point=(0.8, 0.0, 0.1))
    model.add_force("torque", rtmbs.Motor(lambda t: 2.0 * np.sin(7.0 * t)), joint=a)
    model.add_force("damper", rtmbs.TorsionSpring(stiffness=3.0, damping=0.2), joint=(b, "angle_a"))
    model.set_initial(a, position=0.3, rate=1.0)
    return model


def loop():
    """The crank-rocker, which turns by itself."""
    return library.build("crank_rocker")


def turning():
    """A spinning top: one joint of three rotations on the group."""
    return library.build("top")


def driven():
    """A four-bar whose crank follows a function of time."""
    return library.build("driven_fourbar")


MACHINES = {"tree": hanging, "loop": loop, "rotations": turning, "driver": driven, "states": with_force_states}
TREES = [name for name in MACHINES if not len(MACHINES[name]().compile().row_names)]


def suits(name, tree):
    """Return whether a method takes a mechanism: one that is a tree, or one with loops or drivers."""
    return tree or name not in METHODS or Capability.LOOPS in capabilities_of(METHODS[name])


BY_MACHINE = pytest.mark.parametrize(
    ("name", "machine"),
    [
        marked((name, machine), slow=name not in QUICK)
        for machine in MACHINES
        for name in CASES
        if suits(name, machine in TREES)
    ],
)
OF_LOOPS = pytest.mark.parametrize("name", quick([name for name in CASES if suits(name, False)], *QUICK))


def end(system, name, h):
    """Return what a method has at T, rotations and all, as one array a quantity."""
    sim = Simulation(system, h, method(name))
    sim.run(T)
    state = sim.state
    return {**{q: getattr(state, q).copy() for q in QUANTITIES}, "R0": state.R0.copy()}


HEAVY = ("adams-bashforth-moulton", "hht", "runge-kutta over null-space")  # by Python, for a second a case
ORDERS = [
    marked((name, machine), slow=name not in QUICK or (name in HEAVY and machine not in ("loop", "states")))
    for name in CASES
    for machine in MACHINES
    if suits(name, machine in TREES)
]


@pytest.mark.parametrize(("name", "machine"), ORDERS)
def test_its_order_is_the_declared_one(name, machine):
    """Differences of three halvings to one another fall by 2^order, in positions, rates, accelerations, multipliers.

    A formula over several points comes near its order at smaller steps, and is judged by states and slopes together.
    """
    system, one = MACHINES[machine]().compile(), method(name)
    if one.order is None or one.order > 4:
        return  # errors are those of the tolerances, or end in rounding at once
    behind = getattr(one, "behind", 0) > 0
    steps, slack = ([0.5 * h for h in STEPS], 0.5) if behind else (STEPS, 0.35)
    groups = (("z", "zd", "s", "R0"), ("zdd", "lam", "sd")) if behind else ((q,) for q in (*QUANTITIES, "R0"))
    found = [end(system, name, h) for h in steps]
    for group in groups:
        coarse, fine = (max(np.abs(found[k][q] - found[k + 1][q]).max(initial=0.0) for q in group) for k in (0, 1))
        size = max(np.abs(found[-1][q]).max(initial=0.0) for q in group)
        if fine > 1e-11 * max(size, 1.0):
            assert np.log2(coarse / fine) > one.order - slack, (group, coarse, fine)


OF_TREES = [name for name, one in PROBLEMS.items() if not len(one.model().compile().row_names)]


def is_slow(name, problem):
    """Return whether a case is left to the long runs.

    A formulation answers for constraints and drivers; states, inputs and rotations are the method's, over any of them.
    The dearest problems take compiled steps and one method of each kind. Other methods take every second problem.
    """
    if name in OVER_FORMULATIONS and problem in ("force states", "inputs", "rotations"):
        return True
    if name in (*QUICK, "trbdf2"):
        return False
    return problem in ("redundant", "rotations") or (list(CASES).index(name) + list(PROBLEMS).index(problem)) % 2 == 1


AGAINST_OTHERS = [
    marked((name, problem), slow=is_slow(name, problem))
    for name in CASES
    for problem in PROBLEMS
    if suits(name, problem in OF_TREES)
]


@pytest.mark.parametrize(("name", "problem"), AGAINST_OTHERS)
def test_it_converges_to_an_independent_solution(name, problem):
    """With its declared order, under force states, inputs, constraints and drivers: nothing is left out or frozen."""
    one, order = PROBLEMS[problem], method(name).order
    exact, errors, system = np.array(one.exact()), [], one.model().compile()
    for h in (1e-2,) if order is None else (4e-3, 2e-3):
        sim = Simulation(system, h, method(name))
        one.run(sim)
        assert sim.state.t == pytest.approx(T)
        errors.append(np.abs(np.array(one.read(sim)) - exact).max())
    if order is None:
        assert errors[0] < BY_TOLERANCE
        return
    if errors[1] > ROUNDING:
        near = 0.4 if getattr(method(name), "behind", 0) else 0.25  # of a formula over several points
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=near), errors
    assert errors[1] < (60.0 * h) ** order


@BY_MACHINE
def test_a_step_reads_the_old_state_and_fills_the_new_one(name, machine):
    sim = Simulation(MACHINES[machine]().compile(), 2e-3, method(name))
    before = sim.state.copy()
    one = contents(before)
    report = sim.step()
    assert report.outcome is Outcome.CONVERGED
    assert contents(before) == one
    assert sim.state.t == pytest.approx(2e-3)
    for quantity in QUANTITIES:
        assert np.all(np.isfinite(getattr(sim.state, quantity)))
    assert not any(
        np.shares_memory(a, b)
        for a in arrays(sim._store.states[0])
        for b in arrays(sim._store.states[1])
        if a.size and b.size
    )


def arrays(state):
    """Return every array of a state."""
    plain = [getattr(state, name) for name in (*QUANTITIES, "R0", "u")]
    return [*plain, *state.memory.values()]


@BY_MACHINE
def test_a_saved_state_goes_on_bit_for_bit(name, machine, tmp_path):
    system = MACHINES[machine]().compile()
    one = Simulation(system, 2e-3, method(name))
    one.run(0.02)
    one.state.save(tmp_path / "state.npz")
    other = Simulation(system, 2e-3, method(name))
    other.restore(tmp_path / "state.npz")
    for _ in range(5):
        one.step()
        other.step()
    assert contents(one.state) == contents(other.state)


@ALL
def test_a_run_gives_the_same_bytes_as_steps(name):
    system = hanging().compile()
    one, other = (Simulation(system, 2e-3, method(name)) for _ in range(2))
    one.run(0.05)
    while other.t < 0.05 - 1e-9:
        other.step()
    assert contents(one.state) == contents(other.state)


@ALL
def test_a_force_that_is_no_number_ends_the_step_and_changes_nothing(name):
    model = rtmbs.Model("failing")
    bob = model.add_body("bob", mass=1.0, inertia=(1, 1, 1), center_of_mass=(0.5, 0, 0))
    pin = model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", bob)
    model.add_force("bad", lambda t, kinematics, parameters: np.sqrt(0.01 - kinematics[0]), joint=pin)
    model.set_initial(pin, rate=1.0)
    sim = Simulation(model.compile(), 5e-3, method(name))
    while True:
        before = contents(sim.state)
        report = sim.step()
        if not report.outcome.accepted:
            break
        assert sim.state.t < 0.2
    assert report.outcome is Outcome.NOT_FINITE
    assert contents(sim.state) == before
    with pytest.raises(StepError):
        sim.run(0.5)


@ALL
def test_a_function_of_time_that_raises_changes_nothing(name):
    def late(t):
        if t > 0.0105:
            raise ZeroDivisionError("late")
        return np.sin(t)

    model = hanging()
    model.add_force("late", rtmbs.Motor(late), joint="a")
    sim = Simulation(model.compile(), 5e-3, method(name))
    sim.step()
    sim.step()
    before = contents(sim.state)
    with pytest.raises(ZeroDivisionError):
        sim.step()
    assert contents(sim.state) == before


@ALL
def test_numbers_out_of_range_are_no_good_step(name):
    sim = Simulation(hanging().compile(), 5e-3, method(name))
    sim.state.zd[:] = 1e200
    assert not sim.step().outcome.accepted


@ALL
def test_inputs_change_between_steps(name):
    """A force that jumps with an input, at a boundary: the order stays."""
    model = rtmbs.Model("pushed")
    bob = model.add_body("bob", mass=2.0, inertia=(0.2, 0.3, 0.2), center_of_mass=(0.5, 0.0, 0.0))
    pin = model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", bob)
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint=pin)
    system, found = model.compile(), []
    for h in STEPS:
        sim = Simulation(system, h, method(name))
        sim.run(0.08)
        sim.inputs["motor.torque"] = 5.0
        sim.run(0.16)
        found.append(np.concatenate((sim.state.z, sim.state.zd)))
    coarse, fine = np.abs(found[0] - found[1]).max(), np.abs(found[1] - found[2]).max()
    order = method(name).order
    if order is None:
        assert max(coarse, fine) < BY_TOLERANCE
    else:
        assert fine < 1e-11 or np.log2(coarse / fine) > order - 0.35


@OF_LOOPS
def test_h_and_method_change_between_steps(name):
    sim = Simulation(loop().compile(), 2e-3)
    sim.run(0.02)
    sim.change(method=method(name))
    sim.run(0.04)
    sim.h = 1e-3
    sim.run(0.06)
    sim.change(method=rtmbs.PenaltyTrapezoidal(penalty=1e7))
    sim.run(0.08)
    alone = Simulation(loop().compile(), 1e-3)
    alone.run(0.08)
    np.testing.assert_allclose(sim.state.z, alone.state.z, atol=1e-5 * after_restarts(name))


def after_restarts(name):
    """Return by how much a bound is widened for a method that begins with order one at every change."""
    return 10.0 if name == "tangent-space bdf" else of_order_one(name)


def of_order_one(name):
    """Return by how much the bounds of others are widened for a method of order one."""
    return 10.0 if method(name).order == 1 else 1.0


NEAR = {  # of the changes of positions and of rates in 8 steps of 0.2 ms, by the order of the method
    None: (2e-6, 2e-6), 1: (1e-3, 1e-3), 2: (4e-6, 4e-5), 3: (1e-9, 1e-8), 4: (1e-9, 1e-9),
}  # fmt: skip


def pose_of(sim):
    """Return mass centres and their velocities, rotations and angular velocities of all bodies of a Simulation."""
    bodies = {name: body for name, body in sim.system.bodies.items() if name != "ground"}
    A = Rotation.from_quat([np.roll(sim[f"{name}.orientation"], -1) for name in bodies]).as_matrix()
    w = np.array([sim[f"{name}.angular_velocity"] for name in bodies])
    arm = np.einsum("bij,bj->bi", A, [body.center_of_mass for body in bodies.values()])
    v = np.array([sim[f"{name}.velocity"] for name in bodies]) + np.cross(w, arm)
    x = np.array([sim[f"{name}.mass_center"] for name in bodies])
    return Pose(x, A, v, np.einsum("bji,bj->bi", A, w))


@cache
def cartesian_motion(seed, t):
    """Return the poses of a random mechanism at the start and at ``t`` [s], in absolute coordinates by DOP853."""
    model = closed_model(seed)
    start = pose_of(Simulation(model.compile(), 2e-4))
    return start, spatial_motion(model, start, [t])[0][0]


@OF_LOOPS
@pytest.mark.parametrize("seed", quick([0, 2, 5, 7], 2, 5))
def test_random_closed_mechanisms(seed, name):
    """Every joint, force and driver: a few small steps end near the motion of an independent reference."""
    sim = Simulation(closed_model(seed).compile(), 2e-4, method(name))
    for _ in range(8):
        report = sim.step()
        assert report.outcome.accepted
    start, exact = cartesian_motion(seed, sim.t)
    found = pose_of(sim)
    for which, bound in zip((("x", "A"), ("v", "w")), NEAR.get(method(name).order, NEAR[4]), strict=True):
        change = max(np.abs(getattr(exact, one) - getattr(start, one)).max() for one in which)
        error = max(np.abs(getattr(found, one) - getattr(exact, one)).max() for one in which)
        assert error < bound * change, which


@ALL
def test_a_state_of_another_method_is_refused(name):
    system = hanging().compile()
    state = Simulation(system, 1e-3, rtmbs.AdamsBashforth()).state
    sim = Simulation(system, 1e-3, method(name))
    if state.memory.keys() != sim.state.memory.keys():
        with pytest.raises(rtmbs.RtmbsError, match="another method left it"):
            sim.restore(state)


@ALL
def test_it_does_what_it_says_it_can(name, tmp_path):
    """Each capability that a method has is asked of it; each that it has not is refused by a sentence."""
    one = method(name)
    can = capabilities_of(one)
    system = driven().compile() if Capability.LOOPS in can else hanging().compile()
    sim = Simulation(system, 2e-3, one)

    def asked(capability, call, says):
        if capability in can:
            call()
            return
        with pytest.raises(InputError, match=f"^{says} needs a method that {capability.value}; {type(one).__name__} "):
            call()

    looped = loop().compile()
    asked(Capability.LOOPS, lambda: Simulation(looped, 2e-3, one), "a mechanism with closed loops or drivers")
    asked(Capability.THREADS, lambda: Simulation(system, 2e-3, one, threads=2), "threads = 2")
    asked(Capability.EVENTS, lambda: sim.run(0.01, when=lambda s: s.t - 0.005), "when")
    asked(Capability.TOLERANCE, lambda: sim.run(0.02, tolerance=1e-4), "tolerance = 0.0001")
    pushed = PROBLEMS["inputs"].model().compile()
    moved = Simulation(pushed, 2e-3, one)
    moved.inputs.ramp("motor.torque")
    asked(Capability.RAMPS, lambda: moved.inputs.__setitem__("motor.torque", 1.0), "an input that moves along a step")
    by = Simulation(pushed, 2e-3, one)
    asked(
        Capability.SENSITIVITY,
        lambda: rtmbs.sensitivity(by, 0.01, of=["pin.angle"], by=["motor.torque"]),
        "sensitivity",
    )
    assert store_of(by).takes_chunks == (Capability.CHUNKS in can)
    if Capability.REFINED in can:
        assert rtmbs.refined(pushed, 1e-2, 0.2, method=one).order > one.order
    else:
        with pytest.raises(InputError, match="has order None"):
            rtmbs.refined(pushed, 1e-2, 0.2, method=one)


def test_no_room_but_those_of_methods_reads_what_a_method_remembers():
    """Others ask the method: ``penalties_of``, ``begin``, ``carried``."""
    own = [ROOT / "rtmbs" / room for room in ("integrators", "dae")]
    reads = re.compile(r"""\.memory(\[|\.get\()["']""")
    files = [path for path in (ROOT / "rtmbs").rglob("*.py") if not any(room in path.parents for room in own)]
    assert not [str(path) for path in files if reads.search(path.read_text(encoding="utf-8"))]
    state = Simulation(loop().compile(), 2e-3).state
    np.testing.assert_array_equal(rtmbs.PenaltyTrapezoidal().penalties_of(state), state.memory["alpha"])
    assert methods.HHT().penalties_of(state).shape == (0,)


class Frozen(methods.RungeKutta):
    """A method that leaves force states as they are, step by step."""

    def takes_many(self, equations):
        return False

    def advance(self, equations, work, old, new):
        report = super().advance(equations, work, old, new)
        new.s[:] = old.s
        return report


def test_a_method_that_does_not_integrate_force_states_is_seen(monkeypatch):
    monkeypatch.setitem(CASES, "frozen", Frozen)
    with pytest.raises(AssertionError):
        test_it_converges_to_an_independent_solution("frozen", "force states")


def test_the_page_of_methods_has_the_table():
    """docs/time-integration.md shows what ``rtmbs.methods.table`` returns of all methods that the API page names."""
    page = (ROOT / "docs" / "time-integration.md").read_text(encoding="utf-8")
    shown = [name for name in methods.METHODS if f"| `{methods.METHODS.class_name(name)}` |" in page]
    assert methods.table(shown) in page
    assert {"hht", "ida", "cvode", "radau-ggl", "penalty-trapezoidal", "runge-kutta"} <= set(shown)


@pytest.mark.parametrize("bad", ["runge-kutta", 4, rtmbs.RungeKutta, object()])
def test_what_is_no_method_is_refused(bad):
    with pytest.raises(InputError, match="method is"):
        Simulation(loop().compile(), 1e-3, bad)


def test_an_unknown_tableau():
    with pytest.raises(UnknownNameError, match="classical"):
        rtmbs.RungeKutta(tableau="gill")
