#!/usr/bin/env bash
# Finds, or gets, the kubectl that tests run, and prints where it is:
#
#     KUBECTL=<path>       1.27 or newer
#
# Usage: scripts/kubectl.sh [FOLDER]      (default: build/kubectl of the repository)
#
# Nothing is installed into the system. A variable that is set already is kept; a `kubectl` on the PATH is used if it is new enough.
# Else it comes from a former run, or out of Debian's packages: of this machine's release where they are new enough, and of the first
# one that has it otherwise.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/build/kubectl}
oldest=27
log() { echo "kubectl.sh: $*" >&2; }
. "$root/scripts/debian.sh"

# The minor version of a kubectl; nothing if it does not run.
minor_of() {
    { "$1" version --client -o json 2>/dev/null || true; } | sed -n 's/.*"minor": *"\([0-9]*\).*/\1/p' | head -1
}

# Prints a kubectl and ends, if it is new enough.
offer() {
    local minor
    [ -x "$1" ] || return 0
    minor=$(minor_of "$1")
    [ -n "$minor" ] && [ "$minor" -ge $oldest ] || return 0
    log "kubectl 1.$minor: $1"
    echo "KUBECTL=$1"
    exit 0
}

if [ -n "${KUBECTL:-}" ]; then
    offer "$(command -v "$KUBECTL" || true)"
    log "KUBECTL=$KUBECTL is not a kubectl of 1.$oldest or newer"
    exit 1
fi
offer "$(command -v kubectl || true)"
releases=$codename
[ "$codename" = trixie ] || releases="$releases trixie"
for release in $releases; do
    # Bookworm's is 1.20.
    [ "$release" != bookworm ] || continue
    offer "$folder/$release/usr/bin/kubectl"
    # What kubernetes-client had is in a package of its own since trixie, and the old name an empty one.
    for package in kubectl kubernetes-client; do
        unpack $package "$release" && offer "$folder/$release/usr/bin/kubectl"
    done
    log "no kubectl from $release"
done
log "no kubectl of 1.$oldest or newer found; install one, or set KUBECTL"
exit 1
