"""Cache files come and go with their conversations, and only where that is wanted."""

import pytest

from app.controllers.kept_caches import SUFFIX
from engine.api import CacheSaved, RestoreCache, SaveCache


@pytest.fixture
def keeping(make_desk):
    desk = make_desk()
    desk.application.services.settings.set("keep_cache", True)
    return desk.begin()


def _file(desk, conversation_id):
    return desk.paths.kept_caches / f"{conversation_id}{SUFFIX}"


def _asked(desk, kind):
    return [command for command in desk.engine.small if isinstance(command, kind)]


def _chat(desk, text="Hi"):
    desk.chat.open(None)
    desk.send(text)
    desk.play()
    return desk.chat.open_chat.conversation_id


def test_nothing_is_kept_by_default(desk):
    first = _chat(desk)
    _chat(desk)
    desk.chat.open(first)
    desk.play()
    assert _asked(desk, SaveCache) == _asked(desk, RestoreCache) == []


def test_an_answer_is_kept_and_comes_back_with_its_conversation(keeping):
    desk = keeping
    first = _chat(desk)
    desk.play()
    assert _asked(desk, SaveCache) == [SaveCache(str(first), str(_file(desk, first)))]
    _chat(desk)
    desk.chat.open(first)
    desk.play()
    assert _asked(desk, RestoreCache)[-1] == RestoreCache(str(first), str(_file(desk, first)))


def test_a_model_that_comes_later_gets_the_open_conversation_back(keeping):
    desk = keeping
    first = _chat(desk)
    num_asked = len(_asked(desk, RestoreCache))
    desk.application.controllers.model.reload()
    desk.play()
    desk.play()
    assert len(_asked(desk, RestoreCache)) == num_asked + 1
    assert _asked(desk, RestoreCache)[-1].conversation_id == str(first)


def test_a_deleted_conversation_takes_its_file_along(keeping):
    desk = keeping
    first = _chat(desk)
    path = _file(desk, first)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x")
    desk.application.controllers.sidebar._on_delete(first)
    assert not path.exists()
    path.write_bytes(b"written meanwhile")
    desk.application.services.bridge.cache_saved.emit(CacheSaved(str(first), 16, 16))
    assert not path.exists()


def test_the_start_deletes_what_belongs_to_nobody(make_desk):
    desk = make_desk()
    desk.application.services.settings.set("keep_cache", True)
    orphan, other = _file(desk, 99), desk.paths.kept_caches / "notes.txt"
    orphan.parent.mkdir()
    for path in (orphan, other):
        path.write_bytes(b"x")
    desk.begin()
    assert not orphan.exists()
    assert other.exists()


def test_switching_it_off_deletes_the_files_at_the_next_start(make_desk):
    desk = make_desk()
    path = _file(desk, 1)
    path.parent.mkdir()
    path.write_bytes(b"x")
    desk.begin()
    assert not path.exists()
