"""Questions and their answers, to a text file that answers them again: no key, no network.

`canonical` says what makes two questions the same, `file` keeps the answers, `entry` is one of
them, `miss` tells what differs where none fits, and `model` stands around any adapter.
"""

from agentcell.adapters.recording.entry import Entry
from agentcell.adapters.recording.file import Recording
from agentcell.adapters.recording.miss import RecordingMiss
from agentcell.adapters.recording.model import MODES, RecordingModel
from agentcell.adapters.recording.recorder import Recorder

__all__ = ["MODES", "Entry", "Recorder", "Recording", "RecordingMiss", "RecordingModel"]
