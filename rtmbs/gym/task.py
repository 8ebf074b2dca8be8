"""``Task``: a mechanism with actions, observations, a reward and an end; and the tasks by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.integrators.checks import positive_floats, whole
from rtmbs.model import Input, Model, Motor, Prismatic, Revolute

Array = NDArray[np.float64]
MOST_SUBSTEPS, MOST_STEPS = 100_000, 2**31


@dataclass(frozen=True)
class Task:
    """A mechanism that an agent moves: actions, observations, reward and end.

    Functions take arrays of all copies at once, (n, numbers), and return (n,) or (n, numbers): one Task serves one
    environment and a vector of them.

    Parameters
    ----------
    model : Model
        Mechanism with forces that have an ``rtmbs.Input``.
    actions : Mapping[str, tuple[float, float]]
        Smallest and largest value of each input that the agent sets, by name, in its unit.
    channels : Sequence[str]
        Names of the channels that observation, reward and end are made of, as in ``Batch.rollout``.
    reward : str or callable
        Name of a channel that is the reward, or a function of channels and actions.
    observation : callable, optional
        Function of the channels that returns the observations (n, numbers); the channels unless given.
    terminated : callable, optional
        Function of the channels that returns True (n,) where an episode ends; none ends unless given.
    start : Mapping[str, tuple[float, float]], optional
        Smallest and largest value of coordinates and rates at the start of an episode, drawn evenly.
    h : float, default 5e-3
        Step [s].
    substeps : int, default 4
        Number of steps that an action holds.
    horizon : int, default 500
        Number of actions in an episode.

    Raises
    ------
    InputError
        For a Task without actions or channels, and a number out of range.

    Examples
    --------
    >>> task = rtmbs.gym.TASKS["cart_pendulum"]()
    >>> task.actions
    {'push.force': (-10.0, 10.0)}
    """

    model: Model
    actions: Mapping[str, tuple[float, float]]
    channels: Sequence[str]
    reward: str | Callable[[Array, Array], Any]
    observation: Callable[[Array], Any] | None = None
    terminated: Callable[[Array], Any] | None = None
    start: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    h: float = 5e-3
    substeps: int = 4
    horizon: int = 500

    def __post_init__(self) -> None:
        positive_floats(self, "h")
        whole("substeps", self.substeps, 1, MOST_SUBSTEPS)
        whole("horizon", self.horizon, 1, MOST_STEPS)
        if not self.actions or not len(self.channels):
            raise InputError("a Task has at least one action and one channel; without them there is nothing to learn")
        if isinstance(self.reward, str) and self.reward not in self.channels:
            raise InputError(f"reward is {self.reward!r}; it must be one of the channels, or a function of them")
        for what, ranges in (("actions", self.actions), ("start", self.start)):
            for name, bounds in ranges.items():
                good = np.shape(bounds) == (2,) and np.all(np.isfinite(bounds)) and bounds[0] <= bounds[1]
                if not good:
                    raise InputError(
                        f"{what} has {shown(bounds)} for {name!r}; it must be a smallest and a largest value"
                    )

    def observed(self, channels: Array) -> Array:
        """Return the observations of copies.

        Parameters
        ----------
        channels : ndarray
            Channels (n, numbers).

        Returns
        -------
        ndarray
            Observations (n, numbers).
        """
        found = channels if self.observation is None else self.observation(channels)
        return np.asarray(found, np.float64).reshape(len(channels), -1)

    def rewarded(self, channels: Array, actions: Array) -> Array:
        """Return the rewards of copies.

        Parameters
        ----------
        channels : ndarray
            Channels (n, numbers) behind the actions.
        actions : ndarray
            Actions (n, numbers).

        Returns
        -------
        ndarray
            Rewards (n,).
        """
        if isinstance(self.reward, str):
            return np.asarray(channels[:, list(self.channels).index(self.reward)])
        return np.broadcast_to(np.asarray(self.reward(channels, actions), np.float64), (len(channels),))

    def ended(self, channels: Array) -> NDArray[np.bool_]:
        """Return where an episode ends.

        Parameters
        ----------
        channels : ndarray
            Channels (n, numbers).

        Returns
        -------
        ndarray
            Mask (n,).
        """
        if self.terminated is None:
            return np.zeros(len(channels), np.bool_)
        return np.broadcast_to(np.asarray(self.terminated(channels), np.bool_), (len(channels),))


# ---- tasks by name --------------------------------------------------------------------------------------------------


def cart_pendulum_model() -> Model:
    """Return a cart of 1 kg on a rail with a pole of 0.1 kg and 1 m that stands upright."""
    model = Model("cart_pendulum", gravity=(0.0, 0.0, -9.81))
    model.add_body("cart", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("pole", mass=0.1, inertia=(1 / 120, 1 / 120, 1e-5), center_of_mass=(0.0, 0.0, 0.5))
    model.add_joint("rail", Prismatic(axis=(1.0, 0.0, 0.0)), "ground", "cart", point=(0.0, 0.0, 0.0))
    model.add_joint("pivot", Revolute(axis=(0.0, 1.0, 0.0)), "cart", "pole", point=(0.0, 0.0, 0.0))
    model.add_force("push", Motor(Input(0.0)), joint="rail")
    return model


CART = ("rail.displacement", "rail.rate", "pivot.angle", "pivot.rate")


def cart_pendulum() -> Task:
    """Return the task of keeping a pole upright on a cart: an episode ends beyond 12 degrees or 2.4 m."""
    small = dict.fromkeys(CART, (-0.05, 0.05))
    return Task(
        cart_pendulum_model(), actions={"push.force": (-10.0, 10.0)}, channels=CART,
        reward=lambda channels, actions: 1.0,
        terminated=lambda channels: (np.abs(channels[:, 0]) > 2.4) | (np.abs(channels[:, 2]) > np.radians(12.0)),
        start=small,
    )  # fmt: skip


def cart_swing_up() -> Task:
    """Return the task of swinging up a pole that hangs from a cart, and of keeping it there near the middle."""

    def observed(channels: Array) -> Array:
        x, xd, angle, rate = channels.T
        return np.stack([x, xd, np.cos(angle), np.sin(angle), rate], axis=1)

    def reward(channels: Array, actions: Array) -> Array:
        x, _, angle, _ = channels.T
        return np.asarray(0.5 * (1.0 + np.cos(angle)) - 0.05 * x * x - 1e-4 * actions[:, 0] ** 2)

    start = {"rail.displacement": (-0.1, 0.1), "pivot.angle": (np.pi - 0.1, np.pi + 0.1)}
    return Task(
        cart_pendulum_model(), actions={"push.force": (-20.0, 20.0)}, channels=CART, reward=reward,
        observation=observed,
        terminated=lambda channels: np.abs(channels[:, 0]) > 5.0, start=start, horizon=400,
    )  # fmt: skip


TASKS: dict[str, Callable[[], Task]] = {"cart_pendulum": cart_pendulum, "cart_swing_up": cart_swing_up}
