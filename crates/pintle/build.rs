//! How the binary is linked, where this machine can load the result.
//!
//! *Packed relocations.* The type graph is tables full of pointers: the usual form lists each of them in 24 bytes, all of which
//! are read at start and stay in memory; packed they are a fiftieth.
//!
//! *Hot functions are adjacent.* A system that reads a page of a program maps its neighbours too, so functions that run, scattered
//! over a program of which three quarters never do, make nearly all of it resident. `layout/` lists the functions that
//! requests need and those that a start needs; they are placed next to each other. A function that is not listed is where it
//! would be without, so lists that are behind the code cost memory and nothing else. `make layout` writes them anew.
#![allow(clippy::print_stdout, reason = "how build scripts talk")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The first glibc that loads packed relocations.
const LOADABLE: (u32, u32) = (2, 36);

/// The lists, in the order of their places.
const LISTS: [&str; 2] = ["layout/requests.txt", "layout/start.txt"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    LISTS.iter().for_each(|list| println!("cargo::rerun-if-changed={list}"));
    let target = env::var("TARGET").unwrap_or_default();
    if !target.ends_with("linux-gnu") {
        return;
    }
    // A binary built for another machine may meet an older glibc there.
    let runs_here = env::var("HOST").is_ok_and(|host| host == target);
    if runs_here && glibc().is_some_and(|version| version >= LOADABLE) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo::rerun-if-env-changed=PINTLE_MAP");
    // Where the toolchain brings a linker along that reads such a script, and quickly.
    let is_known = target == "x86_64-unknown-linux-gnu";
    if is_known && env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        // A link map is written for the default layout: with the linker script, the map would not list single functions.
        let argument = match env::var("PINTLE_MAP") {
            Ok(map) => format!("-Map,{map}"),
            Err(_) => format!("-T,{}", layout().display()),
        };
        println!("cargo::rustc-link-arg-bins=-Wl,{argument}");
    }
}

/// The version of the C library here: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A linker script that puts each list's functions, which the compiler leaves in sections of their own, into one.
fn layout() -> PathBuf {
    let mut script = String::from("SECTIONS {\n");
    for list in LISTS {
        let text = fs::read_to_string(list).expect("the lists are part of the source");
        let name = Path::new(list).file_stem().expect("it has a name").to_string_lossy().into_owned();
        let _ = writeln!(script, "  .text.{name} : {{ *(");
        text.lines().for_each(|function| {
            // Optimisation over all of the program gives some of them a number.
            let _ = writeln!(script, "    .text.{function} .text.{function}.llvm.*");
        });
        script.push_str("  ) }\n");
    }
    script.push_str("}\nINSERT BEFORE .text;\n");
    let path = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("layout.ld");
    fs::write(&path, script).expect("the folder for output can be written to");
    path
}
