"""Keeps the cache of a conversation on disk and brings it back, piece by piece between steps.

Of layers with a window a record holds what there was of its block when it was written, since only
the last ones are needed to go on behind them. Nothing is held from one piece to the next: what others take meanwhile is lost to the archive, and
never the other way round. Runs in the engine thread; a file that cannot be used is a line in the
log, for an answer only takes longer without it.
"""

import logging
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.api import CacheRestored, CacheSaved, Event
from engine.kv.archive_contents import BlockContents, parts_of
from engine.kv.archive_file import ArchiveError, ArchiveFile, ArchiveHeader
from engine.kv.filling import TextBlocks
from engine.kv.manager import KVManager
from engine.kv.reuse import CacheIdentity, ReuseHistory
from engine.kv.transfer import BlockStorage

_log = logging.getLogger(__name__)
PIECE_BYTES: Final = 1 << 20  # between two steps: less than a token takes
_KEEP_FREE_BYTES: Final = 2 << 30


@dataclass(slots=True)
class _Save:
    conversation_id: str
    path: Path
    token_ids: list[int]
    num_done: int = 0
    num_written: int = 0


@dataclass(slots=True)
class _Restore:
    conversation_id: str
    path: Path
    token_ids: list[int] = field(default_factory=list)
    num_done: int = 0


class CacheArchive:
    """Saves and restores, oldest first. ``storage`` None: its contents cannot be kept."""

    def __init__(
        self,
        kv: KVManager,
        storage: BlockStorage | None,
        history: ReuseHistory,
        identity: CacheIdentity,
    ) -> None:
        self._kv = kv
        self._contents: BlockContents | None = None
        if storage is not None:
            has_windows = any(group.window for group in kv.groups)
            self._contents = BlockContents(parts_of(storage), has_windows=has_windows)
        self._history = history
        self._identity = identity
        self._jobs: deque[_Save | _Restore] = deque()

    @property
    def has_work(self) -> bool:
        """Whether a step would do something."""
        return bool(self._jobs)

    def save(self, conversation_id: str, path: Path) -> list[Event]:
        """Begin to keep what the conversation computed last, as far as it is cached."""
        token_ids = self._history.tokens(conversation_id, self._identity)
        job = _Save(conversation_id, path, token_ids)
        if self._contents is None or not self._kv.has_prefix_cache or not token_ids:
            return [_end(job)]
        if not self._has_disk_room(path, len(token_ids)):
            _log.warning("Not enough room on the disk to keep the cache of a conversation")
            return [_end(job)]
        self._jobs.append(job)
        return []

    def restore(self, conversation_id: str, path: Path) -> list[Event]:
        """Begin to bring a conversation's cache back."""
        job = _Restore(conversation_id, path)
        is_known = bool(self._history.tokens(conversation_id, self._identity))
        if self._contents is None or not self._kv.has_prefix_cache or is_known:
            return [_end(job)]
        self._jobs.append(job)
        return []

    def step(self) -> list[Event]:
        """Do one piece of the oldest job; its end is an event."""
        if not self._jobs or self._contents is None:
            return []
        job = self._jobs[0]
        try:
            if isinstance(job, _Save):
                is_done = self._save_piece(job, self._contents)
            else:
                is_done = self._restore_piece(job, self._contents)
        except (OSError, ArchiveError) as error:
            if not isinstance(error, FileNotFoundError):
                _log.warning("The kept cache %s was not used: %s", job.path.name, error)
            is_done = True
        if not is_done:
            return []
        self._jobs.popleft()
        if isinstance(job, _Restore) and job.num_done:
            known = job.token_ids[: job.num_done * self._kv.block_size]
            self._history.note(job.conversation_id, self._identity, known)
        return [_end(job, self._kv.block_size)]

    def finish(self, conversation_id: str) -> list[Event]:
        """Do everything up to the restoring of one conversation, which is wanted now."""
        events: list[Event] = []
        while any(
            isinstance(job, _Restore) and job.conversation_id == conversation_id
            for job in self._jobs
        ):
            events += self.step()
        return events

    def abandon(self) -> list[Event]:
        """Give up what is not done: the model goes."""
        events = [_end(job, self._kv.block_size) for job in self._jobs]
        self._jobs.clear()
        return events

    def _header(self, contents: BlockContents) -> ArchiveHeader:
        identity = self._identity
        return ArchiveHeader(
            identity.model, identity.lasting, self._kv.block_size, contents.nbytes
        )

    def _save_piece(self, job: _Save, contents: BlockContents) -> bool:
        """Write some blocks; True when all that are cached are in the file."""
        if job.num_done and not job.path.exists():
            return True  # deleted with its conversation
        hit = self._kv.find_text(job.token_ids)
        left = PIECE_BYTES
        with ArchiveFile(job.path, self._header(contents), is_writable=True) as file:
            while job.num_done < len(hit.keys) and left > 0:
                index = job.num_done
                tokens = self._tokens_of_block(job.token_ids, index)
                blocks = [
                    None if index < first else table[index]
                    for table, first in zip(hit.blocks, hit.firsts, strict=True)
                ]
                if (
                    index >= file.num_records
                    or file.token_ids(index) != tokens
                    or not contents.are_in(file, index, blocks)
                ):
                    data = contents.pack(blocks)
                    file.write(index, tokens, data)
                    left -= len(data)
                    job.num_written += 1
                job.num_done += 1
        return job.num_done >= len(hit.keys)

    def _restore_piece(self, job: _Restore, contents: BlockContents) -> bool:
        """Fill some blocks from the file; True when there are no more, or no room for more."""
        size = self._kv.block_size
        with ArchiveFile(job.path, self._header(contents), is_writable=False) as file:
            if not job.token_ids:
                count = self._num_useful(file, contents)
                job.token_ids = [t for i in range(count) for t in file.token_ids(i)]
            first = self._kv.groups[0].prefix
            assert first is not None
            keys = list(first.keys(job.token_ids))
            texts = [TextBlocks(group, keys, size) for group in self._kv.groups]
            try:
                is_done = self._fill(job, contents, file, texts)
            finally:
                for text in texts:
                    text.close()
                self._kv.trim()
                job.num_done = len(self._kv.find_text(job.token_ids).keys)
        left = sum(len(text.missing) for text in texts)
        return is_done or not left

    def _num_useful(self, file: ArchiveFile, contents: BlockContents) -> int:
        """How many records can be gone on behind: all that layers look back on is in them."""
        size = self._kv.block_size
        groups = self._kv.groups
        runs = [0] * len(groups)
        best = 0
        for index in range(file.num_records):
            kept = contents.kept(file, index)
            runs = [run + 1 if has else 0 for run, has in zip(runs, kept, strict=True)]
            end = index + 1
            if all(
                run >= end - group.first_seen(end * size)
                for run, group in zip(runs, groups, strict=True)
            ):
                best = end
        return best

    def _fill(
        self,
        job: _Restore,
        contents: BlockContents,
        file: ArchiveFile,
        texts: Sequence[TextBlocks],
    ) -> bool:
        """Take the next blocks, if there is room, and fill them; True when there is none left."""
        wanted = sorted({index for text in texts for index in text.missing})
        for index in wanted[: max(1, PIECE_BYTES // contents.nbytes)]:
            tokens, data = file.read(index)
            if tokens != self._tokens_of_block(job.token_ids, index):
                raise ArchiveError("it changed while it was read")
            for group, text in enumerate(texts):
                if not text.wants(index):
                    continue
                block = text.take(index, tokens)
                if block is None:
                    return True
                contents.unpack(group, data, block)
        return not wanted

    def _tokens_of_block(self, token_ids: Sequence[int], index: int) -> list[int]:
        size = self._kv.block_size
        return list(token_ids[index * size : (index + 1) * size])

    def _has_disk_room(self, path: Path, num_tokens: int) -> bool:
        assert self._contents is not None
        wanted = self._kv.num_blocks_for(num_tokens) * self._contents.nbytes
        folder = next((parent for parent in path.parents if parent.is_dir()), None)
        return folder is not None and (shutil.disk_usage(folder).free > wanted + _KEEP_FREE_BYTES)


def _end(job: _Save | _Restore, block_size: int = 0) -> Event:
    num_tokens = job.num_done * block_size
    if isinstance(job, _Save):
        return CacheSaved(job.conversation_id, num_tokens, job.num_written * block_size)
    return CacheRestored(job.conversation_id, num_tokens)
