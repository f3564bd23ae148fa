#!/bin/sh
# Install Hookline from this archive, without a network: sh install.sh --help
set -eu

usage() {
  cat <<'TEXT'
Install or upgrade Hookline from this folder; nothing is fetched from a network.

  sh install.sh [--prefix DIR] [--bin DIR] [--with NAME[,NAME…]] [--python PYTHON]
  sh install.sh --uninstall [--prefix DIR]

  --prefix DIR     where it is installed     (~/.local/share/hookline)
  --bin DIR        where `hookline` is linked (~/.local/bin)
  --with NAMES     plugins to add to the standard set, such as telegram,webhook; upgrades keep them
  --python PYTHON  the interpreter to use    (the first suitable one on the PATH)
  --uninstall      remove what was installed; your data in ~/.hookline stays

Needs Python 3.11 or later with its venv module. Run it again, from a newer archive, to upgrade.
TEXT
}

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

prefix="$HOME/.local/share/hookline"
bin=""
with=""
python=""
action=install
while [ $# -gt 0 ]; do
  case "$1" in
    --prefix | --bin | --with | --python)
      [ $# -ge 2 ] || fail "$1 needs a value. See --help."
      case "$1" in
        --prefix) prefix="$2" ;;
        --bin) bin="$2" ;;
        --with) with="$(printf '%s' "$2" | tr ',' ' ')" ;;
        --python) python="$2" ;;
      esac
      shift 2
      ;;
    --uninstall)
      action=uninstall
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "$1 is not an option. See --help." ;;
  esac
done
case "$prefix" in /*) ;; *) prefix="$PWD/$prefix" ;; esac
here="$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)"
mark="$prefix/.installed-by-hookline"
# Keep the choices of an earlier run, unless this one overrides them.
if [ -z "$bin" ] && [ -f "$prefix/bin-folder" ]; then bin="$(cat "$prefix/bin-folder")"; fi
bin="${bin:-$HOME/.local/bin}"
case "$bin" in /*) ;; *) bin="$PWD/$bin" ;; esac
link="$bin/hookline"

is_ours() { [ -L "$link" ] && [ "$(readlink "$link")" = "$prefix/current/bin/hookline" ]; }

uninstall() {
  [ -f "$mark" ] || fail "Hookline is not installed in $prefix. Name its folder with --prefix."
  if is_ours; then rm -f "$link"; fi
  rm -rf "$prefix/releases" "$prefix/current" "$prefix/extras" "$prefix/bin-folder" \
    "$prefix/install.sh" "$mark"
  rmdir "$prefix" 2>/dev/null || true
  printf 'Removed Hookline from %s. Your data in %s is unchanged.\n' \
    "$prefix" "${HOOKLINE_HOME:-$HOME/.hookline}"
}

if [ "$action" = uninstall ]; then
  uninstall
  exit 0
fi

[ -f "$here/SHA256SUMS" ] || fail "this is not an unpacked archive: $here/SHA256SUMS is missing."
if [ -e "$prefix" ] && [ ! -f "$mark" ] && [ -n "$(ls -A "$prefix")" ]; then
  fail "$prefix contains other files. Name an empty folder with --prefix."
fi
if [ -e "$link" ] || [ -L "$link" ]; then
  is_ours || fail "$link belongs to another installation. Remove it, or name another folder with --bin."
fi

# Find an interpreter: compiled packages fit one minor version of Python and one platform.
pythons="$(cat "$here/pythons")"
platform="$(cat "$here/platform")"
tag() {
  "$1" -I -c 'import sys, sysconfig, venv, ensurepip
print("%d.%d" % sys.version_info[:2], sysconfig.get_platform())' 2>/dev/null
}
suits() {
  for minor in $pythons; do
    if [ "$(tag "$1")" = "$minor $platform" ]; then return 0; fi
  done
  return 1
}
requirement="Python $(printf '%s' "$pythons" | tr '\n' ' ' | sed 's/ *$//; s/ /, /g') on $platform with the module venv"
if [ -n "$python" ]; then
  command -v "$python" >/dev/null || fail "program $python not found."
  suits "$python" || fail "this archive needs $requirement; $python is $(tag "$python" || echo 'without venv (on Debian: apt install python3-venv)')."
else
  for candidate in python3 $(for minor in $pythons; do printf 'python%s ' "$minor"; done); do
    if command -v "$candidate" >/dev/null && suits "$candidate"; then
      python="$candidate"
      break
    fi
  done
  [ -n "$python" ] || fail "this archive needs $requirement (on Debian also the package python3-venv); none was found. Name one with --python, or build an archive for your version."
fi

# Install nothing if a file was changed, added or removed.
"$python" -I - "$here" <<'PYTHON' || fail "the archive is damaged or was changed. Unpack it again, and compare its checksum."
import hashlib, pathlib, sys
here = pathlib.Path(sys.argv[1])
listed = {}
for line in (here / "SHA256SUMS").read_text("utf-8").splitlines():
    digest, _, name = line.partition("  ")
    listed[name] = digest
present = {str(p.relative_to(here)) for p in here.rglob("*") if p.is_file()} - {"SHA256SUMS"}
wrong = [f"{name}: missing" for name in sorted(listed.keys() - present)]
wrong += [f"{name}: not listed" for name in sorted(present - listed.keys()) if name.startswith("wheels/")]
for name in sorted(listed.keys() & present):
    if hashlib.sha256((here / name).read_bytes()).hexdigest() != listed[name]:
        wrong.append(f"{name}: changed")
print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
sys.exit(bool(wrong))
PYTHON

if [ -z "$with" ] && [ -f "$prefix/extras" ]; then with="$(cat "$prefix/extras")"; fi
chosen="standard"
for name in $with; do
  grep -qxF -- "$name" "$here/extras" ||
    fail "--with $name: unknown plugin. Available: $(grep -vxF standard "$here/extras" | tr '\n' ' ')"
  chosen="$chosen,$name"
done

version="$(cat "$here/version")"
mkdir -p "$prefix/releases" "$bin"
: >"$mark"
release="$prefix/releases/$version-$(date +%Y%m%d%H%M%S)-$$"
trap 'rm -rf "$release"' EXIT
trap 'exit 130' INT TERM HUP
printf 'Installing Hookline %s into %s …\n' "$version" "$prefix"
"$python" -m venv "$release"
mkdir "$release/wheels"
cp "$here"/wheels/*.whl "$release/wheels/"
# `hookline plugins install` finds the archive's plugins here and uses no index.
printf '[global]\nno-index = true\nfind-links = %s\ndisable-pip-version-check = true\n' \
  "$release/wheels" >"$release/pip.conf"
"$release/bin/python" -m pip --isolated install --quiet --no-index --find-links "$release/wheels" \
  "hookline[$chosen]==$version"
started="$("$release/bin/hookline" --version)"
[ "$started" = "hookline $version" ] || fail "the new release does not start: $started"
trap - EXIT

# Switch to the new release atomically; the previous one stays for processes that still run it.
before="$(readlink "$prefix/current" 2>/dev/null || true)"
ln -s "$release" "$prefix/current.new"
"$python" -I -c 'import os, sys; os.replace(*sys.argv[1:])' "$prefix/current.new" "$prefix/current"
for old in "$prefix"/releases/*; do
  case "$old" in "$release" | "$before") ;; *) rm -rf "$old" ;; esac
done
printf '%s\n' "$with" >"$prefix/extras"
printf '%s\n' "$bin" >"$prefix/bin-folder"
cp "$here/install.sh" "$prefix/install.sh"
is_ours || ln -s "$prefix/current/bin/hookline" "$link"

printf '%s is installed; the command is %s\n' "$started" "$link"
case ":$PATH:" in
  *":$bin:"*) printf 'Next: hookline init\n' ;;
  *) printf 'Put %s on your PATH, then: hookline init\n' "$bin" ;;
esac
