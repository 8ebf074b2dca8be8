"""Bridge: a Simulation behind UDP or shared memory, for hosts that cannot load a library.

Ticks come at a fixed rate. Each takes the newest inputs that arrived, steps the mechanism by one communication step,
and sends outputs and status. In lockstep there is no clock: every new packet of inputs is one tick. A packet that comes
again is answered again, so a host may repeat what was lost.
"""

import math
import secrets
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import shared_memory
from typing import Any, Protocol

import numpy as np

from rtmbs.errors import InputError, shown
from rtmbs.export.bridge_client import (
    BLOCK,
    HEAD,
    INPUTS,
    MOST,
    OUTPUTS,
    Inbox,
    Packet,
    packed,
    read_block,
    write_block,
)
from rtmbs.export.channels import split
from rtmbs.export.co_simulation import WHOLE, input_place, place_of
from rtmbs.integrators.checks import is_number
from rtmbs.integrators.report import Outcome
from rtmbs.semirecursive.machine_code import NOT_CONVERGED, OUTCOMES
from rtmbs.simulation.pacing import Pacer
from rtmbs.simulation.simulation import Simulation

BAD_VALUE, HALF_TURN = 21, 9  # status numbers of rtmbs.h
STATUS = {outcome: code for code, outcome in OUTCOMES.items()} | {
    Outcome.UNSOLVED: NOT_CONVERGED, Outcome.HALF_TURN: HALF_TURN,
}  # fmt: skip
WAIT = 0.2  # [s] a look for packets in lockstep, between which the end of the bridge is asked for


class Bridge:
    """A Simulation that answers packets of inputs with packets of outputs.

    Parameters
    ----------
    sim : Simulation
        Simulation at its start.
    inputs : Sequence[str]
        Inputs by name, or components such as ``gravity[2]``; an input of several numbers stands for all of them.
    outputs : Sequence[str]
        Channels by name, or components such as ``slider.position[x]``.
    every : float
        Communication step [s], a whole number of steps.
    session : int, optional
        Number that packets carry; drawn at random unless given.

    Raises
    ------
    InputError
        For a communication step that is no whole number of steps, and for more numbers than a packet has room for.
    UnknownNameError
        For an unknown input or channel.
    """

    def __init__(
        self, sim: Simulation, inputs: Sequence[str], outputs: Sequence[str], every: float, session: int | None = None
    ) -> None:
        if not is_number(every) or not every > 0.0:
            raise InputError(f"every is {shown(every)}; it must be a communication step in seconds")
        self.sim, self.every, self.steps = sim, float(every), round(every / sim.h)
        if self.steps < 1 or abs(every / sim.h - self.steps) > WHOLE * self.steps:
            raise InputError(
                f"the communication step of the bridge, {every:g} s, is no whole number of steps of h = {sim.h:g} s; "
                "give a multiple"
            )
        self.session = secrets.randbits(63) if session is None else session
        offered = sim._channels().sources(sim.state)
        self.inputs = [one for name in inputs for one in input_numbers(sim, name)]
        self.outputs = [one for name in outputs for one in output_numbers(offered, name)]
        for what, names in (("inputs", self.inputs), ("outputs", self.outputs)):
            if not 0 < len(names) <= MOST:
                raise InputError(f"the bridge has {len(names)} {what}; a packet has room for 1 to {MOST}")
        self.places = [input_place(sim, name) for name in self.inputs]
        self.reads = [place_of(offered, name) for name in self.outputs]
        self.inbox = Inbox(INPUTS, self.session, len(self.inputs))
        self.ticks = self.late = self.status = 0

    def tick(self, packet: Packet | None) -> None:
        """Take inputs, and step by one communication step; a step that fails leaves the mechanism as it is.

        ``status`` is that of ``rtmbs.h``: of the step that failed, else the worst of those taken. It is BAD_VALUE for
        inputs that the Simulation refuses; it goes on with those before.
        """
        self.status, refused = 0, False
        if packet is not None:
            try:
                self.take(packet.numbers)
            except InputError:
                refused = True
        for _ in range(self.steps):
            outcome = self.sim.step().outcome
            self.status = max(self.status, STATUS[outcome]) if outcome.accepted else STATUS[outcome]
            if not outcome.accepted:
                break
        if refused:
            self.status = BAD_VALUE
        self.ticks += 1

    def take(self, numbers: Sequence[float]) -> None:
        """Set the inputs of the Simulation."""
        whole: dict[str, Any] = {}
        for (name, place), value in zip(self.places, numbers, strict=True):
            if place < 0:
                whole[name] = value
            else:
                whole.setdefault(name, np.array(self.sim.inputs[name], np.float64)).flat[place] = value
        for name, value in whole.items():
            self.sim.inputs[name] = value

    def answer(self) -> bytes:
        """Return the packet of outputs at the present state."""
        numbers = tuple(float(np.ravel(self.sim[channel])[place]) for channel, place in self.reads)
        found = tuple(number if math.isfinite(number) else 0.0 for number in numbers)
        head = (OUTPUTS, self.session, self.ticks + 1, self.sim.t, self.inbox.last, self.status)
        return packed(Packet(*head, self.late, self.inbox.refusals, found))

    def serve(self, way: "Way", ticks: int | None = None, lockstep: bool = False) -> None:
        """Answer until ``ticks`` ticks are over, or without an end.

        Parameters
        ----------
        way : Way
            Way of the packets.
        ticks : int, optional
            Number of ticks; no end unless given.
        lockstep : bool, default False
            True: a tick for every new packet, as fast as they come. False: ticks by wall time.
        """
        if lockstep:
            self.serve_in_lockstep(way, ticks)
            return
        pacer = Pacer(self.every)
        while ticks is None or self.ticks < ticks:
            packet = None
            for data in way.arrived(0.0):
                packet = self.inbox.accept(data) or packet
            self.tick(packet)
            way.send(self.answer())
            pacer.wait()
            self.late = pacer.punctuality().missed

    def serve_in_lockstep(self, way: "Way", ticks: int | None) -> None:
        """Take a tick for every new packet; a packet that comes again is answered again."""
        last = b""
        while ticks is None or self.ticks < ticks:
            for data in way.arrived(WAIT):
                doubled = self.inbox.refused["doubled"]
                packet = self.inbox.accept(data)
                if packet is not None:
                    self.tick(packet)
                    last = self.answer()
                if last and (packet is not None or self.inbox.refused["doubled"] > doubled):
                    way.send(last)


def input_numbers(sim: Simulation, name: str) -> list[str]:
    """Return the numbers of an input by name."""
    if name in sim.inputs and (size := np.size(sim.inputs[name])) > 1:
        return [f"{name}[{k}]" for k in range(size)]
    return [name]


def output_numbers(offered: Any, name: str) -> list[str]:
    """Return the numbers of a channel by name."""
    channel = name if name in offered else split(name)[0]
    if name in offered and offered[channel].axes:
        return [f"{name}[{axis}]" for axis in offered[channel].axes]
    return [name]


class Way(Protocol):
    """How packets come and go."""

    def arrived(self, patience: float) -> list[bytes]:
        """Return the packets that came, after at most ``patience`` [s] for the first."""

    def send(self, data: bytes) -> None:
        """Send a packet to the host."""

    def close(self) -> None:
        """End."""


class Udp:
    """Datagrams at one address of this machine; only the first host that sends a valid packet is answered.

    Parameters
    ----------
    bridge : Bridge
        The bridge, whose checks say which host is the first.
    host : str, default "127.0.0.1"
        Address to listen on.
    port : int, default 0
        Port; a free one unless given.
    """

    def __init__(self, bridge: Bridge, host: str = "127.0.0.1", port: int = 0) -> None:
        self.inbox = bridge.inbox
        self.peer: tuple[str, int] | None = None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind((host, port))
        except OSError as error:
            self.socket.close()
            raise InputError(
                f"the bridge cannot listen on {host}:{port} ({error.strerror or error}); give another address"
            ) from error
        self.address: tuple[str, int] = self.socket.getsockname()

    def arrived(self, patience: float) -> list[bytes]:
        """Return the packets of the host that came, after at most ``patience`` [s] for the first."""
        found: list[bytes] = []
        for _ in range(1000):  # a flood is not waited out
            self.socket.settimeout(patience if patience > 0.0 and not found else 1e-9)
            try:
                data, peer = self.socket.recvfrom(65536)
            except (TimeoutError, BlockingIOError, ConnectionError):
                break
            if self.peer is None and not isinstance(self.inbox.checked(data), str):
                self.peer = peer
            if peer == self.peer or self.peer is None:
                found.append(data)
            else:
                self.inbox.refused["another host"] += 1
        return found

    def send(self, data: bytes) -> None:
        """Send a packet to the host; without one there is nobody to send to."""
        if self.peer is not None:
            with suppress(OSError):  # a full buffer or a host that left: the next packet tells
                self.socket.sendto(data, self.peer)

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


class SharedMemory:
    """A block for each direction in shared memory: inputs first, then outputs.

    Parameters
    ----------
    bridge : Bridge
        The bridge.
    name : str
        Name of the memory.
    """

    def __init__(self, bridge: Bridge, name: str) -> None:
        self.size, self.seen = HEAD.size + 8 * len(bridge.inputs), 0
        try:
            self.shared = shared_memory.SharedMemory(name, create=True, size=2 * BLOCK)
        except OSError as error:
            raise InputError(
                f"shared memory {name!r} cannot be made ({error.strerror or error}); give another name"
            ) from error
        assert self.shared.buf is not None
        self.memory = memoryview(self.shared.buf)

    def arrived(self, patience: float) -> list[bytes]:
        """Return the packet that came, after at most ``patience`` [s]."""
        end = time.monotonic() + patience
        for _ in range(1_000_000_000):
            self.seen, data = read_block(self.memory, 0, self.size, self.seen)
            if data or time.monotonic() >= end:
                return [data] if data else []
            time.sleep(2e-5)
        return []

    def send(self, data: bytes) -> None:
        """Write a packet for the host."""
        write_block(self.memory, BLOCK, data)

    def close(self) -> None:
        """Remove the memory."""
        self.memory.release()
        self.shared.close()
        self.shared.unlink()
