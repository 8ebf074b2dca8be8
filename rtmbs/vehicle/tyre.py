"""Tyre models: interface, inputs and forces in ISO 8855 wheel axes W, smooth functions, and tyres of few parameters.

Origin in the contact point; x_W along the intersection of wheel plane and road, forward; z_W the road normal, up; y_W
to the left. Signs: slip > 0 drives, Fx > 0. slip_angle > 0: the contact point moves to the left, Fy < 0. camber > 0:
the top of the wheel leans to the right. Mz > 0 turns the wheel to the left.

``numpy.sign`` and ``numpy.abs`` of a complex number are not analytic. The smooth functions look at the real part only,
so a complex step gives the derivative of the side on which the number lies (METHODS 1.19).

The brush tyre has elastic bristles under a parabolic pressure, for teaching (Pacejka, Tyre and Vehicle Dynamics,
chapter 3). The Fiala tyre has six numbers (Fiala 1954, in the form of Adams/Tyre). TMeasy (Rill) has slopes, peaks and
ends of two curves at two loads.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import as_floats, number, numbers


def sign(x: Any) -> Any:
    """Return -1, 0 or 1."""
    return np.sign(x.real)


def magnitude(x: Any) -> Any:
    """Return |x|; its derivative at 0 is 0."""
    return sign(x) * x


def at_most(x: Any, bound: Any) -> Any:
    """Return the smaller one."""
    return np.where(x.real < bound, x, bound) if np.iscomplexobj(x) else np.minimum(x, bound)


def at_least(x: Any, bound: Any) -> Any:
    """Return the larger one."""
    return np.where(x.real > bound, x, bound) if np.iscomplexobj(x) else np.maximum(x, bound)


def step(x: Any) -> Any:
    """Return the cubic step 3 x^2 - 2 x^3 from 0 at x <= 0 to 1 at x >= 1."""
    s = at_most(at_least(x, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def saturated(x: Any) -> Any:
    """Return sin(pi x / 2) between -1 and 1, and the sign of x beyond: a sign with a slope at 0."""
    return np.sin(0.5 * np.pi * at_most(at_least(x, -1.0), 1.0))


class TyreForces(NamedTuple):
    """Force and moment of the road on the wheel at the contact point, W axes.

    The axes are those of ISO 8855: x_W forward in the road, y_W left in the road, z_W the normal of the road, up.

    Parameters
    ----------
    Fx : float or ndarray
        Longitudinal force [N], positive when it drives.
    Fy : float or ndarray
        Lateral force [N], positive to the left.
    Mx : float or ndarray
        Overturning moment [N m].
    My : float or ndarray
        Rolling resistance moment [N m], negative when the wheel rolls forward.
    Mz : float or ndarray
        Aligning moment [N m], positive when it turns the wheel to the left.
    """

    Fx: Any
    Fy: Any
    Mx: Any
    My: Any
    Mz: Any


class TyreInput(NamedTuple):
    """Input of the forces of a tyre: numbers, arrays, complex or recorded numbers.

    Parameters
    ----------
    load : float or ndarray
        Vertical force [N].
    slip : float or ndarray
        Longitudinal slip -Vsx / abs(Vcx), positive when it drives.
    slip_angle : float or ndarray
        Slip angle [rad] with tan(slip_angle) = Vsy / abs(Vcx), positive when the contact point moves to the left.
    camber : float or ndarray
        Camber [rad], positive when the top of the wheel leans to the right.
    speed : float or ndarray
        Longitudinal velocity Vcx [m/s].
    friction : float or ndarray, default 1.0
        Factor of the road on the friction of the tyre.
    fade : float or ndarray, default 1.0
        Factor of the offsets that a tyre has without slip: 1 rolling, 0 at rest.
    forward : float or ndarray, default 1.0
        Sign of the speed, smooth near rest.
    side : float or ndarray, default 1.0
        1 on the side of the car that the data belong to, -1 on the other one.
    """

    load: Any  # vertical force [N]
    slip: Any  # longitudinal slip -Vsx / |Vcx|
    slip_angle: Any  # [rad], tan(slip_angle) = Vsy / |Vcx|
    camber: Any  # [rad]
    speed: Any  # Vcx [m/s]
    friction: Any = 1.0  # factor of the road on the friction of the tyre
    fade: Any = 1.0  # factor of offsets that a tyre has without slip: 1 rolling, 0 at rest
    forward: Any = 1.0  # sign of the speed, smooth near rest
    side: Any = 1.0  # 1 on the side of the car that the data belong to, -1 on the other one


class Rolling(NamedTuple):
    """Velocities of a rolling wheel in W axes."""

    speed: Any  # Vcx of the contact point as a point of the wheel carrier [m/s]
    slides_x: Any  # Vsx = Vcx - Re Omega [m/s]
    slides_y: Any  # Vsy = Vcy [m/s]
    rolls: Any  # Re Omega [m/s]


class Tyre:
    """A tyre model with forces of steady slip.

    A class of one's own answers ``forces``, ``relaxation_lengths``, ``stiffnesses``, ``peaks`` and the attributes
    below. ``rtmbs.vehicle.add_tyre`` makes a force of a Model of it.
    """

    free_radius: float  # [m]
    vertical_stiffness: float  # [N/m]
    vertical_damping: float  # [N s/m]
    low_speed: float = 1.0  # [m/s] below which offsets fade and slip is damped
    reference_speed: float = 15.0  # [m/s] of ``steady`` without a speed
    nominal_load: float = 4000.0  # [N]
    largest_load: float = np.inf  # [N] of the force law: beyond it only the vertical force grows
    camber_range: tuple[float, float] = (-np.inf, np.inf)  # [rad] of the force law
    kind: ClassVar[str] = "tyre"

    def forces(self, at: TyreInput) -> TyreForces:
        """Return force and moment at steady slip.

        Parameters
        ----------
        at : TyreInput
            Load, slips, camber, speed and friction of the wheel.

        Returns
        -------
        TyreForces
            Force Fx, Fy [N] and moment Mx, My, Mz [N m] of the road on the wheel at the contact point, W axes.
        """
        raise NotImplementedError

    def relaxation_lengths(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the longitudinal and the lateral relaxation length.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        camber : float or ndarray, default 0.0
            Camber [rad], positive when the top of the wheel leans to the right.

        Returns
        -------
        tuple
            Longitudinal and lateral relaxation length [m].
        """
        raise NotImplementedError

    def stiffnesses(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the slip stiffness and the cornering stiffness at no slip.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        camber : float or ndarray, default 0.0
            Camber [rad], positive when the top of the wheel leans to the right.

        Returns
        -------
        tuple
            dFx/dslip [N] and -dFy/dslip_angle [N/rad] at no slip, both positive.
        """
        raise NotImplementedError

    def peaks(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the largest longitudinal and lateral force at the reference friction.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        camber : float or ndarray, default 0.0
            Camber [rad], positive when the top of the wheel leans to the right.

        Returns
        -------
        tuple
            Largest longitudinal and lateral force [N], both positive.
        """
        raise NotImplementedError

    def effective_radius(self, load: Any, loaded_radius: Any) -> Any:
        """Return the effective rolling radius: by default (2 R0 + loaded radius) / 3 (Rill).

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        loaded_radius : float or ndarray
            Distance of the wheel centre from the contact point [m].

        Returns
        -------
        float or ndarray
            Effective rolling radius [m].
        """
        return (2.0 * self.free_radius + loaded_radius) / 3.0

    def steady_slip(self, rolling: "Rolling") -> tuple[Any, Any]:
        """Return the slips of velocities; speeds below ``low_speed`` are rounded up to it.

        Parameters
        ----------
        rolling : Rolling
            Velocities of the wheel in W axes.

        Returns
        -------
        tuple
            Slip and tan(slip_angle).
        """
        speed = np.sqrt(rolling.speed * rolling.speed + self.low_speed**2)
        return -rolling.slides_x / speed, rolling.slides_y / speed

    def steady(
        self,
        *,
        load: Any,
        slip: Any = 0.0,
        slip_angle: Any = 0.0,
        camber: Any = 0.0,
        speed: Any = None,
        friction: Any = 1.0,
    ) -> TyreForces:
        """Return force and moment of a wheel that rolls steadily.

        Arrays are broadcast against each other. Complex numbers pass through, for derivatives by the complex step.

        Parameters
        ----------
        load : float or array_like
            Vertical force [N], zero or more.
        slip : float or array_like, default 0.0
            Longitudinal slip kappa = -Vsx / abs(Vcx), positive when it drives; -1 is a locked wheel.
        slip_angle : float or array_like, default 0.0
            Slip angle [rad] with tan(slip_angle) = Vsy / abs(Vcx), positive when the contact point moves to the left.
        camber : float or array_like, default 0.0
            Camber [rad], positive when the top of the wheel leans to the right.
        speed : float or array_like, optional
            Longitudinal velocity Vcx [m/s]; the reference speed of the tyre unless given.
        friction : float or array_like, default 1.0
            Factor on the friction of the tyre, 1 for the road it was measured on.

        Returns
        -------
        TyreForces
            Force Fx, Fy [N] and moment Mx, My, Mz [N m] of the road on the wheel at the contact point, W axes.

        Raises
        ------
        ModelError
            For an argument that is no finite number, a negative load, and arrays of shapes that do not fit together.

        Examples
        --------
        >>> tyre = rtmbs.vehicle.BrushTyre(
        ...     free_radius=0.32, vertical_stiffness=2e5, tread_stiffness=2e7, friction=1.0
        ... )
        >>> tyre.steady(load=4000.0, slip=[0.0, 0.05]).Fx.shape
        (2,)
        """
        speed = self.reference_speed if speed is None else speed
        given = {"load": load, "slip": slip, "slip_angle": slip_angle, "camber": camber, "speed": speed}
        found = [checked_numbers(name, value) for name, value in (given | {"friction": friction}).items()]
        if np.any(found[0].real < 0.0):
            raise ModelError(f"tyre: load is {shown(load)}; it must be zero or more")
        if np.any(found[-1].real <= 0.0):
            raise ModelError(f"tyre: friction is {shown(friction)}; it must be above zero")
        try:
            at = TyreInput(*np.broadcast_arrays(*found))
        except ValueError:
            shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in zip(given, found, strict=False))
            raise ModelError(f"tyre: arrays of shapes {shapes} do not fit together; it must be one shape") from None
        forces = self.forces(at._replace(forward=np.sign(at.speed.real)))
        return TyreForces(*(np.broadcast_to(one, at.load.shape)[()] + 0.0 for one in forces))


def checked_numbers(name: str, value: Any) -> Any:
    """Return real or complex numbers as an array; ModelError for anything else."""
    if np.iscomplexobj(value):
        return np.asarray(value)
    try:
        array = as_floats(value)
    except ValueError:
        raise ModelError(f"tyre: {name} is {shown(value)}; it must be a number or an array of them") from None
    if not np.all(np.isfinite(array)):
        raise ModelError(f"tyre: {name} is {shown(value)}; every number must be finite")
    return array


class CarryingTyre(Tyre):
    """A tyre with the vertical force of another one, and no tangential force or moment."""

    kind = "carrying"

    def __init__(self, other: Tyre) -> None:
        self.free_radius, self.nominal_load = other.free_radius, other.nominal_load
        self.vertical_stiffness, self.vertical_damping = other.vertical_stiffness, other.vertical_damping

    def of(self, other: Tyre) -> "CarryingTyre":
        """Return another tyre with its vertical force only."""
        return CarryingTyre(other)

    def forces(self, at: TyreInput) -> TyreForces:
        """Return no force."""
        none = 0.0 * at.load
        return TyreForces(none, none, none, none, none)


OWN = ("self", "__class__")  # locals of a constructor that are no numbers
DAMPERS = ("vertical_damping", "rolling_resistance")  # numbers that may be zero


class SimpleTyre(Tyre):
    """Frame of tyres with one friction and one relaxation length; their numbers are attributes."""

    friction: float
    relaxation_length: float

    def __init__(self, given: dict[str, Any]) -> None:
        found = {name: number(value, f"tyre: {name}") for name, value in given.items() if name not in OWN}
        for name, value in found.items():
            if value < 0.0 or (value == 0.0 and name not in DAMPERS):
                least = "zero or more" if name in DAMPERS else "above zero"
                raise ModelError(f"tyre: {name} is {value:g}; it must be {least}")
            setattr(self, name, value)

    def relaxation_lengths(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the relaxation length of the constructor for both directions."""
        return self.relaxation_length, self.relaxation_length

    def peaks(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return friction times load for both directions."""
        return self.friction * load, self.friction * load


class FialaTyre(SimpleTyre):
    """Fiala tyre: friction that falls from ``friction`` to ``sliding_friction`` with the total slip.

    Force and moment follow from six numbers (Fiala 1954, in the form of Adams/Tyre). Camber has no effect. Longitudinal
    and lateral force share the friction through the total slip only.

    Parameters
    ----------
    free_radius : float
        Radius without load [m].
    width : float
        Width [m].
    vertical_stiffness : float
        Vertical stiffness [N/m].
    slip_stiffness : float
        Slope dFx/dslip at no slip [N].
    cornering_stiffness : float
        Slope -dFy/dslip_angle at no slip [N/rad].
    friction : float
        Coefficient of friction at no slip.
    sliding_friction : float
        Coefficient of friction at a total slip of one.
    vertical_damping : float, default 0.0
        Vertical damping [N s/m].
    rolling_resistance : float, default 0.0
        Lever of the vertical force [m].
    relaxation_length : float, default 0.3
        Longitudinal and lateral relaxation length [m].

    Examples
    --------
    >>> tyre = rtmbs.vehicle.FialaTyre(
    ...     free_radius=0.32, width=0.2, vertical_stiffness=2e5, slip_stiffness=1e5, cornering_stiffness=8e4,
    ...     friction=1.0, sliding_friction=0.8,
    ... )
    >>> bool(tyre.steady(load=4000.0, slip_angle=0.02).Fy < 0.0)  # the contact point moves to the left
    True
    """

    kind: ClassVar[str] = "Fiala"
    width: float
    slip_stiffness: float
    cornering_stiffness: float
    sliding_friction: float
    rolling_resistance: float

    def __init__(
        self,
        *,
        free_radius: float,
        width: float,
        vertical_stiffness: float,
        slip_stiffness: float,
        cornering_stiffness: float,
        friction: float,
        sliding_friction: float,
        vertical_damping: float = 0.0,
        rolling_resistance: float = 0.0,
        relaxation_length: float = 0.3,
    ) -> None:
        super().__init__(locals())

    def forces(self, at: TyreInput) -> TyreForces:
        """Return force and moment at steady slip."""
        tangent = np.tan(at.slip_angle)
        total = np.sqrt(at.slip * at.slip + tangent * tangent + 1e-30)
        grip = self.friction - (self.friction - self.sliding_friction) * at_most(total, 1.0)
        limit = at_least(grip * at.friction * at.load, 1e-6)
        stiff = self.slip_stiffness * at.slip
        size = magnitude(stiff)
        slides = sign(at.slip) * (limit - limit * limit / (4.0 * at_least(size, 0.5 * limit)))
        Fx = np.where(size.real < 0.5 * limit.real, stiff, slides)
        share = at_most(self.cornering_stiffness * magnitude(tangent) / (3.0 * limit), 1.0)
        H = 1.0 - share
        side = sign(at.slip_angle)
        Fy, Mz = -limit * (1.0 - H**3) * side, limit * self.width * share * H**3 * side * at.forward
        return TyreForces(Fx, Fy, 0.0 * Fy, -self.rolling_resistance * at.load * at.forward, Mz)

    def stiffnesses(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the slip stiffness and the cornering stiffness of the constructor."""
        return self.slip_stiffness, self.cornering_stiffness


TINY = 1e-30  # under a root: keeps its derivative at zero


class BrushTyre(SimpleTyre):
    """Isotropic brush tyre with Coulomb friction (Pacejka, Tyre and Vehicle Dynamics, ch. 3).

    Bristles of stiffness ``tread_stiffness`` c stand on a contact length 2 a, with a = sqrt(R0 Fz / stiffness). The
    theoretical slips are slip / (1 + slip) and tan(slip_angle) / (1 + slip), their size is s, and
    x = 2 c a^2 s / (3 mu Fz). The force is mu Fz (3 x - 3 x^2 + x^3) up to x = 1, where the whole contact slides.

    Parameters
    ----------
    free_radius : float
        Radius without load R0 [m].
    vertical_stiffness : float
        Vertical stiffness [N/m].
    tread_stiffness : float
        Stiffness of the bristles for each length of the contact c [N/m^2].
    friction : float
        Coefficient of friction mu.
    vertical_damping : float, default 0.0
        Vertical damping [N s/m].
    relaxation_length : float, default 0.3
        Longitudinal and lateral relaxation length [m].

    Examples
    --------
    >>> tyre = rtmbs.vehicle.BrushTyre(
    ...     free_radius=0.32, vertical_stiffness=2e5, tread_stiffness=2e7, friction=1.0
    ... )
    >>> round(float(tyre.steady(load=4000.0, slip_angle=0.5).Fy))  # slides: -mu Fz
    -4000
    """

    kind: ClassVar[str] = "brush"
    tread_stiffness: float

    def __init__(
        self,
        *,
        free_radius: float,
        vertical_stiffness: float,
        tread_stiffness: float,
        friction: float,
        vertical_damping: float = 0.0,
        relaxation_length: float = 0.3,
    ) -> None:
        super().__init__(locals())

    def half_length(self, load: Any) -> Any:
        """Return half of the contact length.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].

        Returns
        -------
        float or ndarray
            Half length a = sqrt(R0 Fz / stiffness) [m].
        """
        return np.sqrt(self.free_radius * load / self.vertical_stiffness + 1e-12)

    def forces(self, at: TyreInput) -> TyreForces:
        """Return force and moment at steady slip."""
        rolled = at_least(1.0 + at.slip, 1e-2)
        sx, sy = at.slip / rolled, np.tan(at.slip_angle) / rolled
        size = np.sqrt(sx * sx + sy * sy + TINY)
        a, limit = self.half_length(at.load), at_least(self.friction * at.friction * at.load, 1e-6)
        stiffness = 2.0 * self.tread_stiffness * a * a
        x = at_most(stiffness * size / (3.0 * limit), 1.0)
        over_slip = limit * x * (3.0 - 3.0 * x + x * x) / size
        Fx, Fy = over_slip * sx, -over_slip * sy
        trail = a * (1.0 - x) ** 3 / (3.0 - 3.0 * x + x * x)
        return TyreForces(Fx, Fy, 0.0 * Fy, 0.0 * Fy, -at.forward * trail * Fy)

    def stiffnesses(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the slip stiffness 2 c a^2 for both directions."""
        value = 2.0 * self.tread_stiffness * self.half_length(load) ** 2
        return value, value


PAIRS = ("dfx0", "fxm", "fxs", "sxm", "sxs", "dfy0", "fym", "fys", "sym", "sys", "nL0", "sq0", "sqe")
SINGLE = ("pn", "pn_max", "R0", "width", "rim_radius", "cz", "dz", "mu0", "rolling_resistance")
BY_PARABOLA = ("dfx0", "fxm", "fxs", "dfy0", "fym", "fys")  # forces and slopes; others are linear in the load
TINY_SLIP = 1e-7  # slip below which its direction fades to the mean of both
AT_REST = 0.01  # [m/s] added to the speed of rolling in the slips (Rill's vN)


class Curve(NamedTuple):
    """A force over slip at one load: slope at zero, peak, and beginning of full sliding."""

    dF0: Any  # [N]
    sM: Any
    FM: Any  # [N]
    sS: Any
    FS: Any  # [N]


class TMeasy(Tyre):
    """TMeasy tyre (Rill): forces from the slopes, peaks and ends of two curves at two loads.

    Parameters
    ----------
    parameters : Mapping[str, Any]
        Numbers by name. Pairs are values at the load ``pn`` [N] and at twice that load: ``dfx0``, ``dfy0``
        slopes at zero slip [N]; ``fxm``, ``fym`` peaks [N] at the slips ``sxm``, ``sym``; ``fxs``, ``fys`` forces of
        full sliding [N] from the slips ``sxs``, ``sys`` on; ``nL0`` trail over contact length, ``sq0`` its first
        zero, ``sqe`` its end. Numbers are ``pn_max`` largest load of the curves [N], ``R0`` free radius, ``width``,
        ``rim_radius`` [m], ``cz``, ``dz`` vertical stiffness and damping [N/m, N s/m], ``mu0`` friction that the
        curves hold for, and ``rolling_resistance``.
    tangential_stiffness : Sequence[float], default (2e5, 1.5e5)
        Stiffness of tread and carcass along x and y [N/m], for the deflections of ``add_tyre``.
    tangential_damping : Sequence[float], default (500.0, 500.0)
        Damping of tread and carcass along x and y [N s/m].

    Raises
    ------
    ModelError
        For a parameter that is missing, unknown or impossible.

    Examples
    --------
    >>> car = rtmbs.vehicle.read("sedan", tyres="tmeasy")
    >>> tyre = car.tyres["fl"]
    >>> bool(tyre.steady(load=4000.0, slip=0.02).Fx > 0.0)  # drives
    True
    """

    kind: ClassVar[str] = "TMeasy"

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        tangential_stiffness: Sequence[float] = (2e5, 1.5e5),
        tangential_damping: Sequence[float] = (500.0, 500.0),
    ) -> None:
        known = (*PAIRS, *SINGLE)
        if missing := [name for name in known if name not in parameters]:
            raise ModelError(f"tyre: {', '.join(missing)} is missing; TMeasy needs every number of it")
        if unknown := [name for name in parameters if name not in known]:
            raise ModelError(f"tyre: there is no parameter named {shown(unknown[0])} of TMeasy; there are {known}")
        self.pairs = {name: numbers(parameters[name], f"tyre: {name}", (2,)) for name in PAIRS}
        values = {name: number(parameters[name], f"tyre: {name}") for name in SINGLE}
        for name, value in values.items():
            if value < 0.0 or (value == 0.0 and name not in ("dz", "rolling_resistance")):
                raise ModelError(f"tyre: {name} is {value:g}; it must be above zero")
        self.nominal_load, self.largest_load = values["pn"], values["pn_max"]
        self.free_radius, self.width, self.mu0 = values["R0"], values["width"], values["mu0"]
        self.vertical_stiffness, self.vertical_damping = values["cz"], values["dz"]
        self.rolling_resistance = values["rolling_resistance"]
        self.stiffness = numbers(tangential_stiffness, "tyre: tangential_stiffness", (2,))
        self.damping = numbers(tangential_damping, "tyre: tangential_damping", (2,))
        if np.any(self.stiffness <= 0.0) or np.any(self.damping < 0.0):
            raise ModelError("tyre: tangential_stiffness must be above zero, and tangential_damping zero or more")

    def at_load(self, name: str, load: Any) -> Any:
        """Return a parameter at a load: forces by a parabola through zero, the others linear.

        Parameters
        ----------
        name : str
            Name of a parameter that is a pair, such as "dfx0".
        load : float or ndarray
            Vertical force [N]; beyond ``pn_max`` it counts as ``pn_max``.

        Returns
        -------
        float or ndarray
            Parameter at that load, in its unit.
        """
        q = at_most(load, self.largest_load) / self.nominal_load
        one, two = self.pairs[name]
        if name in BY_PARABOLA:
            return q * (2.0 * one - 0.5 * two - (one - 0.5 * two) * q)
        return one + (two - one) * (q - 1.0)

    def forces(self, at: TyreInput) -> TyreForces:
        """Return force and moment; the slips are slip and -tan(slip_angle)."""
        return self.forces_of_slips(at, at.slip, -np.tan(at.slip_angle))

    def forces_of_slips(self, at: TyreInput, sx: Any, sy: Any) -> TyreForces:
        """Return force and moment from a slip vector (sx, sy), which points as the force does.

        Parameters
        ----------
        at : TyreInput
            Load, camber, speed and friction of the wheel; its slips are not used.
        sx : float or ndarray
            Longitudinal slip, positive when it drives.
        sy : float or ndarray
            Lateral slip -tan(slip_angle), positive when the force points to the left.

        Returns
        -------
        TyreForces
            Force Fx, Fy [N] and moment Mx, My, Mz [N m] of the road on the wheel at the contact point, W axes.
        """
        f = self.over_slip(at.load, sx, sy, at.friction)
        return self.with_moments(at, sy, f * sx, f * sy)

    def with_moments(self, at: TyreInput, sy: Any, Fx: Any, Fy: Any) -> TyreForces:
        """Return the force with its moments; the trail follows from the lateral slip ``sy``.

        Parameters
        ----------
        at : TyreInput
            Load, camber and direction of rolling of the wheel.
        sy : float or ndarray
            Lateral slip -tan(slip_angle).
        Fx : float or ndarray
            Longitudinal force [N].
        Fy : float or ndarray
            Lateral force [N].

        Returns
        -------
        TyreForces
            Force Fx, Fy [N] and moment Mx, My, Mz [N m] of the road on the wheel at the contact point, W axes.
        """
        n = self.trail_share(at.load, sy)
        length = 2.0 * np.sqrt(self.free_radius * at.load / self.vertical_stiffness + 1e-12)
        Mx = -(self.width**2) * self.vertical_stiffness / 12.0 * at.camber + 0.0 * Fy
        My = -self.rolling_resistance * self.free_radius * at.load * at.forward
        return TyreForces(Fx, Fy, Mx, My, -Fy * length * n * at.forward)

    def over_slip(self, load: Any, sx: Any, sy: Any, friction: Any = 1.0) -> Any:
        """Return the tangential force over the size of the slip, by the curve in the direction of the slip.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        sx : float or ndarray
            Longitudinal slip.
        sy : float or ndarray
            Lateral slip -tan(slip_angle).
        friction : float or ndarray, default 1.0
            Factor of the road on the friction of the tyre.

        Returns
        -------
        float or ndarray
            Force over slip [N].
        """
        xx, yy = sx * sx + 0.5 * TINY_SLIP**2, sy * sy + 0.5 * TINY_SLIP**2
        s = np.sqrt(xx + yy)
        return force_of_slip(self.curve(load, xx / (s * s), yy / (s * s), friction), s) / s

    def curve(self, load: Any, cos2: Any, sin2: Any, friction: Any) -> Curve:
        """Return the curve of force over slip in one direction.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        cos2 : float or ndarray
            Square of the cosine of the angle between slip and x_W.
        sin2 : float or ndarray
            Square of the sine of that angle.
        friction : float or ndarray
            Factor of the road on the friction of the tyre.

        Returns
        -------
        Curve
            Slope dF0 [N], peak FM [N] at the slip sM, and force of full sliding FS [N] from the slip sS on.
        """

        def between(x: str, y: str) -> Any:
            one, two = self.at_load(x, load), self.at_load(y, load)
            return np.sqrt(one * one * cos2 + two * two * sin2 + 1e-30)

        dF0, sM, FM = between("dfx0", "dfy0"), between("sxm", "sym") * friction, between("fxm", "fym") * friction
        sS, FS = between("sxs", "sys") * friction, between("fxs", "fys") * friction
        return Curve(at_least(dF0, 2.0 * FM / sM), sM, FM, sS, FS)

    def trail_share(self, load: Any, sy: Any) -> Any:
        """Return the pneumatic trail over the contact length.

        Parameters
        ----------
        load : float or ndarray
            Vertical force [N].
        sy : float or ndarray
            Lateral slip -tan(slip_angle).

        Returns
        -------
        float or ndarray
            Trail over contact length, positive when the force acts behind the contact point.
        """
        n0, s0, sE = (self.at_load(name, load) for name in ("nL0", "sq0", "sqe"))
        s, w = magnitude(sy), s0 / sE
        x = at_most(s / s0, 1.0)
        near = (1.0 - w) * n0 * (1.0 - x) + w * n0 * (1.0 - (3.0 - 2.0 * x) * x * x)
        y = at_most(at_least(s, s0), sE)
        far = -n0 * (1.0 - w) * ((y - s0) / s0) * ((sE - y) / (sE - s0)) ** 2
        return np.where(s.real <= s0.real, near, far)

    def relaxation_lengths(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the relaxation lengths at small slips: slope over tangential stiffness."""
        Kx, Ky = self.stiffnesses(load)
        return Kx / self.stiffness[0], Ky / self.stiffness[1]

    def steady_slip(self, rolling: Rolling) -> tuple[Any, Any]:
        """Return the slips of velocities, over the speed of rolling."""
        speed = magnitude(rolling.rolls) + AT_REST
        return -rolling.slides_x / speed, rolling.slides_y / speed

    def deflected(self, at: TyreInput, rolling: Rolling, x: Any, y: Any) -> tuple[TyreForces, tuple[Any, Any]]:
        """Return force, moment, and the rates of the deflections ``x``, ``y`` of the contact (Rill).

        The force is c x + d dx/dt. With f the steady force over the slip and vT the speed of rolling,
        dx/dt = -(vT c x + f v) / (vT d + f). At rest vT is 0, and the tyre a spring with a damper that does not creep.

        Parameters
        ----------
        at : TyreInput
            Load, camber and friction of the wheel; its slips are not used.
        rolling : Rolling
            Velocities of the wheel in W axes.
        x : float
            Longitudinal deflection [m].
        y : float
            Lateral deflection [m].

        Returns
        -------
        tuple
            TyreForces [N, N m] and the pair of rates dx/dt, dy/dt [m/s].
        """
        sx, tangent = self.steady_slip(rolling)
        f = at_least(self.over_slip(at.load, sx, -tangent, at.friction), 1.0)
        slides = np.sqrt(rolling.slides_x * rolling.slides_x + rolling.slides_y * rolling.slides_y + 1e-20)
        speed = magnitude(rolling.rolls) + at_most(slides, AT_REST)
        (cx, cy), (dx, dy) = self.stiffness, self.damping
        rate_x = -(speed * cx * x + f * rolling.slides_x) / (speed * dx + f)
        rate_y = -(speed * cy * y + f * rolling.slides_y) / (speed * dy + f)
        Fx, Fy = cx * x + dx * rate_x, cy * y + dy * rate_y
        return self.with_moments(at, Fy / f, Fx, Fy), (rate_x, rate_y)

    def stiffnesses(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the slopes ``dfx0`` and ``dfy0`` at zero slip."""
        return self.at_load("dfx0", load), self.at_load("dfy0", load)

    def peaks(self, load: Any, camber: Any = 0.0) -> tuple[Any, Any]:
        """Return the peaks ``fxm`` and ``fym``."""
        return self.at_load("fxm", load), self.at_load("fym", load)


def force_of_slip(curve: Curve, s: Any) -> Any:
    """Return the force of a slip ``s`` >= 0: a fraction up to the peak, two parabolas or a cubic down to sliding."""
    dF0, sM, FM, sS, FS = curve
    x = at_most(s, sM) / sM
    rising = dF0 * x * sM / (1.0 + x * (x + dF0 * sM / FM - 2.0))
    y = at_most(at_least(s, sM), sS)
    a = (FM / sM) ** 2 / (dF0 * sM)
    bend = sM + (FM - FS) / (a * (sS - sM))
    inside = bend.real <= sS.real
    kept = np.where(inside, bend, sM + 0.5 * (sS - sM))  # keeps the side that is not taken finite
    b = a * (kept - sM) / at_least(sS - kept, 1e-12)
    parabolas = np.where(y.real <= kept.real, FM - a * (y - sM) ** 2, FS + b * (sS - y) ** 2)
    z = (y - sM) / (sS - sM)
    cubic = FM - (FM - FS) * z * z * (3.0 - 2.0 * z)
    return np.where(s.real <= sM.real, rising, np.where(inside, parabolas, cubic))
