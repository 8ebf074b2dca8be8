"""Training of a policy on a vector environment by CMA-ES, of the package cma: generations, rewards and times.

python -m bench.learning [--task cart_pendulum] [--generations 60] [--population 32] [--episodes 4] [--hidden 0]

A policy is linear in the observations, or has one layer of tanh. Every member of a generation plays some episodes at
once, each in a copy of its own. Needs: pip install gymnasium cma
"""

import argparse
import time

import cma
import numpy as np

import rtmbs


class Policy:
    """A linear policy, or one with a hidden layer, whose numbers are one array."""

    def __init__(self, seen: int, actions: int, hidden: int) -> None:
        self.seen, self.actions, self.hidden = seen, actions, hidden
        self.size = hidden * (seen + 1) + actions * (hidden + 1) if hidden else actions * (seen + 1)

    def act(self, numbers: np.ndarray, observed: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the actions (n, actions) of n members with ``numbers`` (n, size)."""
        n, first = len(observed), self.hidden * (self.seen + 1)
        x = np.concatenate([observed, np.ones((n, 1))], axis=1)
        if self.hidden:
            layer = numbers[:, :first].reshape(n, self.hidden, self.seen + 1)
            x = np.concatenate([np.tanh(np.einsum("nij,nj->ni", layer, x)), np.ones((n, 1))], axis=1)
        last = numbers[:, first:].reshape(n, self.actions, -1)
        return scale * np.tanh(np.einsum("nij,nj->ni", last, x))


def returns(env: object, policy: Policy, members: np.ndarray, episodes: int, seed: int) -> np.ndarray:
    """Return the mean sum of rewards (members,) of their first episodes."""
    numbers = np.repeat(members, episodes, axis=0)
    observed, _ = env.reset(seed=seed)
    total, playing = np.zeros(len(numbers)), np.ones(len(numbers), bool)
    while playing.any():
        actions = policy.act(numbers, observed, env.single_action_space.high)
        observed, rewards, ended, cut, _ = env.step(actions)
        total[playing] += rewards[playing]
        playing &= ~(ended | cut)
    return total.reshape(-1, episodes).mean(axis=1)


def train(task: str, generations: int, population: int, episodes: int, hidden: int, threads: int) -> None:
    """Print the best and the mean sum of rewards of some generations, and that of the mean policy in new episodes."""
    env = rtmbs.gym.make_vector(task, population * episodes, threads=threads)
    policy = Policy(env.single_observation_space.shape[0], env.single_action_space.shape[0], hidden)
    search = cma.CMAEvolutionStrategy(np.zeros(policy.size), 0.5, {"popsize": population, "seed": 1, "verbose": -9})
    begin, used = time.perf_counter(), time.process_time()
    for generation in range(generations):
        members = np.array(search.ask())
        found = returns(env, policy, members, episodes, generation)
        search.tell(list(members), list(-found))
        if generation % 10 == 0 or generation == generations - 1:
            print(f"generation {generation:4d}: best {found.max():7.1f}, mean {found.mean():7.1f}, "
                  f"{time.perf_counter() - begin:6.1f} s, processor {time.process_time() - used:6.1f} s")  # fmt: skip
    last = np.repeat(search.result.xfavorite[None], population, axis=0)
    tested = returns(env, policy, last, episodes, 10**6)
    print(
        f"the mean policy in {population * episodes} new episodes: mean {tested.mean():.1f}, worst {tested.min():.1f}"
    )


def main() -> None:
    """Train as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="cart_pendulum")
    for name, value in (("generations", 60), ("population", 32), ("episodes", 4), ("hidden", 0), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    train(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
