"""Tables of contacts: wheels and knife edges, and sets of balls and planes.

Tables of nonholonomic constraints: wheels that roll on planes, and knife edges (METHODS 1.41).

Tables of contact sets: balls and planes of which all pairs may touch (METHODS 8.10).
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.contact.friction import ELASTIC, RELAXES, TINY
from rtmbs.errors import InputError
from rtmbs.forces.kind import integers
from rtmbs.model.body import Body
from rtmbs.model.constraints import KnifeEdge, RollingContact
from rtmbs.model.description import ModelDescription
from rtmbs.system.closure_tables import ZERO, ClosureRow, ClosureRows
from rtmbs.system.dof_layout import ConnectorList, DofLayout
from rtmbs.system.input_slots import Slots
from rtmbs.system.system import Array, Integers, Mask, System
from rtmbs.system.tables import EDGE, HEIGHT, ROLL, Contacts, ContactSets

if TYPE_CHECKING:
    from rtmbs.contact.elements import ContactSet

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


__all__ = ["ELASTIC", "RELAXES", "TINY"]
# Columns of ContactSets.law; no friction where the tangential stiffness is zero.
STIFFNESS, EXPONENT, DISSIPATION, TANGENTIAL, DAMPING_TIME, STATIC_RATIO, STRIBECK_SPEED, SLACK, NO_FORCE = range(9)
BRISTLES = 3  # states of a pair
# Columns of ws.touch, of a pair that was evaluated: 1 where it touches, gap [m], n, t, b, curvature [1/m], force on j
# [N], velocity and angular velocity of j that i sees at the middle of j, that middle, normal force [N] and its slopes
# by gap and by the speed of parting, that speed [m/s], limit of friction, bristle in t and b and its part along n with
# the rate that takes it back, slip, rates of the bristle, friction, slopes of the force by the place of j, by the
# velocity of its touching point and by that angular velocity (3, 3), way from the middle of j to the point where the
# force acts [m], and share of the second ball in that way and in the turn of the bristle: 0 beside a plane.
TOUCHES, GAP, NORMAL, ALONG, ACROSS, CURVATURE, FORCE, SPEED, SPIN, MIDDLE = 0, 1, 2, 5, 8, 11, 12, 15, 18, 21
PRESS, BY_GAP, BY_LEAVING, LEAVING, LIMIT, BRISTLE, OUT, BACK, SLIP = 24, 25, 26, 27, 28, 29, 31, 32, 33
RATE, FRICTION, BY_PLACE, BY_VELOCITY, BY_SPIN, REACH, SHARED, COLUMNS = 35, 37, 39, 48, 57, 66, 67, 68
PAIR_COLUMNS = 23  # of ``Workspace.begin_pair``: see ``semirecursive/touch_begin.py``


def build_contact_sets(
    model: ModelDescription, layout: DofLayout, slots: Slots, connector_list: ConnectorList, states: int, length: float
) -> ContactSets:
    """Return the tables of all contact sets.

    ``states`` of force laws come before theirs, ``length`` [m] is characteristic.
    """
    found: list[ContactSet] = list(model.contact_sets.values())
    if not found:
        return no_contact_sets()
    dof, point, normal, radius, connector, slot, friction = [], [], [], [], [], [], []
    connectors: dict[int, int] = {}
    for one in found:
        for body, shape in (*one.planes, *one.balls):
            own, place, axis, size = member(layout, body, shape)
            dof.append(own)
            point.append(place)
            normal.append(axis)
            radius.append(size)
            if own not in connectors:
                connectors[own] = connector_list.add(-1, own)
            connector.append(connectors[own])
        mu = np.array([one.coefficient])  # without a bristle no input of the user: it would do nothing
        friction.append(slots.add(mu) if one.friction is None else slots.add_input(f"{one.name}.friction", mu))
        slot.append(slots.add(np.zeros(2 * one.most)))
    return ContactSets(
        dof=integers(dof),
        point=np.array(point),
        normal=np.array(normal),
        radius=np.array(radius),
        connector=integers(connector),
        planes=integers([len(one.planes) for one in found]),
        member_pointer=sums([len(one.planes) + len(one.balls) for one in found]),
        pair_pointer=sums([one.most for one in found]),
        slot=integers(slot),
        friction=integers(friction),
        law=np.array([law_row(one, length) for one in found]),
        first=integers([states]),
    )


def member(layout: DofLayout, body: Body, shape: Any) -> tuple[int, Array, Array, float]:
    """Return dof, point (3,) and normal (3,) in dof axes, and radius [m] of a member; 0 of a plane."""
    place, radius = layout.bodies[body.name], getattr(shape, "radius", 0.0)
    if radius:
        return place.dof, place.point(shape.center), np.zeros(3), radius
    return place.dof, place.point(shape.point), place.rotation @ shape.normal, 0.0


def law_row(one: "ContactSet", length: float) -> tuple[float, ...]:
    """Return the numbers of the law of a set in the order of the columns."""
    normal, bristle = one.normal, one.friction
    of_bristle = (0.0, 0.0, 1.0, 1.0, 1.0, 1.0)
    if bristle is not None:
        bristle = bristle.for_length(length, slides=True)
        of_bristle = (bristle.stiffness, bristle.damping_time, bristle.static_ratio, bristle.stribeck_speed,
                      bristle.slack, bristle.no_force)  # fmt: skip
    return (normal.stiffness, normal.exponent, normal.dissipation, *of_bristle)


def sums(counts: list[int]) -> Integers:
    """Return where each of several runs of numbers begins, and where the last ends."""
    return integers([0, *np.cumsum(counts).tolist()])


def no_contact_sets() -> ContactSets:
    """Return the tables of a model without contact sets."""
    none, zero = np.zeros(0, np.int64), np.zeros(0)
    vectors, begin = np.zeros((0, 3)), np.zeros(1, np.int64)
    return ContactSets(none, vectors, vectors, zero, none, none, begin, begin, none, none, np.zeros((0, 9)), begin)


def states_of_sets(sets: ContactSets) -> int:
    """Return the number of states of all contact sets."""
    return BRISTLES * int(sets.pair_pointer[-1])


def refuse_sets(system: System, what: str) -> None:
    """Refuse contact sets where ``what`` looks for no pairs: InputError."""
    if system.contact_sets:
        raise InputError(
            f"{what} looks for no pairs that come near, so contacts {system.contact_sets[0]!r} would never change; "
            "take a run of a Simulation with steps of h and method=rtmbs.TRBDF2()"
        )
