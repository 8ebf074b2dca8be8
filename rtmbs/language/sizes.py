"""How large a model file may be, and how much work it may ask for.

Reading, checking and refusing a text costs a bounded time and memory a word, statement, body and operator. The limits
keep any text within 2 s and 256 MB, unless the user says that a large one is meant.
"""

from typing import NamedTuple

from rtmbs.language.document import Analysis
from rtmbs.language.source import Source
from rtmbs.language.syntax import TIME, Code, Name, Statement

OPERATIONS = ("operator", "call")  # kinds of instructions that take time when a function of time is evaluated
WAY_OUT = "--large on the command line, or large=True in Python, allows more"


class Limits(NamedTuple):
    """The largest numbers that are taken."""

    words: float  # words, numbers and signs of a model file and all that it includes
    statements: float
    bodies: float
    operations: float  # operators and functions in all values that depend on TIME
    rows: float  # of the result, times bodies: they are kept in memory
    work: float  # steps of a dynamic analysis, times bodies and operations: about a microsecond each


ORDINARY = Limits(words=30_000, statements=1_000, bodies=150, operations=1_000, rows=40_000, work=5e7)
LARGE = Limits(words=1e7, statements=1e6, bodies=1e5, operations=1e6, rows=1e8, work=1e13)


def operations(value: Code) -> int:
    """Return how many operations a function of time has; those of a constant are done once."""
    depends = any(isinstance(part.operand, Name) and part.operand.text.lower() == TIME for part in value)
    return sum(part.kind in OPERATIONS for part in value) if depends else 0


class Size:
    """Counts what a text asks for, and refuses what is above the limits."""

    def __init__(self, large: bool) -> None:
        self.most = LARGE if large else ORDINARY
        self.statements = self.bodies = self.operations = 0

    def count(self, source: Source, statement: Statement) -> None:
        """Count one statement; raises LanguageError at the first that is too many."""
        values = [*(argument.value for argument in statement.arguments), statement.assigned or ()]
        self.statements += 1
        self.bodies += statement.words[0].lower() == "body" and not statement.quoted[0]
        self.operations += sum(operations(value) for value in values)
        for what, found, most in (
            ("statements", self.statements, self.most.statements),
            ("bodies", self.bodies, self.most.bodies),
            ("operators and functions of TIME", self.operations, self.most.operations),
        ):
            if found > most:
                raise source.error(statement.places[0], f"there are more than {most:,.0f} {what} up to here; {WAY_OUT}")

    def check(self, analysis: Analysis) -> str:
        """Return what is too much about the times of an analysis; nothing when they are accepted."""
        bodies = max(self.bodies, 1)
        rows = (analysis.t1 - analysis.t0) / analysis.dt * bodies
        if rows > self.most.rows:
            return (
                f"print interval is {analysis.dt:g}: rows of the result times bodies are {rows:.3g}, and at most"
                f" {self.most.rows:g} are taken; {WAY_OUT}"
            )
        steps = (analysis.t1 - analysis.t0) / (analysis.h or analysis.dt)
        if analysis.kind == "dynamic" and (work := steps * (bodies + self.operations)) > self.most.work:
            return (
                f"step is {analysis.h or analysis.dt:g}: steps times bodies and operators are {work:.3g}, and at most"
                f" {self.most.work:g} are taken; {WAY_OUT}"
            )
        return ""
