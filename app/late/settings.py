"""The rows of the settings page, made while nothing else is to do, or when the page is looked at."""

from app.late.parts import Steps, imports
from ui.settings.panel import SettingsPanel


def steps_to_settings(panel: SettingsPanel) -> Steps:
    """What rows are made of, then one after another."""
    yield from imports(
        "ui.settings.editors",
        "ui.settings.model_path",
        "ui.settings.number",
        "ui.settings.row",
        "ui.settings.model_sheet",
    )
    yield from panel.steps()
