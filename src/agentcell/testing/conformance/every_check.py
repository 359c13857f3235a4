"""All checks, in the order in which they run: the simplest first."""

from __future__ import annotations

from agentcell.testing.conformance import answers, contract, failures, sending, served, waiting
from agentcell.testing.conformance.check import Check

CHECKS: list[Check] = [
    *contract.CHECKS,
    *served.CHECKS,
    *answers.CHECKS,
    *failures.CHECKS,
    *waiting.CHECKS,
    *sending.CHECKS,
]
