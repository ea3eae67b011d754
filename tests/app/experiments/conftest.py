"""A small model as it might be loaded."""

import pytest

from app.experiments.trials import Subject
from engine.api import ModelOptions
from tests.helpers.fake_engine import model_info


@pytest.fixture
def subject():
    return Subject(model_info(ModelOptions("/models/small.gguf")))
