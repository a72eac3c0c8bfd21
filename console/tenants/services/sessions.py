"""Ending the sessions of people who lost their last role."""

from collections.abc import Iterable
from importlib import import_module

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session

from console.common import clock


def end_sessions(user_ids: Iterable[int]) -> int:
    """Reads every live session, since its owner stands inside it: for rare occasions. Returns how many ended."""
    wanted = {str(pk) for pk in user_ids}
    if not wanted:
        return 0
    store = import_module(settings.SESSION_ENGINE).SessionStore
    ended = 0
    for session in Session.objects.filter(expire_date__gt=clock.now()).iterator(chunk_size=500):
        if str(session.get_decoded().get(SESSION_KEY)) in wanted:
            store(session.session_key).delete()
            ended += 1
    return ended
