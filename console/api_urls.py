"""All routes of API v1."""

from django.urls import re_path
from django.urls.resolvers import URLPattern

from console.common.api.problems import not_found

urlpatterns: list[URLPattern] = [re_path(r"^(?P<path>.*)$", not_found)]
