"""What weights are packed for on a device of this machine: which products it has."""

from engine.api import Device
from engine.devices import has_native_bf16 as look_for_bf16
from engine.kernels.library import open_core
from engine.model.footprint.weights import Target


def target_of(
    device: Device, *, has_native_bf16: bool | None = None, has_odd_rows: bool = True
) -> Target:
    """Look at ``device``, which is not AUTO.

    ``has_native_bf16`` None: look, which imports torch. ``has_odd_rows`` False: no matrix is one
    that the native core leaves to torch, so that torch's products, where there is the core, need no
    trying out and torch no importing.
    """
    if device is Device.CUDA:
        return Target(is_cuda=True, has_native_bf16=bool(has_native_bf16))
    has_core = open_core() is not None
    if has_native_bf16 is None:
        has_native_bf16 = look_for_bf16()
    if has_core and not has_odd_rows:
        return Target(has_native_bf16=has_native_bf16, has_core=True)
    from engine.quant.int4_cpu import has_fast_int4  # noqa: PLC0415 - imports torch
    from engine.quant.int8_cpu import has_fast_int8  # noqa: PLC0415 - as above

    return Target(
        has_native_bf16=has_native_bf16,
        has_fast_int4=has_fast_int4(),
        has_fast_int8=has_fast_int8(),
        has_core=has_core,
    )
