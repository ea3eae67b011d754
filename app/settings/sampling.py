"""How the next answers are chosen, and the form they must have: declared once, as all settings.

Imports no Qt: the words are English source text, translated where they are shown.
"""

from ui.settings.fields import Field, Section

SAMPLING = Section(
    "Sampling",
    (
        Field(
            "temperature",
            "float",
            0.7,
            "Temperature",
            "How adventurous the choice of words is. 0 always takes the likeliest word; above 1 "
            "it becomes erratic.",
            minimum=0.0,
            maximum=2.0,
            step=0.05,
            applies="next_answer",
        ),
        Field(
            "top_k",
            "int",
            0,
            "Top-k",
            "Choose among this many likeliest tokens only. 0 is off.",
            unit="tokens",
            minimum=0,
            maximum=1000,
            step=1,
            applies="next_answer",
        ),
        Field(
            "top_p",
            "float",
            0.9,
            "Top-p",
            "Choose among the likeliest tokens that together reach this probability. 1 is off.",
            minimum=0.01,
            maximum=1.0,
            step=0.01,
            applies="next_answer",
        ),
        Field(
            "min_p",
            "float",
            0.05,
            "Min-p",
            "Leave out tokens that are this much less likely than the likeliest one: 0.05 means "
            "less than a twentieth. 0 is off.",
            minimum=0.0,
            maximum=1.0,
            step=0.01,
            applies="next_answer",
        ),
        Field(
            "typical_p",
            "float",
            1.0,
            "Typical-p",
            "Choose among the tokens that are about as surprising as this place in the text lets "
            "one expect, up to this probability together. 1 is off.",
            minimum=0.01,
            maximum=1.0,
            step=0.01,
            applies="next_answer",
        ),
        Field(
            "repetition_penalty",
            "float",
            1.0,
            "Repetition penalty",
            "Makes words that were just used less likely. 1 is off; about 1.1 stops a model that "
            "repeats itself.",
            minimum=1.0,
            maximum=2.0,
            step=0.01,
            applies="next_answer",
        ),
        Field(
            "presence_penalty",
            "float",
            0.0,
            "Presence penalty",
            "Makes every token less likely once the answer has it, however often: it leads to new "
            "subjects. 0 is off; below 0 the answer stays with what it has.",
            minimum=-2.0,
            maximum=2.0,
            step=0.1,
            applies="next_answer",
        ),
        Field(
            "frequency_penalty",
            "float",
            0.0,
            "Frequency penalty",
            "Makes a token less likely each time the answer has it: it stops loops. 0 is off.",
            minimum=-2.0,
            maximum=2.0,
            step=0.1,
            applies="next_answer",
        ),
        Field(
            "seed",
            "int",
            None,
            "Seed",
            "The start of the dice. The same seed, model and prompt give the same answer again.",
            minimum=0,
            maximum=2_147_483_647,
            step=1,
            is_name=True,
            automatic="New each time",
            applies="next_answer",
        ),
        Field(
            "max_tokens",
            "int",
            None,
            "Longest answer",
            "Stop an answer after this many tokens; a token is about three quarters of a word.",
            unit="tokens",
            minimum=1,
            maximum=1_048_576,
            step=64,
            automatic="Up to the context's end",
            applies="next_answer",
        ),
        Field(
            "stop",
            "multiline",
            "",
            "Stop strings",
            "An answer ends where it would write one of these; one a line.",
            applies="next_answer",
        ),
    ),
)

ANSWER_FORMAT = Section(
    "Answer format",
    (
        Field(
            "json_schema",
            "multiline",
            "",
            "JSON Schema",
            "Every answer becomes a JSON document that this schema describes, for example "
            '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}. '
            "Empty: free text.",
            applies="next_answer",
            is_checked=True,
        ),
    ),
)
