#!/usr/bin/env bash
# Runs a command that runs tests, then prints the comparisons that were skipped because the reference's published data is missing.
#   scripts/test.sh cargo test --workspace
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
PINTLE_NOT_COMPARED=$PWD/build/not-compared.txt
export PINTLE_NOT_COMPARED
rm -f "$PINTLE_NOT_COMPARED"
# Lines of validation rules whose errors the tests see; `cargo xtask reached` names the others.
PINTLE_ERROR_ORIGINS=$PWD/build/error-origins.txt
export PINTLE_ERROR_ORIGINS
rm -f "$PINTLE_ERROR_ORIGINS"
"$@"
status=$?
if [ -s "$PINTLE_NOT_COMPARED" ]; then
  echo
  sort -u "$PINTLE_NOT_COMPARED"
fi
exit $status
