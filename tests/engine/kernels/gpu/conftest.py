"""These tests run on a card, or in Triton's interpreter: tests/engine/kernels/test_gpu.py starts it."""

from tests.helpers.triton_device import can_run_kernels

collect_ignore_glob = [] if can_run_kernels() else ["test_*.py"]
