"""Tyre models: interface, inputs and forces in ISO 8855 wheel axes W, and the smooth functions that they are made of.

Origin in the contact point; x_W along the intersection of wheel plane and road, forward; z_W the road normal, up; y_W
to the left. Signs: slip > 0 drives, Fx > 0. slip_angle > 0: the contact point moves to the left, Fy < 0. camber > 0:
the top of the wheel leans to the right. Mz > 0 turns the wheel to the left.

``numpy.sign`` and ``numpy.abs`` of a complex number are not analytic. The smooth functions look at the real part only,
so a complex step gives the derivative of the side on which the number lies (METHODS 1.19).
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from rtmbs.errors import ModelError, shown
from rtmbs.model.checks import as_floats


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
