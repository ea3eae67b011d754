import random

from app.experiments.prompts import Prompts
from app.experiments.trials import Text
from app.paths import resources_folder

SENTENCES = "One two three four five. Six seven eight nine ten! Short. Eleven twelve is a lot?"


def prompts(seed=1):
    return Prompts(lambda: [SENTENCES], random.Random(seed))


def test_no_two_begin_alike():
    made = prompts()
    begun = {made.text(100)[:9] for _ in range(200)}
    assert len(begun) == 200


def test_their_length_is_learnt():
    made = prompts()
    made.learn(100, 250)
    assert len(made.text(500).split()) == 200
    made.learn(4, 400)  # too few words to learn from
    assert len(made.text(500).split()) == 200


def test_a_prompt_after_another_is_made_by_both():
    made = prompts()
    made.learn(100, 100)
    made.learn(100, 190)
    assert len(made.text(1_500).split()) == 1_000  # 190 and four fifths of 100 over 180


def test_lines_of_code_are_no_sentences():
    lines = (
        "It rains on the hill. SELECT name, COUNT(*) AS n FROM t WHERE x = 1. So it goes, then."
    )
    made = Prompts(lambda: [lines], random.Random(1))
    assert not {"SELECT", "COUNT(*)"} & set(made.text(500).split())


def test_a_repeating_text_has_three_sentences():
    words = prompts().text(600, Text.REPEATING).split()[1:]
    assert len(set(words)) <= 15


def test_the_shipped_passages_are_sentences():
    made = Prompts.of(resources_folder() / "passages")
    text = made.text(300)
    assert text.isascii()
    assert len(set(text.split())) > 60


def test_without_passages_there_is_still_a_text(tmp_path):
    assert len(Prompts.of(tmp_path / "none").text(50).split()) > 20
