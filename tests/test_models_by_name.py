from __future__ import annotations

import os

import pytest

from agentcell.adapters import registry
from agentcell.adapters.models_by_name import ModelsByName
from agentcell.errors import UnknownModel
from scripted import ScriptedModel


def test_a_model_is_made_once_whatever_it_is_called() -> None:
    models = ModelsByName()

    assert models.named("openai/gpt-4.1") is models.named("openai:gpt-4.1")
    assert models.named("gpt-4.1") is models.named("openai/gpt-4.1")
    assert models.named("local") is models.named()


def test_a_key_that_is_set_later_changes_the_default() -> None:
    models = ModelsByName()
    before = models.named().provider
    os.environ["OPENAI_API_KEY"] = "sk-test"  # the fixture `stays_here` takes it away again

    assert (before, models.named().provider) == ("local", "openai")


def test_a_default_that_was_chosen_stays() -> None:
    own = ScriptedModel()
    models = ModelsByName(own)
    os.environ["OPENAI_API_KEY"] = "sk-test"

    assert models.named() is own
    assert models.default_name == "scripted/model"


def test_a_wrong_name_is_an_error_when_the_model_is_wanted_and_not_before() -> None:
    os.environ["AGENTCELL_MODEL"] = "nosuch/x"
    models = ModelsByName()

    assert models.default_name == "nosuch/x"
    with pytest.raises(UnknownModel):
        models.named()


def test_a_provider_that_is_registered_anew_makes_a_new_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_providers", dict(registry._providers))  # noqa: SLF001
    models = ModelsByName()
    registry.register("own-test", lambda name: ScriptedModel(name=name))
    first = models.named("own-test/a")
    registry.register("own-test", lambda name: ScriptedModel(name=name))

    assert models.named("own-test/a") is not first
