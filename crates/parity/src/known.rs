//! The cases that are known to fail, one `area/case` to a line. The list may only get shorter.
//!
//! A line that begins with `race ` names a case whose recorded answer depends on which of two writers was faster, for example a
//! client that reads an object before a controller has written its status. It may pass or fail.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;

use crate::run::Outcome;

const FILE: &str = "known-failures.txt";

/// The mark of a case that may pass or fail.
const RACE: &str = "race ";

/// Names of cases, `area/case`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    failing: BTreeSet<String>,
    racing: BTreeSet<String>,
}

impl Known {
    /// Reads the list of a folder of recordings.
    pub fn read(folder: &Path) -> anyhow::Result<Known> {
        let text =
            std::fs::read_to_string(folder.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        Ok(Known::of_text(&text))
    }

    fn of_text(text: &str) -> Known {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (racing, failing): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with(RACE));
        let racing = racing.iter().filter_map(|line| line.strip_prefix(RACE));
        Known {
            failing: failing.into_iter().map(str::to_owned).collect(),
            racing: racing.map(str::to_owned).collect(),
        }
    }
}

/// A case that is not as the list says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `area/case`.
    pub name: String,
    /// A sentence.
    pub text: String,
}

/// Finds cases that fail and are not listed, cases that are listed and pass, and listed names that no case has.
pub fn changes(known: &Known, outcomes: &[Outcome]) -> Vec<Change> {
    let change = |name: &str, what: &str| Change { name: name.to_owned(), text: format!("{name} {what}") };
    let mut changes = Vec::new();
    for outcome in outcomes {
        let name = outcome.name();
        match &outcome.difference {
            _ if known.racing.contains(&name) => {}
            Some(difference) if !known.failing.contains(&name) => {
                changes.push(change(&name, &format!("passed before and fails now: {difference}")));
            }
            None if known.failing.contains(&name) => {
                changes.push(change(&name, &format!("passes now: remove it from the list in {FILE}")));
            }
            _ => {}
        }
    }
    let names: BTreeSet<String> = outcomes.iter().map(Outcome::name).collect();
    let stray = known.failing.union(&known.racing).filter(|name| !names.contains(*name));
    changes.extend(stray.map(|name| change(name, &format!("is no case: remove it from the list in {FILE}"))));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn outcome(id: &str, difference: Option<&str>) -> Outcome {
        Outcome {
            area: "a".into(),
            id: id.into(),
            difference: difference.map(str::to_owned),
            answers: Json::Null,
        }
    }

    #[test]
    fn every_change_against_the_list_is_told() {
        let known =
            Known::of_text("# why\na/fails\n\na/passes\nrace a/won\nrace a/lost\na/gone\nrace a/left\n");
        let outcomes = [
            outcome("fails", Some("x")),
            outcome("passes", None),
            outcome("new", Some("y")),
            outcome("fine", None),
            outcome("won", None),
            outcome("lost", Some("z")),
        ];
        let texts: Vec<String> = changes(&known, &outcomes).into_iter().map(|change| change.text).collect();
        assert_eq!(
            texts,
            [
                "a/passes passes now: remove it from the list in known-failures.txt",
                "a/new passed before and fails now: y",
                "a/gone is no case: remove it from the list in known-failures.txt",
                "a/left is no case: remove it from the list in known-failures.txt",
            ]
        );
    }
}
