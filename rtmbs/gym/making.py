"""Environments by the name of a task, or of a Task of the user."""

from typing import Any

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.gym.task import TASKS, Task
from rtmbs.integrators.contract import Method


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
        Where Gymnasium is not installed.

    Examples
    --------
    >>> env = rtmbs.gym.make("cart_pendulum")
    >>> observation, _ = env.reset(seed=0)
    >>> observation.shape
    (4,)
    """
    environments = loaded()
    return environments.Environment(task_of(task), method)


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
        Where Gymnasium is not installed.

    Examples
    --------
    >>> many = rtmbs.gym.make_vector("cart_pendulum", 64)
    >>> many.reset(seed=0)[0].shape
    (64, 4)
    """
    environments = loaded()
    return environments.VectorEnvironment(task_of(task), n, threads, method)


def loaded() -> Any:
    """Return the module with the environments; InputError where Gymnasium is not installed."""
    try:
        import gymnasium  # noqa: F401
    except ImportError:
        raise InputError("environments need Gymnasium; pip install 'rtmbs[gym]'") from None
    from rtmbs.gym import environments

    return environments


def task_of(task: Any) -> Task:
    """Return a Task by its name, or the one that is given."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str):
        raise InputError(f"task is {shown(task)}; it must be the name of a task, or a rtmbs.gym.Task")
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    return TASKS[task]()
