"""A compiled kernel as it lies on disk: machine code, which is ready at once, and text, for compilations of callers.

numba makes its compiler ready for every kernel that it loads, and parses the bitcode of it and of all that it calls. A
process that finds its kernels on disk compiles nothing: without both it starts earlier and takes less memory.
"""

from typing import Any, NamedTuple

from rtmbs.jit.libraries import CoarseLibrary, KernelLibrary, TextLibrary
from rtmbs.jit.private import CompileResult
from rtmbs.jit.rare import Slot, know

Need = tuple[str, str]  # the file of a coarse kernel and the name of its function


class Kept(NamedTuple):
    """What a file holds."""

    needs: tuple[Need, ...]  # to be loaded before
    slots: tuple[tuple[Any, ...], ...]  # of rare kernels, to be known before
    parts: tuple[Any, ...]  # what numba keeps of a compiled kernel; machine code comes first, if there is any
    text: bytes  # bitcode for callers, if they take it


def taken_apart(compiled: Any) -> Kept:
    """Return what is kept of a compiled kernel."""
    library = compiled.library
    needs = tuple((callee.file, callee.symbol) for callee in library.needs)
    slots = tuple(tuple(slot) for slot in library.slots.values())
    return Kept(needs, slots, compiled._reduce(), library.text_for_callers())


def put_together(target: Any, kept: Kept, kind: type[KernelLibrary], callees: list[CoarseLibrary]) -> Any:
    """Return a compiled kernel of what was kept of it; the coarse kernels it calls are loaded."""
    slots = [Slot(*slot) for slot in kept.slots]
    know(slots)
    result = text_only(target, kept.parts) if kind is TextLibrary else CompileResult._rebuild(target, *kept.parts)
    library = result.library
    library.__class__, library.needs, library.text = kind, dict.fromkeys(callees), kept.text
    library.slots = {slot.name: slot for slot in slots}
    return result


def text_only(target: Any, parts: tuple[Any, ...]) -> Any:
    """Return a kernel without machine code: as ``CompileResult._rebuild`` without its first part."""
    _, description, environment, signature, objectmode, lifted, annotation, reload_init, environments = parts
    target.refresh()  # whoever loads an inner kernel is compiling
    library = TextLibrary(target.codegen(), description.qualname)
    library._finalized = True
    return CompileResult(
        typing_context=target.typing_context,
        target_context=target,
        entry_point=target.get_executable(library, description, environment),
        typing_error=None,
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        fndesc=description,
        library=library,
        call_helper=None,
        environment=environment,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=environments,
    )
