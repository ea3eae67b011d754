"""How late the GUI thread runs while 500 tokens a second stream into a long conversation.

Run by hand: ``python tests/perf/gui_stream.py [--seconds 20] [--messages 200] [--inspector]``, the
latter with the inspector open on the answer, which is reported once a second. Prints one JSON
object: by how much a 16 ms timer is late, the CPU time of single events on the GUI thread (which
other programs do not disturb), the longest event by the clock, and what was handled then. Asserts nothing.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from time import perf_counter_ns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from engine.api import AnswerReport
from tests.helpers.reports import make_report
from tests.perf.gui_timing import ANSWER, TimedApplication, percentiles, settle_in
from ui.chat.page import ChatPage
from ui.chat.rows import MessageRow, MessageStatus
from ui.inspector.answer.view import AnswerView
from ui.inspector.page import InspectorPage
from ui.theme import LIGHT, ThemeSource, apply_theme

TICK_MS = 16
REPORT_MS = 1_000


class Inspector(QObject):
    """The inspector beside the page, open on an answer whose reports are made before."""

    def __init__(self, rate: float, seconds: float) -> None:
        super().__init__()
        self.view = AnswerView(ThemeSource(LIGHT))
        self.page = InspectorPage({"answer": self.view})
        self.page.resize(300, 860)
        self.page.show()
        self.reports = [report_of(round(rate * (n + 1))) for n in range(round(seconds))]
        self.timer = QTimer(self)
        self.timer.timeout.connect(self.show_next)

    def begin(self) -> None:
        self.timer.start(REPORT_MS)

    def show_next(self) -> None:
        if self.reports:
            self.view.show_report(self.reports.pop(0))


def report_of(num_tokens: int) -> AnswerReport:
    """A report of so many tokens, about 2 ms apart."""
    base = make_report(is_complete=False)
    first = base.times_ns[0]
    times = tuple(first + 2_000_000 * n + 37_003 * n % 400_000 for n in range(num_tokens))
    line = replace(
        base.timeline,
        last_token_ns=times[-1],
        text_end_ns=times[-1],
        num_output_tokens=num_tokens,
    )
    return replace(base, timeline=line, times_ns=times, token_ids=tuple(range(num_tokens)))


class Measurement(QObject):
    """Feeds text at a rate and measures a timer."""

    def __init__(self, page: ChatPage, message_id: int, tokens_per_s: float, seconds: float):
        super().__init__()
        self.page = page
        self.message_id = message_id
        self.rate = tokens_per_s
        self.end_ns = perf_counter_ns() + round(seconds * 1e9)
        self.began_ns = self.last_ns = perf_counter_ns()
        self.num_sent = 0
        self.gaps: list[float] = []
        self.tokens = [ANSWER[i : i + 4] for i in range(0, len(ANSWER), 4)]
        self.timer = QTimer(self)
        self.timer.setTimerType(Qt.TimerType.PreciseTimer)
        self.timer.timeout.connect(self.tick)
        self.timer.start(TICK_MS)

    def tick(self) -> None:
        now = perf_counter_ns()
        self.gaps.append((now - self.last_ns) / 1e6 - TICK_MS)
        self.last_ns = now
        due = round((now - self.began_ns) / 1e9 * self.rate)
        for index in range(self.num_sent, due):
            self.page.append_text(self.message_id, self.tokens[index % len(self.tokens)])
        self.num_sent = due
        if now > self.end_ns:
            self.timer.stop()
            QApplication.exit()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--inspector", action="store_true")
    arguments = parser.parse_args()
    app = TimedApplication(sys.argv[:1])
    apply_theme(app, LIGHT)
    settle_in()
    page = ChatPage(ThemeSource(LIGHT))
    page.resize(1000, 860)
    rows = [
        MessageRow(i, "user", "Why?") if i % 2 == 0 else MessageRow(i, "assistant", ANSWER)
        for i in range(arguments.messages)
    ]
    began = perf_counter_ns()
    page.show_conversation(rows)
    page.show()
    shown_ms = (perf_counter_ns() - began) / 1e6
    pending = arguments.messages + 1
    page.append_message(MessageRow(pending, "assistant", "", status=MessageStatus.STREAMING))
    page.set_generating(True)
    measurement: list[Measurement] = []
    inspector = Inspector(arguments.rate, arguments.seconds) if arguments.inspector else None

    def begin() -> None:
        if inspector is not None:
            inspector.begin()
        app.forget()
        measurement.append(Measurement(page, pending, arguments.rate, arguments.seconds))

    QTimer.singleShot(1_000, begin)
    app.exec()
    sys.stdout.write(
        json.dumps(
            {
                "tokens": measurement[0].num_sent,
                "characters": len(page.messages.entries[len(rows)].text),
                "show_conversation_ms": round(shown_ms, 1),
                "late_ms": percentiles(measurement[0].gaps),
                **app.events(),
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
