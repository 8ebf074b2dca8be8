"""Unknown keyword arguments: every public call names itself, the keyword, the nearest right one and the list."""

import inspect
import pickle
from enum import Enum
from functools import partial

import pytest

import rtmbs
from rtmbs.core.keywords import SYMBOLS, called, checked, optional
from rtmbs.errors import ArgumentError, RtmbsError
from rtmbs.simulation.access import Claim

ODD = "no_such_argument"


def public():
    """Yield every public class and function of rtmbs and of its rooms, with its name."""
    for name in rtmbs.HOMES:
        yield name, getattr(rtmbs, name)
    for room in ("dae", "formulations", "kinematics", "language", "recursive", "vehicle"):
        module = getattr(rtmbs, room)
        for name in module.__all__:
            yield f"{room}.{name}", getattr(module, name)


def takes_any(call) -> bool:
    kinds = [one.kind for one in inspect.signature(call).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def is_record(kind) -> bool:
    """A tuple with names, an enumeration, a protocol or an error: what the package makes and the user reads."""
    return issubclass(kind, tuple | Enum | BaseException) or getattr(kind, "_is_protocol", False)


def blank(kind):
    """Return an object whose constructor did not run: a call with an unknown keyword never gets to its body."""
    made = kind.__new__(kind)
    if hasattr(made, "__dict__"):
        vars(made)["_claim"] = Claim()  # guards of a Simulation look at it before the arguments
    return made


def calls():
    """Yield the name and the call of every public function, constructor and method with an optional argument."""
    for name, value in public():
        if inspect.isfunction(value):
            yield name, value
        elif isinstance(value, type) and not is_record(value):
            if value.__init__ is not object.__init__ and value.__new__ is object.__new__:
                yield name, value
            for method in dir(value):
                held = inspect.getattr_static(value, method)
                if method.startswith("_") or (not isinstance(held, classmethod | staticmethod) and not callable(held)):
                    continue
                function = getattr(value, method)
                if inspect.isroutine(function) and optional(getattr(function, "__func__", function)):
                    bound = isinstance(held, classmethod | staticmethod)
                    yield f"{name}.{method}", function if bound else partial(function, blank(value))


CALLS = [(name, call) for name, call in calls() if not takes_any(call)]


def test_the_list_is_long():
    names = {name for name, _ in CALLS}
    assert len(names) > 150
    assert {
        "SpringDamper",
        "Model.add_body",
        "Simulation.run",
        "sweep",
        "dae.integrate",
        "kinematics.Analysis",
    } <= names


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_every_public_call_names_an_unknown_keyword(name, call):
    with pytest.raises(TypeError) as caught:
        call(**{ODD: 1})
    assert isinstance(caught.value, RtmbsError)
    assert repr(ODD) in str(caught.value)
    function = getattr(call, "func", call)  # one function may have two names, as Robot.aba
    known = {name.split(".")[-1], getattr(function, "__name__", "")}
    said = str(caught.value)
    assert any(said.startswith(one) or f".{one} " in said for one in known if one)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rtmbs.SpringDamper(k=10.0),
            "SpringDamper takes no argument 'k'; did you mean 'stiffness'? It takes stiffness, damping, length",
        ),
        (lambda: rtmbs.SpringDamper(stifness=10.0), "did you mean 'stiffness'?"),
        (lambda: rtmbs.TorsionSpring(1.0, c=2.0), "TorsionSpring takes no argument 'c'; did you mean 'damping'?"),
        (
            lambda: rtmbs.Model("m").add_body("b", mas=1.0),
            "Model.add_body takes no argument 'mas'; did you mean 'mass'?",
        ),
        (lambda: rtmbs.Model("m").add_joint("j", betwen=1), "Model.add_joint takes no argument 'betwen'"),
        (lambda: rtmbs.Simulation(None, dt=1e-3), "Simulation takes no argument 'dt'; did you mean 'h'?"),
        (lambda: rtmbs.sweep(None, {}, {}, tend=1.0), "sweep takes no argument 'tend'; did you mean 't_end'?"),
        (lambda: rtmbs.dae.HHT(alfa=0.0), "HHT takes no argument 'alfa'; did you mean 'alpha'?"),
        (lambda: rtmbs.Revolute((1, 0, 0), zzzz=1), "Revolute takes no argument 'zzzz'; it takes axis"),
        (
            lambda: rtmbs.kinematics.Gear("g", "a", "b", ratoi=2.0),
            "Gear takes no argument 'ratoi'; did you mean 'ratio'? It takes name, first, second, ratio",
        ),
        (lambda: rtmbs.dae.Orders(2, 2, 2, lamda=2), "Orders takes no argument 'lamda'; did you mean 'lam'?"),
        (lambda: rtmbs.vehicle.TyreInput(4e3, 0, 0, 0, 15, fiction=1), "TyreInput takes no argument 'fiction'"),
        (
            lambda: rtmbs.EventError("m", t=1.0, event=()),
            "EventError takes no argument 'event'; did you mean 'events'?",
        ),
        (lambda: rtmbs.RtmbsError("m", mesage=1), "RtmbsError takes no argument 'mesage'; it takes none by name"),
    ],
)
def test_the_nearest_name_stands_in_the_message(call, message):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert message in str(caught.value)
    assert caught.value.__suppress_context__


def test_a_class_of_the_user_is_named_itself():
    class Soft(rtmbs.SpringDamper):
        pass

    with pytest.raises(ArgumentError, match=r"^Soft takes no argument 'k'"):
        Soft(k=1.0)


def test_a_tuple_with_names_is_copied_and_pickled_as_before():
    one = rtmbs.vehicle.TyreForces(1.0, 2.0, 3.0, 4.0, 5.0)
    assert pickle.loads(pickle.dumps(one)) == one == rtmbs.vehicle.TyreForces._make(one)
    assert one._replace(Fx=0.0) == (0.0, 2.0, 3.0, 4.0, 5.0)
    assert list(inspect.signature(rtmbs.vehicle.TyreForces).parameters) == list(one._fields)


def test_the_report_of_a_step_keeps_the_constructor_of_tuples():
    """A report is made in every step, which an extra call would lengthen."""
    assert not hasattr(rtmbs.StepReport.__new__, "__wrapped__")


def test_other_type_errors_stay():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'stiffness'") as caught:
        rtmbs.SpringDamper(damping=1.0)
    assert not isinstance(caught.value, RtmbsError)

    def make(c):
        raise TypeError(f"of the user: {c}")

    table = rtmbs.sweep(make, {"c": [1.0]}, {"x": "last t"}, t_end=1.0, engine=rtmbs.Serial())
    assert table.failed == {0: "TypeError: of the user: 1.0"}


def test_a_call_is_checked_once_and_keeps_its_signature():
    assert checked(rtmbs.sweep) is rtmbs.sweep
    before = rtmbs.SpringDamper.__init__
    assert checked(rtmbs.SpringDamper).__init__ is before
    assert list(inspect.signature(rtmbs.SpringDamper).parameters) == ["stiffness", "damping", "length"]
    assert pickle.loads(pickle.dumps(rtmbs.sweep)) is rtmbs.sweep
    assert pickle.loads(pickle.dumps(rtmbs.SpringDamper(1.0))) == rtmbs.SpringDamper(1.0)


def test_what_every_step_calls_is_not_wrapped():
    """Methods without an optional argument cost nothing more."""
    for method in (rtmbs.Simulation.step, rtmbs.PenaltyTrapezoidal.advance, rtmbs.Recorder.observe):
        assert not optional(method)
        assert not getattr(method, "__code__", None) or "keywords.py" not in method.__code__.co_filename


def test_short_names_mean_arguments_that_exist():
    known = {one for _, call in CALLS for one in inspect.signature(call).parameters}
    for symbol, meant in SYMBOLS.items():
        assert set(meant) & known, symbol
        assert set(meant) <= known, f"{symbol}: {set(meant) - known} are arguments of no public call"


def test_a_function_within_a_function_is_named_alone():
    def inner(x=1): ...

    assert called(inner, (3,)) == "inner"
