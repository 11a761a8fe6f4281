//! Semantic versions.

use std::cmp::Ordering;
use std::fmt;

use pintle_meta::quote;

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::types::Type;
use crate::value::{Other, Val, opaque};

/// Semantic version. The build metadata is only printed.
#[derive(Clone, Debug)]
pub(crate) struct Semver {
    numbers: [u64; 3],
    prerelease: Vec<Part>,
    build: Vec<String>,
}

/// Identifier of a prerelease; numbers order before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

opaque!(Semver, Type::Named("kubernetes.Semver"));

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared {
        name: "semver",
        overloads: &[
            ("string_to_semver", "string -> kubernetes.Semver"),
            ("string_bool_to_semver", "string, bool -> kubernetes.Semver"),
        ],
        run: |call, args| match read(args) {
            Some(Ok(version)) => Ok(Val::Other(Other::new(version))),
            Some(Err(message)) => Failure::error(message),
            None => call.no_such_overload(args),
        },
    },
    Declared {
        name: "isSemver",
        overloads: &[
            ("is_semver_string", "string -> bool"),
            ("is_semver_string_bool", "string, bool -> bool"),
        ],
        run: |call, args| match read(args) {
            Some(result) => Ok(Val::Bool(result.is_ok())),
            None => call.no_such_overload(args),
        },
    },
    Declared {
        name: "major",
        overloads: &[("semver_major", ".kubernetes.Semver -> int")],
        run: |call, args| number(call, args, 0),
    },
    Declared {
        name: "minor",
        overloads: &[("semver_minor", ".kubernetes.Semver -> int")],
        run: |call, args| number(call, args, 1),
    },
    Declared {
        name: "patch",
        overloads: &[("semver_patch", ".kubernetes.Semver -> int")],
        run: |call, args| number(call, args, 2),
    },
];

fn number<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], index: usize) -> Outcome<'v> {
    match args {
        [Val::Other(other)] if let Some(version) = other.downcast::<Semver>() => {
            Ok(Val::Int(version.numbers[index] as i64))
        }
        _ => call.no_such_overload(args),
    }
}

fn read(args: &[Val<'_>]) -> Option<Result<Semver, String>> {
    match args {
        [Val::String(text)] | [Val::String(text), Val::Bool(false)] => Some(parse(text)),
        [Val::String(text), Val::Bool(true)] => Some(normalized(text).and_then(|text| parse(&text))),
        _ => None,
    }
}

/// Removes a leading `v` and leading zeros, and adds missing minor and patch numbers.
fn normalized(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            if part.len() <= 1 {
                return part.to_owned();
            }
            let stripped = part.trim_start_matches('0');
            if stripped.starts_with(|c: char| c.is_ascii_digit()) {
                stripped.to_owned()
            } else {
                format!("0{stripped}")
            }
        })
        .collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

fn parse(text: &str) -> Result<Semver, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts[..] else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let (major, minor) = (digits(major, "Major")?, digits(minor, "Minor")?);
    let (rest, build) = match rest.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (rest, None),
    };
    let (patch, prerelease) = match rest.split_once('-') {
        Some((patch, prerelease)) => (patch, Some(prerelease)),
        None => (rest, None),
    };
    let numbers = [major, minor, digits(patch, "Patch")?];
    let mut version = Semver { numbers, prerelease: Vec::new(), build: Vec::new() };
    for part in prerelease.into_iter().flat_map(|prerelease| prerelease.split('.')) {
        version.prerelease.push(prerelease_part(part)?);
    }
    for part in build.into_iter().flat_map(|build| build.split('.')) {
        if part.is_empty() {
            return Err("Build meta data is empty".to_owned());
        }
        if !is_word(part) {
            return Err(format!("Invalid character(s) found in build meta data {}", quote(part)));
        }
        version.build.push(part.to_owned());
    }
    Ok(version)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn digits(text: &str, name: &str) -> Result<u64, String> {
    if !is_number(text) {
        let name = name.to_lowercase();
        return Err(format!("Invalid character(s) found in {name} number {}", quote(text)));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{name} number must not contain leading zeroes {}", quote(text)));
    }
    whole(text)
}

fn whole(text: &str) -> Result<u64, String> {
    let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {}: {why}", quote(text)))
}

fn prerelease_part(text: &str) -> Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if is_number(text) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {}",
                quote(text)
            ));
        }
        return whole(text).map(Part::Number);
    }
    if is_word(text) {
        return Ok(Part::Word(text.to_owned()));
    }
    Err(format!("Invalid character(s) found in prerelease {}", quote(text)))
}

impl Ord for Semver {
    fn cmp(&self, other: &Semver) -> Ordering {
        // A prerelease orders before its release.
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| self.prerelease.is_empty().cmp(&other.prerelease.is_empty()))
            .then_with(|| self.prerelease.cmp(&other.prerelease))
    }
}

impl PartialOrd for Semver {
    fn partial_cmp(&self, other: &Semver) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Semver {
    fn eq(&self, other: &Semver) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Semver {}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (index, part) in self.prerelease.iter().enumerate() {
            f.write_str(if index == 0 { "-" } else { "." })?;
            match part {
                Part::Number(number) => write!(f, "{number}")?,
                Part::Word(word) => f.write_str(word)?,
            }
        }
        if self.build.is_empty() { Ok(()) } else { write!(f, "+{}", self.build.join(".")) }
    }
}
