"""Which module lies where when a model of transformers is spread over two devices."""

import torch

from engine.model.compat.dispatch import CPU, DevicePlan
from tests.helpers.compat_folders import random_model

GPU = torch.device("cuda")


def devices(plan: DevicePlan, model_type: str) -> dict[str, torch.device]:
    return dict(plan.devices(random_model(model_type, {})))


def test_without_a_cut_everything_lies_on_one_device():
    assert devices(DevicePlan(GPU), "gpt_neox") == {"": GPU}


def test_the_last_layers_and_the_head_lie_on_the_gpu():
    assert devices(DevicePlan(GPU, 1), "gpt_neox") == {
        "": CPU,
        "gpt_neox.layers.1": GPU,
        "gpt_neox.layers.2": GPU,
        "lm_head": GPU,
    }
    assert devices(DevicePlan(GPU, 2), "gpt2") == {
        "": CPU,
        "transformer.h.2": GPU,
        "lm_head": GPU,
    }


def test_hooks_leave_the_model_as_it_is():
    model = random_model("gpt_neox", {})
    ids = torch.tensor([[4, 8, 15, 16, 23, 42]])
    with torch.inference_mode():
        before = model(ids).logits
        DevicePlan(CPU, 2).connect(model)
        torch.testing.assert_close(model(ids).logits, before)
