from ui.chat.token_count import count_words, estimate_tokens


def test_estimates_carry_a_tilde_and_counts_do_not():
    assert count_words("hello world", None, None, 0).text == "~3 tokens"
    assert count_words("hello", 1, None, 0).text == "1 token"
    assert count_words("", 0, 8_192, 0).text == "0 tokens"


def test_wide_characters_count_more():
    assert estimate_tokens("\u4e2d" * 10) > estimate_tokens("a" * 10)


def test_warnings_near_and_over_the_context():
    assert not count_words("x", 100, 8_192, 0).is_warning
    near = count_words("x", 500, 8_192, 7_000)
    assert near.is_warning
    assert "692 left" in near.text
    over = count_words("x", 9_120, 8_192, 0)
    assert over.is_warning
    assert "928" in over.text
    assert "8,192" in over.text
