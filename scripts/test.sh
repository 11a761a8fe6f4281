#!/usr/bin/env bash
# Runs a command that runs tests, and prints after it what they did not compare for want of the reference's published data.
#   scripts/test.sh cargo test --workspace
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
PINTLE_NOT_COMPARED=$PWD/build/not-compared.txt
export PINTLE_NOT_COMPARED
rm -f "$PINTLE_NOT_COMPARED"
"$@"
status=$?
if [ -s "$PINTLE_NOT_COMPARED" ]; then
  echo
  sort -u "$PINTLE_NOT_COMPARED"
fi
exit $status
