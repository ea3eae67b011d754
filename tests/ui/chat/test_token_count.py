from ui.chat.token_count import ContextUse, count_words, estimate_tokens


def test_estimates_carry_a_tilde_and_counts_do_not():
    assert count_words("hello world", None, ContextUse()).text == "~3 tokens"
    assert count_words("hello", 1, ContextUse()).text == "1 token"
    assert count_words("", 0, ContextUse(8_192)).text == "0 tokens"


def test_wide_characters_count_more():
    assert estimate_tokens("\u4e2d" * 10) > estimate_tokens("a" * 10)


def test_warnings_near_and_over_the_context():
    assert not count_words("x", 100, ContextUse(8_192)).is_warning
    near = count_words("x", 500, ContextUse(8_192, 7_000))
    assert near.is_warning
    assert "692 left" in near.text
    over = count_words("x", 9_120, ContextUse(8_192))
    assert over.is_warning
    assert " 929 too many" in over.text  # the answer needs a place, too
    assert "8,192" in over.text


def test_what_the_engine_counted_decides_not_the_sum():
    fits = count_words("x", 5, ContextUse(100, used=98, prompt=99))
    assert "1 left" in fits.text
    over = count_words("x", 5, ContextUse(100, used=50, prompt=100))
    assert "\u00b7 1 too many" in over.text
    assert "~" in count_words("x", 5, ContextUse(100, used=98)).text


def test_where_earlier_messages_give_way_it_is_no_warning():
    words = count_words("x", 5, ContextUse(100, used=98, prompt=120, leaves_out=True))
    assert "earlier messages will be left out" in words.text
    assert (words.is_warning, words.is_notice) == (False, True)
    assert not count_words("x", 5, ContextUse(100, leaves_out=True)).is_notice


def test_a_message_that_is_too_long_alone_is_warned_of_all_the_same():
    words = count_words("x", 120, ContextUse(100, used=50, prompt=180, leaves_out=True))
    assert "21 too many for the context of 100" in words.text
    assert words.is_warning
