"""Tests of the kernels run on a card, or in Triton's interpreter; see tests/engine/kernels/test_gpu.py."""

from tests.helpers.triton_device import can_run_kernels

collect_ignore_glob = [] if can_run_kernels() else ["test_kernel_rows.py"]
