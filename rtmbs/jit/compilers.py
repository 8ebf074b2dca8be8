"""The compilers of kernels: numba's own, with a library of ours and names that are the same in every process."""

from typing import Any

from rtmbs.jit.cache_folder import kernel_sources
from rtmbs.jit.libraries import CoarseLibrary, KernelLibrary, TextLibrary
from rtmbs.jit.private import CompilerBase, DefaultPassBuilder

SOURCES = frozenset(str(path) for path in kernel_sources())
LOCAL = "<"  # in the qualified name of a function that is made anew by every call of another


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles a kernel that Python calls, and whose text becomes a part of other kernels."""

    library = KernelLibrary

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, after the library and the name are set."""
        function, state = self.state.func_id, self.state
        if function.filename in SOURCES and LOCAL not in function.func_qualname:
            function.unique_id = 0  # numba counts functions: callers of another process would not find this one
        state.library = self.library(state.targetctx.codegen(), function.func_qualname)
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class CoarseCompiler(KernelCompiler):
    """Compiles a kernel that other kernels call by its name."""

    library = CoarseLibrary


class TextCompiler(KernelCompiler):
    """Compiles a kernel that becomes a part of other kernels."""

    library = TextLibrary
