"""Websocket routes. console/asgi.py puts them behind OriginGuard and the session."""

from django.urls import path

from pool.nodes.heatmap_stream import HeatmapConsumer
from pool.nodes.job_stream import JobConsumer

websocket_urlpatterns = [
    path("ws/heatmap/", HeatmapConsumer.as_asgi()),
    path("ws/jobs/<str:public_id>/log/", JobConsumer.as_asgi()),
    # the same streams for programs: a bearer token and no cookies (OriginGuard sees to that)
    path("ws/token/heatmap/", HeatmapConsumer.as_asgi()),
    path("ws/token/jobs/<str:public_id>/log/", JobConsumer.as_asgi()),
]
