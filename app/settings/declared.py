"""Every setting, declared once: default, range, unit, words. The page and the file follow.

Imports no Qt: the words are English source text, translated where they are shown.
"""

from collections.abc import Mapping

from app.settings.sampling import ANSWER_FORMAT, SAMPLING
from app.settings.serving import SERVING
from engine.api import KVPrecision, Overflow, Precision
from ui.settings.fields import Choice, Field, Section

# INT4 weights chosen with an eye on the model's own activations
INT4_CALIBRATED = "int4-calibrated"
NO_DRAFT, NGRAM_DRAFT = "off", "ngram"

MODEL = Section(
    "Model",
    (
        Field(
            "model_path",
            "model_path",
            None,
            "Model",
            "The model file to chat with: a .gguf file, or a folder with safetensors files.",
            automatic="Starter model",
            applies="reload",
        ),
        Field(
            "weights",
            "choice",
            Precision.AUTO.value,
            "Weight precision",
            "How exactly each weight is kept. Fewer bits need less memory and answer faster; "
            "quality drops a little with INT4.",
            choices=(
                Choice(Precision.AUTO.value, "Automatic"),
                Choice(Precision.INT4.value, "INT4 (smallest, fastest)"),
                Choice(INT4_CALIBRATED, "INT4 calibrated (better, made once)"),
                Choice(Precision.INT8.value, "INT8 (nearly exact)"),
                Choice(Precision.BF16.value, "BF16 (as trained)"),
                Choice(Precision.FP32.value, "FP32 (largest)"),
            ),
            applies="reload",
        ),
        Field(
            "context_length",
            "int",
            None,
            "Context length",
            "How much the model can see at once: system prompt, conversation and answer together. "
            "A longer context needs more memory.",
            unit="tokens",
            minimum=256,
            maximum=1_048_576,
            step=256,
            automatic="The model's own",
            applies="reload",
        ),
        Field(
            "threads",
            "int",
            None,
            "Threads",
            "Processor cores that compute. More than the physical cores makes answers slower.",
            minimum=1,
            maximum=256,
            step=1,
            automatic="All physical cores",
            applies="reload",
        ),
        Field(
            "kv_budget_mib",
            "int",
            None,
            "KV cache budget",
            "Memory for what the model has read already, so that it need not read it again with "
            "every token.",
            unit="MiB",
            minimum=16,
            maximum=1_048_576,
            step=64,
            automatic="One full context",
            applies="reload",
        ),
        Field(
            "kv",
            "choice",
            KVPrecision.AUTO.value,
            "KV cache precision",
            "How exactly the cache keeps what was read. Fewer bits hold a longer conversation in "
            "the same memory; with INT4 answers may drift in long ones.",
            choices=(
                Choice(KVPrecision.AUTO.value, "Automatic"),
                Choice(KVPrecision.BF16.value, "16-bit (usual)"),
                Choice(KVPrecision.INT8.value, "INT8 (half of it, nearly exact)"),
                Choice(KVPrecision.INT4.value, "INT4 (a quarter of it)"),
                Choice(KVPrecision.FP32.value, "FP32 (twice as much)"),
            ),
            applies="reload",
        ),
        Field(
            "gpu_budget_mib",
            "int",
            None,
            "GPU memory budget",
            "What weights and cache may take of the graphics card. Layers that do not fit in it "
            "run on the processor, which is slower.",
            unit="MiB",
            minimum=256,
            maximum=1_048_576,
            step=256,
            automatic="All that is free",
            applies="reload",
        ),
        Field(
            "draft",
            "choice_or_path",
            NO_DRAFT,
            "Guess ahead",
            "Guesses the next tokens and checks them all in one step, which is faster where they "
            "are right. The answers are the same with and without. N-grams look up what followed "
            "before in the conversation and need no memory; a small model with the same "
            "vocabulary guesses more. It rests where it does not pay.",
            choices=(
                Choice(NO_DRAFT, "Off"),
                Choice(NGRAM_DRAFT, "N-grams of the conversation"),
            ),
            path_label="A small model…",
            applies="reload",
        ),
        Field(
            "kv_cache",
            "bool",
            default=True,
            label="Use the KV cache",
            help="Turn it off as an experiment: every token then costs a new reading of everything "
            "before it, and long answers slow to a crawl.",
            applies="reload",
        ),
        Field(
            "prefix_cache",
            "bool",
            default=True,
            label="Keep earlier prompts in the cache",
            help="The next question of a chat then reads only what is new. Without it, every "
            "question reads the whole conversation again.",
            applies="reload",
        ),
        Field(
            "max_streams",
            "int",
            32,
            "Answers at once",
            "How many answers are written side by side; further ones wait. More of them share the "
            "reading of the weights, and each is slower.",
            minimum=1,
            maximum=256,
            step=1,
            applies="reload",
        ),
        Field(
            "keep_cache",
            "bool",
            default=False,
            label="Keep the KV cache with the conversation",
            help="Saves what the model has read on the disk, so that a long chat goes on at once "
            "after a restart. It takes as much room as the cache, and is deleted with the chat.",
            applies="next_answer",
        ),
    ),
)

PROMPT = Section(
    "Prompt",
    (
        Field(
            "system_prompt",
            "multiline",
            "",
            "System prompt",
            "What the model is told before every conversation, for example how to answer. It "
            "costs tokens of the context.",
            applies="next_answer",
        ),
        Field(
            "overflow",
            "choice",
            Overflow.STOP.value,
            "When the conversation outgrows the context",
            "What the model still reads then. Nothing is ever deleted, and each answer says what "
            "it did not see.",
            choices=(
                Choice(Overflow.STOP.value, "Stop and say so"),
                Choice(Overflow.DROP_OLDEST.value, "Leave out the oldest turns"),
                Choice(Overflow.KEEP_ENDS.value, "Keep the first turn and the newest"),
            ),
            applies="next_answer",
        ),
    ),
)

APPEARANCE = Section(
    "Appearance",
    (
        Field(
            "language",
            "choice",
            "system",
            "Language",
            "The language of the window. A change shows at the next start.",
            choices=(
                Choice("system", "As the system"),
                Choice("en", "English"),
                Choice("zh_CN", "简体中文"),
            ),
        ),
        Field(
            "scheme",
            "choice",
            "system",
            "Colours",
            "Light or dark.",
            choices=(
                Choice("system", "As the system"),
                Choice("light", "Light"),
                Choice("dark", "Dark"),
            ),
        ),
        Field(
            "zoom",
            "float",
            1.0,
            "Zoom",
            "The size of text and controls. Ctrl with +, - and 0 changes it too.",
            minimum=0.75,
            maximum=2.5,
            step=0.05,
        ),
    ),
)

DOWNLOADS = Section(
    "Downloads",
    (
        Field(
            "hub_endpoint",
            "text",
            "",
            "Address of the hub",
            "Where models are downloaded from; a mirror, for example. Empty takes the usual hub.",
        ),
        Field(
            "hub_token",
            "text",
            "",
            "Access token",
            "Only for models whose makers ask who you are. It is sent to the hub and nowhere else.",
            is_secret=True,
        ),
    ),
)

# Kept between runs and shown nowhere as a setting.
REMEMBERED = Section(
    "Remembered",
    (
        Field("window_layout", "text", "", "Window layout", "Where the window and its parts are."),
        Field("recent_models", "multiline", "", "Recent models", "Latest first, one a line."),
        Field("library_folders", "multiline", "", "Model folders", "Added ones, one a line."),
        Field("library_hidden", "multiline", "", "Hidden models", "Paths, one a line."),
        Field("download_folder", "text", "", "Download folder", "Empty: the app's own."),
    ),
)

SHOWN_SECTIONS = (MODEL, SAMPLING, ANSWER_FORMAT, PROMPT, APPEARANCE, SERVING, DOWNLOADS)
FIELDS: Mapping[str, Field] = {
    field.key: field for section in (*SHOWN_SECTIONS, REMEMBERED) for field in section.fields
}
TYPES: Mapping[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,)}


def problem_with(field: Field, value: object) -> str | None:
    """Why ``value`` cannot be the field's value, for the log; None when it can."""
    if value is None:
        return None if field.automatic is not None else "must not be empty"
    if not isinstance(value, TYPES.get(field.kind, (str,))) or (
        # bool is an int in Python, and not in a settings file
        isinstance(value, bool) and field.kind != "bool"
    ):
        return f"is not of kind {field.kind}"
    if isinstance(value, int | float):
        return _problem_with_number(field, value)
    if field.kind == "choice" and value not in {choice.value for choice in field.choices}:
        return "is not among the choices"
    return None


def _problem_with_number(field: Field, value: float) -> str | None:
    # written so that NaN is out of range
    if field.minimum is not None and not value >= field.minimum:
        return f"is below {field.minimum:g}"
    if field.maximum is not None and not value <= field.maximum:
        return f"is above {field.maximum:g}"
    return None
