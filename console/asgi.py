"""The ASGI application: static files, pages and API by Django, websockets behind the origin guard and the session."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

from django.core.asgi import get_asgi_application

http = get_asgi_application()  # loads the apps: what follows may import models

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from console.common.ws import OriginGuard  # noqa: E402
from console.web.statics import Statics  # noqa: E402
from pool.nodes.streams import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {"http": Statics(http), "websocket": OriginGuard(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))}
)
