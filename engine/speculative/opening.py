"""From an option to what guesses ahead: nothing, n-grams, or a loaded draft model."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.api import ModelOptions
from engine.errors import InvalidRequestError
from engine.kv.manager import KVManager
from engine.model.loader import LoadedModel
from engine.scheduling.drafting import Speculator
from engine.speculative.draft_model import ModelDrafter, Run
from engine.speculative.ngram import NgramDrafter
from engine.speculative.speculation import Speculation
from engine.text.tokenizer import Tokenizer

NGRAM = "ngram"


@dataclass(frozen=True, slots=True, eq=False)
class OpenedDraft:
    """What guesses, its name, and the bytes its weights and cache take."""

    speculator: Speculator
    name: str
    num_bytes: int = 0


def open_draft(
    options: ModelOptions,
    model: LoadedModel,
    load: Callable[[ModelOptions], LoadedModel],
    make_runner: Callable[[LoadedModel], Run],
    interrupted: Callable[[], bool],
) -> OpenedDraft | None:
    """Open what ``options.draft`` names, for ``model``; None where nothing is to be guessed.

    Raises InvalidRequestError for a draft that cannot serve this model, and what loading raises.
    """
    if not options.draft or not options.kv_cache:
        return None
    if options.draft == NGRAM:
        return OpenedDraft(Speculation(NgramDrafter()), NGRAM)
    wanted = replace(
        options, path=options.draft, draft=None, context_length=None, kv_budget_bytes=None
    )
    draft = load(wanted)
    _check_vocabulary(draft.tokenizer, model.tokenizer, options.draft)
    geometry = draft.config.kv
    kv = KVManager(num_blocks=geometry.pools, block_size=geometry.block_size, prefix_cache=True)
    drafter = ModelDrafter(
        make_runner(draft),
        kv,
        budget=draft.config.max_batch_tokens,
        limit=draft.config.context_length,
        interrupted=interrupted,
    )
    num_bytes = draft.decoder.weights_bytes + geometry.total_bytes
    return OpenedDraft(Speculation(drafter), draft.info.name, num_bytes)


def _check_vocabulary(draft: Tokenizer, target: Tokenizer, path: str) -> None:
    sizes = (draft.vocab_size, target.vocab_size)
    if sizes[0] != sizes[1] or any(
        draft.token_text(i) != target.token_text(i) for i in range(sizes[0])
    ):
        raise InvalidRequestError(
            f"{Path(path).name} does not share the model's vocabulary, so it cannot guess for it. "
            "Choose a smaller model of the same family.",
            reason="the draft has another vocabulary",
        )
