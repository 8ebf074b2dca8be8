"""``rtmbs check``: what a mechanism is made of."""

from rtmbs.commands.arguments import Parser
from rtmbs.commands.model_file import add_large, is_file, refusals
from rtmbs.commands.view import option_parser
from rtmbs.errors import LanguageError
from rtmbs.language import Document


def run(words: list[str]) -> int:
    """Print bodies, equations, rank and freedom of a model file, or the tree and cuts of a library mechanism."""
    from rtmbs import library

    epilog = f"mechanisms of the library: {', '.join(library.names())}"
    parser = Parser(prog="rtmbs check", description=run.__doc__, epilog=epilog)
    parser.add_argument("model", metavar="MODEL", help="a model file (.mks), or a library mechanism with its options")
    if not words or words[0].startswith("-"):
        parser.read(words or ["--help"])
    name = words[0]
    if not is_file(name):
        return check_mechanism(name, words[1:])
    add_large(parser)
    options = parser.read(words)
    return check_file(options.model, options.large)


def check_mechanism(name: str, words: list[str]) -> int:
    """Check a mechanism of the library."""
    from rtmbs import library
    from rtmbs.simulation import Simulation

    defaults = library.defaults(name)
    options = vars(option_parser(f"rtmbs check {name}", defaults, library.describe(name)).read(words))
    sim = Simulation(library.build(name, **options).compile())
    print(sim.start_report.topology)
    print()
    print(sim.start_report)
    return 0


def check_file(path: str, large: bool) -> int:
    """Check a model file; one that is refused is shown with a caret on standard output."""
    from rtmbs.language import read

    try:
        document = read(path, large)
        with refusals(path, document):
            print(described(document))
    except LanguageError as error:
        if error.picture:
            print(error.picture)
        raise
    return 0


def described(document: Document) -> str:
    """Return what a model is made of, by the analysis that its file asks for."""
    model, analysis = document.model, document.analysis
    head = f"{model.name}: {analysis.kind} analysis from {analysis.t0:g} s to {analysis.t1:g} s every {analysis.dt:g} s"
    if analysis.kind == "kinematic":
        from rtmbs.commands.analyses import kinematics

        return f"{head}\n\n{kinematics(document).check(analysis.t0)}"
    from rtmbs.commands.analyses import simulation

    sim = simulation(document)
    return f"{head}\n\n{sim.start_report.topology}\n\n{sim.start_report}"
