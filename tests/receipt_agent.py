"""An agent that reads receipts."""

from __future__ import annotations

from typing import Any

from agentcell.agents.agent import Agent

OK = '{"answer": "42"}'
RULES = "\nRESPONSE FORMAT REQUIREMENTS:\n"


def receipt_agent(model: Any, **options: Any) -> Agent:
    parts: dict[str, Any] = {
        "name": "receipt_agent",
        "model": model,
        "instructions": "你是一个仔细的票据审核助手。",
        "prompt_template": "请检查 {receipt_image} 并回答：{question}",
        "pull_keys": {"question": "问题", "receipt_image": "IMAGE:票据图片"},
        "push_keys": {"answer": "答案"},
    }
    return Agent(**{**parts, **options})


QUESTION = {"question": "总金额是多少？"}
