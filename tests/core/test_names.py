"""Names in brackets: patterns, lists, completion by tab, and answers to names that do not exist.

Unknown keyword arguments: every public call names itself, the keyword, the nearest right one and the list.

rtmbs.register: classes of a script by name, in the model language, in files and among the methods.

Objects that take no attributes but their own.
"""

import inspect
import pickle
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

import rtmbs
from rtmbs.core.names import SYMBOLS, Register, called, checked, optional, selected
from rtmbs.errors import ArgumentError, InputError, ModelError, RtmbsError, UnknownNameError
from rtmbs.integrators.contract import Method
from rtmbs.model import FORCE_TYPES, JOINT_TYPES, ForceLaw
from rtmbs.model.forces import scalars
from rtmbs.simulation.access import Claim

NAMES = ("t", "crank.angle", "crank.rate", "crank_pin.angle", "rod.position", "odd[1].x")


@pytest.fixture(scope="module")
def sim():
    return rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile())


@pytest.fixture(scope="module")
def result():
    return rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile()).run(0.1)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("crank.angle", None),
        ("nothing", None),  # one name: its owner refuses it
        ("crank.*", ["crank.angle", "crank.rate"]),
        ("crank*.angle", ["crank.angle", "crank_pin.angle"]),
        ("?", ["t"]),
        ("crank.[ax]*", ["crank.angle"]),
        ("odd[1].x", None),  # a name as it stands comes before a pattern
        ("odd[[]1[]].*", ["odd[1].x"]),
        (["t", "crank.rate"], ["t", "crank.rate"]),
        (("crank.rate", "crank.*"), ["crank.rate", "crank.angle"]),  # each once, in the order of the list
        ([], []),
    ],
)
def test_which_names_are_meant(wanted, found):
    assert selected("channel", wanted, NAMES) == found


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("crnk.*", r"no channel that matches 'crnk\.\*'; did you mean 'crank\.\*', 'crank_pin\.\*'"),
        ("*.velocity", "'rod"),
        ("CRANK.*", "CRANK"),
        (["t", "crank.angel"], "no channel named 'crank.angel'; did you mean 'crank.angle'"),
        (["t", 3], "no channel named 3"),
        (["t", "zz.*"], r"'zz\.\*'"),
    ],
)
def test_what_matches_nothing_is_refused(wanted, message):
    with pytest.raises(UnknownNameError, match=message):
        selected("channel", wanted, NAMES)


def test_several_channels_of_a_result(result):
    own = result["crank_pivot.*"]
    assert list(own) == [name for name in result.names() if name.startswith("crank_pivot.")]
    assert len(own) >= 3
    assert all(values is result[name] for name, values in own.items())
    assert list(result[["coupler.position", "crank_pivot.angle"]]) == ["coupler.position", "crank_pivot.angle"]
    assert result.keys() == result.names()
    assert list(dict(result)) == result.names()
    with pytest.raises(UnknownNameError, match=r"matches 'crank_pivt\.\*'; did you mean 'crank_pivot\.\*'"):
        result["crank_pivt.*"]


def test_several_channels_of_a_simulation(sim):
    own = sim["crank_pivot.*"]
    assert own["crank_pivot.angle"] == sim["crank_pivot.angle"]
    assert isinstance(own["crank_pivot.angle"], float)
    both = sim[["coupler.position", "crank_pivot.rate"]]
    np.testing.assert_array_equal(np.hstack(list(both.values())), sim.read(["coupler.position", "crank_pivot.rate"]))
    assert set(sim.keys()) <= set(sim.run(0.2).names()) | {"t"}


def test_an_element_is_answered_with_its_channels(sim, result):
    for owner in (sim, result):
        with pytest.raises(UnknownNameError, match=r"no channel named 'crank_pivot'; there are 'crank_pivot.angle', "):
            owner["crank_pivot"]
        with pytest.raises(UnknownNameError, match=r"did you mean 'crank_pivot\.angle'"):
            owner["crank_pivot.angel"]


def test_names_complete_by_tab(sim, result):
    table = rtmbs.sweep(
        lambda rate: rtmbs.library.build("crank_rocker", rate=rate),
        {"rate": [5.0, 6.0]},
        {"peak": "largest crank_pivot.rate", "last": "last crank_pivot.angle"},
        t_end=0.1,
        engine=rtmbs.Serial(),
    )
    for owner in (sim, result, table, rtmbs.compare(result, result), sim.inputs):
        names = owner._ipython_key_completions_()
        assert names == list(owner.keys())
        for name in names[:5]:
            assert owner[name] is not None
    assert list(table[["rate", "p*"]]) == ["rate", "peak"]
    assert {name: column.tolist() for name, column in table["ra*"].items()} == {"rate": [5.0, 6.0]}
    assert dict(table)["peak"] is table["peak"]
    with pytest.raises(UnknownNameError, match=r"no column that matches 'peek\*'; did you mean 'peak'"):
        table["peek*"]


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
        assert not getattr(method, "__code__", None) or "names.py" not in method.__code__.co_filename


def test_short_names_mean_arguments_that_exist():
    known = {one for _, call in CALLS for one in inspect.signature(call).parameters}
    for symbol, meant in SYMBOLS.items():
        assert set(meant) & known, symbol
        assert set(meant) <= known, f"{symbol}: {set(meant) - known} are arguments of no public call"


def test_a_function_within_a_function_is_named_alone():
    def inner(x=1): ...

    assert called(inner, (3,)) == "inner"


REGISTERS = {"joints": JOINT_TYPES, "forces": FORCE_TYPES, "methods": rtmbs.METHODS.added}


@pytest.fixture(autouse=True)
def forget():
    """Take out what a test registered."""
    before = {name: dict(known) for name, known in REGISTERS.items()}
    yield
    for name, known in REGISTERS.items():
        known.clear()
        known.update(before[name])


def drawer(length=1.0):
    """Return a joint type made anew, as a cell of a notebook that runs again makes it."""

    @dataclass(frozen=True)
    class Drawer(rtmbs.Prismatic):
        """A slide."""

        travel: float = length
        field_units: ClassVar[dict[str, str]] = {"travel": "m"}

    return rtmbs.register(Drawer)


def with_joint(kind):
    model = rtmbs.Model("desk")
    model.add_body("box", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("front", kind((1.0, 0.0, 0.0), 0.4), "ground", "box")
    return model


def test_a_registered_joint_has_a_statement_and_is_written():
    model = with_joint(drawer())
    text = rtmbs.language.write(model)
    assert "drawer joint front" in text
    assert "travel = 0.4" in text
    again = rtmbs.language.build(text.replace("travel = 0.4", "travel = 40 cm")).model
    assert again.joints["front"].type == model.joints["front"].type
    assert again.compile().fingerprint == model.compile().fingerprint
    with pytest.raises(rtmbs.errors.LanguageError, match=r"travel is .*kg.*; it must be"):
        rtmbs.language.build(text.replace("travel = 0.4", "travel = 1 kg"))


def test_a_number_has_the_default_of_its_field():
    drawer(0.7)
    text = rtmbs.language.write(with_joint(drawer(0.7))).replace(", travel = 0.4", "")
    assert rtmbs.language.build(text).model.joints["front"].type.travel == 0.7


def test_a_cell_that_runs_again_takes_the_place_of_its_older_self():
    old, new = drawer(), drawer()
    assert old is not new
    assert JOINT_TYPES["Drawer"] is new
    assert type(rtmbs.language.build(rtmbs.language.write(with_joint(new))).model.joints["front"].type) is new
    with pytest.raises(ModelError, match=r"Drawer, which is not in JOINT_TYPES; .*rtmbs.register"):
        rtmbs.language.write(with_joint(old))


def test_a_registered_law_on_a_table_of_the_package_acts():
    @rtmbs.register
    @dataclass(frozen=True)
    class Cable(ForceLaw):
        """Pulls two points together with a constant force [N]."""

        tension: float
        attaches = "between"

        def checked(self, what):
            return self

        def parameters(self, length, unit):
            return scalars(stiffness=0.0, damping=0.0, length=length, tension=self.tension)

    model = rtmbs.Model("sled", gravity=(0.0, 0.0, 0.0))
    model.add_body("sled", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic((1.0, 0.0, 0.0)), "ground", "sled")
    ends = model.add_marker("hook", "ground", (3.0, 0.0, 0.0)), model.add_marker("eye", "sled")
    model.add_force("cable", Cable(4.0), between=ends)
    document = rtmbs.language.build(rtmbs.language.write(model))
    assert type(document.model.forces["cable"].law) is Cable
    result = rtmbs.Simulation(document.model.compile(), h=1e-2).run(0.1)
    np.testing.assert_allclose(result["rail.displacement"][-1], 0.5 * 2.0 * 0.1**2, rtol=1e-9)


def test_a_registered_method_stands_among_the_others():
    @rtmbs.register
    class DoNothing(Method):
        """Leaves a state as it is."""

        order = 1
        capabilities = frozenset()

    assert rtmbs.METHODS["do-nothing"] is DoNothing
    assert len(rtmbs.METHODS) == len(list(rtmbs.METHODS))
    assert rtmbs.methods.name_of(DoNothing()) == "do-nothing"
    assert "| `DoNothing` |" in rtmbs.methods.table()


def test_names_that_are_taken_are_refused():
    with pytest.raises(InputError, match="joint type 'Revolute' is registered already, as another class"):
        rtmbs.register(type("Revolute", (rtmbs.Prismatic,), {}))
    with pytest.raises(InputError, match="method 'hht' is registered already"):
        rtmbs.register(type("HHT", (Method,), {}))
    with pytest.raises(InputError, match="force law 'Motor' is registered already"):
        rtmbs.register(type("Motor", (ForceLaw,), {}))


@pytest.mark.parametrize("wrong", [3, int, rtmbs.Prismatic((1, 0, 0)), rtmbs.model.JointType])
def test_what_is_no_class_of_the_three_is_refused(wrong):
    with pytest.raises(InputError, match="no class that can be registered; derive it"):
        rtmbs.register(wrong)


def test_a_register_of_another_room_takes_classes_too():
    known = Register("solver", "rtmbs.numerics.linear", {"dense": ("dense_solver", "DenseSolver")})
    known.add("own", int)
    assert list(known) == ["dense", "own"]
    assert known.class_name("dense") == "DenseSolver"
    with pytest.raises(InputError, match="solver 'dense' is registered already"):
        known.add("dense", int)


def test_the_article_goes_with_the_name():
    inputs = rtmbs.Simulation(rtmbs.library.build("pendulum").compile()).inputs
    with pytest.raises(AttributeError, match=r"^an Inputs has no attribute 'torque'"):
        inputs.torque = 1.0
    with pytest.raises(AttributeError, match=r"^a Model has no attribute 'gravty'; did you mean 'gravity'"):
        rtmbs.Model("m").gravty = 1.0
