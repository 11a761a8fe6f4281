//! `--emulated-version` and `--min-compatibility-version`.

use std::collections::BTreeMap;
use std::fmt;

use super::Problems;
use crate::Parsed;
use crate::golang::quote;
use crate::version::KUBERNETES_RELEASE;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Release(u32, u32);

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Release {
    fn before(self) -> Release {
        Release(self.0, self.1.saturating_sub(1))
    }
}

const CURRENT: Release = Release(KUBERNETES_RELEASE.0, KUBERNETES_RELEASE.1);

/// Three minor releases back.
const OLDEST: Release = Release(CURRENT.0, CURRENT.1 - 3);

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let (emulated, compatible) =
        match (read(flags, "emulated-version"), read(flags, "min-compatibility-version")) {
            (Ok(emulated), Ok(compatible)) => (emulated, compatible),
            (emulated, compatible) => {
                problems.extend(emulated.err());
                problems.extend(compatible.err());
                return;
            }
        };
    let emulated = emulated.unwrap_or(CURRENT);
    let compatible = compatible.unwrap_or_else(|| emulated.before().max(OLDEST));
    if emulated > CURRENT || emulated < OLDEST {
        problems.push(format!(
            "--emulated-version: emulation version {emulated} is not between [{OLDEST}, {CURRENT}]"
        ));
    }
    if compatible > emulated || compatible < OLDEST {
        problems.push(format!(
            "--min-compatibility-version: minCompatibilityVersion version {compatible} is not between \
             [{OLDEST}, {emulated}]"
        ));
    }
    for flag in ["emulation-forward-compatible", "runtime-config-emulation-forward-compatible"] {
        if emulated == CURRENT && flags.bool(flag) {
            problems.push(format!(
                "--{flag} cannot be set to true if the emulation version is the same as the binary version"
            ));
        }
    }
}

/// Major and minor of the release whose behaviour is asked for.
pub(crate) fn emulated(flags: &Parsed) -> (u32, u32) {
    let Release(major, minor) = read(flags, "emulated-version").ok().flatten().unwrap_or(CURRENT);
    (major, minor)
}

/// Whether one of the two flags says what holds anyway.
pub(crate) fn is_default(flags: &Parsed, flag: &str) -> bool {
    let default = if flag == "emulated-version" { CURRENT } else { CURRENT.before() };
    read(flags, flag).is_ok_and(|release| release.is_none_or(|release| release == default))
}

/// The release that a flag names for the component kube.
fn read(flags: &Parsed, flag: &str) -> Result<Option<Release>, String> {
    let mut releases = BTreeMap::new();
    for entry in flags.strings(flag) {
        let (component, text) = entry.split_once('=').unwrap_or(("kube", entry));
        let (component, text) = (component.trim(), text.trim());
        let (release, patch) = parse(text).map_err(|reason| format!("--{flag}: {reason}"))?;
        if patch != 0 {
            return Err(format!("--{flag}: patch version not allowed, got: {component}={release}.{patch}"));
        }
        if component != "kube" {
            return Err(format!("--{flag}: component not registered: {component}"));
        }
        if let Some(other) = releases.insert(component.to_owned(), release) {
            return Err(format!(
                "--{flag}: duplicate version flag, {component}={other} and {component}={release}"
            ));
        }
    }
    Ok(releases.get("kube").copied())
}

/// `1.35`, `v1.35.0`: the release and the patch number.
fn parse(text: &str) -> Result<(Release, u32), String> {
    let numbers = text.strip_prefix('v').unwrap_or(text);
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(numbers.len());
    let parts: Vec<Option<u32>> = numbers[..end].split('.').map(|part| part.parse().ok()).collect();
    match parts[..] {
        [Some(major), Some(minor)] => Ok((Release(major, minor), 0)),
        [Some(major), Some(minor), Some(patch), ..] => Ok((Release(major, minor), patch)),
        [Some(_)] => Err(format!("illegal version string {}", quote(text))),
        _ => Err(format!("could not parse {} as version", quote(text))),
    }
}
