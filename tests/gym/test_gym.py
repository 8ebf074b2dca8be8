"""Environments of Gymnasium: its own checker, the same episodes single and vector, ends, and what is refused."""

import importlib
import sys

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError

gymnasium = pytest.importorskip("gymnasium")
from rtmbs.gym import TASKS, Task, make, make_vector  # noqa: E402


@pytest.mark.parametrize("name", sorted(TASKS))
@pytest.mark.filterwarnings("ignore:.*Box observation space.*infinity")
def test_gymnasium_finds_no_fault(name):
    from gymnasium.utils.env_checker import check_env

    check_env(make(name), skip_render_check=True)


def test_a_vector_plays_the_episodes_of_single_environments():
    task, rng = TASKS["cart_pendulum"](), np.random.default_rng(0)
    many, one = make_vector(task, 3), make(task)
    observed, _ = many.reset(seed=4)
    assert many.observation_space.contains(observed)
    for i in range(3):
        one.reset(seed=0)
        one.play.batch.reset(states=many.play.batch.state(i))
        many_copy = make_vector(task, 3)
        many_copy.reset(seed=4)
        for _ in range(5):
            action = rng.uniform(-10.0, 10.0, (3, 1))
            alone = one.step(action[i])
            together = many_copy.step(action)
            assert alone[0].tobytes() == together[0][i].tobytes()
            assert alone[1] == together[1][i] == 1.0


def test_an_episode_that_ends_begins_anew_in_the_same_step():
    many = make_vector("cart_pendulum", 4)
    many.reset(seed=1)
    push = np.array([[10.0], [0.0], [-10.0], [0.0]])
    for _ in range(60):
        observed, rewards, ended, cut, infos = many.step(push)
        if ended.any():
            break
    assert ended[[0, 2]].any()
    assert not cut.any()
    i = int(np.flatnonzero(ended)[0])
    assert abs(infos["final_obs"][i][2]) > np.radians(12.0)
    assert abs(observed[i][2]) <= 0.05
    assert many.play.taken[i] == 0
    assert rewards[i] == 1.0


def test_the_horizon_cuts_an_episode_and_a_bad_action_ends_it():
    task = Task(
        TASKS["cart_pendulum"]().model, {"push.force": (-1.0, 1.0)}, ["pivot.angle", "pivot.rate"], "pivot.rate",
        horizon=3,
    )  # fmt: skip
    env = make(task)
    env.reset(seed=0)
    steps = [env.step(np.array([0.3])) for _ in range(3)]
    assert [step[3] for step in steps] == [False, False, True]
    assert [step[1] for step in steps] == [step[0][1] for step in steps]
    before, _ = env.reset(seed=0)
    observed, reward, ended, cut, info = env.step(np.array([np.nan]))
    assert (ended, cut, reward, info["outcome"]) == (True, False, 0.0, "NOT_FINITE")
    assert observed.tobytes() == before.tobytes()


def test_refusals():
    model = TASKS["cart_pendulum"]().model
    good = {
        "model": model,
        "actions": {"push.force": (-1.0, 1.0)},
        "channels": ["pivot.angle"],
        "reward": "pivot.angle",
    }
    for change, words in (
        ({"actions": {}}, "at least one action"),
        ({"reward": "pivot.rate"}, "one of the channels"),
        ({"actions": {"push.force": (1.0, -1.0)}}, "smallest and a largest"),
        ({"horizon": 0}, "horizon"),
    ):
        with pytest.raises(rtmbs.RtmbsError, match=words):
            Task(**{**good, **change})
    with pytest.raises(rtmbs.errors.UnknownNameError, match="cart_pendulum"):
        make("cart_pendulu")
    with pytest.raises(rtmbs.RtmbsError, match="name of a task"):
        make(3)


def test_without_gymnasium_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "rtmbs.gym.environments")
    with pytest.raises(InputError, match=r"need Gymnasium; pip install 'rtmbs\[gym\]'"):
        importlib.import_module("rtmbs.gym.environments")
