"""When would waiting work start: the engine run forward on a virtual clock, over how long work like what runs took."""

from pool.engine.ahead.run import Counted, Ends, Run, Starts, look_ahead
from pool.engine.ahead.spans import Spans, survival

__all__ = ["Counted", "Ends", "Run", "Spans", "Starts", "look_ahead", "survival"]
