"""Batches: every copy has the bytes of a Simulation of its own, whatever the others do."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Batch, Outcome, Simulation
from tests.contracts.machines import closed_model

METHODS = (rtmbs.PenaltyTrapezoidal(), rtmbs.VariationalMidpoint(), rtmbs.TRBDF2())
ARRAYS = ("z", "zd", "zdd", "lam", "R0", "s", "sd", "u")
STEPS = 12


def current(t, joint, p, s):
    """Return a motor's torque and the rate of its current."""
    return p["gain"] * s["i"], (p["voltage"] - p["gain"] * joint.zd - s["i"]) / p["lag"]


def driven_rocker():
    """Return a crank-rocker with a DC motor, whose current is a state, and a torque that jumps within a step."""
    model = rtmbs.library.build("crank_rocker")
    crank = next(name for name, joint in model.joints.items() if "ground" in (joint.a.name, joint.b.name))
    motor = {"gain": 0.4, "voltage": 3.0, "lag": 0.01}
    model.add_force("motor", current, joint=crank, parameters=motor, states={"i": 0.0})
    model.add_force("push", rtmbs.Motor(lambda t: 2.0 if t > 0.0053 else 0.5), joint=crank)
    return model.compile()


@pytest.fixture(scope="module")
def rocker():
    return driven_rocker()


@pytest.fixture(scope="module")
def tangled():
    """Random loops of every cut, all forces, drivers and functions of time."""
    return closed_model(5).compile()


@pytest.fixture(scope="module")
def cart():
    return cart_pendulum().compile()


def cart_pendulum(mass=0.3, length=0.5, inertia=0.01):
    model = rtmbs.Model("cart pendulum")
    model.add_body("cart", mass=1.0)
    model.add_body("pole", mass=mass, inertia=(inertia,) * 3, center_of_mass=(0.0, 0.0, length))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1.0, 0.0, 0.0)), "ground", "cart", point=(0.0, 0.0, 0.0))
    model.add_joint("pivot", rtmbs.Revolute(axis=(0.0, 1.0, 0.0)), "cart", "pole", point=(0.0, 0.0, 0.0))
    model.add_force("push", rtmbs.Motor(rtmbs.Input(0.0)), joint="rail")
    model.set_initial("pivot", position=0.1)
    return model


def same(batch, i, sim):
    """Assert that copy ``i`` has the bytes of a Simulation."""
    mine, theirs = batch.state(i), sim.state
    assert mine.k == theirs.k
    for name in ARRAYS:
        assert getattr(mine, name).tobytes() == getattr(theirs, name).tobytes(), name
    for name, values in theirs.memory.items():
        assert mine.memory[name].tobytes() == values.tobytes(), name


def singles(system, h, method, inputs, steps):
    """Return a Simulation for every row of the inputs, stepped by hand."""
    found = []
    for i in range(len(next(iter(inputs.values())))):
        sim = Simulation(system, h=h, method=method)
        for k in range(steps):
            for name, values in inputs.items():
                sim.inputs[name] = values[i, k]
            if not sim.step().outcome.accepted:
                break
        found.append(sim)
    return found


@pytest.mark.parametrize("method", METHODS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("name", ["rocker", "tangled"])
def test_copies_have_the_bytes_of_single_simulations(request, name, method):
    system, rng = request.getfixturevalue(name), np.random.default_rng(3)
    gravity = system.u0[system.inputs["gravity"]] + rng.normal(size=(3, STEPS, 3))
    gravity[:, 4:8] = gravity[:, 4:5]  # inputs that stay
    batch = Batch(system, 3, h=1e-3, method=method)
    batch.rollout({"gravity": gravity})
    for i, sim in enumerate(singles(system, 1e-3, method, {"gravity": gravity}, STEPS)):
        same(batch, i, sim)
        assert batch.outcomes[i].accepted


EXPLICIT = (rtmbs.RungeKutta(), rtmbs.methods.VelocityVerlet(), rtmbs.methods.SemiImplicitEuler())


@pytest.fixture(scope="module")
def tumbling():
    """A cart pendulum with a motor of one state, and a ball joint below it."""
    model = cart_pendulum()
    model.add_body("tail", mass=0.2, inertia=(0.01, 0.02, 0.015), center_of_mass=(0.1, 0.0, 0.3), position=(0, 0, 1))
    model.add_joint("ball", rtmbs.Spherical(), "pole", "tail", point=(0.0, 0.0, 1.0))
    motor = {"gain": 0.4, "voltage": 3.0, "lag": 0.01}
    model.add_force("motor", current, joint="pivot", parameters=motor, states={"i": 0.0})
    return model.compile()


@pytest.mark.parametrize("method", EXPLICIT, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("channels", [[], ["pivot.acceleration", "tail.position"]], ids=["bare", "channels"])
def test_explicit_copies_have_the_bytes_of_single_simulations(tumbling, method, channels):
    """Accelerations at the end of a step are left out where inputs change next, which leaves no trace."""
    rng = np.random.default_rng(3)
    gravity, force = rng.normal(size=(3, STEPS, 3)), rng.normal(size=(3, STEPS))
    gravity[:, 4:8], force[:, 4:8] = gravity[:, 4:5], force[:, 4:5]  # inputs that stay
    force[2, 9] = np.nan
    given = {"gravity": gravity, "push.force": force}
    batch = Batch(tumbling, 3, h=2e-3, method=method)
    read = batch.rollout(given, channels=channels)
    for i, sim in enumerate(singles(tumbling, 2e-3, method, {name: x[:2] for name, x in given.items()}, STEPS)):
        same(batch, i, sim)
        assert not channels or read[i, -1].tobytes() == sim.read(channels).tobytes()
    assert batch.alive.tolist() == [True, True, False]
    alone = singles(tumbling, 2e-3, method, {name: x[2:, :9] for name, x in given.items()}, 9)[0]
    np.testing.assert_array_equal(batch.state(2).z, alone.state.z)
    batch.reset()
    assert batch.step({"push.force": [1.0, 2.0, 3.0]}).all()
    sim = Simulation(tumbling, h=2e-3, method=method)
    sim.inputs["push.force"] = 3.0
    sim.step()
    same(batch, 2, sim)


@pytest.mark.filterwarnings("ignore")
def test_a_step_that_needs_further_tries_has_the_bytes_of_a_single_simulation(rocker):
    gravity = np.zeros((2, 6, 3))
    gravity[1, 2] = 0.0, 0.0, -4e6  # so large that Newton's plain iteration fails
    batch = Batch(rocker, 2, h=1e-2)
    batch.rollout({"gravity": gravity})
    for i, sim in enumerate(singles(rocker, 1e-2, None, {"gravity": gravity}, 6)):
        same(batch, i, sim)


def test_bearings_have_the_bytes_of_single_simulations():
    model = rtmbs.library.build("pendulum")
    model.add_friction("bearing", "pivot", coefficient=0.2, radius=0.05)
    model.add_force("motor", rtmbs.Motor(rtmbs.Input(0.0)), joint="pivot")
    system, torque = model.compile(), np.random.default_rng(8).normal(size=(3, 6))
    torque[:, 3] = torque[:, 2]
    torque[2, 4] = np.nan
    batch = Batch(system, 3, h=1e-3)
    read = batch.rollout({"motor.torque": torque}, channels=["pivot.angle", "pivot.acceleration"])
    for i, sim in enumerate(singles(system, 1e-3, None, {"motor.torque": torque[:2]}, 6)):
        same(batch, i, sim)
        assert read[i, -1].tobytes() == sim.read(["pivot.angle", "pivot.acceleration"]).tobytes()
        assert sim.inputs["bearing.load"] > 0.0
    assert batch.alive.tolist() == [True, True, False]
    assert batch.outcomes[2] is Outcome.NOT_FINITE
    assert np.isnan(read[2, 4:]).all()
    assert np.isfinite(read[2, :4]).all()
    batch.reset([2], values={"pivot.angle": 0.5})
    sim = Simulation(system, h=1e-3)
    sim.set("pivot.angle", 0.5)
    assert batch.step({"motor.torque": [0.0, 0.0, sim.inputs["motor.torque"]]}).all()
    sim.step()
    np.testing.assert_allclose(batch.state(2).z, sim.state.z, atol=1e-13)


def test_threads_change_no_byte(cart):
    force = np.random.default_rng(0).normal(size=(7, 30))
    found = [
        Batch(cart, 7, h=1e-2, threads=threads).rollout({"push.force": force}, channels=CHANNELS) for threads in (1, 3)
    ]
    assert found[0].tobytes() == found[1].tobytes()


CHANNELS = [
    "rail.displacement",
    "pivot.angle",
    "pivot.rate",
    "pole.mass_center",
    "pole.orientation",
    "pole.acceleration",
]


def test_channels_are_those_of_a_simulation(cart):
    force = np.random.default_rng(1).normal(size=(2, 5))
    batch = Batch(cart, 2, h=1e-2)
    channels = batch.rollout(force[:, :, None], ["push.force"], channels=CHANNELS)
    for i in range(2):
        sim = Simulation(cart, h=1e-2)
        for k in range(5):
            sim.inputs["push.force"] = float(force[i, k])
            sim.step()
            assert channels[i, k].tobytes() == sim.read(CHANNELS).tobytes()
    assert batch.read(CHANNELS).tobytes() == np.ascontiguousarray(channels[:, -1]).tobytes()
    assert batch.simulation(1)["pivot.angle"] == channels[1, -1, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_only_the_copy_with_a_bad_input_is_marked(cart, bad):
    force = np.random.default_rng(2).normal(size=(3, 8))
    clean = Batch(cart, 3, h=1e-2).rollout({"push.force": force}, channels=CHANNELS)
    force[1, 4] = bad
    batch = Batch(cart, 3, h=1e-2)
    channels = batch.rollout({"push.force": force}, channels=CHANNELS)
    assert batch.outcomes[1] is Outcome.NOT_FINITE
    assert batch.alive.tolist() == [True, False, True]
    assert channels[[0, 2]].tobytes() == clean[[0, 2]].tobytes()
    assert channels[1, :4].tobytes() == clean[1, :4].tobytes()
    assert np.all(np.isnan(channels[1, 4:]))
    np.testing.assert_array_equal(batch.t, [0.08, 0.04, 0.08])
    assert batch.step().tolist() == [True, False, True]
    batch.reset([1])
    assert batch.alive.all()
    assert batch.step({"push.force": 0.0}).all()


class Foreign:
    """Array of a library that has DLPack only."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_arrays_of_other_libraries_are_read_and_written_in_place(cart):
    force, out = np.linspace(-1.0, 1.0, 8).reshape(2, 4), np.full((2, 4, 2), np.nan)
    wanted = Batch(cart, 2, h=1e-2).rollout({"push.force": force}, channels=CHANNELS[:2])
    Batch(cart, 2, h=1e-2).rollout({"push.force": Foreign(force)}, channels=CHANNELS[:2], out=Foreign(out))
    assert out.tobytes() == wanted.tobytes()


def test_masses_of_a_copy_are_those_of_a_simulation_of_the_changed_model():
    def built(mass):
        model = rtmbs.library.build("crank_rocker")
        body = list(model.bodies)[1]
        object.__setattr__(model.bodies[body], "inertia", model.bodies[body].inertia * (mass / model.bodies[body].mass))
        object.__setattr__(model.bodies[body], "mass", mass)
        return model.compile(), body

    base = rtmbs.library.build("crank_rocker").compile()
    masses = [0.5, 2.0, 7.0]
    batch = Batch(base, 4, h=2e-3)
    batch.set_masses(built(1.0)[1], masses, copies=[0, 2, 3])
    batch.rollout({}, steps=20)
    for i, mass in zip((0, 2, 3), masses, strict=True):
        sim = Simulation(built(mass)[0], h=2e-3)
        for _ in range(20):
            sim.step()
        same(batch, i, sim)
    sim = Simulation(base, h=2e-3)
    sim.run(0.04)
    same(batch, 1, sim)


def test_copies_with_lengths_of_their_own_have_the_bytes_of_single_simulations():
    systems = [cart_pendulum(mass, length).compile() for mass, length in ((0.1, 0.3), (0.2, 1.7), (0.3, 0.5))]
    batch = Batch(systems, h=1e-2)
    read = batch.rollout({"push.force": np.ones((3, 10))}, channels=CHANNELS)
    for i, system in enumerate(systems):
        sim = Simulation(system, h=1e-2)
        sim.inputs["push.force"] = 1.0
        for _ in range(10):
            sim.step()
        same(batch, i, sim)
        assert read[i, -1].tobytes() == sim.read(CHANNELS).tobytes()
    batch.reset([1])
    assert batch.state(1).z.tobytes() == Simulation(systems[1], h=1e-2).state.z.tobytes()


def test_reset_closes_loops_around_given_coordinates():
    system = rtmbs.library.build("crank_rocker").compile()
    batch = Batch(system, 3, h=2e-3)
    batch.rollout({}, steps=3)
    name = system.coordinate_names[0]
    sim = Simulation(system, h=2e-3)
    value = float(sim[name]) + np.array([0.2, -0.3])
    batch.reset([0, 2], values={name: value})
    assert batch.t.tolist() == [0.0, 0.006, 0.0]
    for i, one in zip((0, 2), value, strict=True):
        sim = Simulation(system, h=2e-3)
        sim.set(name, float(one))
        state = batch.state(i)
        np.testing.assert_allclose(state.z, sim.state.z, atol=1e-12)
        np.testing.assert_allclose(state.zdd, sim.state.zdd, rtol=1e-9)
        assert abs(batch.simulation(i)[name] - one) < 1e-15


def test_reset_to_states(cart):
    batch = Batch(cart, 2, h=1e-2)
    kept = batch.state(0)
    batch.rollout({"push.force": np.ones((2, 5))})
    moved = batch.state(1)
    batch.reset([0, 1], states=[moved, kept])
    assert batch.state(0) == moved
    assert batch.state(1) == kept


def test_refusals(cart):
    with pytest.raises(rtmbs.RtmbsError, match="needs a method that steps many copies"):
        Batch(cart, 2, method=rtmbs.AdamsBashforth())
    with pytest.raises(rtmbs.RtmbsError, match="fused=False"):
        Batch(cart, 2, method=rtmbs.PenaltyTrapezoidal(fused=False))
    with pytest.raises(rtmbs.RtmbsError, match="another mechanism than the first"):
        Batch([cart, rtmbs.library.build("pendulum").compile()])
    batch = Batch(cart, 2)
    for call, words in (
        (lambda: batch.rollout({}), "give steps="),
        (lambda: batch.rollout({"push.force": np.zeros((3, 4))}), "the shape"),
        (lambda: batch.rollout({"push.force": "x"}), "array of numbers"),
        (lambda: batch.rollout(np.zeros((2, 3, 1))), "names= lists"),
        (lambda: batch.rollout(np.zeros((2, 3, 2)), ["push.force"]), "inputs have shape"),
        (lambda: batch.rollout({}, steps=2, channels=["energy.kinetic"]), "channel"),
        (lambda: batch.rollout({}, steps=2, out=np.zeros(3)), "out is an array"),
        (lambda: batch.rollout({}, steps=2, out=3), "out is 3"),
        (lambda: batch.reset([2]), "numbers from 0 to 1"),
        (lambda: batch.reset(states=[batch.state(0)] * 3), "3 States for 2 copies"),
        (lambda: batch.reset(states=[1, 2]), "must hold States"),
        (lambda: batch.reset(values={"pivot.angle": np.nan}), "finite"),
        (lambda: batch.set_masses("ground", 1.0), "does not move"),
        (lambda: batch.set_masses("pole", -1.0), "from 0 on"),
    ):
        with pytest.raises(rtmbs.RtmbsError, match=words):
            call()
    for call in (lambda: batch.step({"push": 1.0}), lambda: batch.set_masses("pol", 1.0)):
        with pytest.raises(rtmbs.errors.UnknownNameError):
            call()
    other = Simulation(cart, h=1e-3).state.copy()
    with pytest.raises(rtmbs.errors.StateError, match="h ="):
        batch.reset(states=other)
