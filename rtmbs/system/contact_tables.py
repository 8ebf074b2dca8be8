"""Tables of nonholonomic constraints: wheels that roll on planes, and knife edges (METHODS 1.41)."""

import numpy as np

from rtmbs.errors import InputError
from rtmbs.forces.kind import integers
from rtmbs.model.contacts import KnifeEdge, RollingContact
from rtmbs.model.description import ModelDescription
from rtmbs.system.closure_tables import ZERO, ClosureRow, ClosureRows
from rtmbs.system.dof_layout import DofLayout
from rtmbs.system.system import Mask, System
from rtmbs.system.tables import EDGE, HEIGHT, ROLL, Contacts

LABELS = "height", "roll_x", "roll_y"  # rows of a rolling contact: along the normal, and the f and g axis of the plane
RATES = ROLL, EDGE  # kinds of rows that bind rates alone
NONE = np.zeros((0, 3))


def build_contacts(model: ModelDescription, layout: DofLayout) -> list[ClosureRows]:
    """Return the closures of all nonholonomic constraints."""
    return [
        close_rolling(one, layout) if isinstance(one, RollingContact) else close_edge(one, layout)
        for one in model.contacts.values()
    ]


def close_rolling(contact: RollingContact, layout: DofLayout) -> ClosureRows:
    """Return the equations of a wheel on a plane; the plane is on dof a."""
    plane, wheel = contact.plane, contact.wheel
    a, b = layout.bodies[plane.body.name], layout.bodies[wheel.body.name]
    axes, axle = a.rotation @ plane.axes, b.rotation @ contact.axle
    rows = [
        ClosureRow(kind, axes[:, k], axle, 0.0, -1, f"{contact.name}.{label}")
        for kind, k, label in zip((HEIGHT, ROLL, ROLL), (2, 0, 1), LABELS, strict=True)
    ]
    return ClosureRows(contact.name, a.dof, b.dof, a.point(plane.point), b.point(wheel.point), rows, NONE, NONE)


def close_edge(edge: KnifeEdge, layout: DofLayout) -> ClosureRows:
    """Return the one equation of a knife edge."""
    a, b = layout.bodies[edge.base.name], layout.bodies[edge.blade.body.name]
    row = ClosureRow(EDGE, ZERO, b.rotation @ edge.sideways, 0.0, -1, f"{edge.name}.sideways")
    point = b.point(edge.blade.point)
    return ClosureRows(edge.name, a.dof, b.dof, ZERO, point, [row], NONE, NONE)


def tabulate_contacts(model: ModelDescription, closures: list[ClosureRows], first: int) -> Contacts:
    """Return the columns that contacts have besides their closures, of which ``first`` is the number of the first."""
    found = list(model.contacts.values())
    own = closures[first : first + len(found)]
    sizes = [(one.radius - one.crown, one.crown) if isinstance(one, RollingContact) else (0.0, 0.0) for one in found]
    normals = [closure.rows[0].axis_a for closure in own]
    kinds = [row.kind for closure in closures for row in closure.rows]
    return Contacts(
        first=integers([first]),
        normal=np.array(normals, np.float64).reshape(-1, 3),
        radius=np.array([radius for radius, _ in sizes], np.float64),
        crown=np.array([crown for _, crown in sizes], np.float64),
        rate_row=integers([row for row, kind in enumerate(kinds) if kind in RATES]),
    )


def no_contacts(closures: int) -> Contacts:
    """Return the empty table; ``closures`` come before those of conditions."""
    none, zero = np.zeros(0, np.int64), np.zeros(0)
    return Contacts(integers([closures]), np.zeros((0, 3)), zero, zero, none)


def rate_mask(contacts: Contacts, m: int) -> Mask:
    """Return which of ``m`` rows of Phi bind rates alone (m,)."""
    mask = np.zeros(m, np.bool_)
    mask[contacts.rate_row] = True
    return mask


def refuse_contacts(system: System, what: str) -> None:
    """Raise InputError for a System with nonholonomic constraints; ``what`` is the analysis in the message."""
    contacts = system.tables.contacts
    if len(contacts.normal):
        name = system.closure_names[int(contacts.first[0])]
        raise InputError(
            f"{what} takes no nonholonomic constraint such as {name!r}: equations of rates leave positions free; "
            "take linearise_rolling, or compare runs of a Simulation instead"
        )
