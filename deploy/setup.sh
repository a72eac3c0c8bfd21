#!/usr/bin/env bash
# Makes this folder ready to run Weir (`setup.sh run`) or to test it (`setup.sh dev`). Safe to repeat, as root or not.
set -euo pipefail
cd "$(dirname "$0")/.."
want=${1:-run}
venv=.venv

say() { printf 'weir: %s\n' "$*"; }
die() { say "$*" >&2; exit 1; }

is_root() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# Installs Debian packages when root; otherwise, or without a network, names them in one line and goes on.
apt_wants() { # what for, packages...
  local what=$1; shift
  if is_root; then
    say "installing $* ($what)"
    if { apt-get -qq install -y --no-install-recommends "$@" || { apt-get -qq update && apt-get -qq install -y --no-install-recommends "$@"; }; } >"${TMPDIR:-/tmp}/weir-apt.log" 2>&1 </dev/null; then
      return 0
    fi
    say "could not install $*: $(tail -n 1 "${TMPDIR:-/tmp}/weir-apt.log")"
  fi
  say "$what: sudo apt-get install $*"
  return 1
}
export DEBIAN_FRONTEND=noninteractive

usable() { # a Python that starts, is new enough and can make environments
  "$1" -c 'import sys, sqlite3, ssl, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  local name
  for name in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python3.14; do
    if command -v "$name" >/dev/null && usable "$name"; then command -v "$name"; return; fi
  done
  return 1
}

make_venv() {
  # a folder that was moved or whose Python went away is made anew
  if [ -x $venv/bin/python ] && $venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
     $venv/bin/python -m pip --version >/dev/null 2>&1; then return; fi
  local python
  python=$(find_python) || { apt_wants "Weir needs Python 3.11 or newer with venv" python3 python3-venv >&2 || exit 1; }
  python=${python:-$(find_python)} || die "Weir needs Python 3.11 or newer; this system's python3 is older: set PYTHON=/path/to/python3.11"
  say "making $venv with $("$python" --version)"
  "$python" -m venv --clear $venv
}

install_packages() { # requirements file
  local sum stamp=$venv/weir-$1.sha256
  sum=$(sha256sum "$1" | cut -d' ' -f1)
  [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ] && return
  say "installing the Python packages of $1"
  $venv/bin/python -m pip install -qq --disable-pip-version-check --no-input --require-hashes -r "$1" ||
    die "the packages of $1 could not be installed (is a package index reachable?)"
  echo "$sum" >"$stamp"
  # the development list holds all that the other does
  [ "$1" = requirements-dev.txt ] && sha256sum requirements.txt | cut -d' ' -f1 >$venv/weir-requirements.txt.sha256
  return 0
}

have_font() {
  local dirs=()
  for dir in /usr/share/fonts /usr/local/share/fonts "$HOME/.fonts" "$HOME/.local/share/fonts" /System/Library/Fonts; do
    [ -d "$dir" ] && dirs+=("$dir")
  done
  [ ${#dirs[@]} -gt 0 ] && [ -n "$(find "${dirs[@]}" -iname 'NotoSansCJK*' -o -iname 'NotoSansSC*' -o -iname 'SourceHanSans*' 2>/dev/null | head -n 1)" ]
}

have_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
have_postgres() { [ -n "${DATABASE_URL:-}" ] || command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; }

make_venv
if [ "$want" = dev ]; then
  install_packages requirements-dev.txt
  have_chromium >/dev/null 2>&1 || apt_wants "the browser tests need Chromium" chromium || true
  have_postgres >/dev/null 2>&1 || apt_wants "the PostgreSQL lane of the tests needs a server" postgresql || true
  command -v xgettext >/dev/null || apt_wants "the check of the translations needs gettext" gettext || true
else
  install_packages requirements.txt
fi
have_font || apt_wants "Chinese invoices as PDF need a CJK font" fonts-noto-cjk || true
$venv/bin/python -m console.embedded.translations
