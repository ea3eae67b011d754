"""A kept cache: records behind one another, and nothing read that is damaged or another's."""

from pathlib import Path

import pytest

from engine.kv.archive_file import ArchiveError, ArchiveFile, ArchiveHeader

HEADER = ArchiveHeader("model", "int4", block_size=2, block_bytes=5)


def _fill(path: Path, *records: tuple[list[int], bytes]) -> None:
    with ArchiveFile(path, HEADER, is_writable=True) as file:
        for index, (tokens, data) in enumerate(records):
            file.write(index, tokens, data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "1.kv"
    _fill(path, ([1, 2], b"first"), ([70_000, 0], b"other"), ([5, 6], b"third"))
    return path


def _read(path: Path, header: ArchiveHeader = HEADER) -> list[tuple[list[int], bytes]]:
    with ArchiveFile(path, header, is_writable=False) as file:
        return [file.read(index) for index in range(file.num_records)]


def test_what_was_written_is_read(path: Path) -> None:
    assert _read(path) == [([1, 2], b"first"), ([70_000, 0], b"other"), ([5, 6], b"third")]


def test_records_are_added_and_a_changed_one_drops_those_behind_it(path: Path) -> None:
    with ArchiveFile(path, HEADER, is_writable=True) as file:
        assert file.num_records == 3
        assert file.token_ids(2) == [5, 6]
        file.write(3, [7, 8], b"4....")
    assert len(_read(path)) == 4
    with ArchiveFile(path, HEADER, is_writable=True) as file:
        file.write(1, [9, 9], b"2....")
    assert _read(path) == [([1, 2], b"first"), ([9, 9], b"2....")]


@pytest.mark.parametrize("place", [1, 30, 60])
def test_a_flipped_bit_is_noticed_there_and_not_before(path: Path, place: int) -> None:
    start = len(HEADER.encoded())
    data = bytearray(path.read_bytes())
    data[start + place] ^= 1
    path.write_bytes(data)
    with ArchiveFile(path, HEADER, is_writable=False) as file:
        for index in range(place // 29):
            file.read(index)
        with pytest.raises(ArchiveError, match="damaged"):
            file.read(place // 29)


def test_a_record_from_elsewhere_in_the_file_does_not_count(path: Path) -> None:
    start = len(HEADER.encoded())
    data = path.read_bytes()
    path.write_bytes(data[: start + 29] + data[start + 58 :])
    with ArchiveFile(path, HEADER, is_writable=False) as file:
        file.read(0)
        with pytest.raises(ArchiveError, match="damaged"):
            file.read(1)


def test_half_a_record_is_none(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])
    assert len(_read(path)) == 2


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a kept cache"),
        (b"kvcache2", "not a kept cache"),
        (b"kvcache2\xff\xff\xff\xff", "too long"),
        (b"kvcache2\x02\0\0\0{}", "damaged"),
        (b"kvcache2\x02\0\0\0[]", "damaged"),
        (b"kvcache2\x02\0\0\0\xff{", "damaged"),
    ],
)
def test_other_files_are_refused_and_replaced(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "x.kv"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=reason):
        _read(path)
    _fill(path, ([1, 2], b"first"))
    assert len(_read(path)) == 1


def test_another_model_is_named(path: Path) -> None:
    other = ArchiveHeader("model", "int8", block_size=2, block_bytes=9)
    with pytest.raises(ArchiveError, match="another precision and block_bytes"):
        _read(path, other)
    with ArchiveFile(path, other, is_writable=True) as file:
        assert file.num_records == 0


def test_a_missing_file_is_the_caller_s_affair(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _read(tmp_path / "none.kv")
