"""Members, invitations and projects by the API."""

from collections.abc import Callable

from console.tenants.models import Invitation, Project
from tests.api.conftest import Api, fields
from tests.conftest import Actors

Make = Callable[..., Api]


def test_who_is_there(api: Make, actors: Actors) -> None:
    path = f"tenants/{actors.a.public_id}/members"
    found = api("viewer_a").get(path).json()["results"]
    assert [one["email"].split("@")[0] for one in found] == ["billing", "member", "owner", "viewer"]
    assert [one["slug"] for one in api("viewer_a").get("tenants").json()["results"]] == ["aurora"]
    for who in ("owner_b", "finance"):
        assert api(who).get(path).status_code == 404
    assert api("viewer_a").get(path, format="csv").status_code == 200
    assert api("viewer_a", ("jobs:read",)).get(path).json()["code"] == "scope_missing"


def test_an_invitation_shows_its_link_once(api: Make, actors: Actors) -> None:
    owner, path = api("owner_a"), f"tenants/{actors.a.public_id}/invitations"
    made = owner.post(path, {"email": "ada@example.test", "role": "viewer"})
    assert made.status_code == 201
    assert "/invitation/" in made.json()["link"]
    row = owner.get(path).json()["results"][0]
    assert (row["email"], "link" in row) == ("ada@example.test", False)
    assert api("member_a").get(path).json()["results"] == []
    assert fields(owner.post(path, {"email": "no", "role": "viewer"})) == ["email"]
    assert fields(owner.post(path, {"email": "b@example.test", "role": "king"})) == ["role"]
    assert owner.post(f"{path}/{row['id']}/revoke").json()["revoked_at"] is not None
    assert Invitation.objects.count() == 1


def test_a_project_is_made_limited_and_archived(api: Make, actors: Actors) -> None:
    owner = api("owner_a")
    made = owner.post(f"tenants/{actors.a.public_id}/projects", {"slug": "nlp", "name": "Language"})
    assert made.status_code == 201
    path = f"projects/{made.json()['id']}"
    limits = {"limit_share_bp": 20_000, "limit_running_jobs": 3}
    assert owner.post(f"{path}/limits", limits).json()["limit_share_bp"] == 20_000
    assert fields(owner.post(f"{path}/limits", {"limit_share_bp": -1, "limit_running_jobs": None})) == [
        "limit_share_bp"
    ]
    assert api("member_a").post(f"{path}/limits", limits).status_code == 403
    assert api("owner_b").post(f"{path}/limits", limits).status_code == 404
    assert owner.post(f"{path}/archive").json()["archived_at"] is not None
    assert owner.post(f"{path}/reopen").json()["archived_at"] is None
    assert Project.objects.get(slug="nlp").limit_running_jobs == 3
