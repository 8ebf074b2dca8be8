"""Export of a mechanism and its step: the native library of a target, alone in a folder or in an FMU.

The library is linked of kernels that are compiled once and of C sources; both are kept on disk. An FMU of FMI 3.0 or
2.0 is an archive with a model description, the native library and a mechanism file.
"""

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import rtmbs
from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.core.files import replacing
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.export.channels import Port, Ports, ports_of
from rtmbs.export.instance import Instance, checksum, instance_of, layout_digest, layout_header, mechanism_bytes
from rtmbs.integrators.contract import Method
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.jit.cache_folder import PLACE, print_note
from rtmbs.jit.native_code import BASELINE, TARGETS
from rtmbs.simulation.simulation import Simulation
from rtmbs.system.contact_tables import refuse_sets
from rtmbs.system.system import System

HERE = Path(__file__).parent
C = HERE / "c"
KERNELS = (HERE / "entry_kernels.py", HERE / "signal_kernels.py")  # what kernels are made of
SOURCES = ("runtime.c", "check.c", "linearise.c", "model_exchange.c", "fmu.c", "fmi2.c", "fmi3.c")
ENDINGS = {"linux": ".so", "windows": ".dll"}
ZIG = {
    "x86_64_v2-linux": "x86_64-linux-gnu.2.17",
    "x86_64_v3-linux": "x86_64-linux-gnu.2.17",
    "aarch64-linux": "aarch64-linux-gnu.2.17",
    "x86_64-windows": "x86_64-windows-gnu",
}  # triples with the oldest C library that serves
HOST = "x86_64_v2-linux"
FLAGS = ("-shared", "-O2", "-std=c11", "-fvisibility=hidden", "-ffp-contract=off", "-Wall", "-Wextra")
OF_LINUX = ("-fPIC", "-Wl,--no-undefined", "-Wl,-rpath,$ORIGIN", "-Wl,-s")


def native_library(example: Instance, target: str = HOST) -> Path:
    """Return the native library of a target; it is compiled when the kept one is of other sources.

    Parameters
    ----------
    example : Instance
        Any Instance: types and layout are the same for all.
    target : str
        Key of ``rtmbs.jit.native_code.TARGETS``.

    Returns
    -------
    Path
        Shared library.

    Raises
    ------
    InputError
        For an unknown target, without a linker, and for a folder that cannot be written.
    """
    if target not in TARGETS:
        raise unknown_name("target", target, TARGETS)
    header = layout_header(example, rtmbs.__version__)
    name = code_name(example, target)
    digest = digest_of(sorted(C.rglob("*.[ch]")), header + name)
    library = kept_folder() / f"librtmbs-{digest}.{target}{ending(target)}"
    if not library.is_file():
        linker(target)  # a missing one is told before kernels are compiled
        link(header, target, kernel_code(example, target), library)
    return library


def kernel_code(example: Instance, target: str = HOST) -> Path:
    """Return the object file of the kernels of a target; they are compiled when the kept one is of other sources."""
    code = kept_folder() / code_name(example, target)
    if not code.is_file():
        compile_kernels(example, target, code)
    return code


def code_name(example: Instance, target: str) -> str:
    """Return the name of the object file of the kernels."""
    return f"kernels-{digest_of(KERNELS, str(layout_digest(example)))}.{target}.o"


def ending(target: str) -> str:
    """Return the ending of shared libraries of a target."""
    return ENDINGS[target.rpartition("-")[2]]


def kept_folder() -> Path:
    """Return the folder of the libraries, beside the compiled kernels of Python; it is made if needed."""
    folder = (PLACE.folder or Path(tempfile.gettempdir()) / f"rtmbs-native-{os.getpid()}") / "native"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written ({error.strerror}), and a native library is kept there; set RTMBS_CACHE_DIR"
        ) from error
    return folder


def digest_of(files: Iterable[Path], text: str) -> str:
    """Return a digest of files and a text, for names of what is made of them."""
    digest = hashlib.sha256(text.encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compile_kernels(example: Instance, target: str, code: Path) -> None:
    """Write the object file of the kernels of a target, compiled by a process of its own."""
    print_note("compiling the native kernels, once for these sources; this takes a minute or more")
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "example.pickle").write_bytes(pickle.dumps(example))
        path = os.pathsep.join([str(HERE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
        given = {**os.environ, **BASELINE, "RTMBS_CACHE_DIR": scratch, "PYTHONPATH": path}
        words = [sys.executable, "-m", "rtmbs.jit.native_code", "rtmbs.export.entry_kernels", scratch, target]
        run(words, "the native kernels", given)
        keep(Path(scratch) / f"kernels.{target}.o", code)


def link(header: str, target: str, code: Path, library: Path) -> None:
    """Compile the C sources of a target with the layout ``header``, and link them with the kernels."""
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / library.name
        (Path(scratch) / "layout.h").write_text(header)
        command = [*linker(target), *FLAGS, *(OF_LINUX if "linux" in target else ()), f"-I{scratch}", f"-I{C}"]
        command += [
            *told_target(target),
            f"-I{C / 'fmi'}",
            *(str(C / name) for name in SOURCES),
            str(code),
            "-lm",
            "-o",
            str(made),
        ]
        run(command, "the native library")
        keep(made, library)


def told_target(target: str) -> list[str]:
    """Return the flags that tell the C sources what they are compiled for."""
    return [f'-DRTMBS_TARGET="{target}"', *(["-DRTMBS_V3"] if "_v3-" in target else [])]


def keep(made: Path, place: Path) -> None:
    """Move a file to its place in one step: processes share the folder."""
    beside = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.copyfile(made, beside)
    os.replace(beside, place)


def linker(target: str) -> list[str]:
    """Return the command of a C compiler for a target: ``cc`` for this machine, else that of the ziglang wheel."""
    compiler = os.environ.get("CC") or "cc"
    if target in ("x86_64_v2-linux", "x86_64_v3-linux") and sys.platform == "linux" and shutil.which(compiler):
        return [compiler]
    if find_spec("ziglang") is None:
        raise InputError(f"no C compiler for {target} was found; install one, or pip install 'rtmbs[export]'")
    return [sys.executable, "-m", "ziglang", "cc", "-target", ZIG[target]]


def run(command: list[str], what: str, environment: dict[str, str] | None = None) -> None:
    """Run a command that makes ``what``; InputError with its last line when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        raise InputError(f"{what} could not be made: {shown(lines[-1])}")


PLATFORMS = {  # folder below binaries/ in FMI 3.0 and 2.0
    "x86_64_v2-linux": ("x86_64-linux", "linux64"),
    "x86_64_v3-linux": ("x86_64-linux", "linux64"),
    "aarch64-linux": ("aarch64-linux", "aarch64-linux"),
    "x86_64-windows": ("x86_64-windows", "win64"),
}
DATE = (1980, 1, 1, 0, 0, 0)  # of every member, so that archives repeat byte for byte
BASES = {  # exponents of kg, m, s and rad of the units that ports have
    "kg": (1, 0, 0, 0), "m": (0, 1, 0, 0), "s": (0, 0, 1, 0), "rad": (0, 0, 0, 1), "N": (1, 1, -2, 0),
    "J": (1, 2, -2, 0), "W": (1, 2, -3, 0), "1": (0, 0, 0, 0),
}  # fmt: skip
NAMES = ("kg", "m", "s", "rad")
UNITS_FREE = "1"  # the unit of a number without one


class Description:
    """The variables of an FMU and what is written about them.

    Parameters
    ----------
    name : str
        Name of the model.
    token : str
        Identity that an importer hands back.
    ports : Ports
        Inputs, parameters and outputs.
    h : float
        Step [s].
    states : int, optional
        Continuous states of an FMU for model exchange: coordinates, their rates, states of force laws. 0 for
        co-simulation.
    """

    def __init__(self, name: str, token: str, ports: Ports, h: float, states: int = 0) -> None:
        self.name, self.token, self.ports, self.h, self.states = name, token, ports, h, states
        self.identifier = identifier(name)
        self.variables = [*ports.settable, *ports.outputs]
        self.outputs = range(len(ports.settable) + 1, len(self.variables) + 1)
        first = len(self.variables) + 1
        self.state_numbers, self.rate_numbers = range(first, first + states), range(first + states, first + 2 * states)
        self.units = sorted({port.unit for port in self.variables if port.unit and definition(port.unit)} | {"s"})

    def xml(self, fmi: int) -> str:
        """Return modelDescription.xml of FMI 3.0 (``fmi`` 3) or 2.0 (2)."""
        return "\n".join(self.lines3() if fmi == 3 else self.lines2()) + "\n"

    def lines3(self) -> list[str]:
        """Return the lines of FMI 3.0."""
        head = (
            f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(self.name)} '
            f'instantiationToken="{self.token}" generationTool="rtmbs" variableNamingConvention="flat">'
        )
        simulation = (
            f'  <CoSimulation modelIdentifier="{self.identifier}" canHandleVariableCommunicationStepSize="true" '
        )
        simulation += f'fixedInternalStepSize="{self.h!r}" '
        if self.states:
            simulation = f'  <ModelExchange modelIdentifier="{self.identifier}" needsCompletedIntegratorStep="true" '
        simulation += 'canGetAndSetFMUState="true" canSerializeFMUState="true" providesDirectionalDerivatives="true"/>'
        variables = [
            '    <Float64 name="time" valueReference="0" causality="independent" variability="continuous" unit="s"/>'
        ]
        for number, port in enumerate(self.variables, 1):
            variables.append(
                f'    <Float64 name={quoteattr(port.name)} valueReference="{number}" {self.kind(port, number)}/>'
            )
        for number, name, state in self.exchanged():
            derivative = f' derivative="{state}"' if state else ""
            variables.append(
                f'    <Float64 name="{name}" valueReference="{number}" causality="local" variability="continuous" '
                f'initial="calculated"{derivative}/>'
            )
        unknowns = [*self.outputs, *self.rate_numbers]
        structure = [f'    <Output valueReference="{number}"/>' for number in self.outputs]
        structure += [f'    <ContinuousStateDerivative valueReference="{number}"/>' for number in self.rate_numbers]
        structure += [f'    <InitialUnknown valueReference="{number}"/>' for number in (*self.state_numbers, *unknowns)]
        return [
            '<?xml version="1.0" encoding="UTF-8"?>', head, simulation, *self.shared_lines(),
            "  <ModelVariables>", *variables, "  </ModelVariables>",
            "  <ModelStructure>", *structure, "  </ModelStructure>", "</fmiModelDescription>",
        ]  # fmt: skip

    def lines2(self) -> list[str]:
        """Return the lines of FMI 2.0."""
        head = (
            f'<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(self.name)} guid="{self.token}" '
            f'generationTool="rtmbs" variableNamingConvention="flat" numberOfEventIndicators="0">'
        )
        simulation = (
            f'  <CoSimulation modelIdentifier="{self.identifier}" canHandleVariableCommunicationStepSize="true" '
        )
        if self.states:
            simulation = f'  <ModelExchange modelIdentifier="{self.identifier}" '
        simulation += 'canNotUseMemoryManagementFunctions="true" canGetAndSetFMUstate="true" '
        simulation += 'canSerializeFMUstate="true" providesDirectionalDerivative="true"/>'
        variables = [
            '    <ScalarVariable name="time" valueReference="0" causality="independent" variability="continuous">'
            '<Real unit="s"/></ScalarVariable>'
        ]
        for number, port in enumerate(self.variables, 1):
            words = self.kind(port, number)
            start = "".join(re.findall(r' (?:start|unit)=(?:"[^"]*"|\'[^\']*\')', f" {words}"))
            words = re.sub(r' (?:start|unit)=(?:"[^"]*"|\'[^\']*\')', "", words)
            variables.append(
                f'    <ScalarVariable name={quoteattr(port.name)} valueReference="{number}" {words}>'
                f"<Real{start}/></ScalarVariable>"
            )
        for number, name, state in self.exchanged():
            derivative = f' derivative="{state + 1}"' if state else ""
            words = 'causality="local" variability="continuous" initial="calculated"'
            variables.append(
                f'    <ScalarVariable name="{name}" valueReference="{number}" {words}>'
                f"<Real{derivative}/></ScalarVariable>"
            )
        structure = []
        for part, numbers in (
            ("Outputs", [*self.outputs]),
            ("Derivatives", [*self.rate_numbers]),
            ("InitialUnknowns", [*self.outputs, *self.state_numbers, *self.rate_numbers]),
        ):
            unknowns = [f'      <Unknown index="{number + 1}"/>' for number in numbers]
            structure += [f"    <{part}>", *unknowns, f"    </{part}>"] if unknowns else []
        return [
            '<?xml version="1.0" encoding="UTF-8"?>', head, simulation, *self.shared_lines(),
            "  <ModelVariables>", *variables, "  </ModelVariables>",
            "  <ModelStructure>", *structure, "  </ModelStructure>", "</fmiModelDescription>",
        ]  # fmt: skip

    def begin(self) -> str:
        """Return the first words of the element of co-simulation or model exchange."""
        if self.states:
            return f'  <ModelExchange modelIdentifier="{self.identifier}"'
        return f'  <CoSimulation modelIdentifier="{self.identifier}" canHandleVariableCommunicationStepSize="true"'

    def exchanged(self) -> list[tuple[int, str, int]]:
        """Return states and their derivatives: number, name, number of the state of a derivative, else 0."""
        states = [(number, f"state[{k}]", 0) for k, number in enumerate(self.state_numbers, 1)]
        rates = zip(self.rate_numbers, states, strict=True)
        return [*states, *((number, f"der({name})", state) for number, (state, name, _) in rates)]

    def shared_lines(self) -> list[str]:
        """Return units, log categories and the default experiment, which both versions write alike."""
        units = [f"    <Unit name={quoteattr(unit)}>{definition(unit)}</Unit>" for unit in self.units]
        return [
            "  <UnitDefinitions>", *units, "  </UnitDefinitions>", "  <LogCategories>",
            *(f'    <Category name="logStatus{word}"/>' for word in ("Warning", "Discard", "Error")),
            "  </LogCategories>", f'  <DefaultExperiment startTime="0" stopTime="1" stepSize="{self.h!r}"/>',
        ]  # fmt: skip

    def kind(self, port: Port, number: int) -> str:
        """Return causality, variability, start and unit of a variable."""
        unit = f" unit={quoteattr(port.unit)}" if port.unit in self.units else ""
        if number in self.outputs:
            return f'causality="output" variability="continuous" initial="calculated"{unit}'
        start = f' start="{port.start!r}"{unit}'
        if port.input:
            return f'causality="input" variability="continuous"{start}'
        return f'causality="parameter" variability="tunable" initial="exact"{start}'


def definition(unit: str) -> str:
    """Return the BaseUnit of a unit such as ``N m/rad`` or ``m/s^2``; "" for one that is not known."""
    total = [0, 0, 0, 0]
    for sign, part in zip((1, -1), unit.split("/", 1), strict=False):
        for factor in part.strip("() ").split():
            name, _, power = factor.partition("^")
            if name not in BASES or not (power or "1").isdigit():
                return ""
            for k, exponent in enumerate(BASES[name]):
                total[k] += sign * exponent * int(power or 1)
    words = "".join(f' {name}="{exponent}"' for name, exponent in zip(NAMES, total, strict=True) if exponent)
    return f"<BaseUnit{words}/>"


def identifier(name: str) -> str:
    """Return a name of a library: letters, digits and underlines."""
    found = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return found if found[:1].isalpha() else f"model_{found}"


def token_of(parts: Sequence[bytes]) -> str:
    """Return the identity of an FMU: the same for the same content."""
    return "{" + str(uuid.uuid5(uuid.NAMESPACE_URL, "rtmbs:" + b"|".join(parts).hex())) + "}"


def write_archive(path: Path, members: dict[str, bytes]) -> None:
    """Write a zip archive whose bytes depend on its members only."""
    with replacing(path) as beside, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)


VERSIONS = (2, 3)  # of FMI
KINDS = ("co-simulation", "model-exchange")  # of FMUs
EXCHANGE = KINDS[1]
LICENSES = ("fmi3Functions.h", "fmi2Functions.h")  # headers whose licence stands in them


class Exported(NamedTuple):
    """One mechanism, ready to be written."""

    instance: Instance
    ports: Ports
    name: str
    token: str
    h: float
    file: bytes  # mechanism file


def export_fmu(
    system: System,
    path: str | Path,
    *,
    fmi: int = 3,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    h: float = 1e-3,
    method: Method | None = None,
    targets: Sequence[str] = (HOST,),
    kind: str = "co-simulation",
) -> Path:
    """Write an FMU, which needs no Python: in co-simulation the steps are those of a Simulation, bit for bit.

    For model exchange the importer integrates. The continuous states are independent coordinates, their rates and
    states of force laws. The FMU chooses the coordinates at the start, and others in event mode where these no longer
    serve.

    Parameters
    ----------
    system : System
        Compiled mechanism. A Simulation at its start goes as well; its ``h`` and method are taken.
    path : str or Path
        Archive to write, such as ``car.fmu``.
    fmi : {2, 3}, default 3
        Version of FMI.
    inputs : sequence of str, optional
        Inputs by name; a host sets them between communication points. All others become tunable parameters.
    outputs : sequence of str, optional
        Channels by name, or components such as ``block.position[x]``.
    h : float, default 1e-3
        Longest step [s]. A communication step of any length is taken in steps of ``h``, or in equal shorter ones.
    method : Method, optional
        ``PenaltyTrapezoidal()`` unless given.
    targets : sequence of str, optional
        Processors and systems: keys of ``rtmbs.jit.native_code.TARGETS``.
    kind : {"co-simulation", "model-exchange"}, optional
        Whether the FMU steps itself, or gives derivatives of states to the importer.

    Returns
    -------
    Path
        Archive that was written.

    Raises
    ------
    InputError
        For an option out of range, for a mechanism that Python must evaluate, and without a C compiler.
    UnknownNameError
        For an unknown input, channel or target.

    Examples
    --------
    >>> rtmbs.export_fmu(system, "car.fmu", inputs=["drive.torque"], outputs=["chassis.position"])  # doctest: +SKIP
    """
    if type(fmi) is not int or fmi not in VERSIONS:
        raise InputError(f"fmi is {shown(fmi)}; it must be 2 or 3")
    if kind not in KINDS:
        raise unknown_name("kind of FMU", kind, KINDS)
    found = exported(system, inputs, outputs, h, method)
    states = states_of(found) if kind == EXCHANGE else 0
    description = Description(found.name, found.token, found.ports, found.h, states)
    members = {"modelDescription.xml": description.xml(fmi).encode()}
    members["resources/mechanism.rtm"] = found.file
    for target in targets_of(targets):
        folder = PLATFORMS[target][0 if fmi == 3 else 1]
        name = f"binaries/{folder}/{description.identifier}{ending(target)}"
        if name in members:
            raise InputError(f"targets {shown(list(targets))} hold two libraries for {folder}; an FMU has room for one")
        members[name] = native_library(found.instance, target).read_bytes()
    members["documentation/licenses/fmi.txt"] = "".join(license_of(C / "fmi" / one) for one in LICENSES).encode()
    write_archive(Path(path), members)
    return Path(path)


def export_library(
    system: System,
    folder: str | Path,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    h: float = 1e-3,
    method: Method | None = None,
    target: str = HOST,
) -> Path:
    """Write a folder for a C or C++ host: library, header, mechanism file, a program that runs it, CMakeLists.txt.

    Parameters
    ----------
    system : System
        Compiled mechanism, or a Simulation at its start.
    folder : str or Path
        Folder to write to; it is made if needed.
    inputs : sequence of str, optional
        Inputs by name. All others can be set as well.
    outputs : sequence of str, optional
        Channels by name, or components such as ``block.position[x]``.
    h : float, default 1e-3
        Step [s].
    method : Method, optional
        ``PenaltyTrapezoidal()`` unless given.
    target : str, optional
        Processor and system: a key of ``rtmbs.jit.native_code.TARGETS``.

    Returns
    -------
    Path
        Folder that was written.

    Raises
    ------
    InputError
        For an option out of range, a mechanism that Python must evaluate, a folder that cannot be written, and without
        a C compiler.
    UnknownNameError
        For an unknown input, channel or target.

    Examples
    --------
    >>> rtmbs.export_library(system, "car/", outputs=["chassis.position"])  # doctest: +SKIP
    """
    found, place = exported(system, inputs, outputs, h, method), Path(folder)
    if place.is_file():
        raise InputError(f"{place} cannot be written: it is a file; give a folder")
    library = native_library(found.instance, target)
    stem = identifier(found.name)
    try:
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, place / f"librtmbs{ending(target)}")
        for name, target_name in (
            ("rtmbs.h", "rtmbs.h"),
            ("CMakeLists.txt.in", "CMakeLists.txt"),
            ("main.c.in", "main.c"),
        ):
            text = (C / name).read_text().replace("@MECHANISM@", f"{stem}.rtm")
            with replacing(place / target_name) as file:
                file.write(text.encode())
        with replacing(place / f"{stem}.rtm") as file:
            file.write(found.file)
    except OSError as error:
        raise InputError(f"{place} cannot be written ({error.strerror or error}); give another folder") from error
    return place


def states_of(found: Exported) -> int:
    """Return the number of continuous states of a mechanism; InputError for one without."""
    count = 2 * found.instance.freedom + len(found.instance.s)
    if count == 0:
        raise InputError(f"{found.name} has no degree of freedom and no state, and model exchange needs one")
    return count


def exported(system: Any, inputs: Sequence[str], outputs: Sequence[str], h: float, method: Method | None) -> Exported:
    """Return a mechanism with its file; InputError for one that Python must evaluate."""
    for what, names in (("inputs", inputs), ("outputs", outputs)):
        several = isinstance(names, Iterable) and not isinstance(names, str)
        if not several or not all(isinstance(name, str) for name in names):
            raise InputError(f"{what} is {shown(names)}; it must be a list of names")
    if not isinstance(system, System | Simulation):
        raise InputError(f"an export takes a compiled System, not {shown(system)}; write model.compile()")
    sim = system if isinstance(system, Simulation) else Simulation(system, h=h, method=method)
    check_exportable(sim)
    ports = ports_of(sim, inputs, outputs)
    instance = instance_of(sim, ports)
    content = mechanism_bytes(instance, ports, sim.system.name, "", sim.t)
    token = token_of([checksum(content).to_bytes(8, "little")])
    content = mechanism_bytes(instance, ports, sim.system.name, token, sim.t)
    return Exported(instance, ports, sim.system.name, token, sim.h, content)


def check_exportable(sim: Simulation) -> None:
    """Refuse a Simulation that the native library cannot step: InputError."""
    method, system = sim.method, sim.system
    if not isinstance(method, PenaltyTrapezoidal) or not method.fused:
        raise InputError(f"method is {shown(method)}; only the fused step of PenaltyTrapezoidal() can be exported")
    refuse_bearings(system.bearings, "an export")
    refuse_convex(system.forces, "an export")
    refuse_sets(system, "an export")
    refuse_rigid(system.rigid, "an export")
    if system.called:
        names = ", ".join(repr(law.name) for law in system.called)
        raise InputError(
            f"force {names}: the law could not be recorded, so only Python can call it, and a native library cannot; "
            "the warning of compile says why"
        )
    if sim.equations.source is not None:
        raise InputError("the native library differentiates by the closed form; export with jacobian='structured'")
    if system.signals and sim.t != 0.0:
        raise InputError(
            f"functions of time act, so the export begins at t = 0 s, not at {sim.t:g} s; take a new Simulation"
        )


def targets_of(targets: Sequence[str]) -> Sequence[str]:
    """Return targets as a list; InputError for anything else and for none, UnknownNameError for an unknown one."""
    if isinstance(targets, str) or not targets:
        raise InputError(f"targets is {shown(targets)}; it must be a list of {', '.join(TARGETS)}")
    for target in targets:
        if target not in TARGETS:
            raise unknown_name("target", target, TARGETS)
    return targets


def license_of(header: Path) -> str:
    """Return the first comment of a header that holds its licence."""
    text = header.read_text()
    begin = text.index("Copyright (C)")
    return text[begin : text.index("*/", begin)].rstrip() + "\n\n"
