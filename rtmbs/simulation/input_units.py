"""Units of inputs, where the kind of force tells them."""

from rtmbs.forces.register import BY_WORD
from rtmbs.system.system import System
from rtmbs.system.tables import REVOLUTE

TURNING = {"stiffness": "N m/rad", "damping": "N m s/rad", "angle": "rad", "load": "N m", "torque": "N m"}
SLIDING = {"stiffness": "N/m", "damping": "N s/m", "angle": "m", "load": "N", "force": "N"}


def input_unit(system: System, name: str) -> str:
    """Return the unit of an input, "" when nothing tells it."""
    owner, _, word = name.rpartition(".")
    if owner in system.forces:
        force = system.forces[owner]
        if force.kind != "joint":
            return BY_WORD[force.kind].units.get(word, "") if force.kind in BY_WORD else ""
        dof = system.tables.joint_forces.dof[force.row]
        return (TURNING if system.tables.dofs.kind[dof] == REVOLUTE else SLIDING).get(word, "")
    return "m/s^2" if name == "gravity" else ""
