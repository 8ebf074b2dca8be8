"""The bridge: packets that are lost, doubled, reordered, forged and truncated; deadlines; hosts in Python and C."""

import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rtmbs
import rtmbs.export
from rtmbs.commands.export import address
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.export.bridge import BAD_VALUE, Bridge, SharedMemory, Udp
from rtmbs.export.bridge_client import (
    BLOCK,
    CHECKSUM,
    HEAD,
    INPUTS,
    MOST,
    OUTPUTS,
    Inbox,
    Packet,
    SharedClient,
    UdpClient,
    packed,
    read_block,
    write_block,
)
from rtmbs.library import build
from tests.cases import quick
from tests.patience import LONGEST

ROOT = Path(rtmbs.__file__).parents[1]
HOSTS = ROOT / "apps" / "hosts"
H, EVERY, SESSION = 1e-3, 0.01, 35_353_535


def bridge(inputs=("gravity",), outputs=("slide.displacement", "slider.position"), **other):
    """Return a bridge of a slider-crank."""
    sim = rtmbs.Simulation(build("slider_crank").compile(), h=H)
    return Bridge(sim, inputs, outputs, EVERY, **{"session": SESSION, **other})


def given(sequence, numbers=(0.0, 0.0, -9.81), **other):
    """Return the bytes of a packet of inputs."""
    return packed(Packet(**{
        "kind": INPUTS, "session": SESSION, "sequence": sequence, "time": 0.0, "answered": 0, "status": 0, "late": 0,
        "refused": 0, "numbers": tuple(numbers), **other,
    }))  # fmt: skip


def test_the_head_has_64_bytes_and_a_packet_fits_into_a_datagram():
    assert HEAD.size == 64
    assert len(given(1)) == 64 + 3 * 8
    assert HEAD.size + 8 * MOST <= 1504


def test_packets_are_taken_once_in_their_order():
    inbox = Inbox(INPUTS, SESSION, 3)
    assert inbox.accept(given(1)).sequence == 1
    assert inbox.accept(given(1)) is None  # doubled
    assert inbox.accept(given(5)).numbers == (0.0, 0.0, -9.81)
    assert inbox.lost == 3
    assert inbox.accept(given(3)) is None  # reordered
    assert inbox.accept(given(6)) is not None
    assert inbox.refused == {"doubled": 1, "out of order": 1}
    assert inbox.last == 6


def sealed(data):
    """Return a changed packet with the checksum that belongs to it."""
    import zlib

    data = data[:CHECKSUM] + bytes(4) + data[CHECKSUM + 4 :]
    return data[:CHECKSUM] + struct.pack("<I", zlib.crc32(data)) + data[CHECKSUM + 4 :]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "size"),
        (given(1)[:-1], "size"),
        (given(1) + b"\0", "size"),
        (given(1)[:30], "size"),
        (given(1, numbers=(1.0, 2.0)), "size"),
        (sealed(b"X" + given(1)[1:]), "magic or version"),
        (sealed(given(1)[:8] + b"\7" + given(1)[9:]), "magic or version"),
        (given(1)[:-1] + b"\1", "checksum"),
        (given(1, kind=OUTPUTS), "kind or session"),
        (given(1, session=SESSION + 1), "kind or session"),
        (sealed(given(1)[:12] + b"\2" + given(1)[13:]), "kind or session"),
        (given(0), "doubled"),
        (given(1, numbers=(0.0, float("nan"), 0.0)), "not finite"),
        (given(1, numbers=(0.0, 1e101, 0.0)), "not finite"),
        (given(1, time=float("inf")), "not finite"),
    ],
)
def test_forged_and_damaged_packets_are_refused_with_a_reason(data, reason):
    inbox = Inbox(INPUTS, SESSION, 3)
    assert inbox.accept(data) is None
    assert inbox.refused == {reason: 1}
    assert inbox.accept(given(1)) is not None  # and nothing is kept of them


def test_every_flipped_bit_is_found():
    data = given(9)
    for bit in range(8 * len(data)):
        other = bytearray(data)
        other[bit // 8] ^= 1 << bit % 8
        assert Inbox(INPUTS, SESSION, 3).accept(bytes(other)) is None, bit


def test_ticks_have_the_bytes_of_a_simulation():
    one, sim = bridge(), rtmbs.Simulation(build("slider_crank").compile(), h=H)
    for k in range(1, 30):
        g = (0.1 * k, 0.0, -9.81)
        one.tick(one.inbox.accept(given(k, g)))
        sim.inputs["gravity"] = g
        for _ in range(10):
            sim.step()
        found = Inbox(OUTPUTS, SESSION, 4).accept(one.answer())
        assert (found.sequence, found.answered, found.status, found.time) == (k + 1, k, 0, sim.t)
        assert found.numbers == (sim["slide.displacement"], *sim["slider.position"])
    before = one.sim.t
    one.tick(None)  # no packet: the inputs hold
    assert one.sim.t == pytest.approx(before + EVERY)


def test_a_step_that_fails_and_inputs_that_are_refused_are_told():
    one = bridge()
    one.tick(one.inbox.accept(given(1, (1e99, 1e99, 1e99))))
    t = one.sim.t
    assert one.status != 0
    one.tick(None)
    assert one.status != 0
    assert one.sim.t == t  # it stays where it is
    one.tick(one.inbox.accept(given(2)))
    assert one.status == 0
    model = build("crank_rocker")
    model.add_driver("drive", rtmbs.Input([0.0, 6.0, 0.0]), joint=next(iter(model.joints)))
    other = Bridge(rtmbs.Simulation(model.compile(), h=H), ["drive"], ["energy.total"], H, session=SESSION)
    other.tick(other.inbox.accept(given(1, (1.0, 6.0, 0.0))))
    assert other.status in (BAD_VALUE, 1, 4)


def served(one, way, **how):
    """Serve a bridge in a thread."""
    thread = threading.Thread(target=one.serve, args=(way,), kwargs=how)
    thread.start()
    return thread


def test_a_wire_that_loses_doubles_reorders_and_damages_packets_gives_the_same_run():
    """In lockstep the host repeats what is lost; the run is that of a good wire, byte for byte."""
    one, rng, good = bridge(), random.Random(5), bridge()
    way, count = Udp(one), 60

    class BadClient(UdpClient):
        def _write(self, data):
            if rng.random() < 0.3:
                return  # lost
            if rng.random() < 0.2:
                super()._write(data[: rng.randrange(len(data))])  # truncated
            if rng.random() < 0.2:
                place = rng.randrange(len(data))
                super()._write(
                    data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
                )  # forged
            for _ in range(rng.choice([1, 1, 2])):
                super()._write(data)  # doubled
            if rng.random() < 0.2 and self.sequence > 1:
                super()._write(given(self.sequence - 1))  # reordered

    client = BadClient(way.address, SESSION, 3, 4)
    thread = served(one, way, ticks=count, lockstep=True)
    for k in range(1, count + 1):
        g = (0.1 * k, 0.0, -9.81)
        found = client.exchange(g, LONGEST)
        good.tick(good.inbox.accept(given(k, g)))
        assert found.numbers == Inbox(OUTPUTS, SESSION, 4).accept(good.answer()).numbers
        assert found.answered == k
    thread.join(LONGEST)
    assert one.ticks == count
    assert {"size", "doubled", "out of order"} <= set(one.inbox.refused)
    assert set(one.inbox.refused) <= {"size", "doubled", "out of order", "checksum", "magic or version"}
    client.close()
    way.close()


def test_a_second_host_is_not_answered():
    one = bridge()
    way = Udp(one)
    assert way.address[0] == "127.0.0.1"
    thread = served(one, way, ticks=2, lockstep=True)
    first, second = (UdpClient(way.address, SESSION, 3, 4) for _ in range(2))
    first.exchange((0.0, 0.0, -9.81), LONGEST)
    second.send((0.0, 0.0, 5.0))
    second.send((0.0, 0.0, 5.0))
    assert second.receive(0.5) is None
    first.exchange((0.0, 0.0, -9.81), LONGEST)
    thread.join(LONGEST)
    assert one.inbox.refused["another host"] == 2
    assert one.sim.inputs["gravity"].tolist() == [0.0, 0.0, -9.81]
    for end in (first, second, way):
        end.close()


def test_ticks_at_a_fixed_rate_count_late_ones():
    """Ticks go on without packets; one that takes longer than its period is counted, and none is left out."""
    one = bridge()
    way = Udp(one)

    class Slow:
        address = way.address
        asked = 0

        def arrived(self, patience):
            self.asked += 1
            if self.asked in (5, 11):
                threading.Event().wait(3.5 * EVERY)
            return way.arrived(patience)

        def send(self, data):
            way.send(data)

    one.serve(Slow(), ticks=30)
    assert one.ticks == 30
    assert one.sim.t == pytest.approx(30 * EVERY)
    assert one.late >= 2
    found = Inbox(OUTPUTS, SESSION, 4).accept(one.answer())
    assert found.late == one.late
    way.close()


def test_shared_memory_goes_both_ways():
    one, good = bridge(), bridge()
    name = f"rtmbs{os.getpid()}"
    way = SharedMemory(one, name)
    with pytest.raises(InputError, match="cannot be made"):
        SharedMemory(one, name)
    client = SharedClient(name, SESSION, 3, 4)
    thread = served(one, way, ticks=40, lockstep=True)
    for k in range(1, 41):
        g = (0.0, 0.02 * k, -9.81)
        found = client.exchange(g, LONGEST)
        good.tick(good.inbox.accept(given(k, g)))
        assert found.numbers == Inbox(OUTPUTS, SESSION, 4).accept(good.answer()).numbers
    thread.join(LONGEST)
    client.close()
    way.close()


def test_a_block_that_is_being_written_is_not_read():
    memory = memoryview(bytearray(2 * BLOCK))
    assert read_block(memory, 0, 64, 0) == (0, b"")
    write_block(memory, 0, given(1))
    seen, data = read_block(memory, 0, len(given(1)), 0)
    assert data == given(1)
    assert read_block(memory, 0, len(given(1)), seen) == (seen, b"")
    struct.pack_into("<Q", memory, 0, seen + 1)  # a writer began
    assert read_block(memory, 0, len(given(1)), seen) == (seen, b"")


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="no whole number of steps"):
        Bridge(rtmbs.Simulation(build("top").compile(), h=H), ["gravity"], ["energy.total"], 1.5e-3)
    with pytest.raises(InputError, match="communication step in seconds"):
        Bridge(rtmbs.Simulation(build("top").compile(), h=H), ["gravity"], ["energy.total"], "often")
    with pytest.raises(UnknownNameError, match="gravity"):
        bridge(inputs=["gravty"])
    with pytest.raises(UnknownNameError, match=r"energy\.total"):
        bridge(outputs=["energy.totl"])
    with pytest.raises(InputError, match="room for 1 to"):
        bridge(inputs=[])
    with pytest.raises(InputError, match="an address and a port"):
        address("9000")
    with pytest.raises(InputError, match="cannot listen on"):
        Udp(bridge(), "203.0.113.7", 9)
    assert address("127.0.0.1:9000") == ("127.0.0.1", 9000)
    with pytest.raises(ValueError, match="2 inputs were given"):
        UdpClient(("127.0.0.1", 9), SESSION, 3, 4).send((1.0, 2.0))


def test_it_listens_on_the_loopback_only_unless_told():
    way = Udp(bridge())
    assert way.socket.getsockname()[0] == "127.0.0.1"
    way.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(way.address)  # it is free again


def command(*words):
    """Start ``rtmbs bridge`` and return the process with what it says first."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "rtmbs", "bridge", str(HOSTS / "crank.py"), "--inputs", "motor.torque", "--outputs",
         "pivot.rate,slider.position[x]", "--lockstep", "--ticks", "200", *words],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    return process, json.loads(process.stdout.readline())


@pytest.mark.parametrize("way", quick(["udp", "shared memory"], "shared memory"))
def test_a_host_in_c_gives_the_digits_of_the_host_in_python(tmp_path, way):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    program, header = tmp_path / "host", Path(rtmbs.export.__file__).parent / "c"
    flags = ["-O2", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-ffp-contract=off", f"-I{header}"]
    subprocess.run(["cc", *flags, HOSTS / "bridge" / "main.c", "-lm", "-lrt", "-o", program], check=True)
    name = f"crank{os.getpid()}"
    process, told = command(*(["--shared-memory", name] if way == "shared memory" else []))
    assert (told["inputs"], told["outputs"]) == (["motor.torque"], ["pivot.rate", "slider.position[x]"])
    where = name if way == "shared memory" else str(told["udp"][1])
    done = subprocess.run([program, str(told["session"]), where, "6"], capture_output=True, text=True)
    said, _ = process.communicate(timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    assert said.startswith("200 ticks, ")
    wanted = subprocess.run(
        [sys.executable, HOSTS / "controlled.py"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
    )  # fmt: skip
    assert done.stdout == wanted.stdout


def test_the_client_needs_the_standard_library_only(tmp_path):
    """A copy of the file beside a program is enough."""
    shutil.copyfile(Path(rtmbs.export.__file__).parent / "bridge_client.py", tmp_path / "bridge_client.py")
    text = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import bridge_client; "
        "assert not {'numpy', 'rtmbs', 'numba'} & set(sys.modules); print(bridge_client.HEAD.size)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True)
    assert done.stdout.strip() == "64", done.stderr
