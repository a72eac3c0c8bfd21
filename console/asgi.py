"""The ASGI application: static files, pages and API by Django, websockets behind the origin guard and the session."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

import django

django.setup(set_prefix=False)  # what follows may import models

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from console.common.threaded import ThreadedHandler  # noqa: E402
from console.common.ws import OriginGuard  # noqa: E402
from console.web.statics import Statics  # noqa: E402
from pool.nodes.streams import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": Statics(ThreadedHandler(settings.WEIR_WEB_THREADS)),
        "websocket": OriginGuard(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
