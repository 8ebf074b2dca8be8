"""Every registered formulation answers for the same motion, in the same way (METHODS 2.10)."""

from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest

from rtmbs.errors import InputError, UnknownNameError
from rtmbs.formulations import FORMULATIONS, PLACES, FormulationError
from tests.cases import spread
from tests.formulations.systems import MAKERS, REDUNDANT, T, states, system_of, wanted
from tests.patches import check_removal

ALL = pytest.mark.parametrize("name", FORMULATIONS)
STATES = 8
MANY = pytest.param(200, marks=pytest.mark.slow)
SAME = 1e-10  # of the largest acceleration, or of 1


def asked(name):
    """The formulation with its defaults, and multipliers where it has none until asked."""
    made = FORMULATIONS[name]()
    return replace(made, multipliers=True) if hasattr(made, "multipliers") else made


def agree(found, right, size=1.0):
    np.testing.assert_allclose(found, right, rtol=0.0, atol=SAME * max(size, np.abs(right).max(initial=0.0)))


@pytest.mark.parametrize("count", [STATES, MANY])
@pytest.mark.parametrize("where", [*MAKERS, *REDUNDANT])
@ALL
def test_all_give_the_same_motion(name, where, count):
    method, system = asked(name), system_of(where)
    if where in REDUNDANT and not method.redundant:
        pytest.skip("refused, see below")
    for q, v in states(where, count):
        a, lam = method.accelerations(system, q, v, T)
        right, right_lam = wanted(system, q, v, T)
        agree(a, right)
        P, M, F = system.constraint_jacobian(q, T), system.mass(q, T), system.force(q, v, T)
        terms = np.abs(M) @ np.abs(right)  # their difference from F is compared, and may be small beside them
        agree(P.T @ lam, F - M @ right, max(1.0, terms.max()))
        if where not in REDUNDANT:
            agree(lam, right_lam)


@pytest.mark.parametrize("where", REDUNDANT)
@ALL
def test_dependent_rows_are_accepted_or_refused_by_name(name, where):
    method, system = FORMULATIONS[name](), system_of(where)
    q, v = states(where, 1)[0]
    if method.redundant:
        method.accelerations(system, q, v, T)
        return
    with pytest.raises(FormulationError, match=r"^rows? \d.* of Phi_q depends? on the other rows.*take QR, SVD"):
        method.accelerations(system, q, v, T)


@ALL
def test_memory_changes_nothing_but_the_work(name):
    """Along 60 near states, with what is kept from one to the next."""
    for where in ("rheonomic double pendulum", "slider-crank in joints"):
        method, system = FORMULATIONS[name](), system_of(where)
        q, v = (part.copy() for part in states(where, 2)[1])
        memory = method.memory()
        for k in range(60):
            kept, alone = (method.accelerations(system, q, v, T + 1e-2 * k, one)[0] for one in (memory, None))
            agree(kept, alone)
            assert k > 0 or memory is None or memory.count == 1
            q, v = q + 1e-2 * v, v + 1e-2 * np.clip(kept, -5.0, 5.0)
        if memory is not None:
            assert 1 <= memory.count < 30


@ALL
def test_a_memory_of_another_system_is_made_anew(name):
    method = FORMULATIONS[name]()
    memory = method.memory()
    for where in ("slider-crank in bodies", "pendulum in x, y", "slider-crank in joints"):
        q, v = states(where, 1)[0]
        agree(method.accelerations(system_of(where), q, v, T, memory)[0], wanted(system_of(where), q, v, T)[0])


@ALL
def test_arguments_stay_as_they_are(name):
    q, v = states("pendulum in x, y", 1)[0]
    before = q.copy(), v.copy()
    found = [FORMULATIONS[name]().accelerations(system_of("pendulum in x, y"), q, v, T)[0] for _ in range(2)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(before, (q, v))


@ALL
def test_multipliers_are_none_until_asked_where_they_are_eliminated(name):
    q, v = states("pendulum in x, y", 1)[0]
    method = FORMULATIONS[name]()
    lam = method.accelerations(system_of("pendulum in x, y"), q, v, T)[1]
    assert (lam is None) == hasattr(method, "multipliers")


@ALL
def test_a_formulation_is_a_frozen_dataclass(name):
    method = FORMULATIONS[name]()
    assert is_dataclass(method)
    assert isinstance(method.redundant, bool)
    with pytest.raises(FrozenInstanceError):
        setattr(method, fields(method)[0].name, 1.0)


@ALL
def test_options_must_be_above_zero(name):
    kind = FORMULATIONS[name]
    for field in fields(kind):
        if isinstance(field.default, bool) or not isinstance(field.default, float | int):
            continue
        for bad in (0.0, -1.0, np.nan, np.inf, "1", None, True):
            with pytest.raises(InputError, match=f"(?m)^{field.name}.* is .*wanted$"):
                kind(**{field.name: bad})


@pytest.mark.parametrize(
    ("q", "v", "t", "says"),
    [
        (np.zeros(3), np.zeros(2), 0.0, r"q is an array \(2,\), not \(3,\)"),
        (np.zeros(2), np.zeros((2, 1)), 0.0, r"v is an array \(2,\), not \(2, 1\)"),
        (np.array([np.nan, 0.0]), np.zeros(2), 0.0, r"q\[0\] is nan"),
        (np.zeros(2), np.array([0.0, np.inf]), 0.0, r"v\[1\] is inf"),
        (np.zeros(2), np.zeros(2), np.nan, "t is nan"),
        (np.zeros(2), np.zeros(2), "now", "t is a number of seconds, not 'now'"),
        (["a", "b"], np.zeros(2), 0.0, r"q is an array \(2,\) of numbers"),
    ],
)
@ALL
def test_bad_states_are_refused(name, q, v, t, says):
    with pytest.raises(InputError, match=says):
        FORMULATIONS[name]().accelerations(system_of("pendulum in x, y"), q, v, t)


class Broken:
    """The pendulum with one answer that is wrong."""

    def __init__(self, **wrong):
        self.n, self.m, self.right = 2, 1, system_of("pendulum in x, y")
        self.wrong = wrong

    def __getattr__(self, name):
        if name in ("coordinate_names", "row_names"):
            raise AttributeError(name)
        if name in self.wrong:
            return lambda *state: self.wrong[name]
        return getattr(self.right, name)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"mass": np.eye(3)}, r"mass\(q, t\) returned an array \(3, 3\); \(2, 2\) is wanted"),
        ({"mass": np.array([[1.0, 0.5], [0.0, 1.0]])}, r"mass\(q, t\) is not symmetric"),
        ({"force": np.zeros(3)}, r"force\(q, v, t\) returned an array \(3,\); \(2,\) is wanted"),
        ({"force": np.array([0.0, np.nan])}, r"force\(q, v, t\) returned nan at \(1,\)"),
        ({"constraint_jacobian": np.ones(2)}, r"constraint_jacobian\(q, t\) returned an array \(2,\); \(1, 2\)"),
        ({"constraint_rate_terms": (np.zeros(1), np.zeros(2))}, r"gamma of constraint_rate_terms.* \(1,\) is wanted"),
        (
            {"constraint_rate_terms": np.zeros(1)},
            r"constraint_rate_terms\(q, v, t\) returned array.*Phi_t and gamma are",
        ),
        ({"mass": "heavy"}, r"mass\(q, t\) returned 'heavy'"),
    ],
)
@ALL
def test_wrong_answers_of_a_system_are_refused(name, wrong, says):
    with pytest.raises(InputError, match=says):
        FORMULATIONS[name]().accelerations(Broken(**wrong), np.array([0.6, -0.8]), np.array([0.8, 0.6]), 0.0)


@ALL
def test_a_coordinate_without_inertia_is_named(name):
    """Mass along the rod only, which the constraint holds anyway."""
    system = Broken(mass=np.diag([0.0, 1.0]), constraint_jacobian=np.array([[0.0, 1.0]]))
    with pytest.raises(FormulationError, match=r"^coordinate 0 can move without inertia"):
        FORMULATIONS[name]().accelerations(system, np.array([0.0, -1.0]), np.zeros(2), 0.0)


@ALL
def test_mass_may_be_singular_where_constraints_hold(name):
    """No mass along the rod: M is singular, and positive on the null space of Phi_q."""
    system, q, v = Broken(mass=np.diag([2.0, 0.0])), np.array([0.0, -1.0]), np.array([1.5, 0.0])
    agree(FORMULATIONS[name]().accelerations(system, q, v, 0.0)[0], wanted(system, q, v, 0.0)[0])


def test_contradicting_rows_are_named():
    """Two equal rows that ask for different accelerations; penalties share the difference instead."""
    system = Broken(
        constraint_jacobian=np.array([[0.0, 1.0], [0.0, 1.0]]),
        constraint_rate_terms=(np.zeros(2), np.array([1.0, 2.0])),
    )
    system.m = 2
    for name in ("qr", "svd", "null-space"):
        with pytest.raises(FormulationError, match=r"^row \d of Phi_q a = gamma contradicts"):
            FORMULATIONS[name]().accelerations(system, np.array([0.0, -1.0]), np.zeros(2), 0.0)


def test_an_unknown_formulation_lists_the_known():
    with pytest.raises(UnknownNameError, match=r"there is no formulation named 'baumgart'; did you mean 'baumgarte'"):
        FORMULATIONS["baumgart"]


REST = """
import numpy as np
import rtmbs.formulations as room
from rtmbs.formulations.function_system import pendulum

assert "COPY" in room.__file__
for name in room.__all__:
    getattr(room, name)
q, v = np.array([0.6, -0.8]), np.array([0.8, 0.6])
found = [kind().accelerations(pendulum(), q, v, 0.0)[0] for kind in room.FORMULATIONS.values()]
np.testing.assert_allclose(found, [found[0]] * len(found), rtol=1e-9)
room.plot_error_response(20.0, 20.0, t_end=0.05)
print(*room.FORMULATIONS)
"""


REMOVED = spread(FORMULATIONS, 1)  # a process each


@pytest.mark.parametrize("name", REMOVED)
def test_removing_a_formulation_is_one_file_and_one_line(name, tmp_path):
    check_removal("formulations", "formulations/__init__.py", PLACES, name, REST, tmp_path)
