"""A state saved, loaded and gone on with gives the same numbers bit for bit; a file that cannot is refused by name."""

from contextlib import suppress
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs import Simulation, State, library
from rtmbs.core.files import write_archive
from rtmbs.errors import StateError
from rtmbs.simulation.options import by_name
from rtmbs.state import FORMAT
from rtmbs.system.tables import ROTATION
from tests.contracts.machines import LIBRARY, accepted_steps, closed_model, contents, everything, library_simulation

FEW = hypothesis_settings(max_examples=12)

# entries of a file; each of the memory is one more
PLAIN = [f.name for f in fields(State) if f.name not in ("memory", "given", "before")]


def tumbling():
    """A brick thrown and spinning about all axes, held by a band."""
    model = rtmbs.Model("tumbling")
    model.add_body("brick", mass=1.0, center_of_mass=(0.02, 0.05, 0.03), inertia=(0.1, 0.3, 0.2))
    model.add_joint("free", rtmbs.Floating(), "ground", "brick")
    model.set_initial("free", position=(0, 0, 1, 1, 0, 0, 0), rate=(1, 0, 3, 1, 15, 2))
    ends = model.add_marker("nail", "ground", point=(0, 0, 2)), model.add_marker("eye", "brick", point=(0.2, 0, 0))
    model.add_force("band", rtmbs.SpringDamper(30.0, 0.5), between=ends)
    model.add_force("gust", rtmbs.Wrench(force=lambda t: (np.sin(9 * t), 0, 0), torque=rtmbs.Input()), body="brick")
    return model


# name: (model, options, an input that may be changed and its value)
MACHINES = {
    "tumbling": (tumbling, {"h": 5e-3}, ("gust.torque", (1.0, -2.0, 0.5))),
    "crank_rocker": (lambda: library.build("crank_rocker"), {"h": 2e-3}, ("gravity", (0.0, 3.0, -5.0))),
    "driven_fourbar": (lambda: library.build("driven_fourbar"), {"h": 2e-3, "fused": False}, ("gravity", (0, 1, -2))),
    "fixed alpha": (lambda: library.build("bricard"), {"h": 5e-3, "alpha": 1e8}, ("gravity", (1.0, 2.0, 3.0))),
    "closed 0": (lambda: closed_model(0), {"h": 1e-3}, ("push.force", (9.0, 0.0, 1.0))),
    "complex step": (
        lambda: library.build("top"),
        {"h": 5e-3, "jacobian": "complex-step"},
        ("gravity", (1.0, 0.0, -5)),
    ),
}
SYSTEMS = {}


def simulation(name):
    """Return a new simulation; systems never change, so each is compiled once."""
    model, options, _ = MACHINES[name]
    if name not in SYSTEMS:
        SYSTEMS[name] = model().compile()
    return Simulation(SYSTEMS[name], **by_name(**options))


def play(name, sim, events, save=None, path=None):
    """Step through events, a list of "step", "input" or a new step size; save before event number ``save``."""
    for k, event in enumerate(events):
        if k == save:
            sim.state.save(path)
        if event == "step":
            assert sim.step().outcome.accepted
        elif event == "input":
            place, value = MACHINES[name][2]
            sim.inputs[place] = value
        else:
            sim.h = event
    if save == len(events):
        sim.state.save(path)


events = st.lists(
    st.one_of(*[st.just("step")] * 6, st.just("input"), st.sampled_from((1e-3, 1.7e-3, 5e-4))), min_size=1, max_size=60
)


@pytest.mark.parametrize("name", MACHINES)
@FEW
@given(data=st.data())
def test_going_on_from_a_file_is_going_on(name, data, tmp_path_factory):
    """At any moment of any story of steps, inputs and new step sizes."""
    story = data.draw(events)
    save = data.draw(st.integers(0, len(story)))
    path = tmp_path_factory.mktemp("states") / "state"
    through, again = simulation(name), simulation(name)
    play(name, through, story, save, path)
    play(name, again, ["step"] * data.draw(st.integers(0, 3)))  # whatever it did before is forgotten
    again.restore(path)
    play(name, again, story[save:])
    assert everything(through) == everything(again)


@pytest.mark.parametrize("name", LIBRARY)
def test_every_library_mechanism_goes_on(name, tmp_path):
    through, again = library_simulation(name), library_simulation(name)
    accepted_steps(through, 9)
    through.state.save(tmp_path / "state")
    again.restore(tmp_path / "state")
    assert everything(again) == everything(through)
    accepted_steps(through, 9)
    accepted_steps(again, 9)
    assert everything(again) == everything(through)


def test_reference_rotations_are_part_of_the_state(tmp_path):
    sim, other = simulation("tumbling"), simulation("tumbling")
    references = set()
    for _ in range(60):
        accepted_steps(sim, 1)
        references.add(sim.state.R0.tobytes())
        sim.state.save(tmp_path / "state")
        other.restore(tmp_path / "state")
        accepted_steps(other, 1)
        before = contents(other.state)
        other.restore(sim.state)
        accepted_steps(other, 1)
        assert contents(other.state) == before
    assert len(references) == 60, "a rotation at every step boundary"


def test_a_state_between_step_boundaries_is_taken_to_one():
    """Turns may stand in the coordinates or in the reference rotations: the same pose, and the same motion."""
    sim, other = simulation("tumbling"), simulation("tumbling")
    accepted_steps(sim, 5)
    shifted, turn = sim.state.copy(), np.array([0.7, -0.4, 1.1])
    rotation = np.flatnonzero(sim.system.tables.dofs.kind == ROTATION)
    shifted.z[rotation] = turn
    along = turn @ sim.system.tables.dofs.axis[rotation]
    shifted.R0[0] = shifted.R0[0] @ Rotation.from_rotvec(-along).as_matrix()
    other.restore(shifted)
    assert np.all(other.state.z[rotation] == 0.0)
    accepted_steps(sim, 20)
    accepted_steps(other, 20)
    for name in ("z", "zd", "R0"):
        assert np.abs(getattr(sim.state, name) - getattr(other.state, name)).max() < 1e-10, name


def test_scratch_is_no_part_of_the_state():
    """Every number of the workspace may be lost between two steps."""
    for name in MACHINES:
        plain, spoilt = simulation(name), simulation(name)
        accepted_steps(plain, 3)
        accepted_steps(spoilt, 3)
        ws = spoilt.equations.ws
        for scratch in (*ws, *spoilt.equations.work):
            if scratch is not ws.inertia and scratch is not ws.law_memory:  # massless rows, constants: once and for all
                lost = np.nan if scratch.dtype.kind in "fc" else -1
                frames = scratch.shape[0] == len(ws.A)  # rows beyond those of steps are ground, and stay
                scratch[: spoilt.system.n if frames else None] = lost
        accepted_steps(plain, 3)
        accepted_steps(spoilt, 3)
        assert everything(plain) == everything(spoilt), name


def test_a_restored_state_is_a_copy():
    sim = simulation("crank_rocker")
    accepted_steps(sim, 2)
    kept = sim.state.copy()
    before = contents(kept)
    sim.restore(kept)
    accepted_steps(sim, 5)
    assert contents(kept) == before
    sim.restore(kept)
    assert contents(sim.state) == before


def test_time_is_exact():
    """t = t_ref + k h, however many steps."""
    sim = simulation("crank_rocker")
    sim.state.k = 10**6
    assert sim.t == 10**6 * 2e-3
    sim.step()
    assert sim.t == (10**6 + 1) * 2e-3
    sim.state.t_ref, sim.state.k = 0.25, 3
    assert sim.t == 0.25 + 3 * 2e-3


def test_a_new_step_starts_a_new_count():
    sim = simulation("crank_rocker")
    accepted_steps(sim, 7)
    alpha, t = sim.state.memory["alpha"].copy(), sim.t
    state = contents(sim.state)
    sim.h = 1e-3
    assert (sim.t, sim.h, sim.state.t_ref, sim.state.k) == (t, 1e-3, t, 0)
    np.testing.assert_allclose(sim.state.memory["alpha"], 4.0 * alpha, rtol=1e-15)
    changed = {"t_ref", "k", "h", "alpha"}
    assert {name for name, value in contents(sim.state).items() if value != state[name]} == changed
    sim.h = 2e-3
    np.testing.assert_array_equal(sim.state.memory["alpha"], alpha)
    assert sim.t == t


def test_a_fixed_alpha_stays():
    sim = simulation("fixed alpha")
    alpha = sim.state.memory["alpha"].copy()
    sim.h = 1e-3
    np.testing.assert_array_equal(sim.state.memory["alpha"], alpha)
    assert set(np.unique(alpha)) == {1e8, 1e8 * sim.system.length**2}


# -------------------------------------------------------------------------------------------------------------- files


@pytest.fixture
def saved(tmp_path):
    """A simulation and the file of its state."""
    sim = simulation("tumbling")
    accepted_steps(sim, 2)
    sim.state.save(tmp_path / "state.npz")
    return sim, tmp_path / "state.npz"


def refused(sim, path, *words):
    """Both doors refuse the file, name it and leave the simulation as it was."""
    before = everything(sim)
    for read in (State.load, sim.restore):
        with pytest.raises(StateError) as refusal:
            read(path)
        for word in (repr(str(path)), *words):
            assert word in str(refusal.value), str(refusal.value)
    assert everything(sim) == before


def rewritten(path, **changes):
    """Write the file again with entries changed, or left out where None."""
    with np.load(path) as file:
        entries = {name: file[name] for name in file.files} | changes
    kept = {name: value for name, value in entries.items() if value is not None}
    if "format" in changes or "checksum" in changes:
        np.savez(path, **kept)
    else:
        write_archive(path, FORMAT, ((name, kept[name]) for name in kept if name not in ("format", "checksum")))
    return path


def test_a_file_holds_what_the_state_holds(saved):
    sim, path = saved
    assert contents(State.load(path)) == contents(sim.state)
    assert [type(getattr(State.load(path), name)) for name in ("fingerprint", "t_ref", "k", "h")] == [
        str,
        float,
        int,
        float,
    ]


@pytest.mark.parametrize("tenth", range(10))
def test_a_truncated_file(saved, tenth):
    sim, path = saved
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * tenth // 10])
    refused(sim, path, "truncated or no state file", "save it again")


@given(changes=st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=4))
@hypothesis_settings(max_examples=200)
def test_a_damaged_file_is_refused_or_harmless(changes, tmp_path_factory):
    """Any bytes changed: a StateError, or the very same state (there are bytes that say nothing)."""
    sim, path = simulation("tumbling"), tmp_path_factory.mktemp("states") / "state"
    sim.state.save(path)
    data = bytearray(path.read_bytes())
    for place, byte in changes:
        data[place % len(data)] = byte
    path.write_bytes(bytes(data))
    with suppress(StateError):
        assert contents(State.load(path)) == contents(sim.state)


@pytest.mark.parametrize("name", PLAIN)
def test_a_missing_entry(saved, name):
    sim, path = saved
    refused(sim, rewritten(path, **{name: None}), f"lacks {name}")


def test_contents_that_are_not_those_of_the_checksum(saved):
    sim, path = saved
    refused(sim, rewritten(path, checksum=np.array("0" * 64)), "checksum")
    refused(sim, rewritten(path, checksum=None), "lacks checksum")


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in ("fingerprint", "k")])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_entry_that_is_not_finite(saved, name, bad):
    sim, path = saved
    value = np.array(getattr(sim.state, name), float)
    if value.size:
        value.flat[-1] = bad
        refused(sim, rewritten(path, **{name: value}), name, "not finite")


@pytest.mark.parametrize("name", PLAIN)
def test_an_entry_of_another_type(saved, name):
    sim, path = saved
    value = np.array(getattr(sim.state, name))
    other = value.astype(np.float32) if value.dtype == float else np.array(2.5)
    refused(sim, rewritten(path, **{name: other}), name, "type")


@pytest.mark.parametrize("name", ["z", "zd", "zdd", "R0", "u", "h", "t_ref"])
def test_an_entry_of_another_shape(saved, name):
    """Kernels do not look at shapes: an array too short would be read past its end."""
    sim, path = saved
    value = np.array(getattr(sim.state, name), float)
    short = value[:-1] if value.ndim else np.array([1.0, 2.0])
    rewritten(path, **{name: short})
    before = everything(sim)
    with pytest.raises(StateError, match=name) as refusal:
        sim.restore(path)
    assert "shape" in str(refusal.value)
    state = sim.state.copy()
    if value.ndim:
        setattr(state, name, short)
        with pytest.raises(StateError, match=f"this state for model 'tumbling': {name} has shape"):
            sim.restore(state)
    assert everything(sim) == before


def test_a_step_that_is_not_positive(saved):
    sim, path = saved
    for h in (0.0, -1e-3):
        with pytest.raises(StateError, match="h is"):
            sim.restore(rewritten(path, h=np.array(h)))


def test_another_format(saved):
    sim, path = saved
    refused(sim, rewritten(path, format=np.array(99)), "format 99", f"reads format {FORMAT}", "update rtmbs")
    refused(sim, rewritten(path, format=np.array(1)), "format 1", "an older version wrote it")
    refused(sim, rewritten(path, format=np.array([1.5, 2.0])), "format")
    refused(sim, rewritten(path, format=None), "lacks format")


def test_another_model(saved):
    _, path = saved
    sim = simulation("crank_rocker")
    before = everything(sim)
    with pytest.raises(StateError, match="another model") as refusal:
        sim.restore(path)
    assert repr(str(path)) in str(refusal.value)
    assert repr(sim.system.name) in str(refusal.value)
    with pytest.raises(StateError, match="another model"):
        sim.restore(simulation("tumbling").state)
    assert everything(sim) == before


def test_a_changed_mass_is_another_model():
    model, other = tumbling(), tumbling()
    other.add_body("fly", mass=1e-6)
    other.add_joint("seat", rtmbs.Fixed(), "brick", "fly")
    with pytest.raises(StateError, match="another model"):
        Simulation(other.compile()).restore(Simulation(model.compile()).state)


def test_what_is_no_state_file(saved, tmp_path):
    sim, _ = saved
    files = {"words": b"This is a letter.", "empty": b"", "zeros": bytes(5000)}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        refused(sim, tmp_path / name, "truncated or no state file")
    np.save(tmp_path / "array.npy", np.zeros(3))
    refused(sim, tmp_path / "array.npy", "truncated or no state file")
    np.savez(tmp_path / "objects.npz", z=np.array([{}], dtype=object))
    refused(sim, tmp_path / "objects.npz", "is damaged: z.npy says it is object")  # pickle is never opened
    sim.run(sim.t + 2 * sim.h).save(tmp_path / "result.npz")
    refused(sim, tmp_path / "result.npz")
    refused(sim, tmp_path, "is a folder")
    refused(sim, tmp_path / "nowhere", "does not exist")


@pytest.mark.parametrize("memory", [5, "x", None, {}, {"alpha": "no"}, {"alpha": [[1], [1, 2]]}])
def test_a_memory_that_no_method_left_is_refused(memory):
    """Where the user wrote it, in every verb that looks; a State of before still brings the Simulation back."""
    sim = Simulation(library.build("crank_rocker").compile(), h=1e-3)
    before, bad = sim.state.copy(), sim.state.copy()
    sim.state.memory = bad.memory = memory
    for verb in (sim.step, lambda: sim.run(0.1), lambda: sim.restore(bad)):
        with pytest.raises(StateError, match=r"memory|another method left it"):
            verb()
    sim.restore(before)
    assert sim.step().outcome.accepted


# ------------------------------------------------------------------------------------------- changed before a restore

LAW = {"k": 30.0, "c": 2.0, "tau": 0.05}
WAYS = {
    "copy": lambda sim, path: sim.state.copy(),
    "snapshot": lambda sim, path: sim.snapshot(),
    "saved before": lambda sim, path: through_file(sim.snapshot(), path),
}


def lagging(t, kinematics, p, states):
    return -p["k"] * states["x"] - p["c"] * kinematics.zd, (kinematics.z - states["x"]) / p["tau"]


def wheel():
    """A wheel of 0.4 kg m2 that turns about its centre, with a torque that lags, and a torque from outside."""
    model = rtmbs.Model("wheel")
    model.add_body("disc", mass=1.0, inertia=(0.2, 0.4, 0.2))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "disc")
    model.add_force("lag", lagging, joint="pin", parameters=LAW, states={"x": 0.1})
    model.add_force("motor", rtmbs.Motor(rtmbs.Input()), joint="pin")
    model.set_initial("pin", position=0.3, rate=1.0)
    return model


def through_file(state, path):
    state.save(path)
    return State.load(path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", [rtmbs.PenaltyTrapezoidal(), rtmbs.VariationalMidpoint(), rtmbs.methods.HHT()])
@pytest.mark.parametrize("late", [False, True], ids=["restored at once", "through a file"])
def test_what_was_changed_in_a_copy_has_its_own_accelerations(way, method, late, tmp_path):
    sim = Simulation(wheel().compile(), 1e-3, method=method)
    sim.run(0.02)
    state = WAYS[way](sim, tmp_path / "before.npz")
    state.zd[0], state.s[0], state.u[sim.system.inputs["motor.torque"]] = -4.0, 0.7, 5.0
    sim.restore(through_file(state, tmp_path / "after.npz") if late else state)
    torque = 5.0 - LAW["k"] * 0.7 - LAW["c"] * -4.0
    np.testing.assert_allclose(sim.state.zdd, torque / 0.4, rtol=1e-12)
    np.testing.assert_allclose(sim.state.sd, (sim.state.z - 0.7) / LAW["tau"], rtol=1e-12)
    assert not sim.state.outdated


def test_inputs_that_changed_while_the_state_was_shown_leave_it_up_to_date():
    sim = Simulation(wheel().compile(), 1e-3)
    assert sim.state.given is not None
    sim.inputs["motor.torque"] = 3.0
    copy = sim.state.copy()
    assert not copy.outdated
    copy.u[:] = 0.0
    assert copy.outdated


def test_states_of_the_same_numbers_are_equal():
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), 1e-3)
    one, other = sim.snapshot(), sim.snapshot()
    assert one == other
    other.zd[0] += 1e-9
    assert one != other
    assert one != "a state"


@pytest.mark.parametrize("value", [3, (1.0, 2.0), "inputs"])
def test_a_before_of_ones_own_is_refused(value):
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=1e-3)
    state = sim.state.copy()
    state.before = value
    with pytest.raises(StateError, match=r"before is .*; the model needs what its State had"):
        sim.restore(state)
