"""One question about many rows: on threads, on many machines, or at a provider's batch service."""

from agentcell.batch.journal import Journal
from agentcell.batch.outcome import Outcome
from agentcell.batch.plan import Options, Plan
from agentcell.batch.result import BatchResult, RowError, Spending
from agentcell.batch.run import iterate_batch, run_batch

__all__ = [
    "BatchResult",
    "Journal",
    "Options",
    "Outcome",
    "Plan",
    "RowError",
    "Spending",
    "iterate_batch",
    "run_batch",
]
