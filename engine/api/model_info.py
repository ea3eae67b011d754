"""What is known of the loaded model."""

from dataclasses import dataclass

from engine.api.options import Device, Precision


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The loaded model, as resolved. Bytes are what is allocated, not what the file holds.

    ``kernels`` says in words which matrix product runs each part; ``draft`` names what guesses
    tokens ahead. ``num_cpu_layers`` of a model on a GPU run on the CPU all the same.
    """

    path: str
    name: str
    architecture: str
    precision: Precision
    device: Device
    device_name: str
    threads: int
    context_length: int
    trained_context_length: int
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    num_parameters: int
    file_bytes: int
    weights_bytes: int
    kv_bytes_per_token: int
    kv_budget_bytes: int
    kv_block_size: int
    kv_dtype: str
    load_ns: int
    has_chat_template: bool
    kernels: tuple[str, ...] = ()
    license: str = ""
    is_calibrated: bool = False
    draft: str = ""
    num_cpu_layers: int = 0
