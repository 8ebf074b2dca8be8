"""Model descriptions of FMI 3.0 and 2.0, and the archive of an FMU with the native library and a mechanism file."""

import re
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from rtmbs.core.files import replacing
from rtmbs.export.channels import Port, Ports

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
