"""Messages to the prompt a model was trained on, through the chat template in its file.

A template is a program from an untrusted file: it runs in ``engine.text.sandbox`` under a time
limit. What a user typed can never become a control token: it is shielded before the template
sees it (see ``engine.text.control``). Knows messages, templates and the tokenizer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self

import jinja2

from engine.api import Message
from engine.errors import InvalidRequestError, TemplateError
from engine.text.control import unused_guard
from engine.text.deadline import Deadline, RenderStopped
from engine.text.measure import tree_size
from engine.text.sandbox import TemplateEnvironment, TemplateRefusalError
from engine.text.tokenizer import Tokenizer

MAX_SOURCE_CHARS: Final = 262_144
# Generated lines longer than this are watched at every instruction.
_LONG_LINE: Final = 2_000
_FILE: Final = "<chat template>"
_COMPILE_SECONDS: Final = 5.0

# For models that come without a template, such as base models: a transcript to be continued.
PLAIN_TEMPLATE: Final = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ message['role'] | capitalize }}: {{ message['content'] }}\n\n"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)
PLAIN_STOP: Final = ("\nUser:", "\nSystem:")

# What a template that reads messages in parts has somewhere, and few others do.
_PARTS: Final = re.compile(r"""\[\s*["'](?:type|text)["']\s*\]|\.type\b|\.text\b""")
_PROBE: Final = "tokentide-probe"

# What an expression of a template may raise by itself.
_EVALUATION_ERRORS: Final = (
    jinja2.TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered conversation. ``text`` may hold guard characters of shielded content."""

    text: str


class Renderer(Protocol):
    """What turns a conversation into a prompt's text."""

    def render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> Prompt:
        """As ``ChatTemplate.render``."""
        ...


class ChatTemplate:
    """One model's chat template. Not thread-safe.

    ``is_plain``: the model has no template, and a plain transcript stands in for it; ``stop`` are
    then the strings that end its answer.
    """

    def __init__(
        self,
        source: str,
        bos_token: str = "",
        eos_token: str = "",
        *,
        seconds: float = 1.0,
    ) -> None:
        """Compile ``source``; rendering is limited to ``seconds``. Raises TemplateError."""
        self.source: Final = source
        self._seconds = seconds
        self._names = {"bos_token": bos_token, "eos_token": eos_token}
        self._environment = TemplateEnvironment()
        self.is_plain = False
        self.stop: tuple[str, ...] = ()
        if len(source) > MAX_SOURCE_CHARS:
            raise _invalid("it is longer than 262,144 characters")
        try:
            with Deadline(_COMPILE_SECONDS, watched_file=_FILE):
                self._template, self._has_long_lines = self._compile(source)
        except (*_EVALUATION_ERRORS, RenderStopped) as error:
            raise _invalid(_reason(error)) from None
        self._reads_parts = bool(_PARTS.search(source)) and self._needs_parts()

    @classmethod
    def plain(cls, bos_token: str = "", eos_token: str = "") -> Self:
        """The stand-in for a model without a template: a transcript of ``Role: words``."""
        template = cls(PLAIN_TEMPLATE, bos_token, eos_token)
        template.is_plain = True
        template.stop = PLAIN_STOP
        return template

    def render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> Prompt:
        """The prompt for ``messages``, up to where the assistant's words begin.

        Raises TemplateError when the template refuses the conversation, fails, or goes past a
        limit on time or size.
        """
        values = [{"role": str(m.role), "content": m.content} for m in messages]
        return self.render_values(values, add_generation_prompt=add_generation_prompt)

    def render_values(
        self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool = True
    ) -> Prompt:
        """As ``render``, for messages that may hold more than a role and a content."""
        values = [self._in_parts(message) for message in messages]
        return self._render(values, add_generation_prompt=add_generation_prompt)

    def _in_parts(self, message: Mapping[str, str]) -> dict[str, object]:
        """As the template wants it: a content of text, or of a list with one part of text."""
        if not self._reads_parts or "content" not in message:
            return dict(message)
        return {**message, "content": [{"type": "text", "text": message["content"]}]}

    def _needs_parts(self) -> bool:
        """Whether the template loses a content that is plain text, and keeps one in parts."""
        part = [{"type": "text", "text": _PROBE}]
        return not self._keeps(_PROBE) and self._keeps(part)

    def _keeps(self, content: object) -> bool:
        try:
            prompt = self._render(
                [{"role": "user", "content": content}], add_generation_prompt=True
            )
        except TemplateError:
            return False
        return _PROBE in prompt.text

    def _render(
        self, messages: Sequence[Mapping[str, object]], *, add_generation_prompt: bool
    ) -> Prompt:
        names = {
            **self._names,
            "messages": messages,
            "add_generation_prompt": add_generation_prompt,
            "tools": None,
            "documents": None,
        }
        deadline = Deadline(
            self._seconds, watched_file=_FILE, every_instruction=self._has_long_lines
        )
        self._environment.meter.reset()
        try:
            tree_size(names["messages"])
            with deadline:
                return Prompt(self._environment.concat(self._template.generate(names)))
        except TemplateRefusalError as error:
            reason = str(error)
            raise TemplateError(
                f"The model's chat template refuses this conversation: {reason}", reason=reason
            ) from None
        except (*_EVALUATION_ERRORS, RenderStopped) as error:
            reason = _reason(error)
            raise TemplateError(
                f"The model's chat template failed ({reason}); the conversation was kept."
                " Choose another model.",
                reason=reason,
            ) from None

    def _compile(self, source: str) -> tuple[jinja2.Template, bool]:
        environment = self._environment
        python = environment.compile(environment.instrumented(source), filename=_FILE, raw=True)
        code = compile(python, _FILE, "exec")
        template = jinja2.Template.from_code(environment, code, environment.make_globals(None))
        return template, max(map(len, python.splitlines())) > _LONG_LINE


def template_from_gguf(metadata: Mapping[str, Any], tokenizer: Tokenizer) -> ChatTemplate:
    """The template a GGUF file carries, or the plain one (``is_plain``). Raises TemplateError."""
    source = metadata.get("tokenizer.chat_template")
    return template_for(tokenizer, source if isinstance(source, str) else None)


def template_for(tokenizer: Tokenizer, source: str | None) -> ChatTemplate:
    """Compile ``source`` with the tokenizer's own BOS and EOS; the plain template for None."""
    bos, eos = tokenizer.token_text(tokenizer.bos_id), tokenizer.token_text(tokenizer.eos_id)
    if source is None or not source.strip():
        return ChatTemplate.plain(bos if tokenizer.add_bos else "", eos)
    return ChatTemplate(source, bos, eos)


def encode_chat(
    tokenizer: Tokenizer,
    template: Renderer,
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool = True,
) -> list[int]:
    """Token ids of a conversation, BOS included where the model wants it.

    Control tokens come from the template alone: in the messages their strings stay plain text.
    A conversation that ends with the assistant's words is prepared for more of the same message.
    """
    text, guard = chat_text(
        tokenizer, template, messages, add_generation_prompt=add_generation_prompt
    )
    return tokenizer.with_bos(tokenizer.encode(text, parse_special=True, guard=guard))


def chat_text(
    tokenizer: Tokenizer,
    template: Renderer,
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool = True,
) -> tuple[str, str]:
    """The text that ``encode_chat`` encodes, and the guard character that shields parts of it."""
    guard = unused_guard(message.content for message in messages)
    if guard is None:
        raise InvalidRequestError(
            "The messages contain every Unicode noncharacter; remove them and send again.",
            reason="noncharacters",
        )
    shielded = [replace(m, content=tokenizer.control.shield(m.content, guard)) for m in messages]
    begun = ""
    if add_generation_prompt and continues_answer(shielded):
        begun = shielded.pop().content
    prompt = template.render(shielded, add_generation_prompt=add_generation_prompt)
    return prompt.text + begun, guard


def continues_answer(messages: Sequence[Message]) -> bool:
    """Whether more is asked of the assistant's last message, in place of a new one."""
    return bool(messages) and messages[-1].role == "assistant"


def _invalid(reason: str) -> TemplateError:
    return TemplateError(
        f"The model's chat template is invalid ({reason}); choose another model.", reason=reason
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it calls itself without end"
    if isinstance(error, MemoryError):
        return "it asks for too much memory"
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:300]
