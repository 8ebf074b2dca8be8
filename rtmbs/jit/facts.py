"""What ``rtmbs info`` says about compiled kernels."""

import numba

from rtmbs.jit.cache_folder import FILES, PLACE
from rtmbs.jit.mode import PLAIN


def facts() -> list[tuple[str, str]]:
    """Return (label, value): threads, whether and how kernels are compiled, and where they are kept."""
    files = list(PLACE.folder.glob(FILES)) if PLACE.folder else []
    size = sum(path.stat().st_size for path in files) / 1e6
    on = "on, by public names only (RTMBS_PLAIN_JIT)" if PLAIN else "on"
    return [
        ("threads of numba", f"{numba.config.NUMBA_NUM_THREADS}"),
        ("just-in-time", "off (NUMBA_DISABLE_JIT)" if numba.config.DISABLE_JIT else on),
        ("compiled kernels", f"{PLACE.folder or 'kept nowhere'} ({len(files)} files, {size:.1f} MB)"),
    ]
