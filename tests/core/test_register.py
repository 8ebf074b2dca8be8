"""rtmbs.register: classes of a script by name, in the model language, in files and among the methods."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import rtmbs
from rtmbs.core.register import Register
from rtmbs.errors import InputError, ModelError
from rtmbs.integrators.method import Method
from rtmbs.model import FORCE_TYPES, JOINT_TYPES, ForceLaw
from rtmbs.model.forces import scalars

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
