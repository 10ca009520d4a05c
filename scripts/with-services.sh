#!/usr/bin/env bash
# Runs a command beside one PostgreSQL and one Redis of its own:
#
#     scripts/with-services.sh cargo nextest run
#
# Both listen on free ports of 127.0.0.1 and keep their files in one temporary folder. The command
# finds them in ARTEL_TEST_POSTGRES_URL and ARTEL_TEST_REDIS_URL. They are stopped and removed when
# it ends, whichever way. A service whose variable is already set is not started.
set -euo pipefail

if [ $# = 0 ]; then
  echo "usage: $0 COMMAND [ARGUMENT...]" >&2
  exit 2
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/artel-services.XXXXXX")
redis=
postgres=

stop() {
  status=$?
  trap - EXIT
  trap '' INT TERM
  [ -z "$redis" ] || kill "$redis" 2>/dev/null || true
  [ -z "$postgres" ] || as_postgres pg_ctl -D "$folder/postgres" -m immediate stop >/dev/null || true
  wait || true
  rm -rf "$folder"
  exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Below the range of outgoing connections, so that only another server can be there.
some_port() { echo $((10240 + (RANDOM * 32768 + RANDOM) % 22528)); }

# PostgreSQL refuses to run as root; then its programs run as its own user.
as_postgres() {
  local program=$1
  shift
  [ ! -x "$programs/$program" ] || program=$programs/$program
  if [ "$(id -u)" = 0 ]; then
    (cd "$folder" && runuser -u postgres -- "$program" "$@")
  else
    "$program" "$@"
  fi
}

start_postgres() {
  # Debian keeps the programs out of PATH; the newest version wins.
  programs=$(find /usr/lib/postgresql/*/bin -maxdepth 0 2>/dev/null | sort -V | tail -n 1 || true)
  mkdir "$folder/postgres"
  if [ "$(id -u)" = 0 ]; then
    chmod 711 "$folder"
    chown postgres "$folder/postgres"
  fi
  as_postgres initdb -D "$folder/postgres" -A trust -U postgres -E UTF8 --locale=C --no-sync \
    >/dev/null
  local port
  for _ in 1 2 3 4 5; do
    port=$(some_port)
    if as_postgres pg_ctl -D "$folder/postgres" -l "$folder/postgres/log" -w start \
      -o "-p $port -h 127.0.0.1 -k $folder/postgres -c max_connections=300" >/dev/null; then
      postgres=$port
      export ARTEL_TEST_POSTGRES_URL=postgres://postgres@127.0.0.1:$port/postgres
      return
    fi
  done
  cat "$folder/postgres/log" >&2
  return 1
}

start_redis() {
  local port
  for _ in 1 2 3 4 5; do
    port=$(some_port)
    redis-server --port "$port" --bind 127.0.0.1 --dir "$folder" --save '' --appendonly no \
      >"$folder/redis.log" &
    redis=$!
    for _ in $(seq 100); do
      kill -0 "$redis" 2>/dev/null || continue 2
      # The process id tells ours from another that has the port.
      if redis-cli -p "$port" info server 2>/dev/null | grep -q "^process_id:$redis"; then
        export ARTEL_TEST_REDIS_URL=redis://127.0.0.1:$port/
        return
      fi
      sleep 0.05
    done
  done
  cat "$folder/redis.log" >&2
  return 1
}

[ -n "${ARTEL_TEST_POSTGRES_URL:-}" ] || start_postgres
[ -n "${ARTEL_TEST_REDIS_URL:-}" ] || start_redis
"$@"
