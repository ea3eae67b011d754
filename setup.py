"""Builds the native core of the engine, where a C++ compiler is found.

It is optional: without it the engine multiplies through torch, slower, and says so. Everything
else about the package stands in pyproject.toml.
"""

from pathlib import Path
from typing import ClassVar

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
        super().build_extension(ext)

    def get_export_symbols(self, ext: Extension) -> list[str]:
        """Nothing beside what the sources export: there is no PyInit function."""
        return list(ext.export_symbols)


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
