"""What the machine says about itself."""

import psutil

from engine.api import GpuMemory
from engine.devices import (
    MemoryInfo,
    cpu_name,
    describe_cpu,
    find_gpu,
    physical_cores,
    process_memory,
    read_gpu_memory,
    read_memory,
)


def test_cpu():
    cpu = describe_cpu()
    assert cpu.name == cpu_name() != ""
    assert cpu.physical_cores == physical_cores()
    assert 1 <= cpu.physical_cores <= (psutil.cpu_count() or 1)
    assert list(cpu.isa) == sorted(set(cpu.isa))


def test_memory():
    memory = read_memory()
    assert 0 < memory.process_bytes < memory.total_bytes
    assert 0 < memory.available_bytes <= memory.total_bytes
    assert memory.other_bytes >= 0


def test_memory_of_other_programs():
    assert MemoryInfo(100, 40, 10).other_bytes == 50
    assert MemoryInfo(100, 95, 10).other_bytes == 0  # the readings are not taken at one instant


def test_process_memory_follows_an_allocation():
    before = process_memory()
    block = bytearray(b"x" * (64 << 20))
    assert process_memory() - before > 32 << 20
    del block


def test_gpu():
    gpu = find_gpu()
    if gpu is not None:
        assert 0 < gpu.free_bytes <= gpu.total_bytes
        assert gpu.has_native_bf16 == (gpu.capability >= (8, 0))


class _Card:
    """What ``torch.cuda`` says of a card of 24 with 9 in other hands."""

    def mem_get_info(self, _device):
        return 10, 24

    def memory_allocated(self, _device):
        return 3

    def memory_reserved(self, _device):
        return 5


def test_memory_of_a_card():
    memory = read_gpu_memory(_Card())
    assert memory == GpuMemory(24, 10, 3, 5)
    assert (memory.other_bytes, memory.unused_bytes) == (9, 2)


def test_readings_of_a_card_that_were_not_taken_at_one_instant():
    memory = GpuMemory(24, 22, 5, 4)
    assert (memory.other_bytes, memory.unused_bytes) == (0, 0)
