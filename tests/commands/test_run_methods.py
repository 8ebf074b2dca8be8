"""``rtmbs run --method``: the method of time with its options, by name."""

import numpy as np
import pytest

import rtmbs
from rtmbs.commands.files import chosen_method, run_command
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.formulations import NullSpace


def test_a_method_is_chosen_with_its_options(tmp_path):
    file = tmp_path / "out.npz"
    assert run_command(["pendulum", "--until", "0.05", "--out", str(file), "--method", "hht", "alpha=-0.2"]) == 0
    sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), 5e-3, rtmbs.methods.HHT(alpha=-0.2))
    np.testing.assert_array_equal(rtmbs.load_result(file)["pivot.angle"], sim.run(0.05)["pivot.angle"])


def test_formulations_and_tables_have_names():
    method = chosen_method(["runge-kutta", "tableau=dormand-prince", "formulation=null-space"])
    assert method == rtmbs.methods.RungeKutta(rtmbs.methods.DORMAND_PRINCE, NullSpace())
    assert chosen_method(["solve-ivp", "solver=Radau", "rtol=1e-6"]) == rtmbs.methods.SolveIVP("Radau", rtol=1e-6)
    assert chosen_method(None) is None


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (["hth"], UnknownNameError, "there is no method named 'hth'; did you mean 'hht'"),
        (["hht", "alpah=1"], UnknownNameError, "there is no option named 'alpah'; did you mean 'alpha'"),
        (["hht", "alpha"], InputError, "option 'alpha' of --method is no KEY=VALUE"),
        (["hht", "alpha=1"], InputError, "alpha of HHT is 1"),
        (["runge-kutta", "formulation=nul-space"], UnknownNameError, "did you mean 'null-space'"),
    ],
)
def test_what_is_no_method_is_refused(words, error, says):
    with pytest.raises(error, match=says):
        chosen_method(words)
