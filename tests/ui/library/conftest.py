"""Rows of the library with a sheet, as the controllers make them."""

import pytest

from engine.api import Fit, ModelSheet, Precision, PrecisionFit
from ui.library.rows import LibraryRow


def make_sheet(path="/models/tiny.gguf", fit=Fit.FITS):
    return ModelSheet(
        path=path,
        name="Tiny Llama",
        architecture="llama",
        stored="Q4_K",
        num_layers=22,
        num_heads=32,
        num_kv_heads=4,
        vocab_size=32_000,
        hidden_size=2_048,
        context_length=2_048,
        num_parameters=1_100_000_000,
        has_chat_template=True,
        license="apache-2.0",
        default=Precision.INT4,
        fits=tuple(
            PrecisionFit(precision, verdict, 1 << 30, 2_048)
            for precision, verdict in (
                (Precision.INT4, fit),
                (Precision.INT8, Fit.TIGHT),
                (Precision.BF16, Fit.TOO_LARGE),
                (Precision.FP32, Fit.TOO_LARGE),
            )
        ),
    )


@pytest.fixture
def sheet():
    return make_sheet()


@pytest.fixture
def rows():
    return (
        LibraryRow("/models/a.gguf", "a", 10, sheet=make_sheet()),
        LibraryRow("/models/b.gguf", "b", 20),
        LibraryRow("/models/c.gguf", "c", 30, problem="c.gguf is damaged."),
    )
