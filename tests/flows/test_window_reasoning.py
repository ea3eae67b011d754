"""The whole window on the starter model, whose template is made to declare a pair of tags.

The model knows nothing of tags, so the closing one is a word that it writes anyway.
"""

import gguf
import pytest

from engine.service import EngineService
from tests.helpers.desk import Desk
from ui.chat.rows import MessageStatus

pytestmark = pytest.mark.flow
LOAD_MS = 120_000
ANSWER_MS = 120_000
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m.get('reasoning_content') %}<think>\n{{ m['reasoning_content'] }}\nthe {% endif %}"
    "{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)


@pytest.fixture
def thinking_model(starter_model, tmp_path):
    """The starter model with another template, padded by a comment to the size of its own."""
    reader = gguf.GGUFReader(starter_model)
    template = reader.get_field("tokenizer.chat_template")
    old = bytes(template.parts[template.data[0]])
    new = TEMPLATE.encode() + b"{#" + b" " * (len(old) - len(TEMPLATE) - 4) + b"#}"
    assert len(new) == len(old)
    data = starter_model.read_bytes()
    assert data.count(old) == 1
    path = tmp_path / "thinking.gguf"
    path.write_bytes(data.replace(old, new))
    return path


@pytest.fixture
def open_desk(qtbot, isolated_home):
    made = []

    def open_app(model):
        desk = Desk(
            qtbot, isolated_home, is_immediate=False, has_model=False, make_engine=EngineService
        )
        made.append(desk)
        settings = desk.application.services.settings
        for key, value in {
            "model_path": str(model), "temperature": 0.0, "max_tokens": 48, "context_length": 512,
        }.items():  # fmt: skip
            settings.set(key, value)
        desk.application.start()
        desk.wait(lambda: desk.is_open)
        desk.wait(lambda: not desk.application.controllers.model.is_loading, LOAD_MS)
        return desk

    yield open_app
    for desk in made:
        desk.close()


def ask(desk, text):
    num_rows = len(desk.rows)
    desk.send(text)
    desk.wait(lambda: len(desk.rows) == num_rows + 2)
    desk.wait(lambda: desk.rows[-1].status is not MessageStatus.STREAMING, ANSWER_MS)
    desk.wait(lambda: not desk.application.controllers.answers.has_unsaved)


def test_the_reasoning_stands_apart_is_kept_and_not_read_again(open_desk, thinking_model):
    desk = open_desk(thinking_model)
    ask(desk, "Write three sentences about the sea.")
    row = desk.rows[1]
    assert row.reasoning.text
    assert row.text
    assert "the" not in row.reasoning.text
    assert 0 < row.reasoning.num_tokens < row.stats.timeline.num_output_tokens
    item = list(desk.page.messages.entries)[1].item
    assert item.thought.line.text().startswith("Thought for ")
    before = row.stats.timeline

    ask(desk, "Thank you.")
    after = desk.rows[3].stats.timeline
    # the second prompt holds the first answer, and not its reasoning
    assert after.num_prompt_tokens < before.num_prompt_tokens + before.num_output_tokens + 12
    desk.close()

    again = open_desk(thinking_model)
    again.chat.open(again.listed_ids[0])
    again.wait(lambda: len(again.rows) == 4)
    assert again.rows[1].reasoning == row.reasoning
