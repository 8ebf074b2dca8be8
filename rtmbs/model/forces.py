"""Force laws, built in or written by the user in plain NumPy.

Force laws, and the numbers of each that the user may change while running.

To add one on an existing table: write a frozen dataclass that says where it ``attaches`` and lists its ``parameters``
in the order of that table's slots (``rtmbs/system/tables.py``), under the decorator ``rtmbs.register``.

Force laws that the user writes in plain NumPy: arguments and return values of the function.

A law is ``law(t, kinematics, parameters)``. It sees time [s], the motion of what it is attached to, and its parameters
by name, and returns the force; nothing else may go in, for the law is recorded when the model is compiled.

A law with states is ``law(t, kinematics, parameters, states)``. It sees its states by name as well, and returns the
force and the rates of its states (METHODS 1.32).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from rtmbs.core.names import ADDING, add_class
from rtmbs.errors import ModelError, shown
from rtmbs.model.body import Body, Marker
from rtmbs.model.checks import Array, Numbers, as_floats, name_of, number, numbers, shape_of, switch
from rtmbs.model.joints import Joint


class Kinematics(NamedTuple):
    """Motion of marker b relative to marker a, in axes of marker a; of a body, relative to the world."""

    r: Array  # (3,) from a to b [m]
    R: Array  # (3, 3) axes of b to axes of a
    v: Array  # (3,) rate of r as a sees it [m/s]
    w: Array  # (3,) angular velocity of b relative to a [rad/s]


class JointKinematics(NamedTuple):
    """Joint coordinates and rates: numbers for ``joint=``, arrays (k,) for ``joints=``."""

    z: Array  # [rad, m]
    zd: Array  # [rad/s, m/s]
    names: tuple[str, ...]  # of the coordinates, ``crank.angle``


UserFunction = Callable[..., Any]
OF_FORCES = ("force", "torque")  # channels that every law has: no state takes these names


class LawState(NamedTuple):
    """A state of a force law: a number with a rate of its own."""

    name: str
    first: float  # at the start
    unit: str = "1"
    settles: bool = False  # only its settled value counts: no step needs to resolve its time constant


@dataclass(frozen=True, eq=False)
class Law:
    """The user's function with the default values of its parameters."""

    # (t, kinematics, parameters) -> wrench [f, n], scalar, or generalised forces; with states a fourth argument, and
    # the rates of the states beside the force
    function: UserFunction
    parameters: Mapping[str, Array]  # in any shape; each is an input ``force.NAME``
    trace: bool = True  # False: call it in Python, by differences, without trying to record it
    states: tuple[LawState, ...] = ()  # in the order of their rates


def make_law(
    what: str,
    function: Any,
    parameters: Mapping[str, Any] | None,
    trace: bool,
    form: str = "law(t, kinematics, parameters)",
    states: Mapping[str, Any] | None = None,
    units: Mapping[str, Any] | None = None,
) -> Law:
    """Return a checked law; ``what`` begins the sentence of an error, ``form`` is how the function is called."""
    call = form.replace("parameters)", "parameters, states)") if states else form
    try:
        inspect.signature(function).bind(0.0, None, {}, *([{}] if states else []))
    except TypeError:
        raise ModelError(
            f"{what}: its {form.partition('(')[0]} must be called as {call}; "
            f"{shown(getattr(function, '__name__', function))} takes other arguments"
        ) from None
    except ValueError:
        pass  # a function that says nothing about itself
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ModelError(f"{what}: parameters is {shown(parameters)}; it must be a dictionary of names and numbers")
    values = {name: parameter(what, name, value) for name, value in (parameters or {}).items()}
    trace = switch(trace, f"{what}: trace")
    found = law_states(what, states, units, getattr(function, "settling_states", ()))
    if found and not trace:
        raise ModelError(f"{what}: its law has states, and must be recorded for that; leave trace=False out")
    if both := [state.name for state in found if state.name in values]:
        raise ModelError(f"{what}: {both[0]!r} is a state and a parameter; give one of them another name")
    return Law(function, values, trace, found)


def written(error: ModelError) -> ModelError | None:
    """Return a clearer error where a law failed because it writes its parameters; None where it failed otherwise."""
    cause, (what, raised, _) = error.__cause__, str(error).partition(" raised ")
    entry = isinstance(cause, TypeError) and "mappingproxy" in str(cause)
    number_of = isinstance(cause, ValueError) and "read-only" in str(cause)
    if not (raised and (entry or number_of)):
        return None
    return ModelError(
        f"{what} writes its parameters, or an array that it may only read; write the new number to a name of its own, "
        "or to a copy of the array. Only sim.inputs changes a parameter, and a law that remembers has states"
    )


def law_states(what: str, states: Any, units: Any, settling: Any = ()) -> tuple[LawState, ...]:
    """Return the checked states of a law in the order in which they were given."""
    for name, given in (("states", states), ("units", units)):
        if given is not None and not isinstance(given, Mapping):
            raise ModelError(f"{what}: {name} is {shown(given)}; it must be a dictionary by the names of states")
    states, units = states or {}, units or {}
    if unknown := [name for name in units if name not in states]:
        raise ModelError(f"{what}: units has {shown(unknown[0])}, which is no state of it; name one of its states")
    return tuple(
        law_state(what, name, first, units.get(name, "1"))._replace(settles=name in settling)
        for name, first in states.items()
    )


def law_state(what: str, name: Any, first: Any, unit: Any) -> LawState:
    """Return one checked state: its name, its first value, a finite number, and its unit."""
    name_of(f"{what}: state", name)
    if name in OF_FORCES:
        raise ModelError(f"{what}: a state is called {name!r}, as a channel of every law is; give it another name")
    if not isinstance(unit, str):
        raise ModelError(f"{what}: the unit of state {name!r} is {shown(unit)}; it must be a word such as 'A'")
    return LawState(name, number(first, f"{what}: state {name!r}"), unit)


def parameter(what: str, name: Any, value: Any) -> Array:
    """Return the default of one parameter, any number of finite floats."""
    name_of(f"{what}: parameter", name)
    try:
        array = as_floats(value)
    except ValueError:
        raise ModelError(
            f"{what}: parameter {name!r} is {shown(value)}; it must be a number or an array of them"
        ) from None
    if not np.all(np.isfinite(array)) or array.size == 0:
        raise ModelError(f"{what}: parameter {name!r} is {shown(value)}; it must hold finite numbers")
    array.flags.writeable = False
    return array


TimeFunction = Callable[[float], Any]
Attachment = Literal["between", "joint", "body"]
BUSHING_AXES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class Input:
    """A value that the user sets while running, ``sim.inputs["motor.torque"] = 3.0``; ``default`` until then.

    Parameters
    ----------
    default : array_like, default 0.0
        Value until the input is set.
    """

    default: Numbers = 0.0


class Parameter(NamedTuple):
    """Neighbouring slots of a force."""

    label: str  # input ``force.LABEL``
    value: Array  # (size,) default, or a table, which takes its numbers row by row
    function: TimeFunction | None = None  # of time; then the input can only be read
    offered: bool = True  # as an input


@dataclass(frozen=True)
class ForceLaw:
    """Base class of force laws: the attachment, and the parameters in the order of the slots of its table."""

    attaches: ClassVar[Attachment]
    table: ClassVar[str] = ""  # kind of force it is one of; by default that of springs, joint forces or wrenches

    def checked(self, what: str) -> Self:
        """Return this law with floats; refuse what is not finite or makes no sense."""
        raise NotImplementedError

    def parameters(self, length: float, unit: str) -> tuple[Parameter, ...]:
        """Return the parameters, given the reference distance of its points [m] or the unit of its coordinate."""
        raise NotImplementedError


@dataclass(frozen=True)
class SpringDamper(ForceLaw):
    """Spring-damper that pulls two points together by stiffness (l - length) + damping ld + tension [N].

    The input tension starts at 0.

    Parameters
    ----------
    stiffness : float
        Stiffness [N/m].
    damping : float, default 0.0
        Damping [N s/m].
    length : float, optional
        Free length [m]; the distance at the reference pose unless given.
    """

    stiffness: float  # [N/m]
    damping: float = 0.0  # [N s/m]
    length: float | None = None  # free length [m]; None: the distance at the reference pose
    attaches = "between"

    def checked(self, what: str) -> Self:
        length = None if self.length is None else number(self.length, f"{what}: length")
        if length is not None and length < 0.0:
            raise ModelError(
                f"{what}: length is {length}; it must be zero or more (the input tension preloads a spring)"
            )
        stiffness, damping = number(self.stiffness, f"{what}: stiffness"), number(self.damping, f"{what}: damping")
        return replace(self, stiffness=stiffness, damping=damping, length=length)

    def parameters(self, length: float, unit: str) -> tuple[Parameter, ...]:
        free = length if self.length is None else self.length
        return scalars(stiffness=self.stiffness, damping=self.damping, length=free, tension=0.0)


@dataclass(frozen=True)
class TorsionSpring(ForceLaw):
    """Spring-damper of one joint coordinate: -stiffness (z - angle) - damping zd + load; the input load starts at 0.

    Parameters
    ----------
    stiffness : float
        Stiffness [N m/rad or N/m].
    damping : float, default 0.0
        Damping [N m s/rad or N s/m].
    angle : float, default 0.0
        Coordinate at rest [rad or m].
    """

    stiffness: float  # [N m/rad], [N/m] on a displacement
    damping: float = 0.0  # [N m s/rad], [N s/m]
    angle: float = 0.0  # where it rests [rad], [m]
    attaches = "joint"

    def checked(self, what: str) -> Self:
        return replace(self, **{name: number(value, f"{what}: {name}") for name, value in vars(self).items()})

    def parameters(self, length: float, unit: str) -> tuple[Parameter, ...]:
        return scalars(stiffness=self.stiffness, damping=self.damping, angle=self.angle, load=0.0)


@dataclass(frozen=True)
class Motor(ForceLaw):
    """A torque [N m] or force [N] along one joint coordinate: a number, a function of time or an ``Input``.

    Parameters
    ----------
    value : float, callable or Input, optional
        Torque [N m] or force [N]: a number, a function of time or an ``Input``.
    """

    value: Any = Input()
    attaches = "joint"

    def checked(self, what: str) -> Self:
        return replace(self, value=checked_value(self.value, f"{what}: value", ()))

    def parameters(self, length: float, unit: str) -> tuple[Parameter, ...]:
        name = "torque" if unit == "rad" else "force"
        return (Parameter("unused", np.zeros(3), offered=False), value_parameter(name, self.value, 1))


@dataclass(frozen=True)
class Wrench(ForceLaw):
    """A force [N] at a point of a body and a torque [N m], in world or body axes: constant, timed or an ``Input``.

    Parameters
    ----------
    force : array_like, default (0.0, 0.0, 0.0)
        Force (3,) [N]: constant, a function of time or an ``Input``.
    torque : array_like, default (0.0, 0.0, 0.0)
        Torque (3,) [N m]: constant, a function of time or an ``Input``.
    axes : {"world", "body"}, default "world"
        Axes of force and torque.
    """

    force: Any = (0.0, 0.0, 0.0)
    torque: Any = (0.0, 0.0, 0.0)
    axes: Literal["world", "body"] = "world"
    attaches = "body"

    def checked(self, what: str) -> Self:
        if not (isinstance(self.axes, str) and self.axes in ("world", "body")):
            raise ModelError(f"{what}: axes is {shown(self.axes)}; it must be 'world' or 'body'")
        force, torque = (
            checked_value(self.force, f"{what}: force", (3,)),
            checked_value(self.torque, f"{what}: torque", (3,)),
        )
        return replace(self, force=force, torque=torque)

    def parameters(self, length: float, unit: str) -> tuple[Parameter, ...]:
        return (value_parameter("force", self.force, 3), value_parameter("torque", self.torque, 3))


@dataclass(frozen=True)
class Bushing(ForceLaw):
    """Bushing between marker a and marker b: force - K q - curves(q) - C qd on b, in axes of marker a.

    q is the way from a to b [m] and the rotation vector of b seen from a [rad], of less than half a turn. A matrix is
    one number for all axes, six for its diagonal, or 6 x 6. A curve is a table of (deformation, resisting force),
    deformations ascending: a monotone cubic between its points, straight beyond them, and added to the stiffness.

    Parameters
    ----------
    stiffness : float or array_like
        Stiffness: one number, six for the diagonal, or (6, 6) [N/m, N m/rad].
    damping : float, default 0.0
        Damping of the same shape [N s/m, N m s/rad].
    force : array_like, default (0.0, 0.0, 0.0)
        Preload force (3,) [N].
    torque : array_like, default (0.0, 0.0, 0.0)
        Preload torque (3,) [N m].
    curve_x : object, optional
        Table of (deformation, resisting force) along x [m, N].
    curve_y : object, optional
        Table along y [m, N].
    curve_z : object, optional
        Table along z [m, N].
    curve_rx : object, optional
        Table about x [rad, N m].
    curve_ry : object, optional
        Table about y [rad, N m].
    curve_rz : object, optional
        Table about z [rad, N m].
    """

    stiffness: Any  # [N/m, N m/rad, N between the two]
    damping: Any = 0.0  # [N s/m, N m s/rad, N s]
    force: Any = (0.0, 0.0, 0.0)  # preload on b [N]: constant, timed or an ``Input``
    torque: Any = (0.0, 0.0, 0.0)  # [N m]
    curve_x: Any = None
    curve_y: Any = None
    curve_z: Any = None
    curve_rx: Any = None
    curve_ry: Any = None
    curve_rz: Any = None
    attaches = "between"
    table = "bushings"

    def checked(self, what: str) -> Self:
        """Return this law with floats; refuse what is not finite or makes no sense.

        Parameters
        ----------
        what : str
            Name of the force in the message.

        Returns
        -------
        Bushing
            This law with floats; refuse what is not finite or makes no sense.
        """
        values: dict[str, Any] = {
            name: square(getattr(self, name), f"{what}: {name}") for name in ("stiffness", "damping")
        }
        values |= {name: checked_value(getattr(self, name), f"{what}: {name}", (3,)) for name in ("force", "torque")}
        for axis in BUSHING_AXES:
            points = getattr(self, f"curve_{axis}")
            values[f"curve_{axis}"] = None if points is None else curve(points, f"{what}: curve_{axis}")
        return replace(self, **values)

    def parameters(self, length: float, unit: str) -> tuple[Parameter, ...]:
        """Return the parameters, given the reference distance of its points [m] or the unit of its coordinate.

        Parameters
        ----------
        length : float
            Distance of the points at the reference pose [m].
        unit : str
            Unit of the coordinate.

        Returns
        -------
        tuple[Parameter, ...]
            Parameters, given the reference distance of its points [m] or the unit of its coordinate.
        """
        matrices = tuple(Parameter(name, getattr(self, name)) for name in ("stiffness", "damping"))
        return (*matrices, value_parameter("force", self.force, 3), value_parameter("torque", self.torque, 3))


FORCE_TYPES: dict[str, type[ForceLaw]] = {
    kind.__name__: kind for kind in (SpringDamper, TorsionSpring, Motor, Wrench, Bushing)
}


def add_force_type(law: type[ForceLaw]) -> None:
    """Add a force law of the user to ``FORCE_TYPES``."""
    add_class(FORCE_TYPES, "force law", law.__name__, law)


ADDING[ForceLaw] = add_force_type


@dataclass(frozen=True, eq=False)
class Force:
    """Force law with the points, the coordinates or the body that it acts on.

    ``Model.add_force`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the force.
    law : ForceLaw or Law
        Force law of the package, or a function of the user with its parameters.
    between : tuple[Marker, Marker], optional
        Markers of a force between two points or frames.
    joint : tuple[Joint, int], optional
        Joint and number of its coordinate, for a force on one joint coordinate.
    joints : tuple[tuple[Joint, int], ...], optional
        Joints and numbers of their coordinates, for a force on several; an empty one means all of the tree.
    body : Body, optional
        Body of a force at a point of it.
    point : ndarray, optional
        Point (3,) of the force in body axes of ``body`` [m].
    """

    name: str
    law: ForceLaw | Law
    between: tuple[Marker, Marker] | None = None
    joint: tuple[Joint, int] | None = None  # the joint and the number of its coordinate
    joints: tuple[tuple[Joint, int], ...] | None = None  # several coordinates; none: all of the tree
    body: Body | None = None
    point: Array | None = None  # (3,) body axes of ``body`` [m]


def scalars(*held: str, **values: float) -> tuple[Parameter, ...]:
    """Return a parameter for every number; those that ``held`` names are no inputs."""
    return tuple(Parameter(name, np.array([value]), offered=name not in held) for name, value in values.items())


def square(value: Numbers, what: str) -> Array:
    """Return one number, six, or 6 x 6 as a matrix (6, 6)."""
    shape = shape_of(value, what, "it must be one number, 6 of them, or 6 x 6")
    if shape not in ((), (6,), (6, 6)):
        raise ModelError(f"{what} has shape {shape}; it must be one number, 6 of them, or 6 x 6")
    given = numbers(value, what, shape)
    matrix = np.array(given) if shape == (6, 6) else np.diag(np.broadcast_to(given, (6,)))
    matrix.flags.writeable = False
    return matrix


def curve(points: Numbers, what: str) -> Array:
    """Return the points (n, 2) of a curve, deformations ascending."""
    wanted = "it must be two or more pairs of a deformation and a force"
    shape = shape_of(points, what, wanted)
    if len(shape) != 2 or shape[0] < 2 or shape[1] != 2:
        raise ModelError(f"{what} has shape {shape}; {wanted}")
    table = numbers(points, what, shape)
    if bad := np.flatnonzero(np.diff(table[:, 0]) <= 0.0).tolist():
        raise ModelError(
            f"{what}: deformation {table[bad[0] + 1, 0]:g} comes after {table[bad[0], 0]:g}; they must ascend"
        )
    return table


def checked_value(value: Any, what: str, shape: tuple[int, ...]) -> Any:
    """Return a constant or an ``Input`` with checked numbers; a function is tried when the model is compiled."""
    if callable(value):
        return value.checked(what) if hasattr(value, "checked") else value
    if isinstance(value, Input):
        default = np.zeros(shape) if isinstance(value.default, int | float) and not value.default else value.default
        return Input(numbers(default, f"{what}: default", shape))
    return numbers(value, what, shape)


def value_parameter(name: str, value: Any, size: int) -> Parameter:
    """Return the parameter that a checked value means."""
    if callable(value):
        return Parameter(name, np.zeros(size), value)
    return Parameter(name, np.reshape(value.default if isinstance(value, Input) else value, size))
