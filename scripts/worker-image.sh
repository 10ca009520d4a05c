#!/usr/bin/env bash
# Makes a Docker image for agents from this machine's own programs, without any registry:
#
#     scripts/worker-image.sh [NAME]          NAME is universal-worker unless given
#
# It holds a shell, the usual small programs, git, ripgrep, python3 and node where they are installed, the
# four command-line agents where npm has put them, and the libraries that all these need; nothing else of
# the machine. DOCKER_HOST says which Docker gets it.
set -euo pipefail
export LC_ALL=C

name=${1:-universal-worker}
folder=$(mktemp -d "${TMPDIR:-/tmp}/artel-image.XXXXXX")
trap 'rm -rf "$folder"' EXIT
files=$folder/files

# What programs lie where distributions put them; another of the same name may be the user's own.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:$PATH
programs=(
  awk basename bash cat chmod cp cut date dd df diff dirname du echo env expr false find git grep gzip head id
  kill less ln ls make md5sum mkdir mktemp mv node npm npx patch ps pwd python3 readlink realpath rg rm rmdir
  sed seq setsid sh sha256sum sleep sort stat tail tar tee test timeout touch tr true uname uniq wc which xargs
  claude codex droid gemini
)
folders=(
  /etc/alternatives /etc/ssl/certs /usr/share/ca-certificates /usr/share/zoneinfo /usr/lib/git-core
  /usr/share/git-core /usr/lib/locale/C.utf8
)

# Adds a file, and what it leads to when it is a link, by the paths that they really have.
add() {
  local path target
  path=$(realpath "$(dirname "$1")")/$(basename "$1")
  [ -e "$path" ] || return 0
  echo "$path" >>"$files"
  target=$(readlink "$path" || true)
  case $target in
    '') ;;
    /*) add "$target" ;;
    *) add "$(dirname "$path")/$target" ;;
  esac
}

# Adds the libraries of programs and libraries.
add_libraries() {
  local library
  while read -r library; do add "$library"; done < <(
    ldd "$@" 2>/dev/null | grep -oE '(/[^ ():]+)+\.so[^ ():]*' | sort -u
  )
}

for program in "${programs[@]}"; do
  path=$(type -P "$program" || true)
  case $path in
    /*) add "$path" && add_libraries "$(realpath "$path")" ;;
    *) echo "worker-image: going on without $program" >&2 ;;
  esac
done
add /etc/ld.so.cache
add /etc/ld.so.conf
add /etc/nsswitch.conf
add /etc/services
# Names of users and hosts are looked up by libraries that no program names; and programs that are shown to a
# container, such as the command-line agents, need those that every system has.
for library in libnss_files libnss_dns libresolv libc libdl libgcc_s libm libpthread librt libstdc++ libutil; do
  path=$(ldconfig -p | grep -oE "/[^ ]*/${library//+/\\+}\.so\.[0-9]+" | head -n 1 || true)
  [ -z "$path" ] || add "$path"
done

# An interpreter has its own library beside it.
python=$(python3 -c 'import sys; print(sys.prefix + "/lib/python%d.%d" % sys.version_info[:2])' 2>/dev/null || true)
if [ -n "$python" ]; then
  folders+=("$python")
  add_libraries "$python"/lib-dynload/*.so
fi
modules=$(npm root --global 2>/dev/null || true)
[ -z "$modules" ] || folders+=("$modules")

for path in "${folders[@]}"; do
  [ ! -e "$path" ] || realpath "$path" >>"$files"
done
# /bin and the like are links on most systems.
for path in /bin /sbin /lib /lib32 /lib64; do
  [ ! -L "$path" ] || echo "$path" >>"$files"
done

root=$folder/root
mkdir -p "$root"/{etc,home/agent,proc,sys,dev,run,workspace}
mkdir -m 1777 "$root/tmp"
python=${python#/}
sed -i 's|^/||' "$files"
tar --create --directory / --exclude __pycache__ --exclude "$python/test" --exclude "$python/config-*" \
  --exclude "$python/dist-packages" --files-from "$files" \
  | tar --extract --directory "$root"
cat >"$root/etc/passwd" <<'PASSWD'
root:x:0:0:root:/root:/bin/sh
agent:x:1000:1000:agent:/home/agent:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/bin/false
PASSWD
printf 'root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n' >"$root/etc/group"


tar --create --owner 0 --group 0 --numeric-owner --directory "$root" . \
  | docker import --change 'USER agent' --change 'WORKDIR /workspace' \
    --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' - "$name" >/dev/null
echo "worker-image: $name, $(du -sm "$root" | cut -f 1) MiB"
