"""The variational midpoint rule: its options, its two forms, symmetry, symplectic form, and orders by extrapolation."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.momentum import KEEPS, kept, lost, mechanism
from rtmbs import Outcome, Simulation, VariationalMidpoint, library
from rtmbs.errors import InputError, StepError
from rtmbs.integrators.newton import SHORT, STRAYED
from rtmbs.semirecursive import page
from tests.cases import spread
from tests.contracts.machines import MOBILE, closed_model, difference, library_system, with_force_states
from tests.contracts.reference_problems import T, on_a_rod, on_a_rod_exact

LIBRARY = ("crank_rocker", "driven_fourbar", "bricard", "governor", "top", "slider_crank")


def side_by_side(system, h, steps, apart, **options):
    """Step the fused and the readable form; their states must agree."""
    fused, readable = (Simulation(system, h, VariationalMidpoint(fused=one, **options)) for one in (True, False))
    for _ in range(steps):
        one, other = fused.step(), readable.step()
        assert one.outcome is other.outcome is Outcome.CONVERGED, (str(one), str(other))
        assert difference(fused.state, readable.state) < apart
    return fused


@pytest.mark.parametrize("seed", spread(MOBILE, 3))
def test_both_forms_are_one_step_on_random_mechanisms(seed):
    """Every joint, force, driver and cut; the kernel ends its iteration by an older factor where that serves.

    Multipliers that redundant rows share carry the rounding of Phidd, times the weight in the factor.
    """
    side_by_side(closed_model(seed).compile(), 1e-3, 10, 3e-8)


@pytest.mark.parametrize("name", LIBRARY)
def test_both_forms_are_one_step_on_the_library(name):
    side_by_side(library_system(name), 1e-3, 20, 1e-7)  # of the governor's accelerations, differences of large forces


def test_both_forms_are_one_step_with_force_states_and_fixed_work():
    side_by_side(with_force_states().compile(), 1e-3, 20, 1e-8)
    sim = side_by_side(library_system("crank_rocker"), 2e-3, 20, 1e-9, fixed_iterations=True, max_iterations=3)
    reports = [sim.step() for _ in range(30)]
    assert {(one.iterations, one.jacobians) for one in reports} == {(3, 3)}


def test_fixed_iterations_that_are_too_few_are_told():
    sim = Simulation(library_system("crank_rocker"), 2e-2, VariationalMidpoint(fixed_iterations=True, max_iterations=1))
    assert sim.step().outcome is Outcome.UNFINISHED


def test_a_deep_tree_steps_by_interfaces():
    """150 links: the Newton matrix is that of the trapezoidal rule, and the motion that of smaller steps."""
    model = rtmbs.Model("rope")
    before = "ground"
    for k in range(150):
        model.add_body(f"l{k}", mass=0.2, inertia=(1e-3, 2e-3, 2e-3), center_of_mass=(0.05, 0.0, 0.0))
        model.add_joint(f"j{k}", rtmbs.Revolute(axis=(0, 1, 0)), before, f"l{k}", point=(0.1 * k, 0.0, 0.0))
        before = f"l{k}"
    system = model.compile()
    assert len(system.tables.interfaces.dof)
    sim = side_by_side(system, 5e-4, 10, 1e-7)
    equations, state, b = sim.equations, sim.state, np.linspace(-1.0, 1.0, 150)
    equations.in_momenta().end(state.z, state.R0, state.u)
    equations.in_momenta().factor_end(np.zeros(0))
    M = page.mass_matrix(np, system.tables, state.u, state.R0, state.z[None])[0]
    np.testing.assert_allclose(M @ equations.solve(b, refined=True), b, atol=1e-9)
    ends = []
    for h in (2e-3, 1e-3, 5e-4):
        sim = Simulation(system, h, VariationalMidpoint())
        assert sim.run(0.04).outcomes == {"CONVERGED": round(0.04 / h)}
        ends.append(sim.state.z.copy())
    assert np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max()) == pytest.approx(2.0, abs=0.1)


def test_a_law_that_only_python_can_evaluate_is_stepped_readable():
    model = library.build("crank_rocker")
    model.add_force("stop", lambda t, k, p: -3.0 * float(k.z), joint="crank_pivot")
    with pytest.warns(rtmbs.RtmbsWarning, match="called in Python"):
        system = model.compile()
    assert system.called
    sim, other = Simulation(system, 1e-3, VariationalMidpoint()), Simulation(system, 1e-3)
    sim.run(0.1)
    other.run(0.1)
    np.testing.assert_allclose(sim.state.z, other.state.z, atol=1e-4)


def reversed_end(system, h, steps):
    """Return how far a run there and back, with rates turned round, ends from its start."""
    sim = Simulation(system, h, VariationalMidpoint(tol=1e-13))
    start = sim.state.copy()
    for _ in range(steps):
        assert sim.step().outcome is Outcome.CONVERGED
    state = sim.state.copy()
    state.zd *= -1.0
    sim.restore(state)
    for _ in range(steps):
        assert sim.step().outcome is Outcome.CONVERGED
    end = sim.state
    return max(np.abs(end.z - start.z).max(), np.abs(end.zd + start.zd).max(), np.abs(end.R0 - start.R0).max(initial=0))


@pytest.mark.parametrize("name", ["crank_rocker", "slider_crank", "top", "bricard"])
def test_the_way_back_undoes_the_way_there(name):
    """Errors are even powers of h for that reason. Coordinates, rates and rotations, of loops and on the group."""
    assert reversed_end(library_system(name), 5e-3, 40) < 1e-8


def two_links(stiffness):
    """Return an open chain of two unlike links with a coil between them."""
    model = rtmbs.Model("two links")
    for k, (mass, x) in enumerate(((1.3, 0.4), (0.4, 0.3))):
        model.add_body(f"b{k}", mass=mass, inertia=(0.05, 0.08, 0.06), center_of_mass=(x, 0.1, 0.0))
    model.add_joint("a", rtmbs.Revolute(axis=(0.1, 1.0, 0.2)), "ground", "b0")
    model.add_joint("b", rtmbs.Revolute(axis=(0.0, 0.6, 0.8)), "b0", "b1", point=(0.8, 0.0, 0.1))
    model.add_force("coil", rtmbs.TorsionSpring(stiffness=stiffness), joint="b")
    return model.compile()


def test_an_open_chain_solves_for_rates_and_for_accelerations_once():
    """The factor of M at the end is exact, whatever the coil is; every Newton iteration evaluates one residual."""
    sim = Simulation(two_links(2000.0), 1e-2, VariationalMidpoint(tol=1e-12))
    for _ in range(5):
        report = sim.step()
        assert report.outcome is Outcome.CONVERGED
        assert report.projections == 2
        assert report.evaluations == report.iterations == report.iterations_to_tolerance > 1


def test_the_symplectic_form_stays():
    """J^T Omega J = Omega for J the derivative of a step of z and p, by central differences, of two unlike links."""
    sim, h, e = Simulation(two_links(20.0), 2e-2, VariationalMidpoint(tol=1e-13)), 2e-2, 1e-5

    def mass_matrix(z):
        sim.equations.residual(z, np.zeros(2), np.zeros(2), np.zeros((0, 3, 3)))
        return sim.equations.mass_matrix().copy()

    def stepped(x):
        state = sim.state.copy()
        state.z[:], state.zd[:] = x[:2], np.linalg.solve(mass_matrix(x[:2]), x[2:])
        other = Simulation(sim.system, h, VariationalMidpoint(tol=1e-13))
        other.restore(state)
        assert other.step().outcome is Outcome.CONVERGED
        return np.concatenate((other.state.z, mass_matrix(other.state.z) @ other.state.zd))

    x = np.array([0.4, -0.7, 1.1, 0.3])
    J = np.stack([(stepped(x + d) - stepped(x - d)) / (2 * e) for d in e * np.eye(4)], axis=1)
    omega = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    np.testing.assert_allclose(J.T @ omega @ J, omega, atol=1e-7)


@pytest.mark.parametrize(("runs", "order"), [(2, 4), (3, 6)])
def test_refined_runs_have_orders_four_and_six_in_loops(runs, order):
    """Against an integration of the pendulum that the loop is, by DOP853."""
    system, exact, errors = on_a_rod().compile(), np.array(on_a_rod_exact()), []
    for h in (4e-2, 2e-2):
        result = rtmbs.refined(system, h, T, method=VariationalMidpoint(tol=1e-13), runs=runs)
        assert result.expected_order == order
        end = np.concatenate((result["bob.position"][-1][[0, 2]], result["bob.velocity"][-1][[0, 2]]))
        errors.append(np.abs(end - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4), errors


def test_stiff_springs_do_not_bound_the_step():
    """w h = 63: the midpoint rule stays stable, and the slow motion is that of a rigid joint."""
    model = rtmbs.Model("stiff")
    model.add_body("one", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.5, 0.0, 0.0))
    model.add_body("two", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.5, 0.0, 0.0))
    model.add_joint("a", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "one")
    model.add_joint("b", rtmbs.Revolute(axis=(0, 1, 0)), "one", "two", point=(1.0, 0.0, 0.0))
    model.add_force("stiff", rtmbs.TorsionSpring(stiffness=1e7), joint="b")
    sim = Simulation(model.compile(), 5e-3, VariationalMidpoint())
    energy = sim["energy.total"]
    sim.run(2.0)
    assert abs(sim["b.angle"]) < 1e-4
    assert sim["energy.total"] == pytest.approx(energy, abs=1e-3 * abs(sim["energy.kinetic"]) + 1e-3)


@pytest.mark.parametrize(
    "options",
    [{"penalty": -1.0}, {"tol": 0.0}, {"max_iterations": 0}, {"fixed_iterations": "yes"}, {"fused": 1.5}],
)
def test_options_out_of_range(options):
    with pytest.raises(InputError, match=next(iter(options))):
        VariationalMidpoint(**options)


def test_ramps_are_means_over_a_step():
    """A torque that rises within steps gives what the same function of time gives."""
    model = rtmbs.Model("wheel", gravity=(0.0, 0.0, 0.0))
    model.add_body("wheel", mass=1.0, inertia=(0.5, 0.5, 0.5))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "wheel")
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="pin")
    sim = Simulation(model.compile(), 1e-2, VariationalMidpoint())
    sim.inputs.ramp("motor.torque")
    for k in range(1, 101):
        sim.inputs["motor.torque"] = 0.03 * k
        assert sim.step().outcome is Outcome.CONVERGED
    assert sim["pin.rate"] == pytest.approx(3.0 * 1.0**2 / 2 / 0.5, rel=1e-12)


def test_a_step_that_cannot_converge_says_so():
    model = library.build("crank_rocker")
    sim = Simulation(model.compile(), 1.0, VariationalMidpoint())
    before = sim.state.z.copy()
    assert not sim.step().outcome.accepted
    np.testing.assert_array_equal(sim.state.z, before)
    with pytest.raises(StepError):
        sim.run(5.0, on_failure="raise")


def test_no_step_is_taken_by_corrections_that_lead_to_another_solution():
    """A loop whips past its dead centre at 4.65 s, where corrections from increments by polynomials stray."""
    sim = Simulation(mechanism(1242)[0].compile(), 2e-3, VariationalMidpoint())
    sim.run(4.6)
    for _ in range(50):
        report = sim.step()
        assert not (report.outcome.accepted and strayed(report)), str(report)


def test_fixed_iterations_that_stray_are_unfinished_wherever_they_arrive():
    """At 4.656 s twelve iterations arrive at another solution, whose rates hold it to rounding."""
    method = VariationalMidpoint(fixed_iterations=True)
    sim = Simulation(mechanism(1242)[0].compile(), 2e-3, method)
    sim.run(4.64)
    reports = [sim.step() for _ in range(12)]
    found = [one for one in reports if strayed(one)]
    assert found
    assert all(one.outcome is Outcome.UNFINISHED and not one.iterations_to_tolerance for one in found)
    assert reports[0].outcome is Outcome.CONVERGED


def strayed(report):
    """Return whether a long correction of a step has one behind it that is more than half as long."""
    first, then = np.array(report.corrections[:-1]), np.array(report.corrections[1:])
    return bool(np.any((then > STRAYED * first) & (1e-10 * first > SHORT)))


def test_a_run_goes_on_behind_another_solution():
    """Past the dead centre at 4.65 s, where another solution of the step has 1,317 J: the run keeps its momenta.

    Its energy is wrong there too (15 J in smaller steps), and the motion is chaotic. From starts 1e-12 apart it has
    0.05 J between runs at 5 s, 850 J at 5.5 s, and later on it depends on the last bits whether a step has a solution.
    """
    model, kind, axis = mechanism(1242)
    assert max(lost(model, kind, axis, steps=2500)) <= KEEPS
    sim = Simulation(model.compile(), 2e-3, VariationalMidpoint())
    result = sim.run(5.0)
    assert set(result.outcomes) == {"CONVERGED"}
    assert result["energy.total"].max() < 500.0


@pytest.mark.parametrize(
    ("gravity", "fused"), [((-9.81, 0.0, 0.0), True), ((0.0, -9.81, 0.0), True), ((0.0, -9.81, 0.0), False)]
)
def test_loops_held_by_their_curvature_alone_are_told(gravity, fused):
    """Two links stretched out between two pins: Phi_z loses the direction across, and rates there are noise."""
    model = rtmbs.Model("stretched", gravity=gravity)
    for k in range(2):
        x = (float(k), 0.0, 0.0)
        model.add_body(f"b{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0.5, 0.0, 0.0), position=x)
    for k, (a, b) in enumerate((("ground", "b0"), ("b0", "b1"), ("b1", "ground"))):
        model.add_joint(f"p{k}", rtmbs.Revolute(axis=(0, 0, 1)), a, b, point=(float(k), 0.0, 0.0), cut=k == 2)
    below, corner = (0.0, -0.5, 0.0), (1.0, 0.0, 0.0)
    model.add_body("weight", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=below, position=corner)
    model.add_joint("swing", rtmbs.Revolute(axis=(0, 0, 1)), "b1", "weight", point=corner)
    sim = Simulation(model.compile(), 1e-3, VariationalMidpoint(fused=fused))
    outcomes = set()
    for _ in range(20):
        report = sim.step()
        outcomes.add(report.outcome)
        assert report.outcome is not Outcome.CONVERGED or abs(sim["p0.rate"]) < 2e-5, str(report)
        if not report.outcome.accepted:
            break
    assert outcomes - {Outcome.CONVERGED}


# ---- rates and accelerations are found where somebody looks ---------------------------------------------------------

ARRAYS = "z", "zd", "zdd", "lam", "R0", "s", "sd"


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ARRAYS)


@pytest.mark.parametrize("name", ["crank_rocker", "top", "fourbar"])
def test_steps_that_nobody_looks_at_change_no_byte(name):
    """Every step recorded, every seventh, the last one, single steps, and a run that goes on from a saved State."""
    system, h, steps = library.build(name).compile(), 2e-3, 70
    whole, sparse, last, single, first, later = (Simulation(system, h, VariationalMidpoint()) for _ in range(6))
    result = whole.run(steps * h)
    some = sparse.run(steps * h, record=rtmbs.Every(7 * h))
    last.run(steps * h, record=rtmbs.At([steps * h]))
    for _ in range(steps):
        single.step()
    first.run(33 * h, record=rtmbs.At([33 * h]))
    later.restore(first.state.copy())
    later.run(steps * h, record=rtmbs.At([steps * h]))
    assert all(same(whole.state, one.state) for one in (sparse, last, single, later))
    for channel in ("energy.total", *list(result.names())[:4]):
        assert np.array_equal(result[channel][::7], some[channel])


def test_a_state_that_was_changed_has_no_history():
    """The momentum of the step before does not survive a rate that the user sets; the same step from a new State."""
    system, h = library.build("crank_rocker").compile(), 2e-3
    sim = Simulation(system, h, VariationalMidpoint())
    sim.run(20 * h)
    sim.set(system.coordinate_names[0], float(sim.state.z[0]) + 0.1)
    fresh = sim.state.copy()
    fresh.memory = {key: np.zeros_like(values) for key, values in fresh.memory.items()}
    other = Simulation(system, h, VariationalMidpoint())
    other.restore(fresh)
    assert sim.step().outcome is other.step().outcome is Outcome.CONVERGED
    assert same(sim.state, other.state)


def test_a_direction_that_loops_lose_is_told_between_samples():
    """A stack of four-bars passes a pose where all its bars lie in a line; no sample is near it."""
    system = library.build("fourbar", ny=4, nz=40).compile()
    for record in (None, rtmbs.At([15.0])):
        result = Simulation(system, 5e-3, VariationalMidpoint()).run(15.0, record=record)
        assert result.outcomes["NEAR_SINGULAR"] >= 1


# ---- momenta, whatever Newton's iteration leaves --------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 2])
def test_angular_momentum_of_a_base_is_kept_where_iterations_end_early(seed):
    """A floating and a planar base with a loop, with a loose tolerance of Newton's iteration."""
    model, kind, axis = mechanism(seed)
    result = Simulation(model.compile(), 1e-2, VariationalMidpoint(tol=1e-6)).run(1.0)
    linear, angular = (np.asarray(result[name]) for name in ("momentum.linear", "momentum.angular_about_origin"))
    size = max(float(np.abs(linear).max()), float(np.abs(angular).max()))
    for momentum in kept(kind, axis, linear, angular):
        assert np.abs(momentum - momentum[:1]).max() < 1e-12 * size
