#!/usr/bin/env python3
"""Runs the suites that read the reference's published data as in a clone that has none beside it.

They are the tests of every crate whose Cargo.toml names pintle-published. Of the whole-server suite, which has many more, only the
tests below run. The binaries are those of `cargo test --workspace --all-features`, so that nothing is compiled twice.
"""
import json
import os
import subprocess
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
cargo = os.environ.get("CARGO", "cargo")
# Test binaries that are not run, or only in part.
partly = {("pintle", "suite"): ["stored_objects"], ("pintle", "parity"): None, ("pintle-parity", "*"): None}


def reads_published(manifest):
    with open(manifest) as file:
        return "pintle-published.workspace" in file.read()


def binaries():
    command = [cargo, "test", "--workspace", "--all-features", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, check=True)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact" or not message.get("executable"):
            continue
        if message["profile"]["test"] and reads_published(message["manifest_path"]):
            package = os.path.basename(os.path.dirname(message["manifest_path"]))
            package = "pintle" if package == "pintle" else f"pintle-{package}"
            yield package, message["target"]["name"], message["manifest_path"], message["executable"]


def main():
    environment = dict(os.environ, PINTLE_UPSTREAM=os.path.join(root, "build", "no-published-data"))
    failed = []
    for package, name, manifest, executable in sorted(binaries()):
        filters = partly.get((package, name), partly.get((package, "*"), []))
        if filters is None:
            continue
        print(f"{package} {name}", flush=True)
        environment["CARGO_MANIFEST_DIR"] = os.path.dirname(manifest)
        run = subprocess.run([executable, "-q", *filters], cwd=os.path.dirname(manifest), env=environment)
        if run.returncode != 0:
            failed.append(f"{package} {name}")
    if failed:
        sys.exit(f"without published data these fail: {', '.join(failed)}")


if __name__ == "__main__":
    main()
