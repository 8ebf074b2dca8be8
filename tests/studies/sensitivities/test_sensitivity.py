"""Sensitivities against differences of runs, and the adjoint against the direct method."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from bench.measures.complex_steps import TIGHT
from rtmbs.errors import InputError, UnknownNameError
from tests.studies.sensitivities.cases import differences, error, sprung_rocker


def values(result):
    """Channels of every kind at the end, and two functions of the whole run."""
    r = result
    ends = [r["tip.position"][-1], r["coupler.velocity"][-1], r["tip.acceleration"][-1], r["D.reaction"][-1]]
    ends.append(np.stack([r["spring.pull"][-1], r["A.angle"][-1], r["C.angle"][-1], r["energy.total"][-1]]))
    return np.concatenate([*ends, np.stack([np.sum(r["tip.position"][:, 1] ** 2), np.max(r["B.reaction"][:, 2])])])


BY = ["spring.stiffness", "spring.damping", "spring.length", "twist.stiffness", "A.position", "A.rate"]
SIZES = {"stiffness": 0.05, "damping": 0.05, "length": 2e-3, "position": 2e-3, "rate": 2e-2}


@pytest.fixture(scope="module")
def rocker():
    """The sprung rocker and its derivatives by everything."""
    model = sprung_rocker()
    sim = rtmbs.Simulation(model.compile(), h=2e-3, method=TIGHT)
    by = [*BY, "coupler.mass", "rocker.inertia", "crank.center_of_mass", "B.point", "tip.point"]
    return model, sim, rtmbs.sensitivity(sim, 0.1, values, by, model=model, method="direct")


def check(found, wanted):
    """Compare with differences: positions and rates to 2e-7, accelerations and reactions to what tolerances of the
    projections leave of them in a run.

    Differences of runs are rough by 1e-8 with one BLAS and 8e-8 with another; the derivatives themselves by 1e-11.
    """
    forces = np.zeros(len(wanted), bool)
    forces[[*range(6, 15), -1]] = True
    assert error(found[~forces], wanted[~forces]) < 2e-7
    assert error(found, wanted) < 1e-6
    assert np.abs(wanted).max() > 1e-4


def run_values(model, inputs=None):
    sim = rtmbs.Simulation(model.compile(), h=2e-3, method=TIGHT)
    for name, value in (inputs or {}).items():
        sim.inputs[name] = value
    sim._store.go_on_from(sim.state.copy(), 0.0)
    sim.method.begin(sim.equations, sim.state)
    return values(sim.run(0.1))


@pytest.mark.parametrize("name", BY)
def test_inputs_and_initial_values_against_differences(rocker, name):
    _, _, found = rocker
    k = found.parameters.index(name)
    element, what = name.split(".")

    def run(value):
        if element == "A":
            return run_values(sprung_rocker(**{what: value}))
        return run_values(sprung_rocker(), {name: value})

    check(found[name], differences(run, found.point[k], SIZES[what] * (60.0 if name == "spring.stiffness" else 1.0)))


@pytest.mark.parametrize(
    "name", ["coupler.mass", "rocker.inertia[0]", "crank.center_of_mass[1]", "B.point[2]", "tip.point[1]"]
)
def test_numbers_of_the_model_against_differences(rocker, name):
    from rtmbs.studies.sensitivities.parameters import model_numbers

    model, sim, found = rocker
    k = found.parameters.index(name)
    design = {one.name: one for one in model_numbers(model, name.split("[")[0], {}, sim.system.length)}[name]
    check(found[name], differences(lambda value: run_values(design.build(value)), found.point[k], 2e-3 * design.size))


@pytest.mark.usefixtures("adjoint_way")
def test_the_adjoint_is_the_direct_method(rocker):
    model, sim, found = rocker
    by = [*BY, "coupler.mass", "rocker.inertia", "crank.center_of_mass", "B.point", "tip.point"]
    adjoint = rtmbs.sensitivity(sim, 0.1, values, by, model=model, method="adjoint")
    assert error(adjoint.jacobian, found.jacobian) < 1e-9
    assert adjoint.parameters == found.parameters
    assert sim.t == 0.0


def test_arguments_of_a_function_that_builds(rocker):
    _, sim, found = rocker
    at = {"mass": 1.2, "crank": 0.2}
    built = rtmbs.sensitivity(sim, 0.1, values, ["mass", "crank"], model=sprung_rocker, at=at, method="direct")
    check(built["crank"], differences(lambda crank: run_values(sprung_rocker(crank=crank)), 0.2, 5e-4))
    assert built["mass"].shape == found["coupler.mass"].shape


def test_rotations():
    model = rtmbs.Model("pendulum on a ball", gravity=(0.5, -0.3, -9.81))
    model.add_body("bob", mass=1.3, inertia=(0.03, 0.02, 0.05), center_of_mass=(0.1, 0.05, -0.4))
    model.add_body("tail", mass=0.4, inertia=(0.003, 0.004, 0.002), center_of_mass=(0.0, 0.1, -0.9))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "bob", point=(0, 0, 0))
    model.add_joint("knee", rtmbs.Spherical(), "bob", "tail", point=(0.1, 0.0, -0.7))
    model.set_initial("ball", position=(0.9, 0.1, -0.2, 0.3), rate=(1.0, -2.0, 4.0))
    against_differences(
        model, lambda r: np.concatenate([r["tail.position"][-1], r["tail.orientation"][-1], r["knee.rate"][-1]])
    )


def test_a_loop_with_ball_joints_and_a_driver():
    model = rtmbs.library.build("driven_fourbar")
    against_differences(model, lambda r: np.concatenate([r["pin.reaction"][-1], np.sum(r["coupler.position"], axis=0)]))


def against_differences(model, of):
    system = model.compile()

    def run(value):
        sim = rtmbs.Simulation(system, h=2e-3, method=TIGHT)
        u = np.array(sim.inputs["gravity"])
        u[2] = value
        sim.inputs["gravity"] = u
        sim._store.go_on_from(sim.state.copy(), 0.0)
        sim.method.begin(sim.equations, sim.state)
        return of(sim.run(0.1))

    sim = rtmbs.Simulation(system, h=2e-3, method=TIGHT)
    for method in ("direct", "adjoint"):
        found = rtmbs.sensitivity(sim, 0.1, of, ["gravity"], method=method)
        assert error(found["gravity[2]"], differences(run, -9.81, 0.1)) < 1e-8


@pytest.mark.parametrize(
    "options",
    [
        {"hold_energy": False},
        {"refactor": "every-iteration"},
        {"alpha": 1e9},
        {"penalty": 1e7, "fused": False},
    ],
)
def test_options_of_the_method(options):
    system = sprung_rocker().compile()
    method = rtmbs.PenaltyTrapezoidal(tol=1e-12, **options)

    def run(value):
        sim = rtmbs.Simulation(system, h=2e-3, method=method, threads=2)
        sim.inputs["spring.stiffness"] = value
        sim._store.go_on_from(sim.state.copy(), 0.0)
        sim.method.begin(sim.equations, sim.state)
        return sim.run(0.06)["tip.velocity"][-1]

    sim = rtmbs.Simulation(system, h=2e-3, method=method, threads=2)
    found = rtmbs.sensitivity(sim, 0.06, "tip.velocity", ["spring.stiffness"])
    assert error(found["spring.stiffness"], differences(run, 300.0, 3.0)) < 1e-7


def test_dampers_of_joints_whose_loop_keeps_its_energy():
    """Their work is counted in the balance of a step: a balance that went on is not taken for one begun anew."""
    model = rtmbs.library.build("crank_rocker")
    model.add_force("twist", rtmbs.TorsionSpring(stiffness=4.0, damping=3.0), joint="rocker_pivot")
    system = model.compile()

    def run(value):
        sim = rtmbs.Simulation(system, h=5e-3, method=TIGHT)
        sim.inputs["twist.damping"] = value
        sim._store.go_on_from(sim.state.copy(), 0.0)
        sim.method.begin(sim.equations, sim.state)
        return sim.run(0.05)["rocker.angular_velocity"][-1]

    sim = rtmbs.Simulation(system, h=5e-3, method=TIGHT)
    assert len(sim.equations.tables.balance.first) == 1
    found = rtmbs.sensitivity(sim, 0.05, "rocker.angular_velocity", ["twist.damping"])
    assert error(found["twist.damping"], differences(run, 3.0, 0.1)) < 1e-8


def test_a_motion_that_comes_to_rest():
    """Rates of 1e-7 and less leave the energies and the derivatives of a pose that no longer moves."""
    end, h, base = 24.0, 4e-3, 300.0
    system = sprung_rocker(damping=40.0).compile()

    def run(stiffness):
        sim = rtmbs.Simulation(system, h=h, method=TIGHT)
        sim.inputs["spring.stiffness"] = stiffness
        return sim.run(end)

    found = rtmbs.sensitivity(rtmbs.Simulation(system, h=h, method=TIGHT), end, "tip.position", ["spring.stiffness"])
    assert np.abs(found.result["A.rate"][-1]) < 1e-7
    assert found.missed < 1e-7
    wanted = differences(lambda value: run(value)["tip.position"][-1], base, 3.0)
    assert error(found["spring.stiffness"], wanted) < 1e-7


def test_names_of_channels_and_gradient():
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=2e-3)
    found = rtmbs.sensitivity(sim, 0.1, "rocker_pivot.angle", ["crank_pivot.rate"])
    assert found.gradient.shape == (1,)
    assert found.method == "direct"
    several = rtmbs.sensitivity(sim, 0.1, ["rocker_pivot.angle", "coupler.position"], ["crank_pivot.rate"])
    assert several.jacobian.shape == (4, 1)
    assert several.jacobian[0, 0] == pytest.approx(found.gradient[0], rel=1e-12)
    with pytest.raises(InputError, match="4 values"):
        _ = several.gradient
    with pytest.raises(UnknownNameError, match=r"crank_pivot\.rate"):
        _ = found["crank_pivot.rat"]


REFUSED = {
    "of": (lambda sim: rtmbs.sensitivity(sim, 0.1, 3.0, ["A.rate"]), "of is 3.0"),
    "reads nothing": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, lambda r: 2.0, ["A.rate"]),
        "reads no channel",
    ),
    "no value": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, lambda r: r["A.angle"][:0], ["A.rate"]),
        "^of returns no value; an empty array has no derivatives",
    ),
    "branches": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, lambda r: 1.0 if r["A.angle"][-1] > 0 else 0.0, ["A.rate"]),
        "of cannot be recorded",
    ),
    "unknown": (lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rat"]), "did you mean 'A.rate'"),
    "unknown channel": (lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angel", ["A.rate"]), "did you mean 'A.angle'"),
    "model": (lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["crank.mass"]), "give model="),
    "no list": (lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", "A.rate"), "a list of names"),
    "twice": (lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rate", "A.rate"]), "twice"),
    "method": (lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rate"], method="both"), "both"),
    "a System": (lambda sim: rtmbs.sensitivity(sim.system, 0.1, "A.angle", ["A.rate"]), "takes a Simulation"),
    "held": (lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["B.position"]), "'B.position' cannot change"),
    "cut": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["C.angle"]),
        "^'C.angle' is no parameter: joint 'C' is cut, so its coordinates follow from others; take one of 'A.angle'",
    ),
    "at": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["crnk"], model=sprung_rocker, at={"crnk": 0.2}),
        "^there is no argument of model= named 'crnk'; did you mean 'crank'",
    ),
    "at without a function": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rate"], at={"crank": 0.2}),
        "^at= has values of the arguments of a function, and model= is none; leave at= out",
    ),
    "at is no mapping": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rate"], model=sprung_rocker, at=[1.0]),
        "^at is .1.0.; it must map arguments",
    ),
    "nan": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, lambda r: np.sqrt(-1.0 - r["A.angle"][-1] ** 2), ["A.rate"]),
        "^of returned .nan., which is not finite; look for a division by zero",
    ),
    "nan slope": (
        lambda sim: rtmbs.sensitivity(sim, 0.1, lambda r: np.sqrt(r["A.angle"][0] - sim["A.angle"]), ["A.rate"]),
        "^of has no finite derivative at this run",
    ),
    "end": (lambda sim: rtmbs.sensitivity(sim, 0.0513, "A.angle", ["A.rate"]), "whole number of steps"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_a_sentence(rocker, case):
    _, sim, _ = rocker
    call, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        call(sim)
    assert sim.t == 0.0


@pytest.mark.parametrize("change", [{"tangent_terms": "lagged"}, {"project_accelerations": False}])
def test_options_without_derivatives_are_named(change):
    sim = rtmbs.Simulation(sprung_rocker().compile(), h=2e-3, method=rtmbs.PenaltyTrapezoidal(**change))
    with pytest.raises(InputError, match=next(iter(change))):
        rtmbs.sensitivity(sim, 0.1, "A.angle", ["A.rate"])


def flat():
    """A parallelogram that begins flat, where it has two degrees of freedom."""
    model = rtmbs.Model("flat")
    for name in ("a", "b", "c"):
        model.add_body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    pin, ends = rtmbs.Revolute(axis=(1, 0, 0)), ("ground", "a", "b", "c", "ground")
    for k, (joint, y) in enumerate((("A", 0.0), ("B", 0.5), ("C", 1.5), ("D", 1.0))):
        model.add_joint(joint, pin, ends[k], ends[k + 1], point=(0, y, 0), cut=joint == "D")
    model.set_initial("A", rate=2.0)
    return model


def test_a_singular_pose_is_named():
    sim = rtmbs.Simulation(flat().compile(), h=1e-3)
    with pytest.raises(InputError, match=r"the step that ends at t = .* singular pose"):
        rtmbs.sensitivity(sim, 0.02, "A.angle", ["gravity"])


def started(length=0.5, mass=1.2, start=0.4):
    """A pendulum whose start is an argument too."""
    model = rtmbs.Model("pendulum")
    model.add_body("rod", mass=mass, center_of_mass=(0, 0, -length / 2), inertia=(mass * length**2 / 12,) * 2 + (0.0,))
    model.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "rod", point=(0, 0, 0))
    model.add_marker("tip", "rod", (0, 0, -length))
    model.set_initial("hinge", position=start)
    return model


def test_an_argument_that_moves_the_start_is_refused():
    """The run begins at the state of the Simulation, so its derivative would be zero without a word."""
    sim, at = rtmbs.Simulation(started().compile(), h=2e-3), {"length": 0.5, "mass": 1.2, "start": 0.4}
    with pytest.raises(InputError, match=r"^start changes the first position of hinge\.angle \(set_initial\)"):
        rtmbs.sensitivity(sim, 0.1, of="tip.position", by=["start"], model=started, at=at)
    found = rtmbs.sensitivity(sim, 0.1, of="tip.position", by=["length", "hinge.position"], model=started, at=at)
    assert np.all(np.isfinite(found.jacobian))


def test_the_point_of_a_marker_is_in_world_axes():
    """As ``add_marker`` takes it, also on a body whose axes are turned at the reference pose."""
    turned = Rotation.from_rotvec((0.7, -1.1, 0.4)).as_matrix()
    frame = Rotation.from_rotvec((-0.3, 0.2, 1.9)).as_matrix()  # of the whole mechanism

    def model(x, y, z):
        model = rtmbs.Model("pendulum")
        centre = tuple(turned.T @ frame @ (0.5, 0, 0))
        model.add_body("rod", mass=1.0, orientation=turned, center_of_mass=centre, inertia=(0.01, 0.02, 0.025))
        model.add_joint("pin", rtmbs.Revolute(tuple(frame[:, 1])), "ground", "rod", point=(0, 0, 0))
        model.add_marker("eye", "rod", (x, y, z))
        model.add_marker("wall", "ground", tuple(frame @ (0.6, 0.1, -0.2)))
        model.add_force("spring", rtmbs.SpringDamper(30.0, 0.1, 0.3), between=("eye", "wall"))
        return model

    point = frame @ (0.7, 0.05, -0.1)
    at = dict(zip("xyz", point, strict=True))
    sim = rtmbs.Simulation(model(*point).compile(), h=2e-3)
    named = rtmbs.sensitivity(sim, 0.4, of="pin.angle", by=["eye.point"], model=model(*point))
    other = rtmbs.sensitivity(sim, 0.4, of="pin.angle", by=["x", "y", "z"], model=model, at=at)
    np.testing.assert_allclose(named.jacobian, other.jacobian, rtol=1e-8, atol=1e-10)
    assert np.abs(named.jacobian).max() > 0.1


def test_values_of_another_mechanism_are_refused():
    sim = rtmbs.Simulation(started().compile(), h=2e-3)
    at = {"length": 0.5, "mass": 3.0, "start": 0.4}
    with pytest.raises(InputError, match=r"^model= with at= is another mechanism than the Simulation has: dofs\.mass"):
        rtmbs.sensitivity(sim, 0.1, of="tip.position", by=["length"], model=started, at=at)
