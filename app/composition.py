"""All wiring. Nothing else makes long-lived objects."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QWidget

from app.application import Application, Controllers, StartOptions
from app.bridge import EngineBridge, EngineFactory
from app.controllers.answer_format import AnswerFormat
from app.controllers.answers import Answers
from app.controllers.appearance import Appearance
from app.controllers.branches import BranchController
from app.controllers.chat import ChatController
from app.controllers.chat_files import ChatFiles
from app.controllers.inspector.diagnosis import DiagnosisController
from app.controllers.inspector.inspected import InspectedAnswer
from app.controllers.inspector.kept_reports import KeptReports
from app.controllers.inspector.latest import LatestStats
from app.controllers.inspector.paints import PaintNotes
from app.controllers.inspector.remedies import Remedies
from app.controllers.inspector.sources import InspectorSources
from app.controllers.kept_caches import KeptCaches
from app.controllers.library_services import LibraryServices
from app.controllers.links import LinkController
from app.controllers.local_server import LocalServer
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
from app.late.answers import ANSWERS, steps_to_answers
from app.late.experiments import EXPERIMENTS, ExperimentSources, LateExperiments
from app.late.inspector import VIEWS, InspectorNeeds, add_views
from app.late.library import LIBRARY, LateLibrary
from app.late.parts import LateParts
from app.late.settings import steps_to_settings
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
from ui.i18n import tr
from ui.inspector.page import InspectorPage
from ui.main_window import MainWindow, Pages
from ui.meters.live import LiveMeters
from ui.settings.panel import SETTINGS, SettingsPanel
from ui.settings.precision_panel import PrecisionPanel
from ui.sidebar.panel import Sidebar
from ui.theme import ThemeSource
from ui.widgets.late_page import LatePage


@dataclass(frozen=True, slots=True)
class _Views:
    """What is seen: the window's pages, and the parts of them that have a controller."""

    themes: ThemeSource
    pages: Pages
    chat: ChatPage
    precisions: PrecisionPanel


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
    window.stop_requested.connect(chat.stop)
    window.set_models_folder(str(paths.models))
    library = _library_services(settings, paths, make_tasks)
    meter = _loss_meter(views.precisions, library, paths.losses)
    controllers = Controllers(
        answers,
        model,
        chat,
        sidebar,
        page_settings,
        MetersController(views.pages.meters, chat, answers, model, services.bridge),
        LateLibrary(views.pages.library, window, views.themes, model, library),
        _make_precision(views, page_settings, model, library, meter),
        KeptCaches(paths.kept_caches, sidebar, answers, model, services),
    )
    application = Application(window, services, controllers, LateParts(window), options)
    answers.save_failed.connect(chat.tell)
    _join(application, views, library)
    experiments = _make_experiments(application, views, meter, paths.experiments, library.catalog)
    _make_inspector(application, views, library, experiments)
    appearance.apply()
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
        controllers.precision,
    ):
        speaker.notice.connect(application.notify)
    application.parts.add(ANSWERS, steps_to_answers())
    application.parts.add(SETTINGS, steps_to_settings(views.pages.settings))
    views.pages.settings.wanted.connect(application.parts.want)
    controllers.library.changed_settings.connect(controllers.settings.save)
    application.parts.add(LIBRARY, controllers.library.steps())
    views.pages.library.wanted.connect(application.parts.want)
    LinkController(views.chat)
    files = ChatFiles(views.pages.sidebar, controllers.sidebar, services)
    files.notice.connect(application.notify)
    _serve_others(application, views.pages.settings)
    views.chat.model_wanted.connect(window.choose_model)
    views.chat.library_wanted.connect(window.show_library)
    window.tint_requested.connect(views.chat.toggle_tint)
    check = EngineInspector().check_schema
    checked = AnswerFormat(views.pages.settings, services.settings, library.catalog, check)
    controllers.settings.changed.connect(checked.refresh)


def _serve_others(application: Application, panel: SettingsPanel) -> None:
    controllers, services = application.controllers, application.services
    server = LocalServer(
        panel, controllers.settings, controllers.model, controllers.answers, services
    )
    server.notice.connect(application.notify)
    application.window.closing.connect(server.close)


def _make_inspector(
    application: Application,
    views: _Views,
    library: LibraryServices,
    experiments: LateExperiments,
) -> None:
    """Which answer is looked at, and what its views will be filled from."""
    window, bridge = application.window, application.services.bridge
    controllers, settings = application.controllers, application.services.settings
    branches = BranchController(
        views.chat, controllers.chat, controllers.model, application.services
    )
    branches.notice.connect(application.notify)
    inspected = InspectedAnswer(controllers.chat, bridge)
    views.chat.inspect_requested.connect(inspected.open)
    inspected.opened.connect(window.show_answer)
    remedies = Remedies(controllers.settings, settings, controllers.model, controllers.answers)
    live = views.pages.meters.diagnosis
    diagnosis = DiagnosisController(live, controllers.chat, inspected, remedies)
    KeptReports(inspected, application.services)
    PaintNotes(views.chat, controllers.answers, bridge)
    sources = InspectorSources(
        inspected,
        LatestStats(bridge),
        controllers.sidebar,
        controllers.model,
        controllers.settings,
        settings,
        bridge,
    )
    watch = controllers.precision.watch
    needs = InspectorNeeds(
        views.pages.inspector,
        views.themes,
        sources,
        controllers.answers,
        branches,
        diagnosis,
        MachineRates(_measurement(watch), watch),
        library,
        experiments,
    )
    add_views(application.parts, needs)


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


def _measurement(parent: QObject) -> Measurement:
    return Measurement(engine_command(), parent)


def _loss_meter(page: PrecisionPanel, library: LibraryServices, losses: Path) -> LossMeter:
    arguments = evaluation_arguments
    return LossMeter(_measurement(page), arguments, library.catalog, losses, page)


def _make_experiments(
    application: Application, views: _Views, meter: LossMeter, kept: Path, tasks: Tasks
) -> LateExperiments:
    window, place = application.window, views.pages.experiments
    sources = ExperimentSources(
        application.services.bridge,
        application.controllers.model,
        application.controllers.answers,
        meter,
        _measurement,
        resources_folder() / "passages",
        kept,
        tasks,
    )
    experiments = LateExperiments(place, window, views.themes, sources, application.parts)
    experiments.notice.connect(application.notify)
    views.pages.meters.experiment_requested.connect(experiments.open_cache)
    application.parts.add(EXPERIMENTS, experiments.steps())
    place.wanted.connect(application.parts.want)
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


def _make_views(themes: ThemeSource) -> _Views:
    chat, precisions = ChatPage(themes), PrecisionPanel(themes)
    pages = Pages(
        sidebar=Sidebar(themes),
        chat=chat,
        meters=LiveMeters(themes),
        inspector=InspectorPage({name: QWidget() for name in VIEWS}),
        settings=SettingsPanel(SHOWN_SECTIONS, themes),
        library=LatePage(LIBRARY, tr("Models")),
        experiments=LatePage(EXPERIMENTS, tr("Experiments")),
    )
    pages.settings.place_below("weights", precisions)
    return _Views(themes, pages, chat, precisions)
