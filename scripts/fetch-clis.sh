#!/usr/bin/env bash
# Brings the command-line agents that the tests drive into a folder:
#
#     scripts/fetch-clis.sh DIR
#
# npm installs them (1.1 GB) below DIR alone: nothing global, no root. Their versions are pinned here, for what is
# known of their protocols was seen with these. Afterwards DIR/bin holds claude, codex, gemini and droid, and the
# versions are printed. When the right ones are there already, nothing is done.
set -euo pipefail

if [ $# != 1 ]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
folder=$1
packages='@anthropic-ai/claude-code 2.1.197
@openai/codex 0.166.0
@google/gemini-cli 0.61.0
droid 0.215.0'

say() { echo "fetch-clis: $*" >&2; }

# What was installed last, written when everything else stood.
mark=$folder/.installed
if [ "$(cat "$mark" 2>/dev/null)" = "$packages" ] && [ -x "$folder/bin/codex" ]; then
  echo "$packages"
  exit 0
fi

for tool in node npm; do
  if ! command -v $tool >/dev/null; then
    say "$tool is missing; install it (on Debian: apt-get install nodejs npm)"
    exit 1
  fi
done

rm -rf "$mark" "$folder/bin" "$folder/node_modules"
mkdir -p "$folder/bin"
{
  echo '{ "private": true, "dependencies": {'
  echo "$packages" | sed 's/\(.*\) \(.*\)/  "\1": "\2",/; $ s/,$//'
  echo '} }'
} >"$folder/package.json"

say "installing $(echo "$packages" | wc -l) command-line agents into $folder"
if ! (cd "$folder" && npm install --no-package-lock --no-audit --no-fund --loglevel=error >&2); then
  say "npm could not install them; is there a network, and does npm reach its registry?"
  exit 1
fi

# Links that work wherever the folder is shown. Codex comes as a wrapper in JavaScript around a program of its own,
# which starts faster and takes its signals itself.
cd "$folder/bin"
for name in claude gemini droid; do
  ln -s "../node_modules/.bin/$name" "$name"
done
codex=$(find ../node_modules/@openai -path '*/vendor/*/bin/codex' -type f -perm -u+x -print -quit)
ln -s "${codex:-../node_modules/.bin/codex}" codex
cd - >/dev/null

# None of them asks a server for its version; each proves here that it can be started.
for name in claude codex gemini droid; do
  if ! said=$("$folder/bin/$name" --version 2>/dev/null | tail -n 1); then
    say "$name was installed but does not start: $folder/bin/$name --version"
    exit 1
  fi
  say "$name $said"
done
echo "$packages" >"$mark"
echo "$packages"
