#!/usr/bin/env bash
# Regenerates crates/pintle/layout: the functions that a start of the server needs, and those that requests need. The program is built
# with a map of its functions, runs under valgrind, and serves the most frequent requests.
#
# Usage: scripts/layout.sh      (some minutes; kubectl from $KUBECTL or the PATH)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
command -v valgrind >/dev/null || apt-get install -y valgrind
kubectl=${KUBECTL:-kubectl}
target=${CARGO_TARGET_DIR:-$root/target}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null; rm -rf "$work"' EXIT

cargo build --release -p pintle-bench
PINTLE_MAP=$work/map cargo build --release -p pintle

port=17443
export KUBECONFIG=$work/data/pki/admin.kubeconfig
echo 'token,user,1' >"$work/tokens.csv"

# start NAME FLAG...: starts a server. What it does until it is ready goes to NAME.1, what it does later to NAME.
start() {
    local name=$1
    shift
    valgrind --quiet --tool=callgrind --dump-instr=yes --compress-pos=no --callgrind-out-file="$work/$name" \
        "$target/release/pintle" --data-dir="$work/data" --secure-port=$port "$@" >"$work/log" 2>&1 &
    server=$!
    for _ in $(seq 300); do
        [ -s "$KUBECONFIG" ] && $kubectl get --raw /readyz >/dev/null 2>&1 && break
        sleep 0.2
    done
    callgrind_control --dump "$server" >/dev/null
}

stop() {
    kill -INT "$server"
    wait "$server" || true
    server=
}

start new
# Little of each is enough to pass by everywhere.
"$target/release/pintle-bench" --kubeconfig "$KUBECONFIG" --pid "$server" --only idle,create,get,patch,list,watch \
    --rounds 1 --pods 100 --config-maps 40 --watchers 20 --events 5 --streams 4 >/dev/null
$kubectl get pods --all-namespaces --request-timeout=60s >/dev/null
$kubectl create configmap layout --dry-run=client -o yaml | $kubectl apply --server-side -f - >/dev/null
stop
# On what is there already, and for those who are not the administrator.
start again --token-auth-file="$work/tokens.csv"
$kubectl create rolebinding layout --clusterrole=view --user=user >/dev/null
unset KUBECONFIG
ask=("$kubectl" --server="https://127.0.0.1:$port" --insecure-skip-tls-verify)
"${ask[@]}" --token=token get configmaps >/dev/null
"${ask[@]}" --token=token auth can-i create pods >/dev/null || true
"${ask[@]}" --username=nobody get --raw /readyz >/dev/null || true
stop
cargo xtask layout --map "$work/map" --start "$work/new.1" --start "$work/again.1" \
    --requests "$work/new" --requests "$work/again"
wc -l crates/pintle/layout/*.txt
