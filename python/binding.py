"""Write the C source of exactformer._core: cffi's view of the public headers.

    binding.py INCLUDE_DIR OUTPUT.c

The headers are the only description of the interface; nothing is declared a second time. The C
compiler checks what cffi understood of them. Needs cffi.
"""

import re
import sys
from pathlib import Path

from cffi import FFI

CALLBACKS = """
extern "Python" int xfpy_progress(void *context, const char *phase, double done);
extern "Python" void xfpy_note(void *context, const char *text);
"""


def headers(folder: Path, name: str, seen: dict[str, str]) -> dict[str, str]:
    """Texts of a header and of those that it includes, by name, in the order of declaration."""
    text = (folder / name).read_text(encoding="utf-8")
    for other in re.findall(r"^#include <(exactformer/[^>]+)>", text, re.MULTILINE):
        if other not in seen:
            headers(folder, other, seen)
    seen[name] = text
    return seen


def declarations(text: str) -> str:
    """A header without comments, preprocessor lines and what surrounds the declarations."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*(?:\\\n.*)*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\bXF_API\b", "", text)


def main() -> None:
    folder, output = Path(sys.argv[1]), sys.argv[2]
    ffi = FFI()
    for text in headers(folder, "exactformer/exactformer.h", {}).values():
        ffi.cdef(declarations(text))
    ffi.cdef(CALLBACKS)
    ffi.set_source("exactformer._core", "#include <exactformer/exactformer.h>")
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
