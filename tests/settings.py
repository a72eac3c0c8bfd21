"""The product's settings over a data folder of this test process's own: tests never touch the user's."""

import atexit
import os
import shutil
import tempfile

# each process, xdist workers included, has its own folder; children of tests inherit it
if os.environ.get("WEIR_TEST_HOME_OF") != str(os.getpid()):
    os.environ["WEIR_HOME"] = tempfile.mkdtemp(prefix="weir-test-")
    os.environ["WEIR_TEST_HOME_OF"] = str(os.getpid())
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"  # what processes started by tests use
    atexit.register(shutil.rmtree, os.environ["WEIR_HOME"], ignore_errors=True)

from console.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # speed; strength is Django's own concern
