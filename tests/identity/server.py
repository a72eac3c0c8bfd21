"""`python -m tests.identity.server PORT`: serves the provider until it is killed; IDENTITY_HOME is its folder."""

import os
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.identity.settings"


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: what went wrong shows in the test."""


def main() -> None:
    import django
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    django.setup()
    call_command("migrate", verbosity=0)
    server = make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), Server, Quiet)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
