"""What a formulation cannot do at a state. Each message names the rows or the coordinate, and the way out."""

from rtmbs.errors import InputError, RtmbsError


class FormulationError(RtmbsError):
    """No accelerations at this state: dependent rows, contradicting rows, or a coordinate without inertia."""


class OutOfRange(InputError):
    """A number that went into the equations, or came out of them, is not finite or out of range."""
