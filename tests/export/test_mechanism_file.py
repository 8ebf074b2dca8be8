"""Mechanism files: refused with a sentence when they are damaged, and never a reason to crash."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

import rtmbs.export
from bench.native_bytes import hopping_ball
from bench.native_host import Mechanism
from rtmbs.export.instance import COUNTED, FORMAT, HEADER, MAGIC, WORD, checksum, layout_digest, leaves
from rtmbs.export.packages import exported
from rtmbs.library import build

CHECKS = (Path(rtmbs.export.__file__).parent / "c" / "check.c").read_text()


@pytest.fixture(scope="module")
def found():
    """An exported mechanism with an output."""
    return exported(build("slider_crank").compile(), ["gravity"], ["slider.position", "energy.total"], 1e-3, None)


def sealed(data):
    """Return a changed file with the checksum that belongs to it."""
    data = bytearray(data)
    data[COUNTED * WORD : (COUNTED + 1) * WORD] = bytes(WORD)
    data[COUNTED * WORD : (COUNTED + 1) * WORD] = checksum(bytes(data)).to_bytes(WORD, "little")
    return bytes(data)


def test_the_head_says_what_the_file_is(found):
    assert found.file.startswith(MAGIC)
    head = np.frombuffer(found.file[: 6 * WORD], np.uint64)
    assert head[1] == FORMAT
    assert head[2] == layout_digest(found.instance)
    assert head[3] == len(found.file)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda data: data[:-8], "its size"),
        (lambda data: data[:100], "its size"),
        (lambda data: b"", "its size"),
        (lambda data: b"X" + data[1:], "its first bytes"),
        (lambda data: data[:8] + b"\2" + data[9:], "the version of its format"),
        (lambda data: data[:16] + b"\0\0" + data[18:], "the version of rtmbs that wrote it"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "its checksum"),
        (lambda data: data + bytes(8), "its size"),
    ],
)
def test_a_damaged_file_is_refused_with_a_sentence(library, found, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Mechanism(library, change(found.file))


def test_every_single_byte_counts(library, found):
    rng = random.Random(35)
    for _ in range(300):
        place = rng.randrange(len(found.file))
        data = bytearray(found.file)
        data[place] ^= 1 << rng.randrange(8)
        with pytest.raises(ValueError, match="mechanism file"):
            Mechanism(library, bytes(data))


def content_places(found):
    """Return the place in the file of the content of every array that has one."""
    head = np.frombuffer(found.file[: 16 * WORD], np.int64)
    place, places = len(found.file) - int(head[10]), {}
    for leaf in leaves(found.instance):
        if isinstance(leaf.value, np.ndarray) and leaf.value.size and np.any(leaf.value != 0):
            places[leaf.name] = place
            place += -(-leaf.value.nbytes // WORD) * WORD
    return places


@pytest.mark.parametrize(
    "name",
    [
        "tables.dofs.parent", "tables.dofs.tip", "tables.paths.pointer", "tables.paths.dof", "tables.paths.entry",
        "tables.connectors.b", "tables.connectors.pointer", "tables.connectors.entry", "tables.closures.row_pointer",
        "tables.closures.entry_pointer", "lu.order", "lu.fronts", "outputs.plan", "outputs.picked", "graph.parent",
        "tables.origins.row",
    ],
)  # fmt: skip
def test_an_index_out_of_range_is_refused_by_the_name_of_its_array(library, found, name):
    places = content_places(found)
    assert name in places
    for value in (10**6, -(10**6), 2**62):
        data = bytearray(found.file)
        data[places[name] : places[name] + WORD] = value.to_bytes(WORD, "little", signed=True)
        with pytest.raises(ValueError, match="damaged mechanism file"):
            Mechanism(library, sealed(data))


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_no_number_of_a_table_is_too_large_for_the_sums_of_its_checks(library, value):
    """Sums of numbers that are not checked yet could overflow, and end within their bounds."""
    ball = exported(hopping_ball().compile(), (), (), 1e-3, None)
    arrays = {leaf.name: leaf.value for leaf in leaves(ball.instance) if isinstance(leaf.value, np.ndarray)}
    accepted = []
    for name, place in content_places(ball).items():
        if arrays[name].dtype == np.int64:
            for k in range(min(arrays[name].size, 12)):
                data = bytearray(ball.file)
                data[place + k * WORD : place + (k + 1) * WORD] = value.to_bytes(WORD, "little", signed=True)
                said = refusal(library, sealed(data))
                if "damaged mechanism file" not in said:
                    accepted.append((name, k, said))
    assert accepted == []


def refusal(library, content):
    """Return why a file is refused, nothing where it is loaded."""
    try:
        Mechanism(library, content)
    except ValueError as error:
        return str(error)
    return ""


def extent_place(found, name):
    """Return the place in the file of the first extent of an array."""
    arrays = [leaf for leaf in leaves(found.instance) if isinstance(leaf.value, np.ndarray)]
    before = next(k for k, leaf in enumerate(arrays) if leaf.name == name)
    return WORD * (HEADER + sum(leaf.value.ndim for leaf in arrays[:before]))


@pytest.mark.parametrize(
    "name", ["tables.balance.first", "tables.interfaces.one", "tables.paths.dof", "lu.order", "ws.still", "z", "u"]
)
def test_an_array_of_zeros_is_no_longer_than_the_file(library, found, name):
    data = bytearray(found.file)
    place = extent_place(found, name)
    data[place : place + WORD] = (2**27).to_bytes(WORD, "little")
    with pytest.raises(ValueError, match="mechanism file"):
        Mechanism(library, sealed(data))


@pytest.mark.parametrize("name", ["settings.max_projections", "settings.tries", "settings.max_iterations"])
def test_a_count_of_tries_is_bounded_by_what_the_method_takes(library, found, name):
    numbers = [leaf for leaf in leaves(found.instance) if not isinstance(leaf.value, np.ndarray)]
    arrays = [leaf for leaf in leaves(found.instance) if isinstance(leaf.value, np.ndarray)]
    place = HEADER + sum(leaf.value.ndim for leaf in arrays) + len(arrays)
    place = WORD * (place + next(k for k, leaf in enumerate(numbers) if leaf.name == name))
    data = bytearray(found.file)
    assert int.from_bytes(data[place : place + WORD], "little") < 100
    data[place : place + WORD] = (1000).to_bytes(WORD, "little")
    with pytest.raises(ValueError, match="damaged mechanism file"):
        Mechanism(library, sealed(data))


def test_an_elimination_order_that_names_a_coordinate_twice_is_refused(library, found):
    data, place = bytearray(found.file), content_places(found)["lu.order"]
    data[place : place + WORD] = data[place + WORD : place + 2 * WORD]
    with pytest.raises(ValueError, match=r"lu\.order"):
        Mechanism(library, sealed(data))


def test_a_communication_step_of_more_than_a_million_steps_is_refused(library, found):
    it = Mechanism(library, found.file)
    before = it.state
    assert it.advance(1.1e6 * 1e-3) == 21
    assert it.state == before


def test_functions_of_time_that_are_not_there_are_refused(library, found):
    data = bytearray(found.file)
    data[12 * WORD] = 1  # the flag of the header; a kernel would write into a memory of no size
    with pytest.raises(ValueError, match="the number of its functions of time"):
        Mechanism(library, sealed(data))


def test_every_array_has_a_rule(found):
    lanes = re.search(r"#define CHECK_LANES\(.*?\n\n", CHECKS, re.DOTALL)[0]
    written = [
        lanes.replace("##LANES##", one).replace("##LANES", one).replace("##MEMORY", one) for one in ("lanes", "rates")
    ]
    lists = set(re.findall(r"L_\w+", "\n".join([CHECKS, *written])))
    missing = [
        leaf.name
        for leaf in leaves(found.instance)
        if isinstance(leaf.value, np.ndarray)
        and f"L_{leaf.name.replace('.', '_')}" not in lists
        and not re.search(r"(program|signals)\.\w+$", leaf.name)  # check_program
    ]
    assert not missing


def test_mutated_files_with_the_right_checksum_load_or_are_refused_but_never_crash(library, found):
    rng, loaded = random.Random(3535), 0
    for _ in range(400):
        data = bytearray(found.file)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(5 * WORD, len(data)) // WORD * WORD
            value = rng.choice([0, 1, -1, 2**31, 2**62, -(2**63), rng.randrange(0, 200), rng.getrandbits(63)])
            data[place : place + WORD] = value.to_bytes(WORD, "little", signed=True)
        try:
            it = Mechanism(library, sealed(data))
        except ValueError:
            continue
        loaded += 1
        it.step(3)
        for k in range(library.rtmbs_output_count(it.it)):
            library.rtmbs_output_value(it.it, k)
    assert loaded > 20
