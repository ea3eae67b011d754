import pytest

from ui.widgets.model_name import model_title


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/m/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2 135M Instruct"),
        ("/m/smollm2-135m-instruct-q4_1.gguf", "Smollm2 135M Instruct"),
        ("/m/Qwen2.5-7B-Instruct-Q4_K_M.gguf", "Qwen2.5 7B Instruct"),
        ("/m/Qwen3-30B-A3B-UD-Q4_K_XL.gguf", "Qwen3 30B A3B"),
        ("/m/gemma-3-270m-it-IQ4_NL.gguf", "Gemma 3 270M It"),
        ("/m/gpt-oss-20b-MXFP4.gguf", "Gpt Oss 20B"),
        ("/m/Llama-3.3-70B-Q8_0-00001-of-00002.gguf", "Llama 3.3 70B"),
        ("/m/Phi-4-mini.BF16.GGUF", "Phi 4 mini"),
        ("/m/mixtral-8x7b-f16.gguf", "Mixtral 8X7B"),
        ("/m/通义千问-7B.gguf", "通义千问 7B"),
        ("/models/SmolLM2-135M-Instruct", "SmolLM2 135M Instruct"),
        (
            "/hub/models--HuggingFaceTB--SmolLM2-135M/snapshots/" + "0123456789" * 4,
            "SmolLM2 135M",
        ),
    ],
)
def test_the_file_names_the_model(path, title):
    assert model_title(path, "Smollm2 135M 8k Lc100K Mix1 Ep2") == title


@pytest.mark.parametrize("name", ["model.gguf", "ggml-model-q4_0.gguf", "ggml-model-f16.gguf"])
def test_a_name_that_says_nothing_gives_way_to_the_files_own(name):
    assert model_title(f"/m/{name}", "Small 135M") == "Small 135M"


def test_without_any_name_something_is_still_shown():
    assert model_title("/m/model.gguf") == "model"
    assert model_title("/") == "/"


def test_a_file_named_by_its_content_is_known_by_what_it_says():
    path = f"/models/blobs/sha256-{'0a' * 32}"
    assert model_title(path, "Qwen3 0.6B") == "Qwen3 0.6B"
