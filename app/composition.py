"""All wiring. Nothing else makes long-lived objects."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from app.application import Application, Controllers, StartOptions
from app.bridge import EngineBridge, EngineFactory
from app.controllers.answer_format import AnswerFormat
from app.controllers.answers import Answers
from app.controllers.appearance import Appearance
from app.controllers.branches import BranchController
from app.controllers.chat import ChatController
from app.controllers.downloads import DownloadsController
from app.controllers.experiments.bench import Bench
from app.controllers.experiments.controller import ExperimentsController
from app.controllers.experiments.runner import Runner
from app.controllers.inspector.answer import AnswerInspector
from app.controllers.inspector.cache import CacheInspector
from app.controllers.inspector.diagnosis import DiagnosisController
from app.controllers.inspector.inspected import InspectedAnswer
from app.controllers.inspector.kept_reports import KeptReports
from app.controllers.inspector.kv_quality import KVQuality
from app.controllers.inspector.machine import MachineInspector
from app.controllers.inspector.model_profile import ModelProfileController
from app.controllers.inspector.paints import PaintNotes
from app.controllers.inspector.remedies import Remedies
from app.controllers.inspector.sources import InspectorSources
from app.controllers.inspector.tokens import TokensInspector, TokenSources
from app.controllers.kept_caches import KeptCaches
from app.controllers.library import LibraryController
from app.controllers.library_services import LibraryServices
from app.controllers.links import LinkController
from app.controllers.loss_meter import LossMeter
from app.controllers.machine_rates import MachineRates
from app.controllers.measurement import Measurement
from app.controllers.meters import MetersController
from app.controllers.model import ModelController
from app.controllers.outlook import OutlookWatch
from app.controllers.precision import PrecisionController
from app.controllers.services import Services
from app.controllers.settings import SettingsController
from app.controllers.sidebar import SidebarController
from app.experiments.prompts import Prompts
from app.paths import Paths, resources_folder
from app.quality.evaluation import engine_command, evaluation_arguments
from app.settings.declared import SHOWN_SECTIONS
from app.settings.values import Settings
from app.store.store import Store
from app.tasks import SerialTasks, Tasks
from engine.api import (
    Foresight,
    MachineCeilings,
    ModelOptions,
    ModelSheet,
    Precision,
    PrecisionFit,
)
from engine.service import EngineService
from ui.chat.page import ChatPage
from ui.experiments.page import ExperimentsPage
from ui.inspector.answer.view import AnswerView
from ui.inspector.cache.view import CacheView
from ui.inspector.machine.view import MachineView
from ui.inspector.page import InspectorPage
from ui.inspector.tokens.view import TokensView
from ui.library.page import LibraryPage
from ui.main_window import MainWindow, Pages
from ui.meters.live import LiveMeters
from ui.settings.panel import SettingsPanel
from ui.settings.precision_panel import PrecisionPanel
from ui.sidebar.panel import Sidebar
from ui.theme import ThemeSource


@dataclass(frozen=True, slots=True)
class _Views:
    """What is seen: the window's pages, and the parts of them that have a controller."""

    pages: Pages
    chat: ChatPage
    precisions: PrecisionPanel
    inspector: "_InspectorViews"


@dataclass(frozen=True, slots=True)
class _InspectorViews:
    """What the Inspector shows, one at a time, in the order of its tabs."""

    answer: AnswerView
    tokens: TokensView
    cache: CacheView
    machine: MachineView

    def by_name(self) -> dict[str, QWidget]:
        """As the page wants them."""
        return {
            "answer": self.answer,
            "tokens": self.tokens,
            "cache": self.cache,
            "machine": self.machine,
        }


class EngineInspector:
    """The engine's look at models that are not loaded. Called in a worker thread."""

    def sheet(self, path: str, bytes_to_free: int) -> ModelSheet:
        """Read a model's header. Raises EngineError."""
        from engine.inspection import inspect_model  # noqa: PLC0415 - imports numpy

        return inspect_model(path, bytes_to_free)

    def estimate(
        self, num_parameters: int, precision: Precision, bytes_to_free: int
    ) -> PrecisionFit:
        """Judge a model by its size alone."""
        from engine.inspection import estimate_fit  # noqa: PLC0415 - imports numpy

        return estimate_fit(num_parameters, precision, bytes_to_free)

    def foresee(self, options: ModelOptions, bytes_to_free: int) -> Foresight:
        """What loading with these options would come to. Raises EngineError."""
        from engine.inspection import foresee  # noqa: PLC0415 - imports numpy

        return foresee(options, bytes_to_free)

    def check_schema(self, schema: str) -> None:
        """Raise EngineError, with the reason, for what is no JSON Schema."""
        from engine.text.grammar import check_schema  # noqa: PLC0415 - imports numpy

        check_schema(schema)

    def ceilings(self, threads: int, *, is_cuda: bool) -> MachineCeilings | None:
        """What was measured of this machine for as many threads; None: nothing yet."""
        from engine.inspection import known_ceilings  # noqa: PLC0415 - imports numpy

        return known_ceilings(threads, is_cuda=is_cuda)

    def has_gpu(self) -> bool:
        """Whether models run on a GPU here."""
        from engine.devices import find_gpu  # noqa: PLC0415 - as above

        return find_gpu() is not None


def build(
    app: QApplication,
    paths: Paths,
    settings: Settings,
    options: StartOptions,
    *,
    make_engine: EngineFactory = EngineService,
    make_tasks: Callable[[str], Tasks] = SerialTasks,
) -> Application:
    """Put the app together; nothing runs before ``start``."""
    services = Services(
        bridge=EngineBridge(make_engine),
        store=Store(paths.database, paths.backups),
        tasks=make_tasks("store"),
        settings=settings,
        settings_path=paths.settings,
        secrets_path=paths.secrets,
    )
    appearance = Appearance(app, settings, options.scheme)
    views = _make_views(appearance.themes)
    window = MainWindow(views.pages, appearance.themes)
    model = ModelController(window, services, paths.starter_model, options.model)
    answers = Answers(services, window)
    chat = ChatController(views.chat, answers, model, services)
    sidebar = SidebarController(views.pages.sidebar, chat, answers, services)
    page_settings = SettingsController(window, views.pages.settings, model, appearance, services)
    branches = BranchController(views.chat, chat, model, services)
    window.stop_requested.connect(chat.stop)
    window.set_models_folder(str(paths.models))
    library = _library_services(settings, paths, make_tasks)
    shelves = _make_library(views.pages.library, model, library)
    for shelf in shelves:
        window.library_opened.connect(shelf.open)
        shelf.changed_settings.connect(page_settings.save)
    meter = _loss_meter(views.precisions, library, paths.losses)
    controllers = Controllers(
        answers,
        model,
        chat,
        sidebar,
        page_settings,
        MetersController(views.pages.meters, chat, answers, model, services.bridge),
        *shelves,
        _make_precision(views, page_settings, model, library, meter),
        KeptCaches(paths.kept_caches, sidebar, answers, model, services),
    )
    application = Application(window, services, controllers, options)
    branches.notice.connect(application.notify)
    answers.save_failed.connect(chat.tell)
    _join(application, views, library)
    _make_experiments(application, views.pages, meter).keep_in(paths.experiments, library.catalog)
    _make_inspector(application, views, branches, library, paths.experiments)
    return application


def _join(application: Application, views: _Views, library: LibraryServices) -> None:
    """Wire what lives beside a page and is asked for by nobody else."""
    window, services = application.window, application.services
    controllers = application.controllers
    for speaker in (
        controllers.model,
        controllers.chat,
        controllers.sidebar,
        controllers.settings,
        controllers.library,
        controllers.downloads,
        controllers.precision,
    ):
        speaker.notice.connect(application.notify)
    LinkController(views.chat)
    views.chat.model_wanted.connect(window.choose_model)
    window.tint_requested.connect(views.chat.toggle_tint)
    check = EngineInspector().check_schema
    checked = AnswerFormat(views.pages.settings, services.settings, library.catalog, check)
    controllers.settings.changed.connect(checked.refresh)


def _make_inspector(
    application: Application,
    views: _Views,
    branches: BranchController,
    library: LibraryServices,
    experiments: Path,
) -> None:
    """Which answer is looked at, and what fills each view."""
    window, page, bridge = application.window, views.pages.inspector, application.services.bridge
    inspected = InspectedAnswer(application.controllers.chat, bridge)
    views.chat.inspect_requested.connect(inspected.open)
    inspected.opened.connect(window.show_answer)
    remedies = Remedies(
        application.controllers.settings,
        application.services.settings,
        application.controllers.model,
        application.controllers.answers,
    )
    cards = views.pages.meters.diagnosis, views.inspector.answer.diagnosis
    DiagnosisController(*cards, application.controllers.chat, inspected, remedies)
    KeptReports(inspected, application.services)
    PaintNotes(views.chat, application.controllers.answers, bridge)
    answer = views.inspector.answer
    AnswerInspector(answer, page, inspected, bridge)
    ModelProfileController(answer.profile, inspected, application.controllers.model, bridge)
    sources = InspectorSources(
        inspected,
        application.controllers.sidebar,
        application.controllers.model,
        application.controllers.settings,
        application.services.settings,
        bridge,
    )
    watch = application.controllers.precision.watch
    rates = MachineRates(Measurement(engine_command(), watch), watch)
    quality = KVQuality(experiments, library.catalog, page)
    CacheInspector(views.inspector.cache, page, sources, quality)
    loss_requested = views.inspector.cache.loss_requested
    loss_requested.connect(partial(views.pages.experiments.choose, "kv"))
    loss_requested.connect(window.show_experiments)
    MachineInspector(views.inspector.machine, page, sources, rates, library)
    _fill_tokens(application, views, inspected, branches)


def _fill_tokens(
    application: Application, views: _Views, inspected: InspectedAnswer, branches: BranchController
) -> None:
    controllers, services = application.controllers, application.services
    sources = TokenSources(
        controllers.chat,
        controllers.answers,
        branches,
        controllers.model,
        services.settings,
        services.bridge,
    )
    TokensInspector(views.inspector.tokens, views.pages.inspector, inspected, sources)


def _make_precision(
    views: _Views,
    settings: SettingsController,
    model: ModelController,
    library: LibraryServices,
    meter: LossMeter,
) -> PrecisionController:
    page = views.precisions
    watch = OutlookWatch(model, library.inspector, library.catalog, page)
    model.changed.connect(watch.refresh)
    return PrecisionController(page, views.pages.settings, settings, watch, meter)


def _loss_meter(page: PrecisionPanel, library: LibraryServices, losses: Path) -> LossMeter:
    measurement = Measurement(engine_command(), page)
    return LossMeter(measurement, evaluation_arguments, library.catalog, losses, page)


def _make_experiments(
    application: Application, pages: Pages, meter: LossMeter
) -> ExperimentsController:
    """Their controller ends with the window, before the engine does."""
    window, page, bridge = application.window, pages.experiments, application.services.bridge
    measurement = Measurement(engine_command(), page)
    bench = Bench(bridge, measurement, Prompts.of(resources_folder() / "passages"), page)
    model, answers = application.controllers.model, application.controllers.answers
    experiments = ExperimentsController(page, Runner(bench, page), model, answers, meter)
    pages.meters.experiment_requested.connect(experiments.open_cache)
    experiments.opened.connect(window.show_experiments)
    experiments.notice.connect(application.notify)
    window.experiments_opened.connect(experiments.refresh)
    window.closing.connect(experiments.close)
    return experiments


def _library_services(
    settings: Settings, paths: Paths, make_tasks: Callable[[str], Tasks]
) -> LibraryServices:
    return LibraryServices(
        settings=settings,
        inspector=EngineInspector(),
        folder=paths.models,
        pending=paths.downloads,
        catalog=make_tasks("catalog"),
        hub=make_tasks("hub"),
        downloads=make_tasks("downloads"),
    )


def _make_library(
    page: LibraryPage, model: ModelController, services: LibraryServices
) -> tuple[LibraryController, DownloadsController]:
    library = LibraryController(page, model, services)
    downloads = DownloadsController(page.downloads, library, services)
    downloads.arrived.connect(library.add)
    return library, downloads


def _make_views(themes: ThemeSource) -> _Views:
    chat, precisions = ChatPage(themes), PrecisionPanel(themes)
    inspector = _InspectorViews(
        answer=AnswerView(themes),
        tokens=TokensView(themes),
        cache=CacheView(themes),
        machine=MachineView(themes),
    )
    pages = Pages(
        sidebar=Sidebar(themes),
        chat=chat,
        meters=LiveMeters(themes),
        inspector=InspectorPage(inspector.by_name()),
        settings=SettingsPanel(SHOWN_SECTIONS, themes),
        library=LibraryPage(themes),
        experiments=ExperimentsPage(themes),
    )
    pages.settings.place_below("weights", precisions)
    return _Views(pages, chat, precisions, inspector)
