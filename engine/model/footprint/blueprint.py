"""A model before it is loaded: its products, its tables and what it keeps of each token.

Filled in from an open checkpoint, or by the planner's readers from a configuration or a header; the
bytes and the speed are worked out from it. Knows no file format.
"""

from dataclasses import dataclass

from engine.model.footprint.cache import CacheTrack
from engine.quant.stored import TableForm

_CORE_GROUP = 32


@dataclass(frozen=True, slots=True)
class Product:
    """x @ W.T as the decoder runs it: W is [rows, columns], q, k and v already in one.

    ``copies``: how many there are, ``active``: how many of them one token uses; more than one
    are the experts of a layer. ``is_four_bit``: every part is in groups of 4 bits in the file;
    ``group``: weights that share a scale once they are INT4; ``is_even``: their groups need no
    offset. ``layer``: the one it belongs to, None
    where that is not known. ``is_exact``: kept in FP32 whatever the others are.
    """

    rows: int
    columns: int
    copies: int = 1
    active: int = 1
    is_four_bit: bool = False
    group: int = 32
    layer: int | None = None
    is_exact: bool = False
    is_even: bool = False

    @property
    def size(self) -> int:
        """Weights of one copy."""
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A decoder-only model's shape.

    ``products``: those of the layers. ``head`` is None where the embedding is the head.
    ``vector_values``: values of norms, biases and other small tensors, kept in the compute type.
    ``is_from_weights``: read beside the weights themselves, so that the engine could load them.
    ``is_four_bit``: most of the layers' weights have 4 bits in the file; ``is_table_four_bit``:
    so has the embedding, ``is_table_even``: in groups without an offset.
    ``widest_row``: values of the widest activation of one token within a layer.
    ``has_native_step``: the native core, where there is one, runs whole layers in one call.
    """

    name: str
    model_type: str
    vocab_size: int
    hidden_size: int
    num_layers: int
    context_length: int
    products: tuple[Product, ...]
    head: Product | None
    vector_values: int
    table_form: TableForm
    tracks: tuple[CacheTrack, ...]
    widest_row: int
    is_from_weights: bool = False
    is_four_bit: bool = False
    is_table_four_bit: bool = False
    is_table_even: bool = False
    has_native_step: bool = False
    notes: tuple[str, ...] = ()

    @property
    def table_values(self) -> int:
        """Values of the embedding."""
        return self.vocab_size * self.hidden_size

    @property
    def head_product(self) -> Product:
        """The product that makes logits, shared with the embedding or not."""
        if self.head is not None:
            return self.head
        return Product(
            self.vocab_size,
            self.hidden_size,
            is_four_bit=self.is_table_four_bit,
            is_even=self.is_table_even,
        )

    @property
    def num_parameters(self) -> int:
        """All parameters, a shared table counted once."""
        layers = sum(p.size * p.copies for p in self.products)
        head = 0 if self.head is None else self.head.size
        return layers + self.table_values + head + self.vector_values

    @property
    def active_parameters(self) -> int:
        """Parameters one token is multiplied with; the embedding is only looked up."""
        layers = sum(p.size * p.active for p in self.products)
        return layers + self.head_product.size + self.vector_values

    @property
    def is_regular(self) -> bool:
        """Whether every matrix has rows that the native core can divide."""
        products = (*self.products, self.head_product)
        return all(product.columns % _CORE_GROUP == 0 for product in products)
