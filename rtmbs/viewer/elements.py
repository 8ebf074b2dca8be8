"""Forces and constraints of a System as a list that the user reads and searches."""

from collections.abc import Iterator, Mapping

from rtmbs.system.system import ForceInfo, System
from rtmbs.viewer.mouse_spring import MOUSE_SPRING, has_mouse_spring
from rtmbs.viewer.scene.description import ElementDescription

FORCE, CONSTRAINT = "force", "constraint"
WORDS = {"joint": "spring or motor of a coordinate", "law": "force law", "joint law": "force law of coordinates"}


def element_descriptions(system: System, numbers: Mapping[str, int]) -> Iterator[ElementDescription]:
    """Yield forces, then rods, driven distances, constraints, couplers and drivers; the spring of a hand is no part."""
    for name, force in system.forces.items():
        if not (name == MOUSE_SPRING and has_mouse_spring(system)):
            kind, bodies = WORDS.get(force.kind, force.kind), bodies_of(numbers, force.a, force.b)
            yield ElementDescription(FORCE, name, kind, bodies, coordinates_of(system, force))
    topology = system.topology
    for connector in topology.connectors:
        bodies = bodies_of(numbers, *(topology.bodies[body] for body in (connector.a, connector.b)))
        yield ElementDescription(CONSTRAINT, connector.name, connector.type.lower(), bodies)
    held = [(relation.name, relation.type.lower(), relation.coordinates) for relation in topology.relations]
    first = len(system.tables.closures.kind)
    for row, dof in enumerate(system.tables.drivers.dof):
        held.append((system.row_names[first + row], "driver", (system.coordinate_names[dof],)))
    for name, kind, coordinates in held:
        yield ElementDescription(CONSTRAINT, name, kind, moved_by(system, numbers, coordinates), coordinates)


def coordinates_of(system: System, force: ForceInfo) -> tuple[str, ...]:
    """Return the coordinates that a force acts on; none of one between two frames."""
    if force.kind == "joint":
        return (system.coordinate_names[system.tables.joint_forces.dof[force.row]],)
    return tuple(system.coordinate_names[dof] for dof in force.dofs)


def moved_by(system: System, numbers: Mapping[str, int], coordinates: tuple[str, ...]) -> tuple[int, ...]:
    """Return the bodies of the joints of some coordinates."""
    joints = [system.joints[name] for one in coordinates if (name := one.rpartition(".")[0]) in system.joints]
    return bodies_of(numbers, *(body for joint in joints for body in (joint.a, joint.b)))


def bodies_of(numbers: Mapping[str, int], *names: str) -> tuple[int, ...]:
    """Return the numbers of bodies, each once."""
    return tuple(dict.fromkeys(numbers[name] for name in names if name in numbers))
