"""Builds the native core of the engine, where a C++ compiler is found.

It is optional: without it the engine multiplies through torch, slower, and says so. Everything
else about the package stands in pyproject.toml.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("engine/kernels/native")
OPTIONS = {
    "msvc": ["/std:c++17", "/O2", "/EHsc"],
    "unix": [
        *("-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-fno-math-errno", "-pthread"),
        "-Wno-maybe-uninitialized",  # GCC means its own AVX-512 header, at every use
    ],
}


class BuildNative(build_ext):
    """Builds a plain shared library, which ctypes opens: it has no module in it."""

    user_options: ClassVar = build_ext.user_options

    def build_extension(self, ext: Extension) -> None:
        """Add the options of the compiler that was found."""
        kind = "msvc" if self.compiler.compiler_type == "msvc" else "unix"
        ext.extra_compile_args = OPTIONS[kind]
        ext.extra_link_args = ["-pthread"] if kind == "unix" else []
        if kind == "unix":
            self.compiler.compile = partial(_compile_side_by_side, self.compiler.compile)
        super().build_extension(ext)

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Nothing beside what the sources export: there is no PyInit function."""
        return list(ext.export_symbols)


def _compile_side_by_side(
    compile_in_turn: Callable[..., list[str]], sources: Sequence[str], **given: Any
) -> list[str]:
    """The objects of all sources, in order; each source is one start of the compiler."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = pool.map(lambda source: compile_in_turn([source], **given), sources)
        return [made for some in objects for made in some]


setup(
    ext_modules=[
        Extension(
            "engine.kernels._native",
            sources=sorted(path.as_posix() for path in NATIVE.glob("*.cpp")),
            depends=sorted(path.as_posix() for path in NATIVE.glob("*.h")),
            language="c++",
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildNative},
)
