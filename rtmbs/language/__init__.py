"""Model language: mechanisms and their analysis as text (docs/language.md)."""

from rtmbs.core.names import publish
from rtmbs.language.document import Analysis, Document, Place
from rtmbs.language.measures import with_measures
from rtmbs.language.parse import Sheet, parse
from rtmbs.language.read import build, read
from rtmbs.language.write import format, write

__all__ = ["Analysis", "Document", "Place", "Sheet", "build", "format", "parse", "read", "with_measures", "write"]

publish(globals(), __all__)
