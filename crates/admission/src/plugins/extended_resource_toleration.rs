//! `ExtendedResourceToleration`: pods tolerate the taints of nodes that are kept for the extended resources that they ask for.

use std::collections::BTreeSet;

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_meta::validation::qualified_name;

use super::pods::{is_pod, is_write, spec_of, toleration};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

pub(crate) struct ExtendedResourceToleration;

#[async_trait]
impl Plugin for ExtendedResourceToleration {
    fn name(&self) -> &'static str {
        "ExtendedResourceToleration"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        is_write(operation) && is_pod(target)
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(pod) = attributes.object() else { return Ok(()) };
        let lists = ["containers", "initContainers"];
        let containers = lists.iter().flat_map(|list| pod.items_at(&["spec", list]));
        let requests = containers
            .filter_map(|container| container.at(&["resources", "requests"])?.as_object())
            .flat_map(|requests| requests.keys());
        let extended: BTreeSet<String> =
            requests.filter(|name| is_extended_resource(name)).map(str::to_owned).collect();
        if extended.is_empty() {
            return Ok(());
        }
        let Some(spec) = spec_of(attributes) else { return Ok(()) };
        let tolerations = spec.get_or_insert_with("tolerations", || Value::list(Vec::new()));
        let Some(tolerations) = tolerations.as_list_mut() else { return Ok(()) };
        for name in extended {
            if let Some(toleration) = toleration(&name, "NoSchedule") {
                add_or_replace(tolerations, &toleration);
            }
        }
        Ok(())
    }
}

/// Reports whether a resource is one of neither Kubernetes nor quotas, which a name in a domain says.
fn is_extended_resource(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native && !name.starts_with("requests.") && qualified_name(&format!("requests.{name}")).is_empty()
}

/// Adds a toleration in place of those that differ only in their seconds.
fn add_or_replace(tolerations: &mut Vec<Value>, added: &Value) {
    let same = |one: &Value| {
        let fields = ["key", "effect", "operator", "value"];
        fields.iter().all(|field| one.text_at(&[field]) == added.text_at(&[field]))
    };
    let mut is_there = false;
    for toleration in tolerations.iter_mut().filter(|toleration| same(toleration)) {
        *toleration = added.clone();
        is_there = true;
    }
    if !is_there {
        tolerations.push(added.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, target, text};

    async fn check(containers: &str, tolerations: &str, expected: &str) {
        let pod = format!(r#"{{"spec":{{{containers},"tolerations":[{tolerations}]}}}}"#);
        for operation in [Operation::Create, Operation::Update] {
            let outcome = Case::new(operation, "pods").json(&pod).run(&ExtendedResourceToleration).await;
            let pod = outcome.normal("core/v1.Pod");
            let shown = pod.at(&["spec", "tolerations"]).map(text).unwrap_or_default();
            assert_eq!(shown, expected, "{containers} {tolerations}");
        }
    }

    fn container(list: &str, requests: &str) -> String {
        format!(r#""{list}":[{{"name":"c","resources":{{"requests":{{{requests}}}}}}}]"#)
    }

    fn tolerates(key: &str) -> String {
        format!(r#"{{"key":"{key}","operator":"Exists","effect":"NoSchedule"}}"#)
    }

    #[tokio::test]
    async fn extended_resources_are_tolerated_in_order() {
        let (a, b) = (tolerates("example.com/a"), tolerates("example.com/b"));
        check(&container("containers", r#""cpu":"1""#), "", "").await;
        check(&container("containers", r#""example.com/a":"1""#), "", &format!("[{a}]")).await;
        let both = format!(
            "{},{}",
            container("containers", r#""example.com/b":"1""#),
            container("initContainers", r#""example.com/a":"1","example.com/b":"2""#)
        );
        check(&both, "", &format!("[{a},{b}]")).await;
        let other = r#"{"key":"x"}"#;
        check(&both, other, &format!("[{other},{a},{b}]")).await;
    }

    #[tokio::test]
    async fn a_toleration_is_there_once() {
        let a = tolerates("example.com/a");
        let asks = container("containers", r#""example.com/a":"1""#);
        check(&asks, &a, &format!("[{a}]")).await;
        let brief = a.replace('}', r#","tolerationSeconds":5}"#);
        check(&asks, &format!(r#"{brief},{{"key":"x"}}"#), &format!(r#"[{a},{{"key":"x"}}]"#)).await;
        let equal = r#"{"key":"example.com/a","value":"v","effect":"NoSchedule"}"#;
        check(&asks, equal, &format!("[{equal},{a}]")).await;
        // Each one that matches is replaced.
        check(&asks, &format!("{brief},{a}"), &format!("[{a},{a}]")).await;
    }

    #[test]
    fn extended_resources_are_of_other_domains() {
        for (name, expected) in [
            ("example.com/a", true),
            ("cpu", false),
            ("kubernetes.io/a", false),
            ("x.kubernetes.io/a", false),
            ("requests.example.com/a", false),
            ("example.com/a b", false),
            ("hugepages-2Mi", false),
        ] {
            assert_eq!(is_extended_resource(name), expected, "{name}");
        }
        assert!(!ExtendedResourceToleration.admits(Operation::Update, &target("pods/resize")));
        assert!(!ExtendedResourceToleration.admits(Operation::Delete, &target("pods")));
    }
}
