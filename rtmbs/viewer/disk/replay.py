"""A history on disk as a recorded result: its poses over time, and the scene that its head describes."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ResultError
from rtmbs.files.errors import DamagedFile
from rtmbs.files.reading import check_unpacked
from rtmbs.results.channel import QUATERNION, WORLD, XYZ, Source
from rtmbs.results.result import TIME, Result
from rtmbs.rotations.quaternions import quaternions, rotations
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.disk.blocks import blocks_of, first_of, read_arrays
from rtmbs.viewer.disk.head import NAME, STORY, Head, Places, read_head

POSE = 128  # bytes of a body at one time: rotation, position, quaternion
Array = NDArray[np.float64]
Part = tuple[Array, Array, Array]  # t (S,) [s], r (S, nb, 3) [m] and q (S, nb, 4) of a block


def load_history(target: str | Path) -> tuple[Result, SceneDescription]:
    """Return the last story of a history, or the one that is named, with its scene.

    A damaged block is left out, and ``warnings`` of the Result say which time is missing.
    Raises ResultError when there is no whole block.
    """
    path = Path(target)
    folder = path.parent if path.name == NAME else path
    stories = [folder] if (folder / NAME).is_file() else sorted(folder.glob(f"{STORY}*"))
    stories = [story for story in stories if blocks_of(story)]
    if not stories:
        raise ResultError(f"history {str(target)!r} holds no whole block")
    story = stories[-1]
    head = read_head(story)
    parts, warnings = whole_parts(story, head)
    t, r, q = (np.concatenate(values) for values in zip(*parts, strict=True))
    try:
        channels = sources(head.description, t, r, steady(q))
    except Exception as error:  # a head that was made up may hold anything
        raise ResultError(f"history {str(story)!r} has a damaged {NAME} ({error})") from error
    return Result(channels, head.description.name, head.fingerprint, warnings=warnings), head.description


def whole_parts(story: Path, head: Head) -> tuple[list[Part], dict[str, int]]:
    """Return the parts of a story that can be read, and what is missing between them, by what there is to say."""
    found: list[Part] = []
    warnings: dict[str, int] = {}
    expected, damaged = -1, 0
    blocks = blocks_of(story)
    for number, path in enumerate(blocks):
        try:
            data = read_arrays(path)
            check_poses(data, head.places, path)
        except ResultError:
            damaged += 1
            continue
        if expected >= 0 and first_of(path) != expected and not damaged:  # of a history that was cut here
            text = f"history {str(story)!r} lacks the steps after {expected - 1}; what comes later is left out"
            warnings[text] = len(blocks[number:])
            break
        t = data["t_ref"] + data["k"] * data["h"]
        if damaged:
            warnings[missing(story, damaged, found[-1][0][-1] if found else None, t[0])] = damaged
        found.append((t, *of_bodies(data["A"], data["r"], head.places)))
        expected, damaged = first_of(path) + len(data["k"]), 0
    if not found:
        raise ResultError(f"history {str(story)!r} holds no whole block")
    if damaged:
        warnings[missing(story, damaged, found[-1][0][-1], None)] = damaged
    return found, warnings


def check_poses(data: dict[str, np.ndarray], places: Places, path: Path) -> None:
    """Refuse a block whose poses are not those of the bodies of the head: ResultError."""
    count, moving = len(np.atleast_1d(data.get("k", ()))), int(places.moving.sum())
    shapes = {"k": (count,), "t_ref": (count,), "h": (count,), "A": (count, moving, 9), "r": (count, moving, 3)}
    for name, shape in shapes.items():
        if name not in data or data[name].shape != shape or data[name].dtype.kind not in "fi" or not count:
            raise ResultError(f"block {str(path)!r} cannot be read ({name} has no shape {shape})")
    try:
        check_unpacked(POSE * count * len(places.moving), sum(array.nbytes for array in data.values()), "poses")
    except DamagedFile as error:
        raise ResultError(f"block {str(path)!r} {error}") from None


def missing(story: Path, count: int, before: float | None, after: float | None) -> str:
    """Return the sentence of damaged blocks between two times [s]; None for the begin or the end of the story."""
    blocks = "a damaged block" if count == 1 else f"{count} damaged blocks"
    since = "all" if before is None else f"what comes after t = {before:.6g} s"
    until = "" if after is None else f" before t = {after:.6g} s" if before is None else f" and before {after:.6g} s"
    return f"history {str(story)!r} has {blocks}: {since}{until} is missing"


def of_bodies(A: Array, r: Array, places: Places) -> tuple[Array, Array]:
    """Return r (S, nb, 3) and q (S, nb, 4) of the bodies, from the A (S, k, 9) and r (S, k, 3) of their dofs."""
    shape = len(A), len(places.moving)
    turns, origins = np.broadcast_to(np.eye(3), (*shape, 3, 3)).copy(), np.zeros((*shape, 3))
    turns[:, places.moving], origins[:, places.moving] = A.reshape(len(A), -1, 3, 3), r
    r = origins + (turns @ places.positions[:, :, None])[..., 0]
    return r, quaternions((turns @ places.rotations).reshape(-1, 3, 3)).reshape(*shape, 4)


def steady(q: Array) -> Array:
    """Return quaternions (S, nb, 4) of which none jumps to its negative from sample to sample."""
    signs = np.where(np.einsum("sbi,sbi->sb", q[1:], q[:-1]) < 0.0, -1.0, 1.0)
    return np.concatenate((q[:1], q[1:] * np.cumprod(signs, axis=0)[:, :, None]))


def sources(description: SceneDescription, t: Array, r: Array, q: Array) -> dict[str, Source]:
    """Return the channels of the bodies, and of the markers, by the names that a result has."""
    found = {TIME: Source((), "s", lambda: t)}
    for number, body in enumerate(description.bodies):
        if number == 0:
            continue
        found[f"{body.name}.position"] = Source(XYZ, "m", partial(np.asarray, r[:, number]), WORLD)
        found[f"{body.name}.orientation"] = Source(QUATERNION, "1", partial(np.asarray, q[:, number]), WORLD)
        at = partial(moved, r[:, number], q[:, number], body.center_of_mass)
        found[f"{body.name}.mass_center"] = Source(XYZ, "m", at, WORLD)
    for marker in description.markers:
        at = partial(moved, r[:, marker.body], q[:, marker.body], marker.point)
        found.setdefault(f"{marker.name}.position", Source(XYZ, "m", at, WORLD))
    return found


def moved(r: Array, q: Array, point: Array) -> Array:
    """Return where a point of a body is (S, 3)."""
    return np.asarray(r + np.einsum("sij,j->si", rotations(q), point))
