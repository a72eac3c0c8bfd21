"""The audit log page."""

from django.urls.resolvers import URLPattern

app_name = "audit"
urlpatterns: list[URLPattern] = []
