"""Notes how long each layer of a model of transformers takes, by hooks that stay for one pass."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedModel

from engine.api.profile import Part
from engine.model.compat.dispatch import head_of, layers_of
from engine.model.part_clock import PartClock, Place

_OUTSIDE: Place = (None, Part.OTHER)


@contextmanager
def timed_layers(model: PreTrainedModel, clock: PartClock) -> Iterator[None]:
    """Let ``clock`` hear of the embedding, of each layer as a whole, and of the head."""
    embedding: nn.Module = model.get_input_embeddings()
    places: list[tuple[nn.Module, Place]] = [(embedding, (None, Part.EMBED))]
    try:
        layers = layers_of(model)[1]
    except AttributeError:
        pass
    else:
        places += [(layer, (index, Part.OTHER)) for index, layer in enumerate(layers)]
    head = head_of(model)
    if head is not None:
        places.append((head, (None, Part.HEAD)))
    handles = [handle for place in places for handle in _hook(*place, clock)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _hook(module: nn.Module, place: Place, clock: PartClock) -> tuple[RemovableHandle, ...]:
    def before(*_: object) -> None:
        clock.lap(*_OUTSIDE)

    def after(*_: object) -> None:
        clock.lap(*place)

    return module.register_forward_pre_hook(before), module.register_forward_hook(after)
