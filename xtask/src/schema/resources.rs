//! Facts about every resource: from the discovery documents that a Kubernetes tree carries, and from the table with which
//! it tests where objects are stored.
//!
//! ```text
//! groupversion apps/v1
//!   deployments apps/v1.Deployment namespaced singular=deployment short=deploy categories=all verbs=create,get,...
//!       stored=apps/v1.Deployment path=deployments
//!   deployments/scale autoscaling/v1.Scale namespaced verbs=get,patch,update
//! ```
//!
//! (One line each in the file.) Groups and their versions stand in the order of their priority.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// Where an object is stored, and as what.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stored {
    /// Below the prefix, without namespace and name.
    path: String,
    /// Group, version and kind, where they are not the resource's own.
    kind: Option<(String, String, String)>,
}

pub(super) fn render(checkout: &Path) -> Result<String> {
    let discovery = checkout.join("api/discovery");
    let stored = stored(&read(&checkout.join("test/integration/etcd/data.go"))?);
    let mut text =
        String::from("# Written by `cargo xtask schema`. Facts of the resources, one to a line.\n");
    let core = document(&discovery.join("api__v1.json"))?;
    describe(&mut text, "", "v1", &core, &stored)?;
    let groups = document(&discovery.join("apis.json"))?;
    for group in groups["groups"].as_array().into_iter().flatten() {
        let name = text_of(&group["name"]);
        for version in group["versions"].as_array().into_iter().flatten() {
            let version = text_of(&version["version"]);
            let resources = document(&discovery.join(format!("apis__{name}__{version}.json")))?;
            describe(&mut text, name, version, &resources, &stored)?;
        }
    }
    Ok(text)
}

/// The types of all kinds in a text of facts: first those that are stored, as what they are stored, then the others.
pub(super) fn kinds(facts: &str) -> Vec<String> {
    let words =
        |line: &str, fact: &str| line.split(' ').find_map(|word| Some(word.strip_prefix(fact)?.to_owned()));
    let resources = || facts.lines().filter_map(|line| line.strip_prefix("  "));
    let stored = resources().filter_map(|line| words(line, "stored="));
    stored.chain(resources().filter_map(|line| line.split(' ').nth(1).map(str::to_owned))).collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn document(path: &Path) -> Result<Value> {
    serde_json::from_str(&read(path)?).with_context(|| path.display().to_string())
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list_of(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().map(text_of).collect()
}

fn describe(
    text: &mut String,
    group: &str,
    version: &str,
    document: &Value,
    stored: &BTreeMap<String, Stored>,
) -> Result<()> {
    writeln!(text, "\ngroupversion {}", group_version(group, version))?;
    for resource in document["resources"].as_array().into_iter().flatten() {
        let name = text_of(&resource["name"]);
        let of = |key: &str, own: &str| match text_of(&resource[key]) {
            "" => own.to_owned(),
            other => other.to_owned(),
        };
        let kind = text_of(&resource["kind"]);
        let scope = if resource["namespaced"] == true { "namespaced" } else { "cluster" };
        // A resource of another group names both; one of its own group names neither.
        let kind_group = if resource.get("version").is_some() { of("group", "") } else { group.to_owned() };
        write!(text, "  {name} {} {scope}", type_of(&kind_group, &of("version", version), kind))?;
        if let Some(singular) =
            Some(text_of(&resource["singularName"])).filter(|singular| !singular.is_empty())
        {
            write!(text, " singular={singular}")?;
        }
        for (key, fact) in [("shortNames", "short"), ("categories", "categories"), ("verbs", "verbs")] {
            let values = list_of(&resource[key]);
            if !values.is_empty() {
                write!(text, " {fact}={}", values.join(","))?;
            }
        }
        if let Some(stored) = stored.get(&format!("{group}/{version}/{name}")) {
            let own = (group.to_owned(), version.to_owned(), kind.to_owned());
            let (group, version, kind) = stored.kind.as_ref().unwrap_or(&own);
            write!(text, " stored={} path={}", type_of(group, version, kind), stored.path)?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// The name of a kind's type among the facts of types: the group's first label is the folder it is declared in.
fn type_of(group: &str, version: &str, kind: &str) -> String {
    let folder = match group {
        "" => "core",
        "internal.apiserver.k8s.io" => "apiserverinternal",
        other => other.split('.').next().unwrap_or_default(),
    };
    format!("{folder}/{version}.{kind}")
}

/// Reads the table of where objects are stored: `group/version/resource` to path and kind.
fn stored(source: &str) -> BTreeMap<String, Stored> {
    let mut table: BTreeMap<String, Stored> = BTreeMap::new();
    let mut current = None;
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("gvr(")
            && let [group, version, resource, ..] = literals(rest)[..]
        {
            let key = format!("{group}/{version}/{resource}");
            table.entry(key.clone()).or_default();
            current = Some(key);
        }
        let Some(entry) = current.as_ref().and_then(|key| table.get_mut(key)) else { continue };
        if let Some(rest) = line.strip_prefix("ExpectedEtcdPath:") {
            let literals = literals(rest);
            let path = literals.first().copied().unwrap_or_default().trim_start_matches("/registry/");
            // The namespace follows as an expression of its own; without one the object's name is in the text.
            entry.path = match literals.len() {
                1 => path.rsplit_once('/').map_or(path, |(path, _)| path).to_owned(),
                _ => path.trim_end_matches('/').to_owned(),
            };
        } else if let Some(rest) = line.strip_prefix("ExpectedGVK:")
            && let [group, version, kind, ..] = literals(rest)[..]
        {
            entry.kind = Some((group.into(), version.into(), kind.into()));
        }
    }
    table
}

/// The texts in double quotes on a line.
fn literals(line: &str) -> Vec<&str> {
    line.split('"').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        gvr("", "v1", "services"): {
            Stub:              `{"metadata": {"name": "service1"}}`,
            ExpectedEtcdPath:  "/registry/services/specs/" + namespace + "/service1",
        },
        gvr("events.k8s.io", "v1", "events"): {
            ExpectedEtcdPath: "/registry/events/" + namespace + "/event3",
            ExpectedGVK:      gvkP("", "v1", "Event"),
        },
        gvr("", "v1", "nodes"): {
            ExpectedEtcdPath: "/registry/minions/node1",
        },
    "#;

    #[test]
    fn paths_lose_namespace_and_name() {
        let table = stored(TABLE);
        assert_eq!(table["/v1/services"].path, "services/specs");
        assert_eq!(table["/v1/nodes"].path, "minions");
        assert_eq!(table["events.k8s.io/v1/events"].kind, Some(("".into(), "v1".into(), "Event".into())));
    }

    #[test]
    fn a_resource_is_described_on_one_line() {
        let document = serde_json::json!({"resources": [
            {"name": "services", "kind": "Service", "namespaced": true, "singularName": "service",
             "shortNames": ["svc"], "categories": ["all"], "verbs": ["get", "list"]},
            {"name": "pods/eviction", "kind": "Eviction", "group": "policy", "version": "v1", "namespaced": true,
             "singularName": "", "verbs": ["create"]},
        ]});
        let mut text = String::new();
        describe(&mut text, "", "v1", &document, &stored(TABLE)).unwrap();
        let expect = "\ngroupversion v1\n  services core/v1.Service namespaced singular=service short=svc categories=all \
                      verbs=get,list stored=core/v1.Service path=services/specs\n  pods/eviction policy/v1.Eviction \
                      namespaced verbs=create\n";
        assert_eq!(text, expect);
    }

    #[test]
    fn what_kinds_are_stored_as_comes_before_the_kinds() {
        let facts = "groupversion v1\n  a core/v1.A cluster verbs=get\n  b core/v1.B cluster stored=core/v2.B path=b\n";
        assert_eq!(kinds(facts), ["core/v2.B", "core/v1.A", "core/v1.B"]);
    }

    #[test]
    fn groups_lead_to_the_folder_of_their_types() {
        assert_eq!(type_of("", "v1", "Pod"), "core/v1.Pod");
        assert_eq!(type_of("rbac.authorization.k8s.io", "v1", "Role"), "rbac/v1.Role");
        assert_eq!(type_of("internal.apiserver.k8s.io", "v1alpha1", "X"), "apiserverinternal/v1alpha1.X");
    }
}
