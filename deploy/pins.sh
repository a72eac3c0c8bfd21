#!/usr/bin/env bash
# Compiles requirements.txt and requirements-dev.txt from pyproject.toml: exact, hashed, for every Python from 3.11 on.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=.venv/pins
[ -x "$tools/bin/uv" ] || { .venv/bin/python -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check uv; }
compile() {
  "$tools/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --custom-compile-command "make pins" pyproject.toml "$@"
}
compile -o requirements.txt
compile --extra dev -c requirements.txt -o requirements-dev.txt
# where a package came from is a matter of the machine, not of the project
sed -i -E '/^--(index-url|extra-index-url|find-links|trusted-host)/d' requirements.txt requirements-dev.txt
echo "requirements.txt: $(grep -c '==' requirements.txt) packages, requirements-dev.txt: $(grep -c '==' requirements-dev.txt)"
