#!/usr/bin/env bash
# Runs a command beside a Docker of its own:
#
#     scripts/with-docker.sh cargo nextest run -p artel-programs
#
# Its socket and its files are in one temporary folder; the command finds the socket in ARTEL_TEST_DOCKER,
# and the image universal-worker, made of this machine's own programs, in it. It is stopped and removed
# when the command ends, whichever way. Nothing of a Docker that runs here already is touched. If the
# variable is set already, nothing is started. Where no Docker can be started the command runs without the
# variable, and this says why.
set -euo pipefail

if [ $# = 0 ]; then
  echo "usage: $0 COMMAND [ARGUMENT...]" >&2
  exit 2
fi
[ -z "${ARTEL_TEST_DOCKER:-}" ] || exec "$@"

here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/artel-docker.XXXXXX")
daemon=

stop() {
  status=$?
  trap - EXIT
  trap '' INT TERM
  if [ -n "$daemon" ]; then
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  # What a driver has mounted goes before its folder does.
  { grep -o " $folder/[^ ]*" /proc/self/mounts || true; } | sort -r | while read -r mount; do
    umount -l "$mount" 2>/dev/null || true
  done
  rm -rf "$folder"
  exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

without() {
  {
    echo "with-docker: *** NO DOCKER: $1"
    echo "with-docker: *** what needs it is not tested"
  } >&2
}

install() {
  echo "with-docker: installing docker.io" >&2
  apt-get update -qq && env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends docker.io >"$folder/apt.log" 2>&1
}

start() {
  local driver
  for driver in overlay2 vfs; do
    mkdir -p "$folder/$driver"
    dockerd --host "unix://$folder/socket" --data-root "$folder/$driver" --exec-root "$folder/exec" \
      --pidfile "$folder/pid" --storage-driver "$driver" --iptables=false --bridge=none \
      >"$folder/log" 2>&1 &
    daemon=$!
    for _ in $(seq 300); do
      if docker --host "unix://$folder/socket" info >/dev/null 2>&1; then
        return
      fi
      kill -0 "$daemon" 2>/dev/null || break
      sleep 0.1
    done
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    daemon=
  done
  tail -n 5 "$folder/log" >&2
  return 1
}

if [ "$(id -u)" != 0 ]; then
  without "only root can start one"
elif ! command -v dockerd >/dev/null && ! { command -v apt-get >/dev/null && install; }; then
  without "docker.io is not installed, and apt-get does not bring it"
elif ! start; then
  without "dockerd does not start; its last words are above"
elif ! DOCKER_HOST=unix://$folder/socket "$here/worker-image.sh" >&2; then
  without "the image cannot be made"
else
  export ARTEL_TEST_DOCKER=$folder/socket
fi
"$@"
