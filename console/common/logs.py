"""Structured logs: one JSON line an event in production, readable lines on a terminal."""

import logging
import sys
from typing import Any

import structlog

_SECRET_WORDS = ("secret", "token", "password", "authorization", "cookie", "credential")


def _mask(_: Any, __: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
    for key in event:
        if any(word in key.lower() for word in _SECRET_WORDS):
            event[key] = "***"
    return event


def _json(logger: Any, name: str, event: structlog.types.EventDict) -> str | bytes:
    """A traceback as text: the JSON renderer alone would write only the exception's repr."""
    with_trace = structlog.processors.format_exc_info(logger, name, event)
    return structlog.processors.JSONRenderer()(logger, name, with_trace)


def configure(options: dict[str, object]) -> None:
    """Django's LOGGING_CONFIG hook; `options` is settings.LOGGING."""
    level = str(options.get("level", "INFO"))
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _mask,
    ]
    renderer: structlog.types.Processor = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else _json
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("httpx").setLevel(logging.WARNING)
