"""Whether and where other programs reach the model: declared once, as all settings.

Imports no Qt: the words are English source text, translated where they are shown.
"""

from ui.settings.fields import Field, Section

SERVING = Section(
    "Other programs",
    (
        Field(
            "serve",
            "bool",
            default=False,
            label="Serve other programs on this computer",
            help="Editors and scripts that speak OpenAI's protocol can ask the loaded model. "
            "Nobody outside this computer reaches it, and chats in this window go first.",
        ),
        Field(
            "serve_port",
            "int",
            8417,
            "Port",
            "The address is http://127.0.0.1 with this port and /v1.",
            minimum=1024,
            maximum=65535,
            step=1,
            is_name=True,
        ),
        Field(
            "serve_key",
            "text",
            "",
            "Key for other programs",
            "What they must send as their API key. Without one, a new key is made; switching this on "
            "shows it.",
            is_secret=True,
        ),
    ),
)
