"""Forged texts: the head of a history, studies in TOML, the folder of a sweep, and model files."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.campaigns.forged_archives import digest_of, entry, packed, special
from bench.campaigns.forged_meshes import Anything
from bench.campaigns.machines import simulation, system
from rtmbs.language.read import read as read_model
from rtmbs.studies.sweeps.result import Folder
from rtmbs.studies.sweeps.sweep import read_study
from rtmbs.viewer.session.describe import describe
from rtmbs.viewer.session.disk_head import NAME, encoded, write_head
from rtmbs.viewer.session.disk_history import BodyFrames, load_history, places_of, write_block

LIES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    10**12,
    1e300,
    "x",
    "S2000000000",
    "f8",
    [],
    {},
    [[]],
    {"@record": "Box"},
)
ODD = ({"@array": [1.0], "of": "S2000000000", "shape": [1]}, {"@array": [], "of": "f8", "shape": [10**12, 0]},
       {"@array": [1], "of": "O", "shape": [1]}, {"@tuple": 3}, {"@record": "Mesh", "file": "/etc/passwd"})  # fmt: skip


@cache
def story() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the head and a block of a sound history."""
    import tempfile

    from rtmbs.core.files import read_archive

    sim = simulation("crank rocker")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_head(folder, describe(sim), sim.system.fingerprint, places_of(system("crank rocker")))
        states = []
        for _ in range(4):
            sim.step()
            states.append(sim.state.copy())
        block = write_block(folder, 1, states, BodyFrames(sim))
        return json.loads((folder / NAME).read_text()), read_archive(block, 1, "block of a history")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the ways to all values of a JSON."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(way for key, one in inner for way in places(one, (*path, key)))]


def write_story(folder: Path, head: bytes, block: dict[str, np.ndarray]) -> None:
    block = {"format": np.array(1), **block}
    data = {name: entry(np.asarray(one)) for name, one in {**block, "checksum": digest_of(block)}.items()}
    (folder / NAME).write_bytes(head)
    (folder / "000000000001.block").write_bytes(packed(data))


def lying_head(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """One value of the head is another one."""
    head, block = story()
    head = json.loads(json.dumps(head))
    ways = [way for way in places(head) if way]
    *way, last = ways[int(rng.integers(len(ways)))]
    target = head
    for key in way:
        target = target[key]
    lies = LIES + ODD
    target[last] = lies[int(rng.integers(len(lies)))]
    write_story(folder, json.dumps(head).encode(), block)
    return folder / NAME, Anything()


def deep_head(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A head that is nested deeply, is no text, or no file."""
    _, block = story()
    way = int(rng.integers(4))
    count = int(rng.choice([10**3, 3 * 10**5]))
    heads = (
        b"[" * count,
        b'{"@tuple":[' * (count // 11),
        b'{"rtmbs_history": 1, "scene": ' + b'{"a":' * (count // 5),
        b"\xff",
    )
    write_story(folder, heads[way], block)
    if rng.integers(4) == 0:
        (folder / NAME).unlink()
        special(str(rng.choice(["pipe", "zero", "loop"])), folder / NAME)
    return folder / NAME, None


def lying_block(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """One array of a block is another one, with the right checksum."""
    head, block = story()
    block = dict(block)
    name = str(rng.choice(["k", "t_ref", "h", "A", "r", "fingerprint", "z"]))
    count = int(rng.choice([0, 1, 3, 5, 10**5]))
    ways = (
        lambda: np.zeros((count, 0, 9)),
        lambda: np.zeros(count),
        lambda: np.array("x"),
        lambda: np.zeros((0, 10**9)),
    )
    if rng.integers(5) == 0:
        del block[name]
    else:
        block[name] = ways[int(rng.integers(4))]()
    write_story(folder, json.dumps(head).encode(), block)
    return folder / NAME, Anything()


def wide_block(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """Many bodies that rest, in a head, times many states without any number, in a block."""
    head, block = story()
    head, bodies, states = json.loads(json.dumps(head)), int(rng.choice([10, 1000])), int(rng.choice([10, 20000]))
    one = head["scene"]["bodies"]["@tuple"][0]
    head["scene"]["bodies"] = {"@tuple": [one] * bodies}
    head["moving"] = encoded(np.zeros(bodies, bool))
    head["rotations"], head["positions"] = encoded(np.zeros((bodies, 3, 3))), encoded(np.zeros((bodies, 3)))
    small = {**block, "A": np.zeros((states, 0, 9), np.float32), "r": np.zeros((states, 0, 3))}
    small |= {"k": np.arange(states), "t_ref": np.zeros(states), "h": np.full(states, 1e-3)}
    write_story(folder, json.dumps(head).encode(), small)
    return folder / NAME, Anything()


def study(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A study with keys, lists and tables without end."""
    count = int(rng.choice([1000, 100_000, 450_000]))
    texts = (
        "a" + ".a" * count + " = 1\n", "x = " + "[" * count, "x = " + "{a=" * count, '"a".' * count + "a = 1",
        "[[" + "a." * count + "a]]", "parameters = " + "[1," * count, "x = " + "9" * count, 't_end = "' + "x" * count,
        "[a]\n" * count, "a = 1\n" * count, "x = [" + "1.0, " * (count // 4) + "]",
    )  # fmt: skip
    path = folder / "study.toml"
    path.write_text(texts[int(rng.integers(len(texts)))])
    if rng.integers(6) == 0:
        path.unlink()
        special(str(rng.choice(["pipe", "zero", "folder", "loop", "gone"])), path)
    return path, None


def sweep_folder(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """The words of a sweep's folder are others."""
    texts = (b"[" * 10**6, b"[]", b"3", b'{"format": 2}', b"\xff", b'{"a":' * 10**5, b"")
    path = folder / "study.json"
    path.write_bytes(texts[int(rng.integers(len(texts)))])
    if rng.integers(3) == 0:
        path.unlink()
        special(str(rng.choice(["pipe", "zero"])), path)
    return path, None


def model_text(rng: np.random.Generator, folder: Path) -> tuple[Path, Any]:
    """A model that includes, or draws, what is no file."""
    special(str(rng.choice(["pipe", "zero", "folder", "loop", "gone"])), folder / "x.mks")
    special(str(rng.choice(["pipe", "zero", "folder", "loop", "gone"])), folder / "x.obj")
    said = 'INCLUDE "x.mks";\n' if rng.integers(2) else ""
    path = folder / "a.mks"
    path.write_text(
        f'MODEL a\nSYSTEM (DYNAMIC ANALYSIS);\n{said}BODY b (mass = 1, inertia = (1, 1, 1), shape = mesh("x.obj"));\n'
        "revolute joint j (body = ground, body = b, axis = (0, 0, 1));\nENDMODEL\n"
    )
    return path, None


def read_folder(path: Path) -> Any:
    return Folder(path.parent, {"asked": 1})


def forgers() -> list[tuple[Any, Any]]:
    """Return (forge, read) of each kind."""
    story()
    of_story = [(one, load_history) for one in (lying_head, deep_head, lying_block, wide_block)]
    return [*of_story, (study, read_study), (sweep_folder, read_folder), (model_text, read_model)]
