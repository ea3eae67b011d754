"""A Jinja environment in which every single operation is small.

Jinja's sandbox keeps a template from the interpreter's insides, not from ``'x' * 10**9``. Here
every value a template makes (an operator, a call, a filter, a list, a block of text) is measured;
what could grow before it can be measured (``*``, ``**``, ``%``, replace, join, indent) is
estimated first, and methods and filters that no chat template needs are not there. Knows nothing
of time: ``engine.text.deadline`` stops what is merely long.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer
from typing_extensions import override

from engine.text.deadline import RenderStopped
from engine.text.measure import Meter, check_size, tree_size

_MAX_INT_BITS: Final = 4_096
_MAX_INDENT: Final = 64
_DATE_FORMAT: Final = re.compile(r"(?:[^%]|%-?[A-Za-z%]){0,64}")
_WIDE_FORMAT: Final = re.compile(r"%[^a-zA-Z%]*[\d*]")
_STR_METHODS: Final = frozenset({
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha",
    "isdigit", "islower", "isnumeric", "isspace", "isupper", "join", "lower", "lstrip",
    "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition",
    "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
})  # fmt: skip
_CONTAINER_METHODS: Final = frozenset({"count", "get", "index", "items", "keys", "values"})
_LOOP_NAMES: Final = frozenset({
    "changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length",
    "nextitem", "previtem", "revindex", "revindex0",
})  # fmt: skip
_FILTERS: Final = (
    "abs", "attr", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby",
    "int", "items", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "reverse", "select", "selectattr", "sort", "string", "title", "trim", "truncate",
    "unique", "upper",
)  # fmt: skip


class TemplateNamespace(Namespace):
    """``namespace()`` as templates know it, whose text does not show (and so grow with) its contents."""

    @override
    def __repr__(self) -> str:
        return "<namespace>"


class GenerationTag(Extension):
    """``{% generation %}`` marks the assistant's words for training; here it only shows its body."""

    tags: set[str] = {"generation"}  # noqa: RUF012 - Jinja declares it as an instance attribute

    @override
    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _MeasureLiterals(NodeTransformer):
    """Sends what Jinja compiles to bare Python (``~``, literals, slices) through a filter.

    And long sums, as most templates write a message, through one call in place of many.
    """

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - the visitor's protocol
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "_concat")

    def visit_Add(self, node: nodes.Add) -> nodes.Node:  # noqa: N802 - the visitor's protocol
        parts: list[nodes.Expr] = []
        rest: nodes.Expr = node
        while isinstance(rest, nodes.Add):
            parts.append(rest.right)
            rest = rest.left
        parts.append(rest)
        if len(parts) == 2:
            return self.generic_visit(node)
        visited = [self.visit(part) for part in reversed(parts)]
        return _filtered(nodes.List(visited, lineno=node.lineno), "_sum")

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802 - the visitor's protocol
        self.generic_visit(node)
        return _filtered(node, "_measured")

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802 - the visitor's protocol
        self.generic_visit(node)
        return _filtered(node, "_measured")

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802 - the visitor's protocol
        self.generic_visit(node)
        return _filtered(node, "_measured") if node.ctx == "load" else node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 - the visitor's protocol
        self.generic_visit(node)
        return _filtered(node, "_measured") if isinstance(node.arg, nodes.Slice) else node


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """The names and rules chat templates are written for, each operation bounded.

    ``meter`` counts what the present rendering makes; reset it before each. Not thread-safe.
    """

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # folding constants would run filters before any limit is set
            cache_size=0,
            extensions=[loopcontrols, GenerationTag],
        )
        self.meter: Final = Meter()
        self.globals = {
            "range": self.globals["range"],
            "dict": dict,
            "namespace": TemplateNamespace,
            "raise_exception": raise_exception,
            "strftime_now": strftime_now,
        }
        own: dict[str, Callable[..., Any]] = {
            "_concat": lambda parts: self.concat(map(str, parts)),
            "_measured": lambda value: value,
            "_sum": self._sum,
            "e": str,
            "escape": str,
            "safe": str,
            "indent": _indent,
            "join": _join,
            "replace": _replace,
            "tojson": _tojson,
        }
        shared = {name: self.filters[name] for name in _FILTERS}
        self.filters = {
            name: self._measured(function) for name, function in {**shared, **own}.items()
        }

    def instrumented(self, source: str) -> nodes.Template:
        """The syntax tree of ``source`` with every value it makes measured."""
        tree: nodes.Template = _MeasureLiterals().visit(self.parse(source, filename=None))
        return tree

    @override
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str):
            return attr in _STR_METHODS
        if isinstance(obj, (dict, list, tuple)):
            return attr in _CONTAINER_METHODS or attr in getattr(obj, "_fields", ())
        if isinstance(obj, LoopContext):
            return attr in _LOOP_NAMES
        if isinstance(obj, (bytes, bytearray, int, float, complex, set, frozenset, range)):
            return False
        return super().is_safe_attribute(obj, attr, value)

    @override
    def wrap_str_format(self, value: Any) -> None:
        """``str.format`` is not offered: its widths make any size."""

    @override
    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "+" and type(left) is str and type(right) is str:  # most of all
            return self.meter.take(left + right)
        if operator == "*":
            _check_product(left, right)
        elif operator == "**":
            _check_power(left, right)
        elif operator == "%" and isinstance(left, (str, bytes)):
            _check_format(left, right)
        return self.meter.take(super().call_binop(context, operator, left, right))

    # Jinja passes the template's own keyword arguments here, hence positional-only names.
    @override
    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, str) and name == "replace" and not kwargs:
            return self.meter.take(_replace(owner, *args))
        if isinstance(owner, str) and name == "join" and len(args) == 1:
            return self.meter.take(_join(args[0], owner))
        return self.meter.take(super().call(context, obj, *args, **kwargs))

    @override
    def concat(self, parts: Iterable[str]) -> str:
        """Join the output of a block. Compiled templates and macros call it by this name."""
        pieces = []
        size = 0
        for piece in parts:
            size += len(piece)
            check_size(size)
            pieces.append(piece)
        self.meter.add(size)
        return "".join(pieces)

    def _sum(self, parts: Sequence[Any]) -> Any:
        """``parts[0] + parts[1] + ...``; most often these are texts, which are joined at once."""
        if set(map(type, parts)) == {str}:
            check_size(sum(map(len, parts)))
            return "".join(parts)
        total, *others = parts
        for part in others:
            total = self.meter.take(total + part)
        return total

    def _measured(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` with its result measured; keeps the marks Jinja reads on filters."""

        def measured(*args: Any, **kwargs: Any) -> Any:
            return self.meter.take(function(*args, **kwargs))

        for mark in ("jinja_pass_arg",):
            if hasattr(function, mark):
                setattr(measured, mark, getattr(function, mark))
        return measured


def raise_exception(message: Any) -> NoReturn:
    """How a template refuses a conversation."""
    raise TemplateRefusalError(str(message)[:500])


class TemplateRefusalError(jinja2.TemplateError):
    """The template itself refused the conversation."""


def strftime_now(form: str) -> str:
    """The present local time; widths in the format are refused."""
    if not _DATE_FORMAT.fullmatch(form):
        raise ValueError("the date format is not supported")
    return datetime.now(UTC).astimezone().strftime(form)


def _check_product(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > _MAX_INT_BITS:
            raise RenderStopped("it computes a number that is too large")
        return
    for sequence, times in ((left, right), (right, left)):
        if isinstance(times, int) and isinstance(sequence, (str, bytes, list, tuple)):
            is_text = isinstance(sequence, (str, bytes))
            size = len(sequence) if is_text else tree_size(sequence)[0]
            check_size(size * max(times, 0))


def _check_power(left: Any, right: Any) -> None:
    if (
        isinstance(left, int)
        and isinstance(right, int)
        and left.bit_length() * abs(right) > _MAX_INT_BITS
    ):
        raise RenderStopped("it computes a number that is too large")


def _check_format(form: str | bytes, values: Any) -> None:
    if not isinstance(form, str) or _WIDE_FORMAT.search(form):
        raise RenderStopped("it pads text with the % operator")
    check_size(len(form) + form.count("%") * tree_size(values)[0])


def _replace(value: Any, old: Any, new: Any, count: int | None = None) -> str:
    text, old, new = str(value), str(old), str(new)
    limit = -1 if count is None else int(count)
    found = text.count(old) if limit < 0 else min(text.count(old), limit)
    check_size(len(text) + found * len(new))
    return text.replace(old, new, limit)


def _join(values: Iterable[Any], d: str = "", attribute: str | None = None) -> str:
    if attribute is not None:
        raise ValueError("join by attribute is not supported")
    parts: list[str] = []
    size = 0
    for value in values:
        part = str(value)
        size += len(part) + len(d)
        check_size(size)
        parts.append(part)
    return str(d).join(parts)


def _indent(
    text: str,
    width: int | str = 4,
    first: bool = False,  # noqa: FBT001, FBT002 - the signature templates are written for
    blank: bool = False,  # noqa: FBT001, FBT002 - as above
) -> str:
    lead = width if isinstance(width, str) else " " * min(int(width), _MAX_INDENT + 1)
    if len(lead) > _MAX_INDENT:
        raise RenderStopped("it indents too far")
    check_size(len(text) + (text.count("\n") + 1) * len(lead))
    lines = text.splitlines()
    led = [lead + line if line or blank else line for line in lines]
    if led and not first:
        led[0] = lines[0]
    return "\n".join(led)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - the signature templates are written for
    indent: int | None = None,
    separators: Any = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 - as above
) -> str:
    size, depth = tree_size(value)
    if indent is not None:
        if not 0 <= int(indent) <= _MAX_INDENT:
            raise RenderStopped("it indents too far")
        check_size(size * (1 + int(indent) * depth))
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )
