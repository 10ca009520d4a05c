#!/usr/bin/env bash
# Brings LangGraph and its store on SQLite, the peer of plans in `make bench`, into a folder:
#
#     scripts/fetch-langgraph.sh DIR
#
# pip puts it there and nowhere else: no root, no environment of Python's changed. The versions are
# fixed below; where they are there already, nothing is done.
set -euo pipefail

if [ $# != 1 ]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
folder=$1
packages=(langgraph==1.2.20 langgraph-checkpoint-sqlite==3.1.2)

say() { echo "fetch-langgraph: $*" >&2; }
are_there() {
  PYTHONPATH=$1 python3 - "${packages[@]}" 2>/dev/null <<'PYTHON'
import sys
from importlib.metadata import version
import langgraph.checkpoint.sqlite, langgraph.graph
sys.exit(any(version(name) != wanted for name, wanted in (it.split("==") for it in sys.argv[1:])))
PYTHON
}

if ! command -v python3 >/dev/null || ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  say "python3 of 3.10 or newer is missing; install it with pip (on Debian: apt-get install python3-pip)"
  exit 1
fi
if [ -d "$folder" ] && are_there "$folder"; then
  exit 0
fi
if ! python3 -m pip --version >/dev/null 2>&1; then
  say "pip is missing; install it (on Debian: apt-get install python3-pip)"
  exit 1
fi

# Beside the target, so that it can be moved there in one step.
mkdir -p "$(dirname "$folder")"
new=$(mktemp -d "$folder.new.XXXXXX")
trap 'rm -rf "$new"' EXIT

say "installing ${packages[*]} into $folder"
if ! python3 -m pip install --quiet --disable-pip-version-check --no-warn-conflicts --root-user-action ignore \
  --target "$new" "${packages[@]}" >&2; then
  say "pip could not install it; is there a network, and does pip reach its index?"
  exit 1
fi
if ! are_there "$new"; then
  say "what pip installed cannot be used by this python3; nothing was changed"
  exit 1
fi
rm -rf "$folder"
mv "$new" "$folder"
