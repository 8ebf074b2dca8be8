"""Force laws of the user in a running simulation: inputs, paths, sources, results; and what cannot be a law."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs import PenaltyTrapezoidal, Simulation
from rtmbs.errors import InputError, ModelError, NotFiniteError
from rtmbs.semirecursive.sources import make_source
from tests.contracts.machines import accepted_steps, check_goes_on, contents, difference

H = 1e-3


def pull(t, kinematics, parameters):
    """A stiffening line with damping, and a breath of time."""
    length = np.sqrt(np.dot(kinematics.r, kinematics.r))
    rate = np.dot(kinematics.r, kinematics.v) / length
    return parameters["stiffness"] * (length - 0.8) ** 3 + parameters["damping"] * rate + 0.1 * np.sin(5.0 * t)


def branching_pull(t, kinematics, parameters):
    """The same, written with what no record holds: ``math``, and an ``if`` that is always true."""
    length = math.sqrt(float(np.dot(kinematics.r, kinematics.r)))
    if length > 0.0:
        rate = np.dot(kinematics.r, kinematics.v) / length
    return parameters["stiffness"] * (length - 0.8) ** 3 + parameters["damping"] * rate + 0.1 * math.sin(5.0 * t)


def coil(t, kinematics, parameters):
    return -parameters["stiffness"] * np.sin(kinematics.z) - 0.2 * kinematics.zd


def branching_coil(t, kinematics, parameters):
    return -parameters["stiffness"] * math.sin(kinematics.z) - 0.2 * kinematics.zd


def follower(t, kinematics, parameters):
    """A wrench that turns with the body and looks at its spin."""
    R, w = kinematics.R, kinematics.w
    return R @ np.array([0.5, 0.0, 1.0]), -0.1 * w + 0.05 * R[:, 2]


PARAMETERS = {"stiffness": 40.0, "damping": 0.7}


def machine(line=pull, joint=coil, **options):
    """A crank and a rocker with a coupler between them, cut somewhere, and laws on all of it."""
    model = rtmbs.Model("machine")
    bodies = [
        model.add_body(name, mass=1.0, center_of_mass=(0.1, 0.3, 0.2), inertia=(0.4, 0.5, 0.6))
        for name in ("crank", "coupler", "rocker")
    ]
    points = [(0, 0, 0), (0, 0, 1), (0, 2, 1.5), (0, 2, 0)]
    chain = [model.ground, *bodies, model.ground]
    for k, name in enumerate("abcd"):
        model.add_joint(name, rtmbs.Revolute(axis=(1, 0, 0)), chain[k], chain[k + 1], point=points[k], cut=name == "d")
    ends = model.add_marker("post", "ground", (0, 1, 2)), model.add_marker("eye", bodies[1], (0, 1, 1))
    model.add_force("line", line, between=ends, parameters=PARAMETERS, **options)
    model.add_force("coil", joint, joint="a", parameters={"stiffness": 3.0}, **options)
    model.add_force("push", follower, body=bodies[2], point=(0.1, 0.2, 0.3))
    model.set_initial("a", position=0.1, rate=1.0)
    return model


@pytest.fixture(scope="module")
def traced():
    return machine().compile()


@pytest.fixture(scope="module")
def called():
    return machine(branching_pull, branching_coil).compile()


# -------------------------------------------------------------------------------------------------------------- paths


def test_the_report_says_which_path_each_force_took(traced, called):
    text = str(Simulation(traced, h=H).start_report)
    assert text.count("recorded, compiled, exact derivatives") == 3
    text = str(Simulation(called, h=H).start_report)
    assert "push: recorded" in text
    assert "line: called in Python" in text
    assert "coil: called in Python" in text
    assert "readable step" in text
    assert [one.name for one in called.called] == ["line", "coil"]
    assert traced.called == ()


def test_a_called_law_moves_as_the_recorded_one(traced, called):
    """The values are the same to rounding; Newton's matrix differs by differences only, so iterations agree."""
    one, other = Simulation(traced, h=H), Simulation(called, h=H)
    assert [r.iterations for r in accepted_steps(one, 40)] == [r.iterations for r in accepted_steps(other, 40)]
    assert difference(one.state, other.state) < 1e-9


def test_what_is_asked_for_is_called_though_it_could_be_recorded(traced):
    system = machine(trace=False).compile()
    assert [one.name for one in system.called] == ["line", "coil"]
    one, other = Simulation(traced, h=H), Simulation(system, h=H)
    accepted_steps(one, 10)
    accepted_steps(other, 10)
    assert difference(one.state, other.state) < 1e-9


def test_differences_of_a_called_law_match_its_record(traced, called):
    found = []
    for system in (traced, called):
        sim = Simulation(system, h=H)
        accepted_steps(sim, 3)
        state, equations = sim.state, sim.equations
        equations.residual(state.z, state.zd, np.zeros(system.n), state.R0)
        found.append((equations.assemble(0.0, 0.0, 1.0), equations.assemble(0.0, 1.0, 0.0)))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-8 * np.abs(theirs).max())


def test_fused_and_readable_step_are_one(traced):
    fused, readable = (Simulation(traced, h=H, method=PenaltyTrapezoidal(fused=form)) for form in (True, False))
    accepted_steps(fused, 10)
    accepted_steps(readable, 10)
    assert difference(fused.state, readable.state) <= 1e-12


@pytest.mark.parametrize("name", ["finite-difference", "central-difference"])
def test_sources_that_call_the_whole_force_call_its_laws(traced, called, name):
    state = Simulation(traced, h=H).state
    answers = [make_source(name, system)(state.z, state.zd, state.R0, state.u) for system in (traced, called)]
    for mine, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("name", ["finite-difference-page", "complex-step", "autograd", "autograd-forward", "trace"])
def test_sources_that_look_into_the_force_refuse_a_called_law(called, name):
    with pytest.raises(InputError, match=r"'line', which only Python can evaluate.*structured"):
        Simulation(called, h=H, jacobian=name)


# ------------------------------------------------------------------------------------------------------------- inputs


def test_parameters_are_inputs_and_act_without_a_new_trace(traced, monkeypatch):
    """A simulation that is told a parameter goes on as one that began with it."""
    model = machine()
    model.forces["line"].law.parameters["stiffness"].flags.writeable = True
    model.forces["line"].law.parameters["stiffness"][...] = 90.0
    expected = Simulation(model.compile(), h=H)
    monkeypatch.setattr("rtmbs.system.recorded_laws.record_branches", None)
    sim = Simulation(traced, h=H)
    assert sim.inputs["line.stiffness"] == 40.0
    sim.inputs["line.stiffness"] = 90.0
    accepted_steps(sim, 5)
    accepted_steps(expected, 5)
    assert difference(sim.state, expected.state) <= 1e-9
    assert abs(sim.state.z - Simulation(traced, h=H).state.z).max() > 1e-4


def test_a_law_sees_time():
    seen = []
    for frequency in (0.0, 5.0):
        model = rtmbs.Model("shaker", gravity=(0, 0, 0))
        block = model.add_body("block", mass=2.0, inertia=(1, 1, 1))
        model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), model.ground, block)
        law = {0.0: lambda t, k, p: 0.0 * k.z + 3.0, 5.0: lambda t, k, p: 3.0 * np.cos(5.0 * t)}[frequency]
        model.add_force("shake", law, joint="rail")
        result = Simulation(model.compile(), h=1e-3).run(1.0)
        seen.append(result["rail.displacement"][-1])
        np.testing.assert_allclose(result["shake.force"], 3.0 * np.cos(frequency * result.t), atol=1e-12)
    np.testing.assert_allclose(seen, (0.75, 3.0 / 2.0 * (1 - np.cos(5.0)) / 25.0), rtol=1e-5)


def test_a_state_goes_on_bit_for_bit(traced, tmp_path):
    sim, other = Simulation(traced, h=H), Simulation(traced, h=H)
    sim.inputs["line.damping"] = 1.5
    check_goes_on(sim, other, 4, tmp_path / "state")


def test_laws_are_part_of_the_fingerprint(traced):
    other = machine(lambda t, kinematics, parameters: 2.0 * pull(t, kinematics, parameters)).compile()
    assert machine().compile().fingerprint == traced.fingerprint != other.fingerprint


# ------------------------------------------------------------------------------------------------ several coordinates


def differential(t, kinematics, parameters):
    """A torsion bar between two coordinates, by name."""
    twist = kinematics.z[1] - kinematics.z[0]
    return parameters["stiffness"] * np.stack((twist, -twist))


def test_a_law_on_two_joints_couples_branches_that_share_nothing():
    model = rtmbs.Model("pair", gravity=(0, 0, 0))
    for name, place in (("left", 0.0), ("right", 1.0)):
        body = model.add_body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0, place, 0))
        model.add_joint(f"{name} hinge", rtmbs.Revolute(axis=(1, 0, 0)), model.ground, body, point=(0, place, 0))
    model.add_force("bar", differential, joints=["left hinge", "right hinge"], parameters={"stiffness": 8.0})
    model.set_initial("left hinge", position=0.1)
    sim = Simulation(model.compile(), h=1e-3)
    result = sim.run(1.0)
    half = 0.05 * np.cos(4.0 * result.t)
    np.testing.assert_allclose(result["left hinge.angle"], 0.05 + half, atol=3e-7)
    np.testing.assert_allclose(result["right hinge.angle"], 0.05 - half, atol=3e-7)
    np.testing.assert_allclose(result["bar.force"][0], (-0.8, 0.8), rtol=1e-9)
    K = sim.equations.assemble(0.0, 0.0, 1.0)
    np.testing.assert_allclose(K, [[8.0, -8.0], [-8.0, 8.0]], atol=1e-12)


def test_a_law_on_the_whole_state_sees_every_coordinate_of_the_tree_by_name():
    seen = []

    def damping(t, kinematics, parameters):
        seen.append(kinematics.names)
        return -parameters["rate"] * kinematics.zd

    model = machine()
    model.add_force("oil", damping, joints="all", parameters={"rate": 0.4})
    system = model.compile()
    assert seen[-1] == tuple(system.coordinate_names)
    plain = Simulation(machine().compile(), h=H)
    sim = Simulation(system, h=H)
    for equations, state in ((plain.equations, plain.state), (sim.equations, sim.state)):
        equations.residual(state.z, state.zd, np.zeros(3), state.R0)
    more = sim.equations.assemble(0.0, 1.0, 0.0) - plain.equations.assemble(0.0, 1.0, 0.0)
    np.testing.assert_allclose(more, 0.4 * np.eye(3), atol=1e-12)


# ----------------------------------------------------------------------------------------------------------- failures


def test_a_law_that_fails_on_the_way_is_named(traced):
    model = machine(joint=lambda t, kinematics, parameters: np.sqrt(parameters["stiffness"] - 10.0 * kinematics.z))
    sim = Simulation(model.compile(), h=1e-2)
    with pytest.raises(NotFiniteError, match="coil"):
        sim.run(3.0)


def test_what_a_called_law_raises_carries_its_name():
    def shy(t, kinematics, parameters):
        if float(kinematics.z) > 0.12:
            raise RuntimeError("too far")
        return 0.0

    sim = Simulation(machine(joint=shy).compile(), h=1e-2)
    with pytest.raises(ModelError, match=r"force 'coil': its law raised RuntimeError: too far"):
        sim.run(1.0)
    assert 0.0 < sim.t < 1.0
    before = contents(sim.state)
    with pytest.raises(ModelError, match="too far"):
        sim.step()
    assert contents(sim.state) == before


def changing():
    count = iter(range(1000000))
    return lambda t, kinematics, parameters: float(next(count))


def frozen_branch():
    """A law that looks at its surroundings: a plain call sees another value than the record."""
    from rtmbs.ad.traced import TracedArray

    return lambda t, kinematics, parameters: kinematics.z * (2.0 if isinstance(kinematics.z, TracedArray) else 1.0)


BAD_JOINT_LAWS = {
    "wrong shape": (lambda t, k, p: np.ones(3), r"force 'coil': its law returned an array of shape \(3,\).*one number"),
    "nothing": (lambda t, k, p: None, r"force 'coil': its law returned None"),
    "a word": (lambda t, k, p: "far", r"force 'coil': its law returned 'far'; it must return numbers"),
    "not a number": (lambda t, k, p: 0.0 * k.z / (k.zd * 0.0), r"force 'coil'.*nan.*reference pose.*must be finite"),
    "complex": (lambda t, k, p: 1j * k.z, r"force 'coil': its law returned the complex number"),
    "a memory": (changing(), r"force 'coil'.*for the same input.*without a memory"),
    "another record": (frozen_branch(), r"force 'coil': its law was recorded as .* where a call gives"),
    "interp": (lambda t, k, p: np.interp(k.z, (0, 1), (0, 1)), r"force 'coil': numpy.interp.*numpy.where.*trace=False"),
    "a parameter": (lambda t, k, p: p["stifness"] * k.z, r"force 'coil': its law raised KeyError.*stifness"),
    "its arguments": (lambda t, k: k.z, r"force 'coil': its law must be called as law\(t, kinematics, parameters\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_JOINT_LAWS)
def test_what_cannot_be_a_law_is_refused_by_name(name):
    law, message = BAD_JOINT_LAWS[name]
    with np.errstate(all="ignore"), pytest.raises(ModelError, match=message):
        machine(joint=law).compile()


def test_a_call_into_other_code_runs_by_differences():
    special = pytest.importorskip("scipy.special")
    system = machine(joint=lambda t, k, p: -3.0 * special.erf(k.z)).compile()
    assert [one.name for one in system.called] == ["coil"]
    accepted_steps(Simulation(system, h=H), 3)
    assert "a call of erf, which is not NumPy's" in str(Simulation(system, h=H).start_report)


def test_markers_in_one_place_have_no_line():
    model = machine()
    ends = model.add_marker("here", "ground", (0, 0, 1)), model.add_marker("there", "crank", (0, 0, 1))
    model.add_force("x", lambda t, k, p: 3.0, between=ends)
    with np.errstate(all="ignore"), pytest.raises(ModelError, match=r"force 'x': its markers coincide.*no line"):
        model.compile()


def test_two_inputs_of_one_name_are_refused():
    model = machine()
    model.add_force("x", coil, joint="a", parameters={"stiffness": 1.0, "y.z": 1.0})
    model.add_force("x.y", coil, joint="a", parameters={"stiffness": 1.0, "z": 1.0})
    with pytest.raises(ModelError, match=r"two inputs would be called 'x.y.z'"):
        model.compile()


def test_all_joints_without_a_coordinate_are_no_joints():
    model = rtmbs.Model("free")
    body = model.add_body("body", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("free", rtmbs.Floating(), model.ground, body)
    model.add_force("x", coil, joints="all")
    with pytest.raises(ModelError, match=r"force 'x': joints='all' finds no coordinate"):
        model.compile()


BAD_LINE_LAWS = {
    "five numbers": (lambda t, k, p: np.ones(5), r"shape \(5,\); it must return a wrench \[f, n\] of 6 numbers, or"),
    "ragged": (lambda t, k, p: (np.ones(3), np.ones(2)), r"force 'line': its law returned parts of different shapes"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_LINE_LAWS)
def test_what_cannot_act_between_markers_is_refused(name):
    law, message = BAD_LINE_LAWS[name]
    with pytest.raises(ModelError, match=message):
        machine(line=law).compile()


def test_a_law_may_vanish_at_the_reference_pose():
    """A spring at its own free length gives zero in one form and rounding in the other; that is no other law."""
    for seed in range(12):
        place = np.random.default_rng(seed).normal(size=3)
        model = rtmbs.Model("rest")
        body = model.add_body("body", mass=1.0, inertia=(1, 1, 1), position=place)
        model.add_joint("free", rtmbs.Floating(), model.ground, body, point=place)
        ends = model.add_marker("a", "ground"), model.add_marker("b", body, frame=body)
        free = {"free": float(np.linalg.norm(place))}
        model.add_force("law", lambda t, k, p: 1e4 * (np.linalg.norm(k.r) - p["free"]), between=ends, parameters=free)
        assert model.compile().called == ()


def norm_drag(t, kinematics, parameters):
    return np.concatenate((-0.3 * np.linalg.norm(kinematics.v) * kinematics.v, np.zeros(3)))


def test_a_derivative_that_is_no_number_at_rest_is_refused_by_name_and_can_be_called():
    def model(**options):
        one = rtmbs.Model("drag")
        body = one.add_body("body", mass=1.0, inertia=(1, 1, 1))
        one.add_joint("free", rtmbs.Floating(), one.ground, body)
        one.add_force("law", norm_drag, body=body, **options)
        return one

    with (
        np.errstate(all="ignore"),
        pytest.raises(ModelError, match=r"force 'law': the derivative.*tiny\*\*2.*trace=False"),
    ):
        model().compile()
    sim = Simulation(model(trace=False).compile(), h=1e-3)
    result = sim.run(0.1)
    np.testing.assert_allclose(result["law.force"][-1, 2], 0.3 * result["body.velocity"][-1, 2] ** 2, rtol=1e-9)


def test_a_law_may_write_over_what_it_is_given():
    """Names of single values stay what they were, and the line of the markers stays where it is."""

    def careless(t, kinematics, parameters):
        r = kinematics.r
        length = np.sqrt(np.dot(r, r))
        longer = length
        longer *= 2.0
        r -= np.array([0.0, 0.0, 0.2])
        return longer - length

    plain = Simulation(machine(line=lambda t, k, p: np.sqrt(np.dot(k.r, k.r))).compile(), h=H)
    other = Simulation(machine(line=careless).compile(), h=H)
    assert other.system.called == ()
    accepted_steps(plain, 5)
    accepted_steps(other, 5)
    assert difference(plain.state, other.state) < 1e-12


def test_an_array_of_zeros_of_its_kind_can_be_written_into():
    def written(t, kinematics, parameters):
        f = np.zeros_like(kinematics.r)
        f[2] = -parameters["stiffness"] * kinematics.r[2]
        return f, np.zeros(3)

    model = machine(line=written)
    assert model.compile().called == ()


def test_a_table_of_parameters_keeps_its_shape():
    model = rtmbs.Model("bush")
    body = model.add_body("body", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("free", rtmbs.Floating(), model.ground, body)
    K = np.arange(9.0).reshape(3, 3)
    model.add_force("law", lambda t, k, p: (-p["K"] @ k.r, np.zeros(3)), body=body, parameters={"K": K})
    sim = Simulation(model.compile(), h=H)
    np.testing.assert_array_equal(sim.inputs["law.K"], K)
    sim.inputs["law.K"] = 2 * K
    np.testing.assert_array_equal(sim.inputs["law.K"], 2 * K)


def test_called_laws_of_different_code_are_different_models():
    prints = {machine(joint=law).compile().fingerprint for law in (branching_coil, other_coil)}
    assert len(prints) == 2
    assert machine(joint=branching_coil).compile().fingerprint in prints


def other_coil(t, kinematics, parameters):
    return -30.0 * math.sin(kinematics.z)


BAD_PLACES = {
    "nowhere": ({}, r"force 'x': a force law takes one of between=, joint=, joints= or body=, not nothing"),
    "two places": ({"joint": "a", "body": "crank"}, r"not joint= and body="),
    "a twin": ({"joints": ["a", "a"]}, r"force 'x': joints names a.angle twice"),
    "a word": ({"joints": "some"}, r"joints is 'some'; it must be a list of coordinates, or 'all'"),
    "parameters": ({"joint": "a", "parameters": [1.0]}, r"parameters is \[1.0\]; it must be a dictionary"),
    "a name": ({"joint": "a", "parameters": {"": 1.0}}, r"parameter name is ''; it must be a word"),
    "a text": ({"joint": "a", "parameters": {"k": "soft"}}, r"parameter 'k' is 'soft'"),
    "infinite": ({"joint": "a", "parameters": {"k": math.inf}}, r"parameter 'k' is inf; it must hold finite numbers"),
    "trace": ({"joint": "a", "trace": "no"}, r"trace is 'no'; it must be True or False"),
    "a point": ({"joint": "a", "point": (0, 0, 0)}, r"point= belongs to body="),
}


@pytest.mark.parametrize("name", BAD_PLACES)
def test_what_a_law_cannot_be_attached_to_is_refused(name):
    where, message = BAD_PLACES[name]
    with pytest.raises(ModelError, match=message):
        machine().add_force("x", coil, **where)


def test_parameters_do_not_go_with_a_law_of_the_house():
    with pytest.raises(ModelError, match=r"force 'x': parameters= belongs to a law written as a function"):
        machine().add_force("x", rtmbs.Motor(1.0), joint="a", parameters={"k": 1.0})
