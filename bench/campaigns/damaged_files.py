"""State and result files with bytes changed, cut, exchanged or packed otherwise: refused by name, or the very same."""

import io
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.campaigns.campaign import Campaign, Tally
from bench.campaigns.machines import contents, simulation
from rtmbs import State, load_result
from rtmbs.errors import ResultError, StateError

NAMES = ("rich", "crank rocker", "top")
HEADER = 80  # of the first bytes of an array, where its type and shape stand


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` damaged files from ``seed`` on."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        sound = {name: originals(name, Path(folder)) for name in NAMES}
        path = Path(folder) / "damaged.npz"
        for case in range(seed, seed + cases):
            rng = np.random.default_rng(case)
            kind, (state, result) = case % 2, sound[str(rng.choice(NAMES))]
            data, said, read = (state, StateError, state_told) if kind == 0 else (result, ResultError, result_told)
            damage = DAMAGES[case // 2 % len(DAMAGES)]
            path.write_bytes(damage(rng, data[0]))
            if wrong := judged(path, data[1], said, read):
                tally.fail(f"seed {case}, {damage.__name__}: {wrong}")
            else:
                tally.survive()
    return tally


def originals(name: str, folder: Path) -> tuple[tuple[bytes, object], tuple[bytes, object]]:
    """Return the bytes of a state file and of a result file, each with what it tells."""
    sim = simulation(name)
    result, path = sim.run(sim.t + 5 * sim.h), folder / "sound.npz"
    result.save(path)
    stored = path.read_bytes(), result_told(path)
    sim.state.save(path)
    return (path.read_bytes(), state_told(path)), stored


def state_told(path: Path) -> object:
    return contents(State.load(path))


def result_told(path: Path) -> object:
    result = load_result(path)
    about = result.name, result.fingerprint, result.outcomes
    return *about, {name: (result[name].tobytes(), *result.about(name)) for name in result}


def judged(path: Path, told: object, said: type[Exception], read: Callable[[Path], object]) -> str:
    """Return what is wrong with how a damaged file was read."""
    try:
        found = read(path)
    except said as error:
        return "" if path.name in str(error) else f"the error does not name the file: {error}"
    except Exception as error:  # noqa: BLE001 - any other one is what is looked for
        return f"{type(error).__name__}: {error}"
    return "" if found == told else "it was taken with other contents"


def changed_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    found = np.frombuffer(data, np.uint8).copy()
    place = rng.integers(len(found), size=rng.integers(1, 5))
    found[place] = rng.integers(256, size=len(place))
    return found.tobytes()


def changed_header(rng: np.random.Generator, data: bytes) -> bytes:
    """Bytes where arrays say their type and shape, or where the archive lists them."""
    starts = [k for k in range(len(data) - HEADER) if data[k : k + 6] in (b"\x93NUMPY", b"PK\x01\x02PK"[:6])]
    starts += [max(len(data) - int(rng.integers(22, 2000)), 0)]
    found, start = bytearray(data), int(rng.choice(starts))
    found[start + int(rng.integers(min(HEADER, len(data) - start)))] = int(rng.integers(256))
    return bytes(found)


def cut(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: rng.integers(len(data))]


def piece_lost(rng: np.random.Generator, data: bytes) -> bytes:
    start = int(rng.integers(len(data)))
    return data[:start] + data[start + int(rng.integers(1, 300)) :]


def zeroed(rng: np.random.Generator, data: bytes) -> bytes:
    """A block of the disk that was never written."""
    start = int(rng.integers(len(data))) // 512 * 512
    return data[:start] + bytes(min(512, len(data) - start)) + data[start + 512 :]


def entries_of(data: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(data)) as file:
        return {name: file[name] for name in file.files}


def packed(entries: dict[str, np.ndarray], compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, value in entries.items():
            array = io.BytesIO()
            np.lib.format.write_array(array, np.asarray(value), allow_pickle=True)
            archive.writestr(name + ".npy", array.getvalue())
    return target.getvalue()


def exchanged(rng: np.random.Generator, data: bytes) -> bytes:
    """Two entries in each other's place."""
    entries = entries_of(data)
    a, b = rng.choice(list(entries), 2, replace=False)
    entries[a], entries[b] = entries[b], entries[a]
    return packed(entries)


def other_entry(rng: np.random.Generator, data: bytes) -> bytes:
    """One entry lost, shorter, longer, of another type, not finite or full of objects."""
    entries = entries_of(data)
    name = str(rng.choice(list(entries)))
    value, way = entries[name], int(rng.integers(6))
    flat = np.ravel(value)
    if way == 0:
        del entries[name]
    elif way == 1:
        entries[name] = flat[:-1]
    elif way == 2:
        entries[name] = np.concatenate([flat, flat])
    elif way == 3:
        entries[name] = flat.astype(object)
    elif way == 4:
        entries[name] = value.astype("U8") if value.dtype.kind != "U" else np.zeros(value.shape)
    else:
        entries[name] = np.full(value.shape, np.nan)
    return packed(entries)


def compressed(rng: np.random.Generator, data: bytes) -> bytes:
    """The same entries, one of them a million times as long, packed small."""
    entries = entries_of(data)
    if rng.integers(2):
        entries[str(rng.choice(list(entries)))] = np.zeros(int(rng.integers(10**5, 10**6)))
    return packed(entries, zipfile.ZIP_DEFLATED)


DAMAGES = (changed_bytes, changed_header, cut, piece_lost, zeroed, exchanged, other_entry, compressed)
CAMPAIGN = Campaign(
    name="damaged_files",
    claim="a damaged state or result file is refused with its name, or gives back exactly what was saved",
    full=10_000,
    bounded=1_200,
    run=run,
)
