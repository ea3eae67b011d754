"""How a setting is declared: once, with its type, default, range, unit and explanation.

The settings page, the stored form and its validation are all derived from it. Imports no Qt, so
that app.settings can declare without a window.
"""

from dataclasses import dataclass
from typing import Literal

SettingValue = str | int | float | bool | None
FieldKind = Literal[
    "choice", "int", "float", "text", "multiline", "bool", "model_path", "choice_or_path"
]
Applies = Literal["now", "next_answer", "reload"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One option of a choice: the stored value and its English label."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """One setting.

    ``unit``, ``label``, ``help`` and ``automatic`` are English source text. ``automatic`` names
    what None means ("Automatic"); without it the field always has a value. ``applies`` says when
    a change takes effect: at once, with the next answer, or when the model is loaded again.
    ``is_secret``: a text that is not shown as it is typed. ``is_checked``: what is typed is a draft
    until whoever knows more of it has found it right. ``path_label`` names the choice of a
    file in place of one of the choices. ``is_name``: a number that names something, a port or a seed:
    it is not slid to, and its digits are not grouped.
    """

    key: str
    kind: FieldKind
    default: SettingValue
    label: str
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    decimals: int = 2
    choices: tuple[Choice, ...] = ()
    automatic: str | None = None
    applies: Applies = "now"
    is_secret: bool = False
    is_checked: bool = False
    path_label: str = ""
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A titled group of fields."""

    title: str
    fields: tuple[Field, ...]
