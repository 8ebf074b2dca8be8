"""Environments of Gymnasium over a Batch: one copy, and a vector of copies; made by the name of a task."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.batch.batch import Batch
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.gym.task import TASKS, Task
from rtmbs.integrators.contract import Method

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise InputError("environments need Gymnasium; pip install 'rtmbs[gym]'") from None

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Play:
    """Copies of a mechanism that play episodes of a Task."""

    def __init__(self, task: Task, n: int, threads: int, method: Method | None) -> None:
        self.task, self.batch = task, Batch(task.model.compile(), n, h=task.h, method=method, threads=threads)
        self.inputs, self.channels = list(task.actions), list(task.channels)
        self.taken = np.zeros(n, np.int64)  # actions since an episode began
        low, high = np.array(list(task.actions.values()), np.float64).T
        self.actions = spaces.Box(low, high, dtype=np.float64)
        size = task.observed(self.batch.read(self.channels)).shape[1]
        self.observations = spaces.Box(-np.inf, np.inf, (size,), np.float64)

    def begin(self, copies: Mask, random: np.random.Generator) -> None:
        """Begin episodes of some copies at random states."""
        which = np.flatnonzero(copies)
        values = {name: random.uniform(*bounds, len(which)) for name, bounds in self.task.start.items()}
        self.batch.reset(which, values=values)
        self.taken[which] = 0

    def observe(self) -> Array:
        """Return the observations (n, numbers) of all copies."""
        return self.task.observed(self.batch.read(self.channels))

    def act(self, actions: Any) -> tuple[Array, Array, Mask, Mask]:
        """Let actions (n, numbers) hold for their steps; observations, rewards, ends, and ends of the horizon.

        A copy whose step fails ends with the observation before it and without a reward.
        """
        task, n = self.task, self.batch.n
        wanted = np.asarray(actions, np.float64).reshape(n, -1)
        given = np.clip(wanted, self.actions.low, self.actions.high)
        before = self.batch.read(self.channels)
        inputs = np.repeat(given[:, None], task.substeps, axis=1)
        read = self.batch.rollout(inputs, self.inputs, channels=self.channels)[:, -1]
        failed = ~self.batch.alive
        channels = np.where(failed[:, None], before, read)
        self.taken += 1
        rewards = np.where(failed, 0.0, task.rewarded(channels, given))
        ended = failed | task.ended(channels)
        return task.observed(channels), rewards, ended, ~ended & (self.taken >= task.horizon)


class Environment(gymnasium.Env[Array, Array]):
    """One copy of a mechanism as an environment of Gymnasium."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, task: Task, method: Method | None = None) -> None:
        self.play = Play(task, 1, 1, method)
        self.action_space, self.observation_space = self.play.actions, self.play.observations

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode at a random state."""
        super().reset(seed=seed)
        self.play.begin(np.ones(1, np.bool_), self.np_random)
        return self.play.observe()[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Let an action hold for its steps."""
        observed, rewards, ended, cut = self.play.act(action)
        outcome = self.play.batch.outcomes[0]
        return observed[0], float(rewards[0]), bool(ended[0]), bool(cut[0]), {"outcome": outcome.name}


class VectorEnvironment(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """Copies of a mechanism as a vector environment of Gymnasium; episodes that end begin anew in the same step."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, task: Task, n: int, threads: int = 1, method: Method | None = None) -> None:
        self.play = Play(task, n, threads, method)
        self.num_envs = n
        self.single_action_space, self.single_observation_space = self.play.actions, self.play.observations
        self.action_space = batch_space(self.play.actions, n)
        self.observation_space = batch_space(self.play.observations, n)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin episodes at random states; ``options["reset_mask"]`` (n,) chooses copies."""
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        self.play.begin(np.asarray(mask, np.bool_), self.np_random)
        return self.play.observe(), {}

    def step(self, actions: Any) -> tuple[Array, Array, Mask, Mask, dict[str, Any]]:
        """Let the actions of all copies hold for their steps, and begin episodes that ended anew."""
        observed, rewards, ended, cut = self.play.act(actions)
        infos: dict[str, Any] = {}
        if (over := ended | cut).any():
            final = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(over).tolist():
                final[i] = observed[i].copy()
            infos = {"final_obs": final, "_final_obs": over.copy()}
            self.play.begin(over, self.np_random)
            observed = np.where(over[:, None], self.play.observe(), observed)
        return observed, rewards, ended, cut, infos


def make(task: str | Task, *, method: Method | None = None) -> Any:
    """Return an environment of Gymnasium for one copy of a mechanism.

    Parameters
    ----------
    task : str or Task
        Name in ``rtmbs.gym.TASKS``, or a Task of the user's own.
    method : Method, optional
        Method of time integration with the capability BATCH, ``PenaltyTrapezoidal()`` unless given.

    Returns
    -------
    gymnasium.Env
        Environment with boxes of observations and actions.

    Raises
    ------
    UnknownNameError
        For a task, an input or a channel that does not exist.
    InputError
        For a task that is neither a name nor a Task.

    Examples
    --------
    >>> env = rtmbs.gym.make("cart_pendulum")
    >>> observation, _ = env.reset(seed=0)
    >>> observation.shape
    (4,)
    """
    return Environment(task_of(task), method)


def make_vector(task: str | Task, n: int, *, threads: int = 1, method: Method | None = None) -> Any:
    """Return a vector environment of Gymnasium for many copies of a mechanism, stepped by one Batch.

    An episode that ends begins anew in the same step; ``infos["final_obs"]`` has its last observation.

    Parameters
    ----------
    task : str or Task
        Name in ``rtmbs.gym.TASKS``, or a Task of the user's own.
    n : int
        Number of copies.
    threads : int, default 1
        Number of threads that share the copies.
    method : Method, optional
        Method of time integration with the capability BATCH, ``PenaltyTrapezoidal()`` unless given.

    Returns
    -------
    gymnasium.vector.VectorEnv
        Environment with ``n`` copies.

    Raises
    ------
    UnknownNameError
        For a task, an input or a channel that does not exist.
    InputError
        For a task that is neither a name nor a Task.

    Examples
    --------
    >>> many = rtmbs.gym.make_vector("cart_pendulum", 64)
    >>> many.reset(seed=0)[0].shape
    (64, 4)
    """
    return VectorEnvironment(task_of(task), n, threads, method)


def task_of(task: Any) -> Task:
    """Return a Task by its name, or the one that is given."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str):
        raise InputError(f"task is {shown(task)}; it must be the name of a task, or a rtmbs.gym.Task")
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    return TASKS[task]()
