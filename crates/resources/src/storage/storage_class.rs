//! StorageClasses.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use pintle_meta::field_path::Path;
use pintle_meta::validation::qualified_name;
use pintle_meta::{Value, Warnings};

use super::parameters::{parameters, provisioner};
use super::strategy::CLASSES;
use crate::framework::strategy::{MetadataRecheck, Rules, labels, rules};
use crate::framework::validation::Cursor;

pub(super) const STORAGE_CLASSES: Rules = Rules {
    recheck: MetadataRecheck::Full,
    validate: |_, class| validate(class),
    validate_update: |_, class| {
        validate(class);
        rules::metadata_update(class);
        class.field("parameters").immutable("map[string]string");
        class.field("provisioner").immutable("string");
        class.field("reclaimPolicy").immutable("*core.PersistentVolumeReclaimPolicy");
        class.field("volumeBindingMode").immutable("*storage.VolumeBindingMode");
    },
    warnings: |_, class, _| warnings(class),
    ..CLASSES
};

fn validate(class: &Cursor<'_, '_>) {
    provisioner(&class.field("provisioner"));
    parameters(&class.field("parameters"), true);
    let policy = class.field("reclaimPolicy");
    if !policy.is_empty() {
        policy.one_of(&["Delete", "Retain"]);
    }
    // It has a default.
    class.field("volumeBindingMode").one_of(&["Immediate", "WaitForFirstConsumer"]);
    topologies(&class.field("allowedTopologies"));
}

/// Checks terms, which must differ. A term without expressions counts as repeated once per term of the class: the reference
/// compares with as many terms that are not there.
fn topologies(terms: &Cursor<'_, '_>) {
    let mut known: HashMap<BTreeMap<&str, BTreeSet<&str>>, usize> = HashMap::new();
    known.insert(BTreeMap::new(), terms.len());
    for term in terms.items() {
        let expressions = term.field("matchLabelExpressions");
        let mut raw = BTreeMap::new();
        for expression in expressions.items() {
            let (key, values) = (expression.field("key"), expression.field("values"));
            label_values(&values);
            key.text_format(qualified_name);
            if raw.insert(key.text(), values.texts().into_iter().collect()).is_some() {
                key.duplicate(key.text());
            }
        }
        let count = known.entry(raw).or_default();
        for _ in 0..*count {
            expressions.duplicate("");
        }
        *count += 1;
    }
}

fn label_values(values: &Cursor<'_, '_>) {
    if values.is_empty() {
        values.required("");
    }
    let mut known = HashSet::new();
    for value in values.items() {
        if !known.insert(value.text()) {
            value.duplicate(value.text());
        }
    }
}

fn warnings(class: &Value) -> Vec<String> {
    let path = Path::new("allowedTopologies");
    let mut warnings = Warnings::new();
    for (i, topology) in class.items_at(&["allowedTopologies"]).iter().enumerate() {
        let topology_path = path.index(i);
        let expressions = topology_path.child("matchLabelExpressions");
        for (j, expression) in topology.items_at(&["matchLabelExpressions"]).iter().enumerate() {
            if let Some(why) = labels::deprecated(expression.text_at(&["key"])) {
                warnings.push(format!("{}: {why}", expressions.index(j).child("key")));
            }
        }
        if warnings.is_full() {
            break;
        }
    }
    warnings.into_texts()
}

#[cfg(test)]
mod tests;
