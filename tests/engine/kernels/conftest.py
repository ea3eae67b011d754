"""The native core on each instruction set of this machine."""

import pytest

from engine.kernels.library import NativeCore, instruction_sets, open_core


@pytest.fixture(params=instruction_sets() or [None])
def core(request: pytest.FixtureRequest) -> NativeCore:
    if request.param is None:
        pytest.skip("the native core was not built: no C++ compiler was found")
    found = open_core(request.param)
    assert found is not None
    return found
