//! The parts of a definition that its endpoints need.

use pintle_definitions::object::Scale;
use pintle_meta::Value;
use pintle_meta::gvk::GroupVersionKind;

/// The names by which a resource is known, as they were accepted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Names {
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
}

impl Names {
    pub(crate) fn read(names: Option<&Value>) -> Names {
        let Some(names) = names else { return Names::default() };
        let text = |name: &str| names.text_at(&[name]).to_owned();
        let texts = |name: &str| {
            names.items_at(&[name]).iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        Names {
            plural: text("plural"),
            singular: text("singular"),
            kind: text("kind"),
            list_kind: text("listKind"),
            short_names: texts("shortNames"),
            categories: texts("categories"),
        }
    }
}

/// A definition as request routing needs it: small, since there may be thousands.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// `plural.group`
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) group: String,
    pub(crate) namespaced: bool,
    pub(crate) versions: Vec<VersionSummary>,
    pub(crate) accepted: Names,
    pub(crate) names_accepted: bool,
    pub(crate) established: bool,
    pub(crate) terminating: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VersionSummary {
    pub(crate) name: String,
    pub(crate) served: bool,
}

impl Summary {
    /// Reads a definition in its stored form.
    pub(crate) fn read(definition: &Value) -> Summary {
        let versions = definition.items_at(&["spec", "versions"]).iter().map(|version| VersionSummary {
            name: version.text_at(&["name"]).to_owned(),
            served: flag(version, "served"),
        });
        let mut versions: Vec<VersionSummary> = versions.collect();
        if versions.is_empty() {
            let name = definition.text_at(&["spec", "version"]).to_owned();
            versions.push(VersionSummary { name, served: true });
        }
        Summary {
            name: definition.name().to_owned(),
            uid: definition.uid().to_owned(),
            group: definition.text_at(&["spec", "group"]).to_owned(),
            namespaced: definition.text_at(&["spec", "scope"]) == "Namespaced",
            versions,
            accepted: Names::read(definition.at(&["status", "acceptedNames"])),
            names_accepted: is_true(definition, "NamesAccepted"),
            established: is_true(definition, "Established"),
            terminating: is_true(definition, "Terminating"),
        }
    }

    /// Whether requests for its objects are answered at all.
    pub(crate) fn is_served(&self) -> bool {
        self.names_accepted || self.established
    }

    pub(crate) fn serves(&self, version: &str) -> bool {
        self.versions.iter().any(|known| known.served && known.name == version)
    }
}

/// A condition of a definition.
pub(crate) fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = definition.items_at(&["status", "conditions"]);
    conditions.iter().find(|condition| condition.text_at(&["type"]) == kind)
}

pub(crate) fn is_true(definition: &Value, kind: &str) -> bool {
    condition(definition, kind).is_some_and(|found| found.text_at(&["status"]) == "True")
}

fn flag(of: &Value, name: &str) -> bool {
    of.get(name).and_then(Value::as_bool) == Some(true)
}

/// A version with everything that is said about it, wherever the definition says it.
pub(crate) struct VersionSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) served: bool,
    pub(crate) storage: bool,
    /// The warning that clients of it get.
    pub(crate) deprecation: Option<String>,
    pub(crate) schema: Option<&'a Value>,
    pub(crate) status: bool,
    pub(crate) scale: Option<Scale>,
    pub(crate) columns: &'a [Value],
    pub(crate) selectable: &'a [Value],
}

/// All versions of a definition in its stored form, in which what versions share may be said once.
pub(crate) fn versions(definition: &Value) -> Vec<VersionSpec<'_>> {
    let spec = definition.get("spec");
    let common = |name: &str| spec.and_then(|spec| spec.get(name)).filter(|found| !found.is_null());
    let each = definition.items_at(&["spec", "versions"]);
    if each.is_empty() {
        // The oldest definitions name their version and say nothing more of it.
        let name = definition.text_at(&["spec", "version"]);
        return vec![version(definition, None, name, &common)];
    }
    each.iter().map(|one| version(definition, Some(one), one.text_at(&["name"]), &common)).collect()
}

fn version<'a>(
    definition: &'a Value,
    own: Option<&'a Value>,
    name: &'a str,
    common: &dyn Fn(&str) -> Option<&'a Value>,
) -> VersionSpec<'a> {
    let said = |own_name: &str, name: &str| {
        own.and_then(|own| own.get(own_name)).filter(|found| !found.is_null()).or_else(|| common(name))
    };
    let subresources = said("subresources", "subresources");
    let scale = subresources.and_then(|found| found.get("scale")).filter(|scale| !scale.is_null());
    let list = |own: &str, name: &str| said(own, name).and_then(Value::as_list).unwrap_or_default();
    let is = |flag_name: &str| own.is_none_or(|own| flag(own, flag_name));
    let is_deprecated = own.is_some_and(|own| flag(own, "deprecated"));
    VersionSpec {
        name,
        served: is("served"),
        storage: is("storage"),
        deprecation: is_deprecated.then(|| deprecation(definition, own, name)),
        schema: said("schema", "validation").and_then(|schema| schema.get("openAPIV3Schema")),
        status: subresources.and_then(|found| found.get("status")).is_some_and(|status| !status.is_null()),
        scale: scale.map(Scale::new),
        columns: list("additionalPrinterColumns", "additionalPrinterColumns"),
        selectable: list("selectableFields", "selectableFields"),
    }
}

/// Returns the warning of a deprecated version: the definition's own text, or the version to use instead.
fn deprecation(definition: &Value, own: Option<&Value>, name: &str) -> String {
    if let Some(said) = own.and_then(|own| own.get("deprecationWarning")).and_then(Value::as_str) {
        return said.to_owned();
    }
    let group = definition.text_at(&["spec", "group"]);
    let kind = definition.text_at(&["spec", "names", "kind"]);
    let versions = definition.items_at(&["spec", "versions"]).iter();
    let better = versions
        .filter(|other| flag(other, "served") && !flag(other, "deprecated"))
        .map(|other| other.text_at(&["name"]))
        .filter(|other| pintle_meta::gvk::compare_versions(name, other).is_lt())
        .max_by(|a, b| pintle_meta::gvk::compare_versions(a, b));
    let warning = format!("{group}/{name} {kind} is deprecated");
    match better {
        Some(better) => format!("{warning}; use {group}/{better} {kind}"),
        None => warning,
    }
}

/// The kind of a version's objects.
pub(crate) fn kind(summary: &Summary, version: &str) -> GroupVersionKind {
    GroupVersionKind {
        group: summary.group.clone(),
        version: version.to_owned(),
        kind: summary.accepted.kind.clone(),
    }
}
