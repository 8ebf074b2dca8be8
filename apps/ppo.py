"""PPO of stable-baselines3 learns the cart pendulum on a vector environment: 32 copies stepped by one Batch.

    pip install 'rtmbs[gym]' stable-baselines3
    python apps/ppo.py [--task cart_pendulum] [--steps 120000] [--seed 0]

It prints the mean reward of an episode as it grows, and plays 32 new episodes with the policy at the end.
"""

import argparse
import time
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

import rtmbs

COPIES = 32


class Copies(VecEnv):
    """A vector environment of rtmbs as stable-baselines3 takes it, with actions from -1 to 1."""

    def __init__(self, task: str, n: int, seed: int) -> None:
        self.many = rtmbs.gym.make_vector(task, n, threads=2, method=rtmbs.VelocityVerlet())
        self.largest = self.many.single_action_space.high
        actions = spaces.Box(-1.0, 1.0, self.largest.shape, np.float32)
        super().__init__(n, self.many.single_observation_space, actions)
        self.first_seed: int | None = seed

    def reset(self) -> Any:
        """Begin all episodes anew."""
        observed, _ = self.many.reset(seed=self.first_seed)
        self.first_seed = None
        return observed

    def step_async(self, actions: Any) -> None:
        """Take the actions of the next step."""
        self.given = actions * self.largest

    def step_wait(self) -> Any:
        """Take the step; infos of ended episodes have their last observation."""
        observed, rewards, ended, cut, more = self.many.step(self.given)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(ended | cut).tolist():
            infos[i] = {"terminal_observation": more["final_obs"][i], "TimeLimit.truncated": bool(cut[i])}
        return observed, rewards, ended | cut, infos

    def close(self) -> None:
        """Close no resource: the environment holds none."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute, the same for all copies."""
        return [getattr(self.many, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: copies have no attributes of their own."""
        raise NotImplementedError(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Refuse: copies have no methods of their own."""
        raise NotImplementedError(method_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for every copy."""
        return [False] * self.num_envs


class Progress(BaseCallback):
    """Prints the mean reward of the last 100 episodes about every ``every`` steps."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.due, self.begun = every, 0, time.process_time()

    def _on_step(self) -> bool:
        found = [one["r"] for one in self.model.ep_info_buffer]
        if self.num_timesteps >= self.due and found:
            self.due += self.every
            print(f"{self.num_timesteps:8d} steps: mean reward of the last episodes {np.mean(found):7.1f}, "
                  f"processor {time.process_time() - self.begun:6.1f} s", flush=True)  # fmt: skip
        return True


def played(model: PPO, task: str, seed: int) -> np.ndarray:
    """Return the sums of rewards of the first episodes of new copies, without noise in the actions."""
    copies = Copies(task, COPIES, seed)
    observed, total, playing = copies.reset(), np.zeros(COPIES), np.ones(COPIES, bool)
    while playing.any():
        actions, _ = model.predict(observed, deterministic=True)
        copies.step_async(actions)
        observed, rewards, ended, _ = copies.step_wait()
        total[playing] += rewards[playing]
        playing &= ~ended
    return total


def main() -> None:
    """Train and play as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="cart_pendulum")
    for name, value in (("steps", 120_000), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    torch.set_num_threads(1)  # the nets are small: more threads wait for each other
    model = PPO(
        "MlpPolicy", VecMonitor(Copies(given.task, COPIES, given.seed)), n_steps=128, batch_size=512, n_epochs=10,
        gae_lambda=0.95, gamma=0.99, learning_rate=1e-3, seed=given.seed, device="cpu",
    )  # fmt: skip
    model.learn(given.steps, callback=Progress(20_000))
    total = played(model, given.task, given.seed + 1000)
    print(f"{COPIES} new episodes: mean {total.mean():.1f}, worst {total.min():.1f}")
    if given.task == "cart_pendulum" and total.mean() < 400.0:
        raise SystemExit("the pole falls; train longer")


if __name__ == "__main__":
    main()
