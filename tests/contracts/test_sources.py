"""Every source of K and C against every other, on random mechanisms with every joint, closure, force and driver."""

from itertools import combinations

import numpy as np
import pytest

from rtmbs import Simulation
from rtmbs.integrators.settings import INERTIA, StateArrays
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.sources import STRUCTURED, make_source, source_names
from tests.contracts.machines import LIBRARY, library_simulation, with_force_states
from tests.mechanisms import committed, mechanism_of, random_model, random_motion

# Relative to the largest entry, by what a name holds; any other source claims to be exact.
EXACT = 1e-11
DIFFERENCES = {"finite-difference": 1e-5, "finite-difference-page": 1e-5, "central-difference": 1e-7}
PAIRS = list(combinations(source_names(), 2))


def tolerance(*names):
    return max([EXACT, *(size for word, size in DIFFERENCES.items() for name in names if word in name)])


def answer(name, system, z, zd, R0, u):
    """Return K and C from a source, the closed form included."""
    if name != STRUCTURED:
        return make_source(name, system)(z, zd, R0, u)
    equations = SemiRecursiveEquations(system)
    equations.u, s = np.split(u, [len(system.u0)])
    hold_states(s, equations.ws)
    equations.residual(z, zd, np.zeros(system.n), R0)
    return equations.assemble(0.0, 0.0, 1.0), equations.assemble(0.0, 1.0, 0.0)


def random_case(seed):
    """Return a system and a state of it with open loops, at a step boundary."""
    system = random_model(seed, 9).compile()
    mechanism, motion = committed(mechanism_of(seed, system), random_motion(seed, system.tables))
    return system, motion.z, motion.zd, mechanism.R0, mechanism.u


def library_case(name):
    """Return a system and the state after a few steps."""
    sim = library_simulation(name)
    for _ in range(5):
        assert sim.step().outcome.accepted
    state = sim.state
    return sim.system, state.z, state.zd, state.R0, state.u


@pytest.fixture(scope="module")
def answers():
    """K and C of every source on two random systems, worked out once."""
    found = {}
    for seed in (1, 2):
        case = random_case(seed)
        found[seed] = {name: answer(name, *case) for name in source_names()}
    return found


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("seed", [1, 2])
def test_pairs_agree_on_random_mechanisms(answers, seed, one, other):
    for mine, theirs in zip(answers[seed][one], answers[seed][other], strict=True):
        assert np.abs(mine - theirs).max() <= tolerance(one, other) * np.abs(theirs).max()


@pytest.mark.parametrize("machine", LIBRARY)
def test_all_agree_in_motion(machine):
    case = library_case(machine)
    K, C = answer(STRUCTURED, *case)
    size = max(np.abs(K).max(), np.abs(C).max(), 1.0)  # some mechanisms have next to none
    for name in source_names():
        for mine, theirs in zip(answer(name, *case), (K, C), strict=True):
            assert np.abs(mine - theirs).max() <= tolerance(name) * size, name


def test_all_agree_with_force_states():
    """States behind the inputs, held as they are."""
    sim = Simulation(with_force_states().compile(), 2e-3)
    sim.run(0.02)
    case = (sim.system, sim.state.z, sim.state.zd, sim.state.R0, np.concatenate((sim.state.u, sim.state.s)))
    K, C = answer(STRUCTURED, *case)
    for name in source_names():
        for mine, theirs in zip(answer(name, *case), (K, C), strict=True):
            assert np.abs(mine - theirs).max() <= tolerance(name) * np.abs(theirs).max(), name


def test_newton_matrices_agree_with_force_states_that_follow():
    """Eliminated states: what they add comes from the recorded law, whatever source gives the rest."""
    system, h = with_force_states().compile(), 1e-2
    sim = Simulation(system, h)
    sim.run(0.05)
    state, equations, answers = sim.state, SemiRecursiveEquations(system), {}
    old = StateArrays(state.z, state.zd, state.zdd, state.lam, state.R0, np.zeros((system.n, 2)), state.s, state.sd)
    for name in source_names():
        equations.source = make_source(name, system)
        equations.u, equations.alpha = state.u, np.full(system.m, 1e5)
        equations.follow_states(old.s + h / 2 * old.sd, h / 2)
        equations.residual(state.z + 0.01, state.zd - 0.1, state.zdd, state.R0)
        if equations.source is None:
            equations.fill(1.0, h / 2, h * h / 4, INERTIA, old)
        else:
            equations.fill_from_source(h / 2, h * h / 4, INERTIA, old)
        answers[name] = np.asarray(equations.matrix)
    for name, found in answers.items():
        assert np.abs(found - answers[STRUCTURED]).max() <= tolerance(name) * np.abs(found).max(), name


@pytest.mark.parametrize("seed", [1, 2])
def test_newton_matrices_agree_at_an_iterate(seed):
    """Between step boundaries, where the rates of rotation dofs are not the derivatives of their coordinates."""
    system = random_model(seed, 9).compile()
    mechanism, motion = mechanism_of(seed, system), random_motion(seed, system.tables)
    equations, answers = SemiRecursiveEquations(system), {}
    equations.u[:], equations.alpha[:] = mechanism.u, motion.alpha
    old = StateArrays(motion.z, motion.zd, motion.zdd, motion.lam, mechanism.R0, np.zeros((len(motion.z), 2)))
    for name in source_names():
        equations.source = make_source(name, system)
        equations.residual(*motion[:3], mechanism.R0)
        if equations.source is None:
            equations.fill(1.0, 0.3, 0.1, INERTIA, old)
        else:
            equations.fill_from_source(0.3, 0.1, INERTIA, old)
        answers[name] = np.asarray(equations.matrix)
    for name, found in answers.items():
        assert np.abs(found - answers[STRUCTURED]).max() <= tolerance(name) * np.abs(found).max(), name


@pytest.mark.parametrize("name", [name for name in source_names() if name != STRUCTURED])
def test_a_source_answers_the_contract(name):
    """Dense (n, n) twice, inputs left alone, the same answer when asked again, no state from the question before."""
    system, z, zd, R0, u = case = random_case(3)
    given = [x.tobytes() for x in case[1:]]
    source = make_source(name, system)
    first = [x.copy() for x in source(z, zd, R0, u)]
    source(z + 0.1, zd - 0.2, R0, u)
    again = source(z, zd, R0, u)
    for one, other in zip(first, again, strict=True):
        assert one.shape == (system.n, system.n)
        np.testing.assert_array_equal(one, other)
    assert [x.tobytes() for x in case[1:]] == given


def test_inputs_reach_every_source():
    """Another stiffness changes K of each in the same way."""
    system, z, zd, R0, u = random_case(1)
    stiffer = u.copy()
    stiffer[system.inputs["spring 0.stiffness"]] += 50.0
    expected = answer(STRUCTURED, system, z, zd, R0, stiffer)[0] - answer(STRUCTURED, system, z, zd, R0, u)[0]
    assert np.abs(expected).max() > 1.0
    for name in source_names():
        K = [answer(name, system, z, zd, R0, inputs)[0] for inputs in (stiffer, u)]
        assert np.abs(K[0] - K[1] - expected).max() <= 2 * tolerance(name) * np.abs(K[0]).max()
