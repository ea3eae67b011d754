"""Commands and events of the inspector: what an answer's report is made of, and the report."""

from dataclasses import dataclass
from enum import StrEnum

from engine.api.report import AnswerReport


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    """Command: report an answer again, as it is known now. Unknown ids are ignored."""

    request_id: str


@dataclass(frozen=True, slots=True)
class NotePaint:
    """Command: a token chosen at ``token_ns`` was on the screen at ``painted_ns``."""

    request_id: str
    token_ns: int
    painted_ns: int


class TraceFormat(StrEnum):
    """CHROME: for Chrome's tracing page and Perfetto. JSON: what the command line prints."""

    CHROME = "chrome"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ExportTrace:
    """Command: write a report to ``path``. TraceExported follows."""

    report: AnswerReport
    path: str
    format: TraceFormat = TraceFormat.CHROME


@dataclass(frozen=True, slots=True)
class AnswerExplained:
    """Event: an answer's report; about once a second while it goes on, and at its end."""

    report: AnswerReport


@dataclass(frozen=True, slots=True)
class TraceExported:
    """Event: the end of ExportTrace; ``problem`` is a sentence where there is no file."""

    path: str
    problem: str = ""
