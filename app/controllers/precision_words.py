"""The planner's verdict in one sentence: what a load needs, what is free, and what to do."""

from app.controllers.outlook import Outlook
from engine.api import Fit, Foresight, Precision
from ui.i18n import tr
from ui.settings.forecast import Forecast
from ui.widgets.about_time import about_time
from ui.widgets.precision_name import precision_name
from ui.widgets.units import bytes_quantity, rate_quantity

_CONTEXT_STEP = 256
_LEAST_CONTEXT = 512


def forecast_of(outlook: Outlook) -> Forecast:
    """What loading with the settings as they are would come to."""
    line = outlook.chosen
    words = [_verdict(line)]
    if line.fit is not Fit.FITS:
        words.append(_advice(outlook))
    wait = ""
    if outlook.waits_s is not None:
        wait = tr(
            "Better INT4 weights are made first: {time}, once. You can cancel it.",
            time=about_time(outlook.waits_s),
        )
    return Forecast(line.fit, tr(" ").join(words), _detail(outlook), wait)


def _verdict(line: Foresight) -> str:
    figures = {
        "needed": bytes_quantity(line.needed_bytes),
        "free": bytes_quantity(line.available_bytes),
    }
    match line.fit:
        case Fit.FITS:
            return tr("Needs ~{needed} of {free} free: fits.", **figures)
        case Fit.TIGHT:
            return tr("Needs ~{needed} of {free} free: barely fits.", **figures)
        case Fit.TOO_LARGE:
            return tr("Needs ~{needed} of {free} free: too large.", **figures)


def _advice(outlook: Outlook) -> str:
    """The nearest thing that would help."""
    line = outlook.chosen
    shorter = line.largest_context // _CONTEXT_STEP * _CONTEXT_STEP
    asked = outlook.options.context_length or outlook.sheet.context_length
    if _LEAST_CONTEXT <= shorter < asked:
        return tr("A context of up to {n} tokens fits.", n=f"{shorter:,}")
    if (narrower := _narrower(outlook)) is not None:
        return tr("{precision} fits.", precision=precision_name(narrower))
    held = str(bytes_quantity(line.other_programs_bytes))
    if line.fit is Fit.TIGHT:
        return tr("Close other programs to be safe; they hold {size}.", size=held)
    if line.needed_bytes <= line.available_bytes + line.other_programs_bytes // 2:
        return tr("Close other programs; they hold {size}.", size=held)
    return tr("Choose a smaller model.")


def _narrower(outlook: Outlook) -> Precision | None:
    """The widest precision below the chosen one that fits."""
    chosen = outlook.chosen.precision
    below = [p for p in outlook.lines if p is not chosen]
    below = below[: list(outlook.lines).index(chosen)]
    return next((p for p in reversed(below) if outlook.lines[p].fit is Fit.FITS), None)


def _detail(outlook: Outlook) -> str:
    line = outlook.chosen
    parts = [
        tr(
            "The model that is loaded now gives its memory back first. Other programs hold {size}.",
            size=str(bytes_quantity(line.other_programs_bytes)),
        )
    ]
    if line.cpu_layers:
        parts.append(
            tr(
                "{n} of {total} layers would run on the processor.",
                n=line.cpu_layers,
                total=outlook.sheet.num_layers,
            )
        )
    if line.decode_tokens_per_s is not None:
        rate = rate_quantity(line.decode_tokens_per_s).number
        parts.append(tr("It would write ~{n} tokens a second.", n=rate))
    return tr(" ").join(parts)
