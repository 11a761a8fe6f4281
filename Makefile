# Every command of developers and CI. A target installs what it needs beyond Rust, gcc, make and Python.

CARGO ?= cargo
ARGS ?=
FUZZ ?=
SERVER ?=
TARGET = $(or $(CARGO_TARGET_DIR),$(CARGO_BUILD_TARGET_DIR),target)

.PHONY: run test test-alone parity lint bench layout fuzz deny envtest etcd kubectl

# Builds and starts the server on the embedded store; ARGS="--secure-port=7443 ..." adds flags.
run:
	$(CARGO) build --release -p pintle
	exec $(TARGET)/release/pintle $(ARGS)

# Everything: unit tests, both stores against one contract, crash and fault suites, the whole server with real clients. Then every
# line that can report a validation error must have been seen failing.
test: etcd kubectl
	set -a && . build/etcd.env && . build/kubectl.env && scripts/test.sh $(CARGO) test --workspace --all-features --no-fail-fast
	$(CARGO) run -q -p xtask -- reached --from build/error-origins.txt

# The suites that compare with the reference's published data, without that data; uses the binaries of `test`.
test-alone: etcd kubectl
	set -a && . build/etcd.env && . build/kubectl.env && scripts/test.sh scripts/alone.py

# Replays the recorded cases against the built server, or against a running one: SERVER=https://HOST:PORT, with tokens of
# its users in ARGS (`ARGS=--help` lists the flags). ARGS=--verbose shows the first difference of each failing case.
parity:
	$(CARGO) build --release -p pintle-parity $(if $(SERVER),,-p pintle)
	"$${CARGO_TARGET_DIR:-target}/release/pintle-parity" $(if $(SERVER),--server $(SERVER)) $(ARGS)

# A folder for KUBEBUILDER_ASSETS, from which controller-runtime's envtest starts Pintle in place of kube-apiserver and etcd.
envtest:
	$(CARGO) build --release -p pintle
	scripts/envtest.sh $(TARGET)/release/pintle build/envtest

# The etcds that tests and benchmarks run against: found on this machine, or unpacked into build/.
etcd:
	mkdir -p build
	scripts/etcd.sh > build/etcd.env

# The kubectl that tests run: found on this machine, or unpacked into build/.
kubectl:
	mkdir -p build
	scripts/kubectl.sh > build/kubectl.env

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	$(CARGO) run -q -p xtask -- lint

# Measures the figures of docs/performance.md on this machine; ARGS="--only list" for a part, ARGS="--kubeconfig FILE
# --pid PID --kubeconfig FILE --pid PID,PID" for one or two servers that run already.
bench: etcd
	$(CARGO) build --release -p pintle -p pintle-bench
	set -a && . build/etcd.env && $(TARGET)/release/pintle-bench $(ARGS)

# Records which functions run, for their layout in memory; before a release, or when bench shows a larger server.
layout: kubectl
	set -a && . build/kubectl.env && scripts/layout.sh

# Fuzzes every parser for 60 seconds each; FUZZ="--seconds 3600 json" for longer or for one of them.
fuzz:
	$(CARGO) run --profile fuzz -p pintle-fuzz -- $(FUZZ)

# Licences, advisories and sources of dependencies (needs the network for the advisory database).
deny:
	command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check
