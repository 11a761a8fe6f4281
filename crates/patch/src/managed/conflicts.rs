//! Conflicts: fields that an apply would take from other managers.

use std::fmt::Write;

use pintle_meta::{Cause, CauseType, quote};

use super::entries::{Id, Operation};
use crate::fieldset::{Element, Set};

/// Limit of the text that names fields: there may be many with a long path.
const MAX_BYTES: usize = 4 << 20;

/// Conflicting fields by manager, sorted by the reference's manager identifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts {
    by_manager: Vec<(Id, Set)>,
}

impl Conflicts {
    pub(super) fn new(mut by_manager: Vec<(Id, Set)>) -> Conflicts {
        by_manager.retain(|(_, fields)| !fields.is_empty());
        by_manager.sort_by_cached_key(|(id, _)| id.text());
        Conflicts { by_manager }
    }

    pub fn is_empty(&self) -> bool {
        self.by_manager.is_empty()
    }

    pub fn len(&self) -> usize {
        self.by_manager.iter().map(|(_, fields)| fields.len()).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Id, &Set)> {
        self.by_manager.iter().map(|(id, fields)| (id, fields))
    }

    /// Removes some fields from the conflicts.
    pub(super) fn without(self, allowed: &Set) -> Conflicts {
        let left = self.by_manager.into_iter().map(|(id, fields)| (id, fields.difference(allowed)));
        Conflicts::new(left.collect())
    }

    /// Returns the message for clients, and a cause for each field.
    pub fn describe(&self) -> (String, Vec<Cause>) {
        let mut causes = Vec::new();
        let mut lines = String::new();
        let mut room = MAX_BYTES;
        for (id, fields) in &self.by_manager {
            let manager = describe_manager(id);
            let _ = write!(lines, "{}conflicts with {manager}:", if lines.is_empty() { "" } else { "\n" });
            fields.each(|path| {
                if room == 0 {
                    return;
                }
                let field: String = path.iter().map(Element::to_string).collect();
                room = room.saturating_sub(field.len() + manager.len());
                let _ = write!(lines, "\n- {field}");
                let message = format!("conflict with {manager}");
                causes.push(Cause { kind: Some(CauseType::FieldManagerConflict), message, field });
            });
        }
        let message = match (self.len(), &causes[..]) {
            (1, [only]) => format!("Apply failed with 1 conflict: {}: {}", only.message, only.field),
            (count, _) => format!("Apply failed with {count} conflicts: {lines}"),
        };
        (message, causes)
    }
}

fn describe_manager(id: &Id) -> String {
    let mut text = quote(&id.manager);
    if !id.subresource.is_empty() {
        let _ = write!(text, " with subresource {}", quote(&id.subresource));
    }
    if id.operation == Operation::Update {
        let _ = write!(text, " using {}", id.api_version);
    }
    text
}
