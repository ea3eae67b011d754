"""What the machine did while an answer was computed, in words; what the system does not tell, too."""

from engine.api import MachineUse
from ui.i18n import tr


def doing_rows(use: MachineUse) -> list[tuple[str, str]]:
    """Name and words of each figure."""
    return [
        (tr("Frequency"), _frequency(use)),
        (tr("Temperature"), _temperature(use)),
        (tr("Power"), _power(use)),
        (tr("Other programs"), _others(use)),
        *_beside(use),
        (tr("Engine"), tr("{threads} threads on {cores} cores", threads=use.threads, cores=use.cores)),
    ]  # fmt: skip


def _silence() -> str:
    return tr("the system does not say")


def _frequency(use: MachineUse) -> str:
    if use.mhz_now is None:
        return _silence()
    now = f"{use.mhz_now / 1_000:.1f}"
    if not use.mhz_max:
        return f"{now} GHz"
    return tr("{now} of {most} GHz", now=now, most=f"{use.mhz_max / 1_000:.1f}")


def _temperature(use: MachineUse) -> str:
    if use.temperature_c is None:
        return _silence()
    if not use.temperature_limit_c:
        return f"{use.temperature_c:.0f} °C"
    return tr(
        "{now} °C; the limit is {most} °C",
        now=f"{use.temperature_c:.0f}",
        most=f"{use.temperature_limit_c:.0f}",
    )


def _power(use: MachineUse) -> str:
    words = []
    if use.is_on_battery is not None:
        words.append(tr("battery") if use.is_on_battery else tr("mains"))
    if use.is_saving_power is not None:
        words.append(tr("saving mode") if use.is_saving_power else tr("full power"))
    return " · ".join(words) or _silence()


def _beside(use: MachineUse) -> list[tuple[str, str]]:
    """What the window and the host took, and what the engine lost; nothing where not known."""
    rows = []
    if use.own_cores is not None:
        words = tr("{n} of {cores} cores busy", n=f"{use.own_cores:.2f}", cores=use.cores)
        rows.append((tr("This window"), words))
    if use.waited is not None:
        rows.append(
            (tr("No core for the engine"), tr("{share} of the time", share=f"{use.waited:.0%}"))
        )
    if use.stolen is not None:
        words = tr("{share} of the processor time", share=f"{use.stolen:.0%}")
        rows.append((tr("Taken by the host"), words))
    return rows


def _others(use: MachineUse) -> str:
    if use.other_cores is None:
        return _silence()
    return tr("{n} of {cores} cores busy", n=f"{use.other_cores:.1f}", cores=use.cores)
