"""How allauth behaves here: nobody signs up by themselves, people are known by e-mail."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from console.tenants.models import User


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # accounts come from console.tenants.services.create_user

    def populate_username(self, request: HttpRequest, user: User) -> None:
        user.username = user.public_id
