"""What fills the inspector's views knows from where. Made once, in composition."""

from dataclasses import dataclass

from app.bridge import EngineBridge
from app.controllers.inspector.inspected import InspectedAnswer
from app.controllers.inspector.latest import LatestStats
from app.controllers.model import ModelController
from app.controllers.settings import SettingsController
from app.controllers.sidebar import SidebarController
from app.settings.values import Settings


@dataclass(frozen=True, slots=True)
class InspectorSources:
    """The answer that is looked at, the chats, the model, the settings and the engine."""

    inspected: InspectedAnswer
    latest: LatestStats
    sidebar: SidebarController
    model: ModelController
    settings: SettingsController
    values: Settings
    bridge: EngineBridge
