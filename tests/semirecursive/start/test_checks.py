"""Masses are looked at when a Simulation starts; a model compiles without any."""

import pytest

from rtmbs import Fixed, Model, Revolute, Simulation, Spherical
from rtmbs.errors import ModelError
from tests.semirecursive.start.cases import fourbar


def weightless() -> Model:
    """A loop and a chain behind it, all bodies without mass."""
    model = Model("weightless")
    for k, name in enumerate(("crank", "rod", "block")):
        model.add_body(name, mass=0.0, position=(k, 0, 0))
    model.add_joint("a", Revolute(axis=(0, 1, 0)), "ground", "crank")
    model.add_joint("b", Spherical(), "crank", "rod", point=(1, 0, 0))
    model.add_joint("c", Fixed(), "rod", "block", point=(2, 0, 0))
    return model


def test_a_model_without_masses_compiles_and_does_not_start():
    system = weightless().compile()
    assert system.n == 4
    with pytest.raises(ModelError, match=r"body 'crank' is massless, and no heavier body or closure holds a\.angle"):
        Simulation(system)


@pytest.mark.parametrize("backwards", [False, True])
def test_the_body_that_the_coordinate_moves_is_named(backwards):
    model = fourbar()
    model.add_body("hand", mass=0.0)
    ends = ("hand", "ground") if backwards else ("ground", "hand")
    model.add_joint("wrist", Revolute(axis=(0, 0, 1)), *ends)
    with pytest.raises(ModelError, match=r"body 'hand' is massless.*wrist\.angle"):
        Simulation(model.compile())
