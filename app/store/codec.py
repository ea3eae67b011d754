"""Database rows to records and back. Knows the columns; runs no statement."""

import json
import sqlite3
from dataclasses import asdict, fields

from app.conversations import ChatMessage, Conversation
from engine.api import CacheMiss, Failure, FinishReason, LeftOut, MissKind, Timeline
from ui.chat.rows import MessageStatus, Reasoning

INSERT_MESSAGE = """
    INSERT INTO messages(
        conversation_id, parent_id, role, content, status, reason, timeline, model, failure,
        reasoning, created_at, updated_at
    ) VALUES (
        :conversation_id, :parent_id, :role, :content, :status, :reason, :timeline, :model,
        :failure, :reasoning, :now, :now
    )
"""
UPDATE_MESSAGE = """
    UPDATE messages SET content = :content, status = :status, reason = :reason,
        timeline = :timeline, model = :model, failure = :failure, reasoning = :reasoning,
        updated_at = :now
    WHERE id = :id
"""
TIMELINE_FIELDS = frozenset(field.name for field in fields(Timeline))


def conversation_of(row: sqlite3.Row) -> Conversation:
    """Read a row of ``conversations``."""
    return Conversation(
        conversation_id=row["id"],
        title=row["title"],
        updated_at=row["updated_at"],
        draft=row["draft"],
        active_leaf=row["active_leaf"],
        system_prompt=row["system_prompt"],
    )


def message_of(row: sqlite3.Row) -> ChatMessage:
    """Read a row of ``messages``."""
    return ChatMessage(
        message_id=row["id"],
        conversation_id=row["conversation_id"],
        parent_id=row["parent_id"],
        role=row["role"],
        content=row["content"],
        status=MessageStatus(row["status"]),
        reason=None if row["reason"] is None else FinishReason(row["reason"]),
        timeline=_timeline_of(row["timeline"]),
        model=row["model"],
        failure=_failure_of(row["failure"]),
        reasoning=_reasoning_of(row["reasoning"]),
    )


def message_values(message: ChatMessage, now: float) -> dict[str, str | float | None]:
    """The named values of INSERT_MESSAGE and UPDATE_MESSAGE; ``now`` in seconds."""
    timeline = None if message.timeline is None else json.dumps(asdict(message.timeline))
    return {
        "id": message.message_id,
        "conversation_id": message.conversation_id,
        "parent_id": message.parent_id,
        "role": message.role,
        "now": now,
        "content": message.content,
        "status": message.status.value,
        "reason": None if message.reason is None else message.reason.value,
        "timeline": timeline,
        "model": message.model,
        "failure": _failure_text(message.failure),
        "reasoning": _reasoning_text(message.reasoning),
    }


def _timeline_of(text: str | None) -> Timeline | None:
    if text is None:
        return None
    values = {k: v for k, v in json.loads(text).items() if k in TIMELINE_FIELDS}
    try:
        if (miss := values.get("cache_miss")) is not None:
            values["cache_miss"] = CacheMiss(**{**miss, "kind": MissKind(miss["kind"])})
        if (left_out := values.get("left_out")) is not None:
            values["left_out"] = LeftOut(**left_out)
        return Timeline(**values)
    except (TypeError, ValueError, KeyError):  # written by a version with other figures
        return None  # the answer matters more


def _reasoning_of(text: str | None) -> Reasoning | None:
    if text is None:
        return None
    values = json.loads(text)
    return Reasoning(values["text"], values.get("num_tokens", 0), values.get("duration_ns", 0))


def _reasoning_text(reasoning: Reasoning | None) -> str | None:
    return None if reasoning is None else json.dumps(asdict(reasoning), ensure_ascii=False)


def _failure_of(text: str | None) -> Failure | None:
    if text is None:
        return None
    values = json.loads(text)
    return Failure(values["code"], values["message"], values.get("details", {}))


def _failure_text(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return json.dumps(
        {
            "code": failure.code,
            "message": failure.message,
            "details": dict(failure.details),
        },
        ensure_ascii=False,
    )
