"""Full blocks are found by their tokens and everything before them."""

from engine.kv.prefix import PrefixIndex, Tail


def _index(token_ids: list[int], blocks: list[int]) -> PrefixIndex:
    index = PrefixIndex(4)
    parent = None
    for number, block in enumerate(blocks):
        tokens = token_ids[number * 4 : number * 4 + 4]
        key = index.key(parent, tokens)
        index.add(key, block, parent, tokens)
        parent = key
    return index


def test_the_longest_known_beginning_is_found() -> None:
    index = _index(list(range(12)), [7, 3, 5])
    assert index.match([*range(12), 99])[0] == [7, 3, 5]
    assert index.match([*range(8), 99, 98, 97, 96, 95])[0] == [7, 3]
    assert index.match([99, *range(1, 13)])[0] == []


def test_the_last_token_is_never_covered() -> None:
    index = _index(list(range(8)), [0, 1])
    assert index.match(list(range(8)))[0] == [0]
    assert index.match(list(range(9)))[0] == [0, 1]
    assert index.match(list(range(4)))[0] == []
    assert index.match([])[0] == []


def test_equal_blocks_after_different_beginnings_differ() -> None:
    index = PrefixIndex(2)
    assert index.key(None, [1, 2]) != index.key(index.key(None, [1, 2]), [1, 2])
    assert index.key(None, [1, 2]) == index.key(None, [1, 2])


def test_the_first_block_with_a_content_stays() -> None:
    index = PrefixIndex(2)
    key = index.key(None, [1, 2])
    index.add(key, 0, None, [1, 2])
    index.add(key, 1, None, [1, 2])
    assert 0 in index
    assert 1 not in index


def test_a_dropped_block_ends_the_chain() -> None:
    index = _index(list(range(12)), [0, 1, 2])
    index.drop(1)
    index.drop(9)
    assert index.match(list(range(13)))[0] == [0]
    assert len(index) == 2
    index.check_integrity()


def test_the_block_that_begins_most_alike_is_found_behind_the_full_ones() -> None:
    index = _index(list(range(8)), [0, 1])
    parent = index.match(list(range(9)))[1][0]  # the key of the first block
    assert index.match_tail(parent, [4, 5, 99, 98]) == Tail(1, 2, is_whole=False)
    index.add_tail(2, parent, [4, 5, 99])
    assert index.match_tail(parent, [4, 5, 99, 98]) == Tail(2, 3, is_whole=True)
    assert index.match_tail(parent, [4, 5, 99]) == Tail(1, 2, is_whole=False)
    assert index.match_tail(parent, [77, 4]) is None
    assert index.match_tail(None, [0, 1, 9]) == Tail(0, 2, is_whole=False)
    index.check_integrity()


def test_a_tail_that_another_block_holds_is_not_kept_twice() -> None:
    index = _index(list(range(8)), [0, 1])
    index.add_tail(5, None, [0, 1, 2])
    index.add_tail(6, None, [])
    assert 5 not in index
    assert 6 not in index
    index.add_tail(5, None, [9])
    index.drop(5)
    assert index.match_tail(None, [9, 9]) is None
    index.check_integrity()


def test_one_of_many_that_follow_the_same_text_is_found_like_one_of_few() -> None:
    index = _index(list(range(4)), [0])
    parent = index.key(None, list(range(4)))
    for block in range(1, 30):
        tokens = [block, 5, 6, 7]
        index.add(index.key(parent, tokens), block, parent, tokens)
        text = [*range(4), *tokens, 99]
        assert index.match(text) == ([0, block], list(index.keys(text)))
    assert index.match([*range(4), 30, 5, 6, 7, 99])[0] == [0]


def test_a_block_that_is_not_full_is_no_match_for_a_full_one() -> None:
    index = PrefixIndex(4)
    index.add_tail(0, None, [1, 2, 3])
    assert index.match([1, 2, 3, 4, 5])[0] == []
