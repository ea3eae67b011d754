"""Measures an answer with the KV cache and without it, one after the other, on the loaded model."""

from time import perf_counter_ns

from PySide6.QtCore import QObject, Slot

from app.bridge import EngineBridge
from app.controllers.answers import Answers
from app.controllers.failures import words_for
from app.controllers.model import ModelController
from engine.api import (
    Finished,
    FinishReason,
    GenerationRequest,
    Message,
    RequestFailed,
    SamplingParams,
    TokensProduced,
)
from ui.i18n import tr
from ui.meters.experiment import CacheExperiment, with_cache, without_cache

QUESTION = "Tell a long story about the sea."
PRIORITY = -1  # a chat goes first


class CacheExperimentController(QObject):
    """One experiment at a time; its requests belong to no conversation."""

    def __init__(
        self,
        dialog: CacheExperiment,
        model: ModelController,
        answers: Answers,
        bridge: EngineBridge,
    ) -> None:
        super().__init__(dialog)
        self._dialog = dialog
        self._model = model
        self._answers = answers
        self._bridge = bridge
        self._count = 0
        self._num_tokens = 0
        self._request_id = ""
        self._is_stopped = False
        self._times: tuple[list[int], list[int]] = ([], [])
        dialog.run_requested.connect(self.run)
        dialog.cancel_requested.connect(self.stop)
        bridge.tokens_produced.connect(self._on_tokens)
        bridge.finished.connect(self._on_finished)
        bridge.failed.connect(self._on_failed)
        model.changed.connect(self._show_availability)
        answers.generating_changed.connect(self._show_availability)

    @Slot()
    def open(self) -> None:
        """Show the experiment."""
        self._show_availability()
        self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()

    @Slot(int)
    def run(self, num_tokens: int) -> None:
        """Measure an answer of ``num_tokens``."""
        self._num_tokens = num_tokens
        self._times = ([], [])
        self._is_stopped = False
        self._dialog.set_running(is_running=True)
        self._show()
        self._ask()

    @Slot()
    def stop(self) -> None:
        """Give the measurement up; what was measured stays."""
        self._is_stopped = True
        if self._request_id:
            self._bridge.cancel(self._request_id)

    @property
    def _is_anew(self) -> bool:
        return len(self._times[0]) >= self._num_tokens

    def _ask(self) -> None:
        self._count += 1
        self._request_id = f"experiment.{self._count}"
        self._bridge.submit(
            GenerationRequest(
                self._request_id,
                sent_ns=perf_counter_ns(),
                params=SamplingParams(
                    temperature=0.0, max_tokens=self._num_tokens, ignore_eos=True
                ),
                messages=(Message("user", QUESTION),),
                priority=PRIORITY,
                kv_cache=not self._is_anew,
                guess_ahead=False,
            )
        )

    @Slot(TokensProduced)
    def _on_tokens(self, event: TokensProduced) -> None:
        if event.request_id == self._request_id:
            times = self._times[0] if not self._is_anew else self._times[1]
            times += event.times_ns
            self._show()

    @Slot(Finished)
    def _on_finished(self, event: Finished) -> None:
        if event.request_id != self._request_id:
            return
        self._request_id = ""
        if event.reason is FinishReason.CANCELLED or self._is_stopped:
            self._dialog.show_end(tr("Stopped."))
        elif event.reason is FinishReason.CONTEXT_FULL:
            self._dialog.show_end(tr("The answer reached the end of the context."))
        elif self._times[1]:
            self._dialog.show_end()
        else:
            self._ask()

    @Slot(RequestFailed)
    def _on_failed(self, event: RequestFailed) -> None:
        if event.request_id == self._request_id:
            self._request_id = ""
            self._dialog.show_end(words_for(event.failure))

    @Slot()
    def _show_availability(self) -> None:
        reason = ""
        if self._model.info is None:
            reason = tr("Load a model first.")
        elif self._answers.generating():
            reason = tr("Wait for the answer in the chat: it would disturb the measurement.")
        self._dialog.set_available(reason=reason)

    def _show(self) -> None:
        kept, anew = self._times
        self._dialog.show_runs(
            with_cache(_from_first(kept)), without_cache(_from_first(anew)), self._num_tokens
        )


def _from_first(times_ns: list[int]) -> list[int]:
    """Times since the first token: what came before it is no decoding."""
    return [at - times_ns[0] for at in times_ns]
