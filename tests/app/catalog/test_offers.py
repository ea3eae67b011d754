"""What of a repository can be chosen."""

from app.catalog.offers import judged, offers_of
from app.catalog.remote import RemoteFile, RemoteRepository
from engine.api import Fit, Precision, PrecisionFit

GB = 1_000_000_000


def repository(**sizes):
    files = tuple(RemoteFile(name, size) for name, size in sizes.items())
    return RemoteRepository("makers/tiny", "c0ffee", files)


def judge(limit):
    def line(num_parameters, precision):
        fit = Fit.FITS if num_parameters <= limit else Fit.TOO_LARGE
        return PrecisionFit(precision, fit, num_parameters, 0)

    return line


def test_gguf_files_with_their_parts():
    names = {
        "x-Q8_0.gguf": 5 * GB,
        "x-Q4_K_M.gguf": 3 * GB,
        "big/x-F16-00001-of-00002.gguf": 8 * GB,
        "big/x-F16-00002-of-00002.gguf": 8 * GB,
        "half-Q4_0-00001-of-00002.gguf": GB,
        "mmproj-F16.gguf": GB,
        "README.md": 10,
    }
    offers = offers_of(repository(**names))
    assert [offer.title for offer in offers] == ["x-Q4_K_M", "x-Q8_0", "big/x-F16"]
    assert [len(offer.files) for offer in offers] == [1, 1, 2]
    assert offers[0].num_parameters == 5 * GB
    assert [offer.precision for offer in offers] == [
        Precision.INT4,
        Precision.INT8,
        Precision.INT8,
    ]


def test_safetensors_come_with_what_belongs_to_them():
    names = {
        "config.json": 100,
        "tokenizer.json": 1_000,
        "chat_template.jinja": 10,
        "model.safetensors": 2 * GB,
        "consolidated.safetensors": 2 * GB,
        "pytorch_model.bin": 2 * GB,
        "onnx/model.onnx": 2 * GB,
    }
    (offer,) = offers_of(repository(**names))
    assert offer.title == "tiny"
    assert {file.name for file in offer.files} == {
        "config.json",
        "tokenizer.json",
        "chat_template.jinja",
        "model.safetensors",
    }
    assert offer.num_parameters == GB


def test_sharded_safetensors():
    names = {
        "config.json": 100,
        "model.safetensors.index.json": 100,
        "model-00001-of-00002.safetensors": GB,
        "model-00002-of-00002.safetensors": GB,
        "extra.safetensors": GB,
    }
    (offer,) = offers_of(repository(**names))
    assert sum(file.name.endswith(".safetensors") for file in offer.files) == 2


def test_nothing_to_offer():
    assert offers_of(repository(**{"pytorch_model.bin": GB, "model.safetensors": GB})) == []


def test_one_of_those_that_fit_is_recommended():
    names = {"x-Q2_K.gguf": GB, "x-Q4_K_M.gguf": 2 * GB, "x-IQ4_XS.gguf": GB, "x-F16.gguf": 9 * GB}
    offers = offers_of(repository(**names))
    best = [offer.title for offer in judged(offers, judge(10 * GB)) if offer.is_recommended]
    assert best == ["x-Q4_K_M"]
    small = [offer.title for offer in judged(offers, judge(2 * GB)) if offer.is_recommended]
    assert small == ["x-IQ4_XS"]
    assert not any(offer.is_recommended for offer in judged(offers, judge(0)))
