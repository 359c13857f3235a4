"""The receipt example with the embedded reader: no key, no network."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentcell.agents.agent import Agent
from agentcell.assets.asset import ImageAsset
from agentcell.history.memory import HistoryMemory

pytestmark = pytest.mark.local_model

RECEIPT = Path(__file__).parent.parent / "notebooks" / "receipt.png"


def test_the_receipt_agent_answers_offline_and_remembers_the_picture() -> None:
    from agentcell.adapters.local import LocalModel, local_status

    if not local_status().ocr:
        pytest.skip("the embedded reader's OCR is not installed")
    agent = Agent(
        name="receipt_agent",
        model=LocalModel(),
        instructions="你是一个仔细的票据审核助手。",
        prompt_template="请检查 {receipt_image} 并回答：{question}",
        pull_keys={"question": "问题", "receipt_image": "IMAGE:票据图片"},
        push_keys={"answer": "答案"},
        memories=[HistoryMemory()],
    )

    first = agent.step(
        {"question": "总金额是多少？", "receipt_image": ImageAsset.from_path(RECEIPT)}
    )
    second = agent.step({"question": "日期是哪一天？"})

    assert list(first) == ["answer"]
    assert "27.95" in first["answer"]
    assert "2026-03-14" in second["answer"]
