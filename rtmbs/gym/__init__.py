"""Environments for reinforcement learning over Batches: one, or a vector of many, for Gymnasium.

    env = rtmbs.gym.make("cart_pendulum")
    many = rtmbs.gym.make_vector("cart_pendulum", 256, threads=2)
    own = rtmbs.gym.make(rtmbs.gym.Task(model, actions={"push.force": (-10.0, 10.0)}, channels=[...], reward=...))

``make`` and ``make_vector`` need Gymnasium: ``pip install rtmbs[gym]``.
"""

import lazy_loader

from rtmbs.core.names import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(__name__, submod_attrs={"environments": ["make", "make_vector"], "task": ["TASKS", "Task"]}),
)
