"""A System as tables for notebooks."""

from typing import TYPE_CHECKING

from rtmbs.limits.notebook import folded_html, number_text, title_html

if TYPE_CHECKING:
    from rtmbs.system.system import System


def system_html(system: "System") -> str:
    """Return the joints, the bodies, the forces and the inputs of a system."""
    joints = [
        (one.name, one.type, one.a, one.b, "tree" if one.in_tree else "cut", ", ".join(one.coordinates))
        for one in system.joints.values()
    ]
    bodies = [(name, number_text(one.mass)) for name, one in system.bodies.items() if one.dof >= 0]
    forces = [(one.name, one.kind, one.a, one.b) for one in system.forces.values()]
    inputs = [(name, number_text(system.u0[place])) for name, place in system.inputs.items()]
    return "\n".join(
        [
            title_html(repr(system)),
            folded_html("joints", ("joint", "type", "body a", "body b", "tree or cut", "coordinates"), joints),
            folded_html("moving bodies", ("body", "mass [kg]"), bodies),
            folded_html("forces", ("force", "kind", "body a", "body b"), forces),
            folded_html("inputs", ("input", "default"), inputs),
        ]
    )
