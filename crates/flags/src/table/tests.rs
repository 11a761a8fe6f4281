//! The table against the reference's published lists, where those are at hand, and against itself everywhere.

use std::collections::BTreeMap;

use pintle_features::{Stage, gates};

use super::*;
use crate::golang::{format_duration, parse_duration};
use crate::help::shown_default;
use crate::value::Value;

/// Sections that the reference does not have.
const OWN: [&str; 3] = ["Pintle", "In-process controllers", "Earlier releases"];

/// The rows of a list without its heading.
fn upstream(file: &str) -> Option<Vec<Vec<String>>> {
    let text =
        std::fs::read_to_string(pintle_published::upstream("lists of flags and feature gates")?.join(file))
            .ok()?;
    Some(text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// Section, type and default of each flag that the reference shows, as its help prints them.
fn documented_flags() -> BTreeMap<String, (String, String, String)> {
    let sections = SECTIONS.iter().filter(|section| !OWN.contains(&section.title));
    let row = |section: &Section, flag: &Flag| {
        let name = match flag.shorthand {
            Some(letter) => format!("--{} (-{letter})", flag.name),
            None => format!("--{}", flag.name),
        };
        let default = shown_default(flag).unwrap_or_default();
        (name, (section.title.to_owned(), flag.kind.name().to_owned(), default))
    };
    sections.flat_map(|section| section.flags.iter().map(move |flag| row(section, flag))).collect()
}

#[test]
fn the_table_is_complete_and_sorted() {
    assert_eq!(documented_flags().len(), 172);
    assert_eq!(all().filter(|flag| flag.hidden).count(), 8);
    let mut names: Vec<&str> = all().map(|flag| flag.name).collect();
    names.sort_unstable();
    let total = names.len();
    names.dedup();
    assert_eq!(names.len(), total, "a name is there twice");
    for section in SECTIONS {
        assert!(section.flags.is_sorted_by(|a, b| a.name < b.name), "{} flags are not sorted", section.title);
    }
}

#[test]
fn every_default_parses_under_its_type_and_is_spelled_as_printed() {
    for flag in all() {
        let value = Value::default_of(flag.kind, flag.default);
        assert!(value.is_ok(), "--{}: {value:?}", flag.name);
        if flag.kind == Kind::Duration && !flag.default.is_empty() {
            assert_eq!(
                format_duration(parse_duration(flag.default).unwrap()),
                flag.default,
                "--{}",
                flag.name
            );
        }
    }
}

#[test]
fn every_flag_has_a_help_sentence() {
    for flag in all() {
        assert!(flag.help.ends_with('.') && flag.help.len() > 10, "--{}", flag.name);
        assert!(!flag.help.contains("  ") && !flag.help.contains('\n'), "--{}", flag.name);
    }
}

#[test]
fn a_hidden_flag_that_does_something_warns_of_it() {
    let unsaid = |flag: &&Flag| flag.hidden && flag.effect == Effect::Active && flag.deprecated.is_none();
    assert_eq!(all().filter(unsaid).map(|flag| flag.name).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_table_is_the_references() {
    let Some(rows) = upstream("flags.tsv") else {
        // Without the list: a few facts that it would check, one of each kind of column.
        let documented = documented_flags();
        let row = |name: &str| documented.get(name).map(|(s, t, d)| (s.as_str(), t.as_str(), d.as_str()));
        assert_eq!(row("--etcd-prefix"), Some(("Etcd", "string", "\"/registry\"")));
        assert_eq!(row("--oidc-signing-algs"), Some(("Authentication", "strings", "[RS256]")));
        assert_eq!(row("--tls-sni-cert-key"), Some(("Secure serving", "namedCertKey", "[]")));
        assert_eq!(row("--v (-v)"), Some(("Logs", "Level", "")));
        return;
    };
    let want: BTreeMap<_, _> = rows
        .into_iter()
        .map(|row| {
            // Two of the types run on into the help text in the list.
            let kind = row[2].split(['[', ' ']).next().unwrap_or_default().to_owned();
            (row[1].clone(), (row[0].clone(), kind, row.get(3).cloned().unwrap_or_default()))
        })
        .collect();
    let have = documented_flags();
    for (name, facts) in &want {
        assert_eq!(have.get(name), Some(facts), "{name}");
    }
    assert_eq!(have.len(), want.len());
}

#[test]
fn the_gates_are_the_references() {
    let shown: BTreeMap<&str, (&str, bool)> = gates()
        .iter()
        .filter_map(|gate| match gate.stage {
            Stage::Alpha => Some((gate.name, ("ALPHA", gate.default))),
            Stage::Beta => Some((gate.name, ("BETA", gate.default))),
            Stage::Ga | Stage::Deprecated => None,
        })
        .collect();
    assert_eq!(shown.len(), 150);
    let Some(rows) = upstream("feature-gates.tsv") else {
        assert_eq!(shown.get("WatchList"), Some(&("BETA", true)));
        assert_eq!(shown.get("AllAlpha"), Some(&("ALPHA", false)));
        return;
    };
    for row in &rows {
        assert_eq!(shown.get(row[0].as_str()), Some(&(row[1].as_str(), row[2] == "true")), "{}", row[0]);
    }
    assert_eq!(shown.len(), rows.len());
}
