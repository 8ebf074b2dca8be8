"""``Model``: the description of a mechanism, element by element, by name and in SI units.

A value that cannot be is refused where it is written; ``compile`` looks at the whole.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module  # for the viewer, which stands above
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model.body import Body, Marker, Rod, make_body, make_rod
from rtmbs.model.captured import captured, values_captured
from rtmbs.model.checks import Numbers, number, numbers, rotation
from rtmbs.model.constraints import (
    Constraint,
    ConstraintFunction,
    Coupler,
    Driver,
    KnifeEdge,
    RollingContact,
    lay_rope,
    make_constraint,
    make_coupler,
    make_knife_edge,
    make_rolling,
    ratios_given,
)
from rtmbs.model.description import (
    Axis,
    Between,
    Coordinate,
    ElementLookup,
    ModelDescription,
    Origin,
    check_attached,
    check_new_name,
    check_one_place,
)
from rtmbs.model.forces import Force, ForceLaw, Input, Law, UserFunction, make_law, written
from rtmbs.model.joints import (
    WORLD,
    ClosureOption,
    Initial,
    Joint,
    JointType,
    frame_body,
    frozen,
    make_initial,
    make_joint,
)
from rtmbs.model.profiles import checked_profile, given_motion
from rtmbs.model.shapes import make_looks

if TYPE_CHECKING:
    from rtmbs.contact.elements import Contact, ContactSet
    from rtmbs.system import System

ContactSide = Body | str | tuple[Body | str, Any]  # a body with its own shapes, or one shape of it
Ratios = Mapping[Coordinate, float] | Sequence[tuple[Coordinate, float]]


class Model(ModelDescription):
    """Description of a mechanism: bodies, joints, forces and drivers, in the order that they were added.

    ``ground`` is the body that does not move.

    Parameters
    ----------
    name : str, default "model"
        Name of the mechanism.
    gravity : array_like, default (0.0, 0.0, -9.81)
        Gravity (3,) [m/s^2].
    h : float, optional
        Step that the mechanism needs [s]; the viewer takes it.
    """

    @property
    def lookup(self) -> ElementLookup:
        """Lookup of the elements by object or name, for functions that add elements."""
        return ElementLookup(self)

    def add_body(
        self,
        name: str,
        *,
        mass: Numbers,
        center_of_mass: Numbers = (0.0, 0.0, 0.0),
        inertia: Numbers = (0.0, 0.0, 0.0),
        position: Numbers = (0.0, 0.0, 0.0),
        orientation: Numbers = None,
        shape: Any = None,
        color: str = "",
        opacity: Numbers = 1.0,
        edges: bool = True,
    ) -> Body:
        """Add a rigid body.

        Parameters
        ----------
        name : str
            Name of the body.
        mass : float
            Mass [kg].
        center_of_mass : array_like, default (0.0, 0.0, 0.0)
            Centre of mass (3,) in body axes [m].
        inertia : array_like, default (0.0, 0.0, 0.0)
            Inertia about the centre of mass in body axes [kg m^2]: 3 principal values, 6 (xx, yy, zz, xy, xz, yz) or 3
            x 3.
        position : array_like, default (0.0, 0.0, 0.0)
            Origin (3,) of the body axes in the world at the reference pose [m].
        orientation : array_like, optional
            Rotation (3, 3) of body axes to world axes at the reference pose, or a quaternion (w, x, y, z).
        shape : object, optional
            Shape for pictures, see ``set_looks``.
        color : str, default ""
            Colour for pictures.
        opacity : float, default 1.0
            Opacity for pictures.
        edges : bool, default True
            True to draw sharp edges as lines.

        Returns
        -------
        Body
            The new body.

        Raises
        ------
        ModelError
            For a name that is taken, a mass below zero, an inertia that no body has, or numbers that are not finite.
        """
        check_new_name("body", name, self.bodies, self.markers)
        if name == WORLD:
            raise ModelError(f"body {name!r}: this name means the world axes in frame=; choose another")
        body = make_body(name, mass, center_of_mass, inertia, position, orientation)
        looks = make_looks(f"body {name!r}", shape, color, opacity, edges)
        self.bodies[name], self.looks[name] = body, looks
        return body

    def add_joint(
        self,
        name: str,
        type: JointType,
        a: Body | str,
        b: Body | str,
        *,
        point: Numbers = None,
        point_a: Numbers = None,
        point_b: Numbers = None,
        axes_a: Numbers = None,
        axes_b: Numbers = None,
        frame: str | Body = WORLD,
        cut: bool = False,
        closure: ClosureOption | None = None,
    ) -> Joint:
        """Join two bodies. A positive coordinate moves b relative to a, whatever way the tree walks.

        Without axes_a and axes_b the bodies are oriented at zero coordinates as at the reference pose.

        Parameters
        ----------
        name : str
            Name of the joint.
        type : JointType
            Type of the joint with its directions, such as ``Revolute(axis=(0, 0, 1))``.
        a : Body or str
            First body.
        b : Body or str
            Second body.
        point : array_like, optional
            Joint point (3,) at the reference pose, in axes of ``frame`` [m].
        point_a : array_like, optional
            Joint point (3,) in body axes of a [m], with ``point_b`` in place of ``point``.
        point_b : array_like, optional
            Joint point (3,) in body axes of b [m]; the reference poses need not fit together.
        axes_a : array_like, optional
            Joint axes to body axes of a, a 3 x 3 rotation or a quaternion (w, x, y, z), with ``axes_b`` in place of
            ``frame``.
        axes_b : array_like, optional
            Joint axes to body axes of b; at zero coordinates they agree with ``axes_a``.
        frame : str or Body, default WORLD
            ``"world"`` or a body: axes of ``point`` and of the directions.
        cut : bool, default False
            True to close a loop in this joint.
        closure : ClosureOption, optional
            A revolute that ends up cut is closed as a "line" (2 equations) or a "point" (3), not with all five.

        Returns
        -------
        Joint
            The new joint.
        """
        check_new_name("joint", name, *self.lookup.holding())
        what = f"joint {name!r}"
        body_a, body_b = self.lookup.body(what, a), self.lookup.body(what, b)
        if isinstance(frame, Body):
            self.lookup.body(what, frame)
        axes = frame_body(what, frame, self.bodies)
        points, turns = (point_a, point_b), (axes_a, axes_b)
        joint = make_joint(name, type, body_a, body_b, point, points, axes, turns, cut, closure)
        self.joints[name] = joint
        return joint

    def add_marker(
        self,
        name: str,
        body: Body | str,
        point: Numbers = (0.0, 0.0, 0.0),
        frame: str | Body = WORLD,
        axes: Numbers = None,
    ) -> Marker:
        """Add a named point of a body, with axes of its own.

        Parameters
        ----------
        name : str
            Name of the marker.
        body : Body or str
            Body that carries it.
        point : array_like, default (0.0, 0.0, 0.0)
            Point (3,) at the reference pose, in axes of ``frame`` [m].
        frame : str or Body, default WORLD
            ``"world"`` or a body.
        axes : array_like, optional
            The marker's axes to those of ``frame`` at the reference pose, a 3 x 3 rotation or a quaternion (w, x, y,
            z), for force laws that work in axes of their own; by default the body axes.

        Returns
        -------
        Marker
            The new marker.
        """
        check_new_name("marker", name, self.markers, self.bodies)
        what = f"marker {name!r}"
        carrier = self.lookup.body(what, body)
        if isinstance(frame, Body):
            self.lookup.body(what, frame)
        given = frame_body(what, frame, self.bodies)
        place = numbers(point, f"{what}: point", (3,))
        local = place if given is carrier else carrier.local(place if given is None else given.world(place))
        turned = np.eye(3)
        if axes is not None:
            turned = np.array(rotation(axes, f"{what}: axes"))
            if given is not carrier:
                to_world = np.eye(3) if given is None else given.orientation
                turned = carrier.orientation.T @ to_world @ turned
        marker = self.markers[name] = Marker(name, carrier, frozen(np.array(local)), frozen(turned))
        return marker

    def add_rod(self, name: str, between: Between, length: Numbers = None) -> Rod:
        """Add a massless rod that keeps the distance of two markers.

        Parameters
        ----------
        name : str
            Name of the rod.
        between : Between
            Two markers.
        length : float, optional
            Length [m]; the distance at the reference pose unless given.

        Returns
        -------
        Rod
            The new rod.
        """
        check_new_name("rod", name, self.rods, *self.lookup.holding())
        rod = self.rods[name] = make_rod(name, self.lookup.between(f"rod {name!r}", between), length)
        return rod

    def add_rolling(
        self, name: str, wheel: Marker | str, plane: Marker | str, radius: Numbers, crown: Numbers = 0.0
    ) -> RollingContact:
        """Let a wheel, disc or sphere roll on a plane without slip.

        The lowest point of the wheel stays in the plane, and its velocity relative to the plane is zero. The first is
        an equation of positions. The other two bind rates alone: they are nonholonomic. The plane may move. It pulls
        where it would have to: a negative normal force says that a real wheel would lift off. Source: METHODS 1.41.

        Parameters
        ----------
        name : str
            Name of the contact; ``NAME.force`` is the channel of the contact force.
        wheel : Marker or str
            Marker at the centre of the wheel, with the wheel's axis as h axis (its third one).
        plane : Marker or str
            Marker of a point of the plane, with the normal towards the wheel as h axis.
        radius : float
            Radius of the wheel [m].
        crown : float, default 0.0
            Radius of its rounded tread [m]: 0 of a thin disc, ``radius`` of a sphere.

        Returns
        -------
        RollingContact
            The new contact.

        Raises
        ------
        ModelError
            For markers of one body, a radius or crown out of range, and a wheel that lies flat at the reference pose.

        Examples
        --------
        >>> model = Model("coin")
        >>> coin = model.add_body("coin", mass=0.1, inertia=(2e-5, 2e-5, 4e-5), position=(0, 0, 0.02))
        >>> axle = model.add_marker("axle", coin, axes=((1, 0, 0), (0, 0, 1), (0, -1, 0)), point=(0, 0, 0.02))
        >>> floor = model.add_marker("floor", "ground")
        >>> model.add_rolling("contact", axle, floor, radius=0.02).crown
        0.0
        """
        check_new_name("rolling", name, *self.lookup.holding())
        what = f"rolling {name!r}"
        markers = self.lookup.marker(what, wheel), self.lookup.marker(what, plane)
        contact = self.contacts[name] = make_rolling(name, *markers, radius, crown)
        return contact

    def add_knife_edge(
        self, name: str, blade: Marker | str, base: Body | str = "ground", direction: Numbers = (0.0, 1.0, 0.0)
    ) -> KnifeEdge:
        """Add a knife edge: a point of a body does not move sideways, as of a skate or a wheel without side slip.

        The velocity of the point of ``blade`` relative to ``base`` has no component along ``direction``. This binds
        rates alone: it is nonholonomic. Source: METHODS 1.41.

        Parameters
        ----------
        name : str
            Name of the knife edge; ``NAME.force`` is the channel of its force.
        blade : Marker or str
            Marker of the point.
        base : Body or str, default "ground"
            Body that the velocity is measured against.
        direction : array_like, default (0.0, 1.0, 0.0)
            Sideways direction (3,) in axes of ``blade``; it turns with them.

        Returns
        -------
        KnifeEdge
            The new knife edge.

        Raises
        ------
        ModelError
            For a marker of ``base`` itself, and a direction that is zero.

        Examples
        --------
        >>> model = Model("sleigh")
        >>> sleigh = model.add_body("sleigh", mass=2.0, inertia=(0.1, 0.1, 0.1))
        >>> model.add_knife_edge("edge", model.add_marker("blade", sleigh)).base.name
        'ground'
        """
        check_new_name("knife edge", name, *self.lookup.holding())
        what = f"knife edge {name!r}"
        marker, body = self.lookup.marker(what, blade), self.lookup.body(what, base)
        edge = self.contacts[name] = make_knife_edge(name, marker, body, direction)
        return edge

    def add_rope(self, name: str, points: Sequence[Marker | str], length: Numbers = None) -> Coupler:
        """Add a massless rope of constant length that runs straight from point to point of several bodies.

        It slides through the points in between without friction, as over small pulleys. It is never slack: a negative
        tension says that a real rope would be. Between two points stand two massless bodies that slide in each other,
        ``NAME 1 sleeve`` and ``NAME 1 bar``, with the joints ``NAME 1 swivel``, ``NAME 1 slide`` and ``NAME 1 eye``.
        A coupler keeps the sum of the slides. Its channel ``NAME.force`` is minus the tension [N].

        Parameters
        ----------
        name : str
            Name of the rope, that of its coupler.
        points : sequence of Marker or str
            Three markers or more, in the order of the rope; neighbours are on different bodies.
        length : float, optional
            Length of the rope [m]; that of the reference pose unless given.

        Returns
        -------
        Coupler
            The coupler of the slides.

        Raises
        ------
        ModelError
            For fewer than three markers, neighbours on one body or at one place, and a length that is not above zero.

        Examples
        --------
        >>> model = Model("hoist")
        >>> load = model.add_body("load", mass=2.0, inertia=(1, 1, 1), position=(0, 0, -1))
        >>> other = model.add_body("other", mass=1.0, inertia=(1, 1, 1), position=(1, 0, -1))
        >>> ends = [model.add_marker(one.name + " hook", one, one.position) for one in (load, other)]
        >>> rope = model.add_rope("rope", [ends[0], model.add_marker("pulley", "ground", (0.5, 0, 0)), ends[1]])
        >>> len(rope.terms)
        2
        """
        check_new_name("rope", name, *self.lookup.holding())
        what = f"rope {name!r}"
        if isinstance(points, str) or not isinstance(points, Sequence):
            raise ModelError(f"{what}: points is {shown(points)}; it must be a list of markers")
        return lay_rope(self, name, [self.lookup.marker(what, one) for one in points], length)

    def add_elastic_rope(
        self,
        name: str,
        points: Sequence[Any],
        *,
        stiffness: Numbers,
        tension: Numbers = 0.0,
        dissipation: Numbers = 0.0,
        around: Any = None,
    ) -> tuple[Force, ...]:
        """Add an elastic rope or belt over sheaves that turn, or round a ball or cylinder; it goes slack (METHODS 8.9).

        Over a ``rtmbs.contact.Sheave`` it runs without slip: the wheel of the body turns with the rope. Friction of its
        joint brakes it, and ``rtmbs.contact.capstan_coefficient`` makes that of a rope round a drum. ``around`` is for
        ropes such as muscles, which slide over a shape without friction.

        Parameters
        ----------
        name : str
            Name of the rope. Its spans are the forces ``name``, or ``name_1``, ``name_2``, ...
        points : sequence of Marker, str or Sheave
            Markers and sheaves in the order of the rope, neighbours on different bodies. Axles of neighbours are
            parallel. A belt begins and ends with the same sheave.
        stiffness : float
            Force over strain EA [N].
        tension : float, default 0.0
            Tension at the reference pose [N]. Rope on a sheave has its strain, so a winch needs the weight of its load.
        dissipation : float, default 0.0
            Damping c of the tension EA strain (1 + c strain') [s].
        around : tuple, optional
            (body, Sphere or Cylinder) that the rope of two markers bends round the short way; the body of the first.

        Returns
        -------
        tuple[Force, ...]
            One force a span. ``NAME.force`` is the pull on its second end, in world axes.

        Raises
        ------
        ModelError
            For values out of range, axles that are not parallel, and points inside a shape or a sheave.

        Examples
        --------
        >>> m = rtmbs.Model("lift", gravity=(0.0, 0.0, -9.81))
        >>> wheel = m.add_body("wheel", mass=1.0, inertia=(5e-3, 5e-3, 5e-3))
        >>> load = m.add_body("load", mass=2.0, inertia=(1.0, 1.0, 1.0), position=(-0.1, 0.0, -1.0))
        >>> axle = m.add_marker("axle", wheel, axes=np.array([(1, 0, 0), (0, 0, 1), (0, -1, 0.0)]).T)
        >>> hooks = m.add_marker("hook", load, load.position), m.add_marker("floor", "ground", (0.1, 0.0, -1.0))
        >>> sheave = rtmbs.contact.Sheave(axle, 0.1, "right")
        >>> [span.name for span in m.add_elastic_rope("rope", [hooks[0], sheave, hooks[1]], stiffness=1e5)]
        ['rope_1', 'rope_2']
        """
        from rtmbs.contact.elastic_rope import add_elastic_rope

        check_new_name("elastic rope", name, *self.lookup.holding())
        return add_elastic_rope(self, name, points, stiffness, tension, dissipation, around)

    def add_coupler(self, name: str, ratios: Ratios, offset: Any = 0.0) -> Coupler:
        """Couple joint coordinates: the sum of ratio times coordinate is ``offset``, at all times.

        The coupler acts on its coordinates with forces in the proportion of the ratios, channel ``NAME.force``.

        Parameters
        ----------
        name : str
            Name of the coupler.
        ratios : Ratios
            By coordinate, a joint or (joint, coordinate); angles in rad count turns, displacements in m.
        offset : float or profile, default 0.0
            In the unit of ratio times coordinate; a number, or a profile that answers (f, fd, fdd) at t.

        Returns
        -------
        Coupler
            The new coupler.

        Raises
        ------
        ModelError
            For joints without a coordinate of their own (Spherical, Floating), a ratio that is zero or not finite, a
            coordinate given twice, fewer than two.

        Examples
        --------
        >>> model.add_coupler("chain", {"crank": 44.0, "hub": -18.0})
        """
        return self._couple(name, "coupler", ratios_given(f"coupler {name!r}", ratios), offset, "ratio", 0.0)

    def add_gear(self, name: str, first: Coordinate, second: Coordinate, ratio: Numbers, offset: Any = 0.0) -> Coupler:
        """Couple two coordinates by a pair of gears: first + ratio * second = offset [rad].

        Outer gears of radii r1, r2 on one carrier have ratio r2 / r1, an inner one the opposite sign.

        Parameters
        ----------
        name : str
            Name of the gear pair.
        first : Coordinate
            First coordinate: a joint, or (joint, coordinate).
        second : Coordinate
            Second coordinate.
        ratio : float
            Ratio of the second coordinate.
        offset : float or profile, default 0.0
            Value of the sum [rad], or a profile.

        Returns
        -------
        Coupler
            The new coupler.
        """
        value = number(ratio, f"gear {name!r}: ratio")
        return self._couple(name, "gear", [(first, 1.0), (second, value)], offset, "ratio", value)

    def add_rack_and_pinion(
        self, name: str, rack: Coordinate, pinion: Coordinate, radius: Numbers, offset: Any = 0.0
    ) -> Coupler:
        """Couple a displacement and an angle: rack - radius * pinion = offset [m]; a negative radius turns it round.

        Parameters
        ----------
        name : str
            Name of the coupler.
        rack : Coordinate
            Displacement of the rack.
        pinion : Coordinate
            Angle of the pinion.
        radius : float
            Radius of the pinion [m]; negative turns it round.
        offset : float or profile, default 0.0
            Value of the sum [m], or a profile.

        Returns
        -------
        Coupler
            The new coupler.
        """
        value = number(radius, f"rack and pinion {name!r}: radius")
        return self._couple(name, "rack and pinion", [(rack, 1.0), (pinion, -value)], offset, "radius", value)

    def add_screw(self, name: str, joint: Joint | str, pitch: Numbers, offset: Any = 0.0) -> Coupler:
        """Make a screw of a Cylindrical joint: displacement - pitch / (2 pi) * angle = offset [m]; pitch [m a turn].

        Parameters
        ----------
        name : str
            Name of the screw.
        joint : Joint or str
            Cylindrical joint.
        pitch : float
            Pitch [m a turn].
        offset : float or profile, default 0.0
            Value of the sum [m], or a profile.

        Returns
        -------
        Coupler
            The new coupler.
        """
        value = number(pitch, f"screw {name!r}: pitch")
        terms = [((joint, "displacement"), 1.0), ((joint, "angle"), -value / (2.0 * math.pi))]
        return self._couple(name, "screw", terms, offset, "pitch", value)

    def add_differential(
        self,
        name: str,
        carrier: Coordinate,
        first: Coordinate,
        second: Coordinate,
        ratio: Numbers = 1.0,
        offset: Any = 0.0,
    ) -> Coupler:
        """Couple three angles to one carrier: first + ratio * second - (1 + ratio) * carrier = offset [rad].

        Ratio 1 is the differential of an axle; a planetary gear with sun (first) and ring (second) has the ratio of
        their teeth, ring / sun. All angles are measured against one body.

        Parameters
        ----------
        name : str
            Name of the differential.
        carrier : Coordinate
            Angle of the carrier.
        first : Coordinate
            First angle.
        second : Coordinate
            Second angle.
        ratio : float, default 1.0
            Ratio of the second angle; 1 for the differential of an axle.
        offset : float or profile, default 0.0
            Value of the sum [rad], or a profile.

        Returns
        -------
        Coupler
            The new coupler.
        """
        value = number(ratio, f"differential {name!r}: ratio")
        terms = [(first, 1.0), (second, value), (carrier, -(1.0 + value))]
        return self._couple(name, "differential", terms, offset, "ratio", value)

    def _couple(
        self, name: str, kind: str, terms: list[tuple[Any, Any]], offset: Any, factor: str, given: float
    ) -> Coupler:
        """Add a coupler of any kind."""
        check_new_name(kind, name, self.couplers, *self.lookup.holding())
        what = f"{kind} {name!r}"
        found = [(self.lookup.coordinate(what, wanted), value) for wanted, value in terms]
        coupler = self.couplers[name] = make_coupler(name, kind, found, offset, factor, given)
        return coupler

    def add_constraint(
        self,
        name: str,
        function: ConstraintFunction,
        *,
        between: Between | None = None,
        joints: Sequence[Coordinate] | None = None,
        equations: int | None = None,
        parameters: Mapping[str, Numbers] | None = None,
    ) -> Constraint:
        """Add a constraint written in plain NumPy: ``function(t, pose, parameters)`` returns what must be zero.

        * ``between`` markers a and b: ``pose.r`` (3,) from a to b [m] and ``pose.R`` (3, 3), axes of b to axes of a;
        * on ``joints``, a list of coordinates: ``pose.z`` (k,) and ``pose.names``.

        It returns one number or several. It is recorded at ``compile``; its first and second derivatives, by the time
        too, are exact. It must be smooth where the mechanism comes. Its channel is ``NAME.reaction``, the wrench on b
        at b's marker, or ``NAME.force`` on coordinates.

        Parameters
        ----------
        name : str
            Name of the constraint.
        function : ConstraintFunction
            Function of time, pose and parameters.
        between : Between, optional
            Two markers a and b.
        joints : Sequence[Coordinate], optional
            Joint coordinates, in place of two markers.
        equations : int, optional
            Number of equations; found by a call unless given.
        parameters : Mapping[str, array_like], optional
            Default values by name; each becomes an input ``NAME.PARAMETER``.

        Returns
        -------
        Constraint
            The new constraint.

        Raises
        ------
        ModelError
            For a name that is taken, both or neither of ``between`` and ``joints``, or markers on one body.

        Examples
        --------
        >>> def parabola(t, pose, parameters):  # a bead on z = x^2 / 2 in the plane y = 0
        ...     x, y, z = pose.r
        ...     return y, z - 0.5 * x**2

        >>> model.add_constraint("wire", parabola, between=("origin", "bead"))
        """
        check_new_name("constraint", name, self.constraints, *self.lookup.holding())
        what = f"constraint {name!r}"
        if (between is None) == (joints is None):
            raise ModelError(f"{what}: give between= or joints=, one of the two")
        ends = None if between is None else self.lookup.between(what, between)
        if isinstance(joints, str):
            raise ModelError(f"{what}: joints is {shown(joints)}; it must be a list of coordinates")
        coordinates = () if joints is None else self.lookup.coordinates(what, joints)
        constraint = make_constraint(name, function, parameters, equations, ends, coordinates)
        self.constraints[name] = constraint
        return constraint

    def add_force(
        self,
        name: str,
        law: ForceLaw | UserFunction,
        *,
        between: Between | None = None,
        joint: Coordinate | None = None,
        joints: Sequence[Coordinate] | Literal["all"] | None = None,
        body: Body | str | None = None,
        point: Numbers = None,
        parameters: Mapping[str, Numbers] | None = None,
        trace: bool = True,
        states: Mapping[str, Numbers] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> Force:
        """Add a force law, or a function in plain NumPy, between two markers, on joint coordinates or on a body.

        A function ``law(t, kinematics, parameters)`` returns

        * ``between`` markers a and b: the wrench [f, n] (6,) on b at b's marker in axes of marker a, its opposite
          acting on a at the same point; or a scalar along the line, positive pulls the markers together;
        * on a ``body``: the wrench [f, n] at ``point``, world axes; its kinematics are relative to the world;
        * on a ``joint``: the force or torque along the coordinate; on ``joints``: one for each.

        It is recorded at ``compile``, with exact derivatives at compiled speed. One that cannot be recorded is called
        in Python and differentiated by differences, and the start report says so.

        With ``states`` it is ``law(t, kinematics, parameters, states)``, which must be recordable, and returns a pair
        (force, rates): one number or (k,) numbers in the order of ``states``. The method of the Simulation integrates.

        Parameters
        ----------
        name : str
            Name of the force.
        law : ForceLaw or UserFunction
            SpringDamper or Bushing between markers, TorsionSpring or Motor on a joint, Wrench on a body; or a function.
        between : Between, optional
            Two markers.
        joint : Coordinate, optional
            Joint, or (joint, coordinate).
        joints : Sequence[Coordinate] | {"all"}, optional
            Several joint coordinates, or ``"all"`` of the tree.
        body : Body or str, optional
            Body.
        point : array_like, optional
            Point (3,) in body axes [m].
        parameters : Mapping[str, array_like], optional
            Default values by name; each becomes an input ``NAME.PARAMETER``.
        trace : bool, default True
            False to call the function in Python.
        states : Mapping[str, array_like], optional
            Initial values of the states of the law by name, channels ``NAME.STATE``.
        units : Mapping[str, str], optional
            Units of the states by name.

        Returns
        -------
        Force
            The new force.

        Raises
        ------
        ModelError
            For a name that is taken, an object that is no force law, or a place that the law does not act at.
        """
        check_new_name("force", name, self.forces)
        what = f"force {name!r}"
        known: ForceLaw | Law
        if isinstance(law, ForceLaw) and type(law) is not ForceLaw:
            check_attached(what, law, between=between, joint=joint, joints=joints, body=body)
            known = law.checked(what)
            if parameters is not None:
                raise ModelError(f"{what}: parameters= belongs to a law written as a function")
            if states is not None or units is not None:
                raise ModelError(f"{what}: states= and units= belong to a law written as a function")
        elif callable(law) and not isinstance(law, type):
            check_one_place(what, between=between, joint=joint, joints=joints, body=body)
            known = make_law(what, law, parameters, trace, states=states, units=units)
        else:
            raise ModelError(
                f"{what}: {shown(law)} is not a force law; write one such as SpringDamper(stiffness=100.0), or a "
                "function law(t, kinematics, parameters)"
            )
        if point is not None and body is None:
            raise ModelError(f"{what}: point= belongs to body=; give it with body=, or leave it out")
        if body is not None:
            carrier = self.lookup.body(what, body)
            if carrier is self.ground:
                raise ModelError(f"{what} acts on ground, which does not move; name another body")
            place = numbers((0.0, 0.0, 0.0) if point is None else point, f"{what}: point", (3,))
            force = Force(name, known, body=carrier, point=place)
        elif joint is not None:
            force = Force(name, known, joint=self.lookup.coordinate(what, joint))
        elif joints is not None:
            force = Force(name, known, joints=self.lookup.coordinates(what, joints))
        else:
            assert between is not None
            force = Force(name, known, between=self.lookup.between(what, between))
        self.forces[name] = force
        return force

    def add_contact(
        self,
        name: str,
        a: ContactSide,
        b: ContactSide,
        *,
        stiffness: Numbers,
        exponent: Numbers = None,
        dissipation: Numbers = 0.0,
        friction: Numbers = 0.0,
        tangential_stiffness: Numbers = None,
        damping_time: Numbers = 1e-3,
        static_ratio: Numbers = 1.0,
        stribeck_speed: Numbers = 1e-2,
    ) -> "Contact":
        """Add compliant contact of two bodies, with dry friction that sticks.

        A side is a body, which touches with the shapes that it has in pictures, or (body, shape). Shapes are
        ``rtmbs.contact.Plane``, ``Profile`` and ``Ellipsoid``, ``Sphere``, ``Bar`` (a capsule), ``Box``, ``Cylinder``,
        and ``Surface`` or ``Mesh`` as a convex body. Pairs are a plane with all of them but an outline, an outline with
        a sphere, and solids with each other. Forces act on the second body. A plane, an outline, and a box beside a
        sphere are always the first.

        Parameters
        ----------
        name : str
            Name of the contact. Its forces are ``name``, or ``name_1``, ``name_2``, ... for several touching points.
        a : Body, str or tuple
            First side.
        b : Body, str or tuple
            Second side.
        stiffness : float
            k of the normal force N = k d^e (1 + c d') of the penetration d [N/m^e].
        exponent : float, optional
            e: 1.5 for spheres and bars (Hertz) and 1 for corners, unless given.
        dissipation : float, default 0.0
            c [s/m]; ``rtmbs.contact.dissipation_for`` gives it from a coefficient of restitution.
        friction : float, default 0.0
            Coefficient mu of sliding; an input ``FORCE.friction`` of every force.
        tangential_stiffness : float, optional
            Stiffness of a contact that sticks [N/m]: 0.8 of the normal stiffness at 0.1 mm of penetration unless given.
        damping_time : float, default 1e-3
            Tangential damping of a contact that sticks, over its stiffness [s].
        static_ratio : float, default 1.0
            Friction at rest over that of sliding, 1 or more.
        stribeck_speed : float, default 1e-2
            Speed at which 1/e of that difference is left [m/s].

        Returns
        -------
        Contact
            Name and forces of the contact.

        Raises
        ------
        ModelError
            For values out of range, shapes that have no contact with each other, and two sides of one body.

        Examples
        --------
        >>> m = rtmbs.Model("ball")
        >>> ball = m.add_body("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3), position=(0, 0, 0.1))
        >>> free = m.add_joint("free", rtmbs.Floating(), "ground", ball)
        >>> m.add_contact("floor", ("ground", rtmbs.contact.Plane()), (ball, rtmbs.Sphere(0.1)), stiffness=1e6).name
        'floor'
        """
        from rtmbs.contact.elements import add_contact

        return add_contact(
            self, name, a, b, stiffness=stiffness, exponent=exponent, dissipation=dissipation, friction=friction,
            tangential_stiffness=tangential_stiffness, damping_time=damping_time, static_ratio=static_ratio,
            stribeck_speed=stribeck_speed,
        )  # fmt: skip

    def add_contacts(
        self,
        name: str,
        members: Sequence[ContactSide],
        *,
        stiffness: Numbers,
        exponent: Numbers = None,
        dissipation: Numbers = 0.0,
        friction: Numbers = 0.0,
        tangential_stiffness: Numbers = None,
        damping_time: Numbers = 1e-3,
        static_ratio: Numbers = 1.0,
        stribeck_speed: Numbers = 1e-2,
        most: int | None = None,
    ) -> "ContactSet":
        """Add compliant contact of many balls and planes, each with all others.

        A step looks at the pairs that are near alone, so its time grows with the number of balls, not of pairs. Every
        pair has the law of ``add_contact``, and the other arguments are those of ``add_contact``. It needs
        ``method=rtmbs.TRBDF2()`` and steps of h.

        Parameters
        ----------
        name : str
            Name of the set. ``NAME.friction`` is an input. ``rtmbs.touching`` tells what touches.
        members : sequence
            Bodies, which touch with the spheres that they have in pictures, and pairs (body, Sphere or Plane).
        stiffness : float
            k of the normal force N = k d^e (1 + c d') of the penetration d [N/m^e].
        exponent : float, optional
            e: 1.5 unless given (Hertz).
        dissipation : float, default 0.0
            c [s/m].
        friction : float, default 0.0
            Coefficient mu of sliding.
        tangential_stiffness : float, optional
            Stiffness of a contact that sticks [N/m].
        damping_time : float, default 1e-3
            Tangential damping of a contact that sticks, over its stiffness [s].
        static_ratio : float, default 1.0
            Friction at rest over that of sliding, 1 or more.
        stribeck_speed : float, default 1e-2
            Speed at which 1/e of that difference is left [m/s].
        most : int, optional
            Most pairs that may be near at one time: six a ball unless given. A step with more fails.

        Returns
        -------
        ContactSet
            The new set.

        Raises
        ------
        ModelError
            For a name that is taken, values out of range, other shapes, and members that cannot touch.

        Examples
        --------
        >>> m = rtmbs.Model("heap")
        >>> members = [("ground", rtmbs.contact.Plane())]
        >>> for k in range(3):
        ...     name, place = f"ball{k}", (0.01 * k, 0.0, 0.1 + 0.2 * k)
        ...     ball = m.add_body(name, mass=1.0, inertia=(4e-3, 4e-3, 4e-3), position=place)
        ...     free = m.add_joint(f"free{k}", rtmbs.Floating(), "ground", ball, point=place)
        ...     members.append((ball, rtmbs.Sphere(0.1)))
        >>> m.add_contacts("heap", members, stiffness=1e6, friction=0.4).most
        6
        """
        from rtmbs.contact.elements import make_contact_set

        check_new_name("contacts", name, self.contact_sets, self.forces)
        found = self.contact_sets[name] = make_contact_set(
            self, name, members, stiffness=stiffness, exponent=exponent, dissipation=dissipation, friction=friction,
            tangential_stiffness=tangential_stiffness, damping_time=damping_time, static_ratio=static_ratio,
            stribeck_speed=stribeck_speed, most=most,
        )  # fmt: skip
        return found

    def add_rigid_contact(
        self,
        name: str,
        a: ContactSide,
        b: ContactSide,
        *,
        restitution: Numbers = 0.0,
        friction: Numbers = 0.0,
        rest_speed: Numbers = 1e-3,
    ) -> tuple[Constraint, ...]:
        """Add rigid contact of a plane and a body: impacts with restitution, then a constraint that never pulls.

        ``sim.run`` locates each impact, solves it for all contacts that touch, and goes on behind it (METHODS 8.7).
        ``result.impacts`` lists them. Ever smaller bounces end at rest. A contact that lasts has friction with a
        bristle, by its own normal force. It is for few contacts: a step for each event.

        Parameters
        ----------
        name : str
            Name of the contact. Its points are ``name``, or ``name_1``, ``name_2``, ...; ``POINT.reaction`` is the
            force of one while it lasts.
        a : Body, str or tuple
            First side: a body with its shapes, or (body, shape). One side is a ``rtmbs.contact.Plane``.
        b : Body, str or tuple
            Second side: a Sphere, Bar, Box or convex Surface.
        restitution : float, default 0.0
            Speed of parting over speed of approach (Newton), 0 to 1.
        friction : float, default 0.0
            Coefficient of friction mu, in impacts and afterwards.
        rest_speed : float, default 1e-3
            Speed of parting below which a contact stays closed [m/s].

        Returns
        -------
        tuple[Constraint, ...]
            Constraints of the touching points.

        Raises
        ------
        ModelError
            For values out of range, and for shapes that have no rigid contact with each other.

        Examples
        --------
        >>> m = rtmbs.Model("ball")
        >>> ball = m.add_body("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3), position=(0, 0, 0.5))
        >>> free = m.add_joint("free", rtmbs.Floating(), "ground", ball)
        >>> floor = ("ground", rtmbs.contact.Plane())
        >>> [one.name for one in m.add_rigid_contact("floor", floor, (ball, rtmbs.Sphere(0.1)), restitution=0.8)]
        ['floor']
        """
        from rtmbs.contact.rigid import add_rigid_contact

        return add_rigid_contact(self, name, a, b, restitution, friction, rest_speed)

    def add_rigid_stop(
        self,
        name: str,
        joint: Coordinate,
        *,
        lower: Numbers = None,
        upper: Numbers = None,
        restitution: Numbers = 0.0,
        rest_speed: Numbers = 1e-3,
    ) -> tuple[Constraint, ...]:
        """Add rigid stops of a joint coordinate: impacts with restitution, then a constraint that never pulls.

        ``sim.run`` locates each impact and solves it through the mass matrix and the loops (METHODS 8.7).

        Parameters
        ----------
        name : str
            Name of the stop; with two ends ``name_lower`` and ``name_upper``.
        joint : Coordinate
            Joint, or (joint, coordinate).
        lower : float, optional
            Least value of the coordinate [rad or m].
        upper : float, optional
            Largest value [rad or m].
        restitution : float, default 0.0
            Speed of parting over speed of approach (Newton), 0 to 1.
        rest_speed : float, default 1e-3
            Speed of parting below which the coordinate stays at its stop [rad/s or m/s].

        Returns
        -------
        tuple[Constraint, ...]
            Constraints of the ends.

        Raises
        ------
        ModelError
            For values out of range, and for no end at all.
        """
        from rtmbs.contact.rigid import add_rigid_stop

        return add_rigid_stop(self, name, joint, lower, upper, restitution, rest_speed)

    def add_stop(
        self,
        name: str,
        joint: Coordinate,
        *,
        lower: Numbers = None,
        upper: Numbers = None,
        stiffness: Numbers,
        exponent: Numbers = 1.0,
        dissipation: Numbers = 0.0,
    ) -> Force:
        """Add compliant stops of a joint coordinate: N = k d^e (1 + c d') of the overrun d, never pulling.

        Parameters
        ----------
        name : str
            Name of the force.
        joint : Coordinate
            Joint, or (joint, coordinate).
        lower : float, optional
            Least value of the coordinate [rad or m]; an input ``name.lower``.
        upper : float, optional
            Largest value [rad or m]; an input ``name.upper``.
        stiffness : float
            k [N m/rad^e or N/m^e].
        exponent : float, default 1.0
            e, 1 or more.
        dissipation : float, default 0.0
            c [s/rad or s/m]; ``rtmbs.contact.dissipation_for`` gives it from a coefficient of restitution.

        Returns
        -------
        Force
            The new force.

        Raises
        ------
        ModelError
            For values out of range, and for no end at all.
        """
        from rtmbs.contact.joints import add_stop

        return add_stop(self, name, joint, lower, upper, stiffness, exponent, dissipation)

    def add_friction(
        self,
        name: str,
        joint: Coordinate,
        limit: Numbers = 0.0,
        *,
        coefficient: Numbers = None,
        radius: Numbers = None,
        thrust_radius: Numbers = None,
        length: Numbers = None,
        stiffness: Numbers = None,
        damping_time: Numbers = 1e-3,
        static_ratio: Numbers = 1.0,
        stribeck_speed: Numbers = 1e-2,
        viscous: Numbers = 0.0,
    ) -> Force:
        """Add dry friction of a joint, which sticks: by a limit, or in proportion to the load of the joint.

        With ``coefficient`` the limit follows the reaction of the joint inside every step, at the order of the method
        (METHODS 8.6). The joint is then Revolute, Prismatic, Cylindrical or Spherical. Each step is taken a few times.

        Parameters
        ----------
        name : str
            Name of the force.
        joint : Coordinate
            Joint, or (joint, coordinate).
        limit : float, default 0.0
            Constant force or torque of sliding [N or N m]; an input ``name.limit``, such as that of a brake.
        coefficient : float, optional
            Coefficient of friction mu; an input ``name.coefficient``. It multiplies the load of the bearing, which is
            shown as ``name.load`` among the inputs.
        radius : float, optional
            Radius of the pin or ball [m]. Of a slide: half the width that bears the moment about its axis, which does
            not count unless given.
        thrust_radius : float, optional
            Mean radius of the face that bears the axial force of a Revolute joint [m]; ``radius`` unless given.
        length : float, optional
            Length of the bearing [m], whose ends bear the moment across its axis; it does not count unless given.
        stiffness : float, optional
            Stiffness of a joint that sticks [N m/rad or N/m]: it slides from ``limit`` over it on. The limit, that of
            the weight of all bodies with a ``coefficient``, over 1 mrad or 1 mm unless given.
        damping_time : float, default 1e-3
            Damping of a joint that sticks, over its stiffness [s].
        static_ratio : float, default 1.0
            Limit at rest over that of sliding, 1 or more.
        stribeck_speed : float, default 1e-2
            Speed at which 1/e of that difference is left [rad/s or m/s].
        viscous : float, default 0.0
            Viscous friction beside it [N m s/rad or N s/m].

        Returns
        -------
        Force
            The new force, with the state ``name.bristle`` [rad or m].

        Raises
        ------
        ModelError
            For values out of range, a joint of another type, and a bearing without a radius.

        Examples
        --------
        >>> model = Model("hinge")
        >>> arm = model.add_body("arm", mass=1.0, center_of_mass=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
        >>> hinge = model.add_joint("hinge", Revolute(axis=(0, 1, 0)), "ground", arm, point=(0, 0, 0))
        >>> model.add_friction("bearing", hinge, coefficient=0.2, radius=0.01).name
        'bearing'
        """
        from rtmbs.contact.joints import add_friction

        return add_friction(
            self, name, joint, limit, coefficient=coefficient, radius=radius, thrust_radius=thrust_radius,
            length=length, stiffness=stiffness, damping_time=damping_time, static_ratio=static_ratio,
            stribeck_speed=stribeck_speed, viscous=viscous,
        )  # fmt: skip

    def add_clutch(
        self,
        name: str,
        first: Coordinate,
        second: Coordinate | None = None,
        *,
        coefficient: Numbers,
        radius: Numbers,
        faces: int = 1,
        normal_force: Numbers = 0.0,
        stiffness: Numbers,
        damping_time: Numbers = 1e-3,
        static_ratio: Numbers = 1.0,
        stribeck_speed: Numbers = 1e-2,
    ) -> Force:
        """Add a clutch between two angles, or a brake on one: its friction follows a normal force, which is an input.

        Parameters
        ----------
        name : str
            Name of the force; its normal force is the input ``name.normal_force`` [N].
        first : Coordinate
            Joint, or (joint, coordinate), of the first shaft.
        second : Coordinate, optional
            That of the second shaft, measured against the same body; a brake on the first shaft unless given.
        coefficient : float
            Coefficient of friction of the faces.
        radius : float
            Mean radius of the faces [m].
        faces : int, default 1
            Number of faces that rub.
        normal_force : float, default 0.0
            Normal force at first [N]; below zero it counts as none.
        stiffness : float
            Stiffness of a clutch that sticks [N m/rad].
        damping_time : float, default 1e-3
            Damping of a clutch that sticks, over its stiffness [s].
        static_ratio : float, default 1.0
            Limit at rest over that of sliding, 1 or more.
        stribeck_speed : float, default 1e-2
            Speed at which 1/e of that difference is left [rad/s].

        Returns
        -------
        Force
            The new force, with the state ``name.bristle`` [rad].

        Raises
        ------
        ModelError
            For values out of range.
        """
        from rtmbs.contact.joints import add_clutch

        return add_clutch(
            self, name, first, second, coefficient=coefficient, radius=radius, faces=faces, normal_force=normal_force,
            stiffness=stiffness, damping_time=damping_time, static_ratio=static_ratio, stribeck_speed=stribeck_speed,
        )  # fmt: skip

    def add_backlash(
        self,
        name: str,
        first: Coordinate,
        second: Coordinate,
        ratio: Numbers,
        *,
        play: Numbers,
        stiffness: Numbers,
        exponent: Numbers = 1.0,
        dissipation: Numbers = 0.0,
    ) -> Force:
        """Add a gear with backlash: first + ratio * second is free within half the play, then teeth touch.

        Parameters
        ----------
        name : str
            Name of the force.
        first : Coordinate
            First coordinate: a joint, or (joint, coordinate).
        second : Coordinate
            Second coordinate.
        ratio : float
            Ratio of the second coordinate, as that of ``add_gear``.
        play : float
            Play between both flanks, measured along the first coordinate [rad or m]; an input ``name.play``.
        stiffness : float
            k of the force k d^e (1 + c d') of teeth that overlap by d [N m/rad^e or N/m^e].
        exponent : float, default 1.0
            e, 1 or more.
        dissipation : float, default 0.0
            c [s/rad or s/m]; ``rtmbs.contact.dissipation_for`` gives it from a coefficient of restitution.

        Returns
        -------
        Force
            The new force.

        Raises
        ------
        ModelError
            For values out of range.
        """
        from rtmbs.contact.joints import add_backlash

        return add_backlash(self, name, first, second, ratio, play, stiffness, exponent, dissipation)

    def add_lock(
        self,
        name: str,
        *,
        joint: Coordinate | None = None,
        between: Between | None = None,
        turns: bool = False,
        locked: bool = False,
    ) -> Constraint:
        """Add a lock that is closed and opened while a Simulation runs: a latch, a gripper, a docking, a fuse.

        ``sim.set("NAME.locked", True)`` holds the present pose from then on, and ``False`` lets it go. Rates become
        those behind the impulse of the lock, through the mass matrix and the loops. Nothing is compiled anew. Source:
        METHODS 8.5.

        Parameters
        ----------
        name : str
            Name of the lock. Its channel is ``NAME.force`` on a joint, ``NAME.reaction`` between markers.
        joint : Coordinate, optional
            Joint of which all coordinates are locked, or (joint, coordinate).
        between : Between, optional
            Two markers that are welded together in the pose that they have then.
        turns : bool, default False
            Let the markers turn against each other: a ball joint in place of a weld.
        locked : bool, default False
            Lock the pose of the start.

        Returns
        -------
        Constraint
            The constraint of the lock.

        Raises
        ------
        ModelError
            For a taken name, for both or neither of ``joint`` and ``between``, and for ``turns`` with a joint.

        Examples
        --------
        >>> model = Model("hook")
        >>> load = model.add_body("load", mass=2.0, inertia=(1, 1, 1))
        >>> free = model.add_joint("free", Floating(), "ground", load)
        >>> hook = model.add_marker("hook", "ground")
        >>> eye = model.add_marker("eye", load)
        >>> model.add_lock("grip", between=(hook, eye)).name
        'grip'
        """
        from rtmbs.contact.switched import add_lock

        return add_lock(self, name, joint, between, bool(turns), bool(locked))

    def add_driver(
        self,
        name: str,
        profile: Any,
        *,
        joint: Coordinate | None = None,
        between: Between | None = None,
        body: tuple[Body | str, str] | None = None,
        axes: tuple[Axis, Axis] | None = None,
    ) -> Driver:
        """Prescribe a joint coordinate, a distance, a body coordinate or an angle by a function of time.

        A Simulation follows the first two, and x, y, z of a body on a floating joint of ground; a kinematic analysis
        follows all. An ``Input`` as profile is set while running, ``sim.inputs["lift"] = (value, rate, acceleration)``
        before each step: those at the end of the step.

        Parameters
        ----------
        name : str
            Name of the driver.
        profile : object
            Profile that returns (f, fd, fdd) at t.
        joint : Coordinate, optional
            Joint, or (joint, coordinate).
        between : Between, optional
            Two markers whose distance is driven [m].
        body : tuple[Body | str, str], optional
            (body, coordinate), one of x, y, z of its origin [m] and yaw, pitch, roll [rad] in the world.
        axes : tuple[Axis, Axis], optional
            Two axes whose angle is driven [rad], each a marker (its h axis) or (marker, "f", "g" or "h").

        Returns
        -------
        Driver
            The new driver.

        Raises
        ------
        ModelError
            For a taken name, several places or none, an object that is no profile, or a second driver of one place.
        """
        check_new_name("driver", name, self.drivers, *self.lookup.holding())
        what = f"driver {name!r}"
        if sum(given is not None for given in (joint, between, body, axes)) != 1:
            raise ModelError(f"{what}: give joint=, between=, body= or axes=, one of the four")
        known = given_motion(profile.default, what) if isinstance(profile, Input) else checked_profile(profile, what)
        if between is not None:
            driver = Driver(name, known, between=self.lookup.between(what, between))
        elif body is not None:
            driver = Driver(name, known, body=self.lookup.body_coordinate(what, body))
        elif axes is not None:
            driver = Driver(name, known, axes=self.lookup.axes(what, axes))
        else:
            assert joint is not None
            driver = Driver(name, known, joint=self.lookup.coordinate(what, joint))
        self.lookup.check_single_driver(driver)
        self.drivers[name] = driver
        return driver

    def set_reaction_stiffness(self, element: Joint | Rod | str, translation: Numbers, rotation: Numbers) -> None:
        """Set the stiffness by which an element shares loads that balance leaves free.

        Only the ratios of stiffness count. An element without a stiffness has 1e8 N/m, and 1e8 N/m times the square of
        the characteristic length for turns. Motion and unique reactions do not depend on stiffness.

        Parameters
        ----------
        element : Joint, Rod or str
            The element, or its name; also that of a constraint, a coupler or a driver.
        translation : float
            Stiffness against a force at the joint point of the second body [N/m].
        rotation : float
            Stiffness against a moment [N m/rad].

        Raises
        ------
        ModelError
            For a stiffness that is not above zero.
        UnknownNameError
            For a name that no such element has.
        """
        name = element if isinstance(element, str) else getattr(element, "name", None)
        known = {name: one for part in self.lookup.holding() for name, one in part.items()}
        if not isinstance(name, str) or name not in known:
            raise unknown_name("joint", name if isinstance(name, str) else element, known)
        values = []
        for key, value in (("translation", translation), ("rotation", rotation)):
            stiffness = number(value, f"reaction stiffness of {name!r}: {key}")
            if stiffness <= 0.0:
                raise ModelError(f"reaction stiffness of {name!r}: {key} is {stiffness:g}; it must be above zero")
            values.append(stiffness)
        self.reaction_stiffness[name] = values[0], values[1]

    def set_initial(
        self,
        joint: Joint | str,
        position: Numbers = None,
        rate: Numbers = None,
        *,
        pin: bool = True,
        weight: Numbers = 1.0,
    ) -> Initial:
        """Set the initial values of a joint: a number, or a tuple in the order of its coordinates.

        Spherical: position is the quaternion of b relative to a, rate the angular velocity of b relative to a in b's
        axes. Floating: position is (x, y, z, qw, qx, qy, qz), where x, y, z lead from the joint point of a to that of b
        in joint axes carried by a; rate is the change of x, y, z and the angular velocity in b's axes.

        Parameters
        ----------
        joint : Joint or str
            Joint.
        position : array_like, optional
            Coordinates at the start [rad or m].
        rate : array_like, optional
            Rates at the start [rad/s or m/s].
        pin : bool, default True
            Keep these values exactly; otherwise ``weight`` says how dearly assembly moves them, against 1; an infinite
            weight is a pin.
        weight : float, default 1.0
            Weight of changes during assembly, when ``pin`` is False.

        Returns
        -------
        Initial
            The initial values.

        Raises
        ------
        ModelError
            For a second call for one joint, a wrong count of numbers, or numbers that are not finite.
        """
        where = self.lookup.joint("initial value", joint)
        if where.name in self.initials:
            raise ModelError(f"initial value of joint {where.name!r} was set before; set position and rate in one call")
        initial = self.initials[where.name] = make_initial(where, position, rate, pin, weight)
        return initial

    def set_looks(
        self, body: Body | str, *, shape: Any = None, color: str = "", opacity: Numbers = 1.0, edges: bool = True
    ) -> None:
        """Set shape, colour and opacity of a body or of ground in pictures, in place of earlier ones.

        Motion, states and results do not depend on any of these.

        Parameters
        ----------
        body : Body or str
            Body or its name.
        shape : object, optional
            A Box, Cylinder, Sphere, Bar, Surface or Mesh in body axes, or a list of them; None draws bars between the
            joints.
        color : str, default ""
            "#rrggbb" or a name such as "steel"; "" takes one of the theme.
        opacity : float, default 1.0
            Above 0, and 1 for a body that hides what is behind it.
        edges : bool, default True
            Sharp edges are drawn as lines.

        Raises
        ------
        ModelError
            For a value that cannot be.
        """
        found = self.lookup.body("looks", body)
        self.looks[found.name] = make_looks(f"body {found.name!r}", shape, color, opacity, edges)

    def show(self, *, seconds: float | None = None, **options: Any) -> Any:
        """Run the model and play it below the cell of a notebook.

        Parameters
        ----------
        seconds : float, optional
            Simulated time [s]; ten seconds unless given.
        **options : object
            Those of ``rtmbs.show``, such as ``height``.

        Returns
        -------
        object
            Picture that a notebook draws as the last line of a cell; ``close`` ends a live session.

        Raises
        ------
        InputError
            For options that ``rtmbs.show`` refuses.

        Examples
        --------
        >>> picture = rtmbs.library.build("pendulum").show(seconds=0.1)
        """
        return import_module("rtmbs").show(self, seconds=seconds, **options)

    def compile(self) -> "System":
        """Return the flat arrays that simulations run on; the model may be changed and compiled again.

        Returns
        -------
        System
            System of constant arrays.
        """
        from rtmbs.system import compile as compile_model  # a room above: models are written without it

        try:
            system = compile_model(self)
        except ModelError as error:
            raise written(error) or error from error.__cause__
        read = [one._replace(read=values_captured(captured(one.function))) for one in system.outside]
        return replace(system, outside=tuple(read), origin=Origin(self))
