"""The inspector's views with what fills them, each made when it is first looked at.

What is observed meanwhile is kept by ``InspectedAnswer`` and ``LatestStats``, so that a view that
comes later misses nothing.
"""

from dataclasses import dataclass

from app.controllers.answers import Answers
from app.controllers.branches import BranchController
from app.controllers.inspector.diagnosis import DiagnosisController
from app.controllers.inspector.sources import InspectorSources
from app.controllers.library_services import LibraryServices
from app.controllers.machine_rates import MachineRates
from app.late.experiments import LateExperiments
from app.late.parts import LateParts, Steps, imports
from ui.inspector.page import InspectorPage
from ui.theme import ThemeSource

# in the order of their tabs
VIEWS = ("answer", "tokens", "cache", "machine")


@dataclass(frozen=True, slots=True)
class InspectorNeeds:
    """Where the views stand, and what they are filled from."""

    page: InspectorPage
    themes: ThemeSource
    sources: InspectorSources
    answers: Answers
    branches: BranchController
    diagnosis: DiagnosisController
    rates: MachineRates
    library: LibraryServices
    experiments: LateExperiments


def add_views(parts: LateParts, needs: InspectorNeeds) -> None:
    """Say how each view is made, under the page's own names for them."""
    parts.add("answer", _answer(needs))
    parts.add("machine", _machine(needs))
    parts.add("cache", _cache(needs))
    parts.add("tokens", _tokens(needs))
    needs.page.shown_changed.connect(parts.want)


def _answer(needs: InspectorNeeds) -> Steps:
    yield from imports(
        "ui.charts.figures",
        "ui.charts.chart",
        "ui.inspector.answer.lanes",
        "ui.inspector.answer.pipeline",
        "ui.inspector.answer.timing",
        "ui.charts.tables",
        "ui.charts.lines",
        "ui.inspector.answer.gap_charts",
        "ui.inspector.answer.itl",
        "ui.charts.bars",
        "ui.inspector.answer.pass_chart",
        "ui.inspector.answer.profile",
        "ui.inspector.answer.view",
    )
    from app.controllers.inspector import answer, model_profile  # noqa: PLC0415 - most starts do not need it

    yield
    from ui.inspector.answer.view import AnswerView  # noqa: PLC0415 - as above

    page, sources = needs.page, needs.sources
    view = AnswerView(needs.themes, page.place_of("answer"))
    yield
    answer.AnswerInspector(view, page, sources.inspected, sources.bridge)
    model_profile.ModelProfileController(
        view.profile, sources.inspected, sources.model, sources.bridge
    )
    needs.diagnosis.add_chosen(view.diagnosis)
    page.put_view("answer", view)


def _machine(needs: InspectorNeeds) -> Steps:
    yield from imports(
        "ui.charts.roofline",
        "ui.inspector.machine.memory",
        "ui.inspector.machine.roof",
        "ui.inspector.machine.view",
    )
    from app.controllers.inspector.machine import MachineInspector  # noqa: PLC0415 - as above

    yield
    from ui.inspector.machine.view import MachineView  # noqa: PLC0415 - as above

    view = MachineView(needs.themes, needs.page.place_of("machine"))
    yield
    MachineInspector(view, needs.page, needs.sources, needs.rates, needs.library)
    needs.page.put_view("machine", view)


def _cache(needs: InspectorNeeds) -> Steps:
    yield from imports(
        "ui.charts.lines",
        "ui.inspector.cache.picture",
        "ui.inspector.cache.words",
        "ui.inspector.cache.block_map",
        "ui.inspector.cache.view",
        "statistics",
        "app.experiments.trials",
        "app.experiments.kept",
    )
    from app.controllers.inspector.kv_quality import KVQuality  # noqa: PLC0415 - as above

    yield
    from app.controllers.inspector.cache import CacheInspector  # noqa: PLC0415 - as above

    yield
    from ui.inspector.cache.view import CacheView  # noqa: PLC0415 - as above

    page = needs.page
    view = CacheView(needs.themes, page.place_of("cache"))
    view.loss_requested.connect(needs.experiments.open_losses)
    yield
    quality = KVQuality(needs.experiments.kept, needs.library.catalog, page)
    CacheInspector(view, page, needs.sources, quality)
    page.put_view("cache", view)


def _tokens(needs: InspectorNeeds) -> Steps:
    yield from imports(
        "ui.inspector.tokens.pieces",
        "ui.inspector.tokens.chip_look",
        "ui.inspector.tokens.chips",
        "ui.inspector.tokens.details",
        "ui.inspector.tokens.view",
    )
    from app.controllers.inspector.tokens import TokensInspector, TokenSources  # noqa: PLC0415 - as above

    yield
    from ui.inspector.tokens.view import TokensView  # noqa: PLC0415 - as above

    view = TokensView(needs.themes, needs.page.place_of("tokens"))
    yield
    shared = needs.sources
    sources = TokenSources(
        shared.sidebar.chat,
        needs.answers,
        needs.branches,
        shared.model,
        shared.values,
        shared.bridge,
    )
    TokensInspector(view, needs.page, shared.inspected, sources)
    needs.page.put_view("tokens", view)
