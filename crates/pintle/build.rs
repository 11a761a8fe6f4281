//! Links the binary with packed relocations where this machine can load them. The type graph is tables full of pointers: the
//! usual form lists each of them in 24 bytes, all of which are read at start and stay in memory; packed they are a fiftieth.
#![allow(clippy::print_stdout, reason = "how build scripts talk")]

use std::process::Command;

/// The first glibc that loads them.
const LOADABLE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("TARGET").unwrap_or_default();
    // What runs elsewhere may meet an older library there.
    let runs_here = std::env::var("HOST").is_ok_and(|host| host == target);
    if target.ends_with("linux-gnu") && runs_here && glibc().is_some_and(|version| version >= LOADABLE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library here: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
