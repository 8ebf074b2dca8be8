"""Controls of a person: keyboard, mouse and game pad as wishes for steering, throttle and brake."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from rtmbs.errors import InputError

TURNS, RETURNS = 1.6, 3.0  # [1/s] how fast held steering keys turn, and how fast released ones return
PRESSES, RELEASES = 2.5, 5.0  # [1/s] the same of the pedals
DEAD = 0.08  # of a stick, around its middle


class Wishes(NamedTuple):
    """Wishes of a person."""

    steering: float = 0.0  # -1 to 1, positive left
    throttle: float = 0.0  # 0 to 1
    brake: float = 0.0  # 0 to 1


class Control(Protocol):
    """Contract of a control."""

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes ``dt`` seconds after the last call."""


def towards(now: float, target: float, rate: float, dt: float) -> float:
    """Return a number that goes to ``target`` by a rate [1/s]."""
    step = rate * dt
    return min(max(target, now - step), now + step)


class Keyboard:
    """Keys that are held turn the steering and press the pedals by and by.

    ``held`` is the set of the actions of held keys: "left", "right", "throttle", "brake".
    """

    def __init__(self) -> None:
        self.held: set[str] = set()
        self._now = Wishes()

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes ``dt`` seconds after the last call."""
        now, turned = self._now, float("left" in self.held) - float("right" in self.held)
        back = now.steering * turned < 0.0 or not turned
        steering = towards(now.steering, turned, RETURNS if back else TURNS, dt)
        pedals = [
            towards(value, float(name in self.held), PRESSES if name in self.held else RELEASES, dt)
            for name, value in (("throttle", now.throttle), ("brake", now.brake))
        ]
        self._now = Wishes(steering, *pedals)
        return self._now


class Mouse:
    """The place of the mouse beside the middle of the picture steers; buttons press the pedals.

    ``place`` is from -1 at the left to 1 at the right border; ``left`` and ``right`` are True while held.
    """

    def __init__(self) -> None:
        self.place, self.left, self.right = 0.0, False, False
        self._now = Wishes()

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes ``dt`` seconds after the last call."""
        now, place = self._now, min(max(-self.place, -1.0), 1.0)
        pedals = [
            towards(value, float(on), PRESSES if on else RELEASES, dt)
            for on, value in ((self.left, now.throttle), (self.right, now.brake))
        ]
        self._now = Wishes(place * abs(place), *pedals)
        return self._now


class GamePad:
    """First game pad or steering wheel of the machine, by pygame (extra ``drive``).

    The first axis steers. Pads have throttle and brake on the right and the left trigger.

    Parameters
    ----------
    stick : object, optional
        Joystick with ``get_axis``; the first one of pygame unless given.
    pump : function, optional
        Reads the state of all sticks; that of pygame unless given.
    """

    STEERING, BRAKE, THROTTLE = 0, 2, 5  # axes of SDL: triggers go from -1 to 1

    def __init__(self, stick: Any = None, pump: Any = None) -> None:
        self._stick, self._pump = (stick, pump) if stick is not None else first_stick()
        self._touched: set[int] = set()  # a trigger tells 0 until it is first moved

    def wishes(self, dt: float) -> Wishes:
        """Return the wishes."""
        if self._pump is not None:
            self._pump()
        way = -float(self._stick.get_axis(self.STEERING))
        size = max(abs(way) - DEAD, 0.0) / (1.0 - DEAD)
        return Wishes(
            (1.0 if way > 0.0 else -1.0) * size * size, self._trigger(self.THROTTLE), self._trigger(self.BRAKE)
        )

    def _trigger(self, axis: int) -> float:
        """Return how far a trigger is pressed, 0 to 1."""
        value = float(self._stick.get_axis(axis))
        if value != 0.0:
            self._touched.add(axis)
        return 0.5 * (value + 1.0) if axis in self._touched else 0.0


def first_stick() -> tuple[Any, Any]:
    """Return the first game pad and the function that reads it; InputError where there is none."""
    try:
        import pygame
    except ImportError as error:
        raise InputError("a game pad needs pygame: pip install rtmbs[drive]") from error
    pygame.display.init()
    pygame.joystick.init()
    if not pygame.joystick.get_count():
        raise InputError("drive: there is no game pad; it must be connected, or leave out --pad")
    stick = pygame.joystick.Joystick(0)
    stick.init()
    return stick, pygame.event.pump


def strongest(all_wishes: Iterable[Wishes]) -> Wishes:
    """Return for steering and pedals the wish of largest size."""
    columns = zip(*all_wishes, strict=True)
    return Wishes(*(max(column, key=abs) for column in columns))
