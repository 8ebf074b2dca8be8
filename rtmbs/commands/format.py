"""``rtmbs format``: a model file in its usual form."""

from pathlib import Path

from rtmbs.commands.arguments import Parser
from rtmbs.commands.model_file import add_large
from rtmbs.files.atomic_file import replacing


def run(words: list[str]) -> int:
    """Print a model file in its usual form, or write it back: rtmbs format FILE --in-place"""
    from rtmbs.language import format
    from rtmbs.language.source import load

    parser = Parser(prog="rtmbs format", description=run.__doc__)
    parser.add_argument("file", metavar="FILE", help="a model file")
    parser.add_argument("--in-place", action="store_true", help="write the file instead of printing it")
    add_large(parser)
    options = parser.read(words)
    source = load(Path(options.file), options.file)
    text = format(source, options.large)
    if not options.in_place:
        print(text, end="")
    elif text != source.text:
        with replacing(options.file) as file:
            file.write(text.encode())
    return 0
