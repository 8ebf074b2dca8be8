"""Model files with a few numbers, names or statements changed: what is read is checked and run, or refused in one line.

``language_fuzz`` ends when a text is read. Here the kinematic analysis follows, with all of its channels. A warning of
NumPy counts as a failure, since a command would print it beside its one line.
"""

import re
import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.language_fuzz import examples, judge_in_time, statement_of_another
from bench.measures.held_poses import open_by
from rtmbs.commands.model_runs import kinematics
from rtmbs.errors import RtmbsError
from rtmbs.language import Document, build

NUMBER, NAME = re.compile(r"(?<![\w.])\d+\.?\d*"), re.compile(r"[A-Za-z_]\w*")
VALUES = ("0", "-1", "1", "0.5", "-3", "100", "1e-9", "1e9", "1e-50", "1e50", "1e99", "TIME", "3.14159265358979")
SAMPLES, OPEN = 20, 1e-5  # OPEN: share of the size of a mechanism, or cosine


def run(cases: int, first: int) -> Tally:
    """Try ``cases`` texts from seed ``first`` on."""
    tally, sound = Tally(), examples()
    verdict(sound[0].replace("DYNAMIC ANALYSIS", "KINEMATIC ANALYSIS"), Tally())  # kernels are loaded
    for seed in range(first, first + cases):
        text = changed(np.random.default_rng((seed, 77)), sound)
        judge_in_time(tally, f"seed {seed}", text, partial(verdict, tally=tally))
    return tally


def changed(rng: np.random.Generator, sound: list[str]) -> str:
    """Return a sound text with one to three changes, as a kinematic analysis."""
    text = str(rng.choice(np.array(sound, dtype=object)))
    for _ in range(int(rng.integers(1, 4))):
        text = CHANGES[rng.integers(len(CHANGES))](rng, text, sound)
    return text.replace("DYNAMIC ANALYSIS", "KINEMATIC ANALYSIS")


def number_of_another_size(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    return exchanged(rng, text, NUMBER, str(rng.choice(VALUES)))


def name_of_another(rng: np.random.Generator, text: str, sound: list[str]) -> str:
    return exchanged(rng, text, NAME, str(rng.choice(NAME.findall(text) or ["a"])))


def exchanged(rng: np.random.Generator, text: str, pattern: re.Pattern[str], new: str) -> str:
    """Return the text with one of the places of a pattern replaced."""
    places = list(pattern.finditer(text))
    if not places:
        return text
    one = places[int(rng.integers(len(places)))]
    return text[: one.start()] + new + text[one.end() :]


CHANGES = (number_of_another_size,) * 3 + (name_of_another,) * 2 + (statement_of_another,)


def verdict(text: str, tally: Tally) -> str:
    """Return what is wrong with how a text was read, checked and run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            moved(build(text), tally)
    except RtmbsError as error:
        result = getattr(error, "result", None)
        try:
            lengths = {len(result[name]) for name in result.names()} if result is not None else set()
        except Exception as other:  # noqa: BLE001 - any other one is what is looked for
            return f"{type(other).__name__} in the result so far: {other}"
        return "more than one line" if len(str(error).splitlines()) != 1 or len(lengths) > 1 else ""
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return ""


def moved(document: Document, tally: Tally) -> None:
    """Check a model, and work out every channel of a short motion."""
    asked = document.analysis
    if asked.kind != "kinematic":
        return
    tally.largest("cases read", tally.worst.get("cases read", 0.0) + 1.0)
    short = replace(document, analysis=replace(asked, t1=min(asked.t1, asked.t0 + SAMPLES * asked.dt)))
    analysis = kinematics(short)
    analysis.check(asked.t0)
    motion = analysis.run(asked.t0, short.analysis.t1, asked.dt)
    for name in motion.names():
        motion.channel(name)
    tally.largest("cases run", tally.worst.get("cases run", 0.0) + 1.0)
    for name, gap in open_by(document.model, motion):
        tally.largest("gap of a joint, rod or driver, or miss of a driver", gap)
        if not gap < OPEN:
            raise AssertionError(f"{name} is open by {gap:.1e} and nothing is said")


CAMPAIGN = Campaign(
    name="language_runs",
    claim="a changed model file is refused in one line, or runs within 2 s to poses that hold its joints and drivers",
    full=10_000,
    bounded=500,
    run=run,
)
