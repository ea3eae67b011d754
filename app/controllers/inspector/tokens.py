"""Fills the Tokens view with the answer that is looked at, by one pass of the loaded model.

Asks for it only while the view is on the screen, and never for an answer that is still growing.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

from app.bridge import EngineBridge
from app.controllers.answers import Answers
from app.controllers.branches import BranchController
from app.controllers.chat import ChatController
from app.controllers.inspector.inspected import InspectedAnswer
from app.controllers.model import ModelController
from app.controllers.rows import prompt_of
from app.conversations import ChatMessage, title_from
from app.settings.values import Settings
from engine.api import (
    AnswerReport,
    InspectionProgress,
    Message,
    ModelInfo,
    TokensInspected,
)
from ui.chat.rows import MessageStatus
from ui.chat.token_count import estimate_tokens
from ui.i18n import tr
from ui.inspector.page import InspectorPage
from ui.inspector.tokens.branching import Branch
from ui.inspector.tokens.view import TokensView
from ui.widgets.model_name import model_title

NAME: Final = "tokens"
KEPT: Final = 8
# an answer's report comes a moment after its end, and whoever turns pages does not want them all
DELAY_MS: Final = 200


@dataclass(frozen=True, slots=True)
class Question:
    """All that the tokens depend on: the same question has the same answer."""

    messages: tuple[Message, ...]
    answer: str
    reasoning: str
    ids: tuple[int, ...] | None
    model: tuple[str, ...]

    @property
    def num_estimated(self) -> int:
        """About how many tokens there are."""
        texts = (*(message.content for message in self.messages), self.reasoning, self.answer)
        return sum(map(estimate_tokens, texts))


@dataclass(frozen=True, slots=True)
class TokenSources:
    """Where the tokens' prompt and the model come from, and where branches go."""

    chat: ChatController
    answers: Answers
    branches: BranchController
    model: ModelController
    settings: Settings
    bridge: EngineBridge


class TokensInspector(QObject):
    """One question at a time is with the engine; what was answered is kept for a while."""

    def __init__(
        self,
        view: TokensView,
        page: InspectorPage,
        inspected: InspectedAnswer,
        sources: TokenSources,
    ) -> None:
        super().__init__(view)
        self._view = view
        self._page = page
        self._inspected = inspected
        self._sources = sources
        self._kept: OrderedDict[Question, TokensInspected] = OrderedDict()
        self._asked: Question | None = None
        self._ticket = 0
        # what was cancelled or cannot be answered, and why
        self._halted: tuple[Question, str] | None = None
        self._delay = QTimer(self)
        self._delay.setObjectName("tokens-delay")
        self._delay.setSingleShot(True)
        self._delay.setInterval(DELAY_MS)
        self._delay.timeout.connect(self._ask)
        page.shown_changed.connect(self._on_shown)
        inspected.changed.connect(self._show)
        inspected.reported.connect(self._on_reported)
        sources.model.changed.connect(self._on_model_changed)
        sources.answers.generating_changed.connect(self._show)
        sources.bridge.inspection_progressed.connect(self._on_progress)
        sources.bridge.tokens_inspected.connect(self._on_inspected)
        view.computing.stop_wanted.connect(self._on_stop)
        view.computing.start_wanted.connect(self._on_start)
        view.details.branch_wanted.connect(self._on_branch)

    # ------------------------------------------------------------------ when to show

    @Slot(str)
    def _on_shown(self, _name: str) -> None:
        self._halted = None
        self._show()

    @Slot()
    def _on_model_changed(self) -> None:
        self._halted = None
        self._show()

    @Slot(AnswerReport)
    def _on_reported(self, report: AnswerReport) -> None:
        if report.is_complete:
            self._show()

    @Slot()
    def _show(self) -> None:
        """Show the tokens where they are known, and see to it that they will be."""
        if self._page.shown != NAME:
            self._give_up()
            return
        message, view = self._inspected.message, self._view
        words = "" if message is None else title_from(message.content)
        view.set_answer(tr("\u201c{words}\u201d", words=words) if words else "")
        question = None if message is None else self._question(message)
        if self._asked is not None and self._asked != question:
            self._give_up()
        if message is None:
            view.show_words(tr("Ask something: the tokens of the answer are shown here."))
        elif message.status is MessageStatus.STREAMING:
            view.show_words(
                tr("The answer is being written. Its tokens follow when it has ended.")
            )
        elif question is None:
            view.show_words(tr("Load a model: it shows the tokens, and what it thinks of them."))
        elif question in self._kept:
            self._kept.move_to_end(question)
            self._show_kept(message, self._kept[question])
        elif self._halted is not None and question == self._halted[0]:
            view.show_halted(self._halted[1])
        elif self._asked is None:
            waits = bool(self._sources.answers.generating())
            view.computing.show_estimate(question.num_estimated, waits=waits)
            view.show_computing()
            self._delay.start()

    def _show_kept(self, message: ChatMessage, found: TokensInspected) -> None:
        notes: list[str] = []
        info = self._sources.model.info
        if info is not None and message.model and message.model != self._sources.model.name:
            notes.append(
                tr(
                    "{author} wrote this answer; its tokens are shown as {reader} reads them.",
                    author=message.model,
                    reader=model_title(info.path, info.name),
                )
            )
        if found.is_retokenized:
            notes.append(
                tr("~ Not all ids of this answer are known: these were found again from its text.")
            )
        self._view.show_tokens(found.tokens, message.content, " ".join(notes))
        is_busy = self._sources.chat.is_busy
        self._view.details.set_busy(tr("Wait for the answer to end.") if is_busy else "")

    # ------------------------------------------------------------------ asking

    def _question(self, message: ChatMessage) -> Question | None:
        """What to ask of the engine; None without a model or a whole answer."""
        info = self._sources.model.info
        if info is None or message.status is MessageStatus.STREAMING:
            return None
        return Question(
            self._prompt(message),
            message.content,
            "" if message.reasoning is None else message.reasoning.text,
            self._ids(message, info),
            (info.path, info.precision.value, info.kv_dtype),
        )

    def _prompt(self, message: ChatMessage) -> tuple[Message, ...]:
        """What the model read before it wrote the answer."""
        chat = self._sources.chat.open_chat
        system_prompt = chat.system_prompt
        if system_prompt is None:
            system_prompt = self._sources.settings.text("system_prompt")
        messages = prompt_of(chat.path_to(message.parent_id), system_prompt)
        left_out = None if message.timeline is None else message.timeline.left_out
        if left_out is None:
            return messages
        end = left_out.first + left_out.num_messages
        return (*messages[: left_out.first], *messages[end:])

    def _ids(self, message: ChatMessage, info: ModelInfo) -> tuple[int, ...] | None:
        """The ids that the model chose, where they were seen and are this model's."""
        report = self._inspected.report_of(message.message_id)
        if report is None or not report.is_complete or report.model != info.name:
            return None
        return report.token_ids

    @Slot()
    def _ask(self) -> None:
        message = self._inspected.message
        if self._page.shown != NAME or message is None or self._asked is not None:
            return
        question = self._question(message)
        if question is None or question in self._kept:
            return
        self._asked = question
        self._ticket = self._sources.bridge.inspect_tokens(
            question.messages, question.answer, question.ids, reasoning=question.reasoning
        )

    def _give_up(self) -> None:
        """Nobody wants to see any more what is asked for."""
        self._delay.stop()
        if self._asked is not None:
            self._sources.bridge.cancel_inspection(self._ticket)
            self._asked = None

    # ------------------------------------------------------------------ from the engine

    @Slot(InspectionProgress)
    def _on_progress(self, event: InspectionProgress) -> None:
        if self._asked is not None and event.ticket == self._ticket:
            self._view.computing.show_progress(event.num_tokens, event.num_done)
            self._view.show_computing()

    @Slot(TokensInspected)
    def _on_inspected(self, event: TokensInspected) -> None:
        question = self._asked
        if question is None or event.ticket != self._ticket:
            return
        self._asked = None
        if event.problem:
            self._halted = question, event.problem
        else:
            self._kept[question] = event
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        self._show()

    # ------------------------------------------------------------------ from the view

    @Slot()
    def _on_stop(self) -> None:
        message = self._inspected.message
        question = None if message is None else self._question(message)
        self._halted = None if question is None else (question, tr("Stopped."))
        self._give_up()
        self._show()

    @Slot()
    def _on_start(self) -> None:
        self._halted = None
        self._show()

    @Slot(Branch)
    def _on_branch(self, branch: Branch) -> None:
        message = self._inspected.message
        if message is not None:
            self._sources.branches.branch(message.message_id, branch.text, ends=branch.ends)
