"""A conversation of 100,000 tokens and more: showing it, scrolling through it, what it takes.

Run by hand: ``python tests/perf/gui_scroll.py [--messages 1000]``. Prints one JSON object: the time
until the page is shown, the events while it is scrolled from one end to the other by the wheel, and
the memory a thousand messages take, before and after all of them were seen. Asserts nothing.
"""

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter_ns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import psutil
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from tests.perf.gui_timing import ANSWER, TimedApplication, settle_in
from ui.chat.page import ChatPage
from ui.chat.rows import MessageRow
from ui.theme import LIGHT, ThemeSource, apply_theme

STEP_PX = 240  # two notches of a wheel
TICK_MS = 16
CHARACTERS_A_TOKEN = 4


class Scrolling(QObject):
    """One step a frame, from the end to the beginning and back."""

    def __init__(self, page: ChatPage) -> None:
        super().__init__()
        self._bar = page.messages.verticalScrollBar()
        self._direction = -1
        self.num_steps = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._step)
        self._timer.start(TICK_MS)

    def _step(self) -> None:
        bar = self._bar
        before = bar.value()
        bar.setValue(before + self._direction * STEP_PX)
        self.num_steps += 1
        if bar.value() != before:
            return
        if self._direction > 0:
            self._timer.stop()
            QApplication.exit()
        self._direction = 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=1_000)
    count = parser.parse_args().messages
    app = TimedApplication(sys.argv[:1])
    apply_theme(app, LIGHT)
    settle_in()
    page = ChatPage(ThemeSource(LIGHT))
    page.resize(1000, 860)
    page.show()
    app.processEvents()
    process = psutil.Process()
    rows = [
        MessageRow(i, "user", f"Why, for the {i}th time?")
        if i % 2 == 0
        else MessageRow(i, "assistant", f"{i}. {ANSWER}")
        for i in range(count)
    ]
    empty = process.memory_info().rss
    began = perf_counter_ns()
    page.show_conversation(rows)
    app.processEvents()
    shown_ms = (perf_counter_ns() - began) / 1e6
    shown = process.memory_info().rss
    app.forget()
    scrolling: list[Scrolling] = []
    QTimer.singleShot(500, lambda: scrolling.append(Scrolling(page)))
    app.exec()
    seen = process.memory_info().rss
    characters = sum(len(row.text) for row in rows)
    result = {
        "messages": count,
        "about_tokens": characters // CHARACTERS_A_TOKEN,
        "show_conversation_ms": round(shown_ms, 1),
        "steps": scrolling[0].num_steps,
        **app.events(),
        "mib_per_1000_messages_shown": round((shown - empty) / count * 1000 / 2**20, 1),
        "mib_per_1000_messages_seen": round((seen - empty) / count * 1000 / 2**20, 1),
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
