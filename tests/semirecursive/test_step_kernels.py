"""The register of compiled steps: equations know no method, and a method asks by a name."""

import pytest

from rtmbs import library
from rtmbs.integrators import contract
from rtmbs.semirecursive.compiled_steps import STEP_KERNELS
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.sources import make_source


def equations(jacobian="structured", called=False):
    model = library.build("pendulum")
    if called:
        model.add_force("law", lambda t, kinematics, parameters: -kinematics.zd, joint="pivot", trace=False)
    system = model.compile()
    return SemiRecursiveEquations(system, make_source(jacobian, system))


def test_a_further_kernel_is_a_line_of_the_register(monkeypatch):
    made = []
    monkeypatch.setitem(STEP_KERNELS, "further", lambda equations: made.append(equations) or "kernel")
    own = equations()
    assert own.step_kernel("further") == "kernel"
    assert made == [own]


@pytest.mark.parametrize("name", STEP_KERNELS)
def test_a_step_that_asks_python_has_no_kernel(name):
    assert equations().step_kernel(name) is not None
    assert equations(called=True).step_kernel(name) is None


@pytest.mark.parametrize("name", ["penalty-trapezoidal", "trbdf2"])
def test_another_source_of_the_tangent_has_no_kernel_of_the_structured_one(name):
    assert equations("trace").step_kernel(name) is None


def test_a_name_that_nobody_made_has_no_kernel():
    assert equations().step_kernel("no such step") is None


def test_the_contract_of_equations_names_no_method():
    words = ("trapezoid", "midpoint", "trbdf2", "fused", "hht", "radau")
    asked = [name.lower() for name in (*dir(contract.Equations), *vars(contract))]
    assert "step_kernel" in asked
    assert not [name for name in asked if any(word in name for word in words)]
