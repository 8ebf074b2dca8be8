"""Machine code of kernels for hosts without Python: numba's text of all kernels in one module, one object a target.

The text of every kernel that an entry calls is linked into one module, and the slots of lazy kernels become constants.
Only the C entry points stay visible. A process of its own does this, for ``BASELINE`` must be set before numba is
imported, and ``keep_text`` called before the first kernel is: ``python -m rtmbs.jit.native_code MODULE FOLDER TARGET``.
MODULE has the entries, ``ENTRIES``. The folder holds ``example.pickle``, any struct that they take, and gets
``kernels.TARGET.o``.
"""

import pickle
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

BASELINE = {
    "NUMBA_CPU_NAME": "x86-64-v2",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_INTEL_SVML": "1",
    "RTMBS_PLAIN_JIT": "0",
    "RTMBS_KERNELS": "numba",
}  # of the front end; the back end knows the target
FILL = "rtmbs.fill_slot"  # what compiled code calls to fill an empty slot; here none is empty


class Target(NamedTuple):
    """A processor and system that code is made for."""

    triple: str
    cpu: str
    features: str = ""


TARGETS = {
    "x86_64_v2-linux": Target("x86_64-unknown-linux-gnu", "x86-64-v2"),
    "x86_64_v3-linux": Target("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "aarch64-linux": Target("aarch64-unknown-linux-gnu", "generic"),
    "x86_64-windows": Target("x86_64-pc-windows-gnu", "x86-64-v2"),
}


def keep_text() -> None:
    """Let every kernel that is imported from now on be text of its callers; this process can run none of them."""
    from rtmbs.jit import compilers

    compilers.CoarseCompiler.library = compilers.TextLibrary
    compilers.KernelCompiler.library = compilers.TextLibrary


def kernels_module(entries: Mapping[str, Callable[..., Any]], argument: Any) -> Any:
    """Return the module of kernels that take one struct, with C entry points by their names.

    ``argument`` is any struct of the type that the host hands over.
    """
    import numba
    from llvmlite import binding

    signature = (numba.typeof(argument),)
    module = binding.parse_assembly(f"define void @{FILL}(ptr %place) {{ ret void }}")
    slots: dict[str, Any] = {}
    done: set[str] = set()
    for name, kernel in entries.items():
        dispatcher: Any = kernel
        dispatcher.compile(signature)
        result = dispatcher.overloads[signature]
        slots |= link(module, result, entry_point(name, result.fndesc.llvm_func_name))
    while left := [slot for name, slot in slots.items() if name not in done]:
        for slot in left:
            result = lazy_result(slot)
            slots |= link(module, result, constant_slot(slot.name, result.fndesc.llvm_func_name))
            done.add(slot.name)
    return module


def link(module: Any, result: Any, user: str) -> dict[str, Any]:
    """Link the text of a compiled kernel behind ``user``, the text that uses it; return its slots by name.

    The linker drops what nothing uses.
    """
    from llvmlite import binding

    module.link_in(binding.parse_assembly(user))
    module.link_in(binding.parse_assembly(str(result.library._get_module_for_linking())))
    return dict(result.library.slots)


def lazy_result(slot: Any) -> Any:
    """Return the compiled lazy kernel of a slot."""
    from rtmbs.jit.lazy_kernel import compiled_kernel

    return compiled_kernel(slot)


def constant_slot(name: str, symbol: str) -> str:
    """Return the text of a slot that holds the address of its kernel."""
    return f'''declare void @"{symbol}"(...)
@"{name}" = constant i64 ptrtoint (ptr @"{symbol}" to i64)'''


def entry_point(name: str, symbol: str) -> str:
    """Return the text of a C entry point: ``int32_t name(const int64_t *words)``; -1 for an exception."""
    return f'''
declare i32 @"{symbol}"(ptr, ptr, ptr)
define i32 @{name}(ptr %words) {{
  %ret = alloca i64
  %exc = alloca ptr
  store i64 0, ptr %ret
  store ptr null, ptr %exc
  %status = call i32 @"{symbol}"(ptr %ret, ptr %exc, ptr %words)
  %bad = icmp ne i32 %status, 0
  %value = load i64, ptr %ret
  %short = trunc i64 %value to i32
  %out = select i1 %bad, i32 -1, i32 %short
  ret i32 %out
}}
'''


def machine_code(text: str, target: Target, entries: Mapping[str, Any], asked: tuple[str, ...] = ()) -> bytes:
    """Return the object file of a module's text for a target: only the entries are visible, and it is relocatable.

    ``asked`` are functions of the system that it may ask for, besides mathematics.

    On other processors than x86-64 a program may not read the tick counter, so time stands still there.
    """
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    if not target.triple.startswith("x86_64"):
        text = re.sub(r"call i64 @llvm\.readcyclecounter\(\)[^\n]*", "add i64 0, 0", text)
    module = binding.parse_assembly(text)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in entries:
            value.linkage = "internal"
    machine = binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    tuning = binding.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    passes = binding.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    names = [one.name for one in (*module.functions, *module.global_variables) if one.is_declaration]
    check_externals([name for name in names if name not in asked])
    return bytes(machine.emit_object(module))


MATHEMATICS = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh exp exp2 expm1 fabs floor fmod hypot log log10 log1p
log2 memcpy memmove memset pow rint sin sincos sinh sqrt tan tanh trunc
"""  # of the C library: all that the kernels may ask for


def check_externals(names: list[str]) -> None:
    """Refuse a module that asks for more than the C library's mathematics: RuntimeError."""
    foreign = sorted(name for name in names if not name.startswith("llvm.") and name not in MATHEMATICS.split())
    if foreign:
        raise RuntimeError(f"the native kernels ask for {', '.join(foreign)}, which no C library has")


def main(module: str, folder: Path, target: str) -> None:
    """Write the object file of a target."""
    keep_text()
    entries: Mapping[str, Callable[..., Any]] = import_module(module).ENTRIES
    example = pickle.loads((folder / "example.pickle").read_bytes())
    code = machine_code(str(kernels_module(entries, example)), TARGETS[target], entries)
    (folder / f"kernels.{target}.o").write_bytes(code)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
