"""A request's way into tokens, and its answer's way out of them.

Knows the three forms a prompt may have; nothing of scheduling.
"""

from engine.api import GenerationRequest
from engine.errors import InvalidRequestError
from engine.text.detokenizer import Detokenizer
from engine.text.reasoning import ReasoningRouter, ReasoningTags, tag_ids
from engine.text.template import ChatTemplate, Renderer, continues_answer, encode_chat
from engine.text.tokenizer import Tokenizer


def encode_request(
    request: GenerationRequest, tokenizer: Tokenizer, template: Renderer, *, vocab_size: int
) -> list[int]:
    """The prompt's token ids, at least one, each below ``vocab_size`` (the model's own).

    Raises InvalidRequestError or TemplateError.
    """
    given = (bool(request.messages), request.prompt is not None, request.prompt_ids is not None)
    if sum(given) != 1:
        raise _invalid("it needs either messages, or a prompt, or token ids")
    if request.prompt_ids is not None:
        ids = list(request.prompt_ids)
    elif request.prompt is not None:
        ids = tokenizer.encode_prompt(request.prompt)
    else:
        ids = encode_chat(tokenizer, template, request.messages)
    if not ids:
        raise _invalid("its prompt is empty")
    if not 0 <= min(ids) <= max(ids) < vocab_size:  # a text can name control tokens without a row
        raise _invalid("it names tokens that this model does not have")
    return ids


def answer_stream(
    request: GenerationRequest,
    tokenizer: Tokenizer,
    template: ChatTemplate,
    tags: ReasoningTags | None = None,
) -> ReasoningRouter:
    """The answer's text: one to messages begins a text, any other continues what was given.

    ``tags``: what the template puts around a reasoning; it is routed apart from the answer.
    """
    if not request.messages:
        plain = Detokenizer(tokenizer, request.params.stop, keep_leading_space=True)
        return ReasoningRouter(plain, None, is_continued=True)
    is_continued = continues_answer(request.messages)
    if request.params.json_schema is not None:
        tags = None  # the schema leaves no room for a reasoning
    text = Detokenizer(
        tokenizer,
        request.params.stop + template.stop,
        keep_leading_space=is_continued,
        shown=tag_ids(tags, tokenizer),
    )
    return ReasoningRouter(text, tags, is_continued=is_continued)


def _invalid(reason: str) -> InvalidRequestError:
    return InvalidRequestError(f"The request was not started: {reason}.", reason=reason)
