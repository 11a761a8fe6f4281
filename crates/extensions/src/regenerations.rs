//! Metrics about OpenAPI documents made anew because of definitions.

use std::collections::HashMap;

use crate::definition::Summary;
use crate::metrics::{DocumentChange as What, Metrics};

/// The versions that documents show, by definition, and the number of definitions of each.
pub(crate) struct Regenerations {
    metrics: Metrics,
    versions: HashMap<String, Vec<(String, String)>>,
    counts: HashMap<(String, String), usize>,
}

impl Regenerations {
    pub(crate) fn new(metrics: Metrics) -> Regenerations {
        Regenerations { metrics, versions: HashMap::new(), counts: HashMap::new() }
    }

    /// A definition is shown from now on, or differently.
    pub(crate) fn show(&mut self, summary: &Summary) {
        let name = &summary.name;
        let is_known = self.versions.contains_key(name);
        self.metrics.definition_documented(name, if is_known { What::Changed } else { What::Added });
        let shown = self.versions.entry(name.clone()).or_default();
        for version in summary.versions.iter().filter(|version| version.served) {
            let place = (summary.group.clone(), version.name.clone());
            let count = self.counts.entry(place.clone()).or_default();
            // A version is new only with the first definition that has it.
            let what = if *count == 0 { What::Added } else { What::Changed };
            self.metrics.version_documented(name, &place.0, &place.1, what);
            if !shown.contains(&place) {
                *count += 1;
                shown.push(place);
            }
        }
    }

    /// A definition is not shown any more, if it was.
    pub(crate) fn hide(&mut self, name: &str) {
        let Some(shown) = self.versions.remove(name) else { return };
        self.metrics.definition_documented(name, What::Removed);
        for place in shown {
            self.metrics.version_documented(name, &place.0, &place.1, What::Removed);
            if let Some(count) = self.counts.get_mut(&place) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;
    use pintle_metrics::Registry;

    use super::*;

    fn summary(plural: &str) -> Summary {
        let text = format!(
            r#"{{"metadata":{{"name":"{plural}.example.com"}},"spec":{{"group":"example.com","versions":[
                {{"name":"v1","served":true}},{{"name":"v0","served":false}}]}}}}"#
        );
        Summary::read(&json::decode_untyped(text.as_bytes()).unwrap().value)
    }

    #[test]
    fn a_version_is_new_with_its_first_definition_and_goes_with_each() {
        let registry = Registry::default();
        let mut regenerations = Regenerations::new(Metrics::new(&registry).unwrap());
        let reasons = |of: &str| {
            let text = String::from_utf8(registry.render().unwrap()).unwrap();
            let lines = text.lines().filter(|line| line.starts_with(of)).map(|line| {
                let value = |label: &str| {
                    let start = line.split_once(&format!("{label}=\"")).unwrap().1;
                    start.split('"').next().unwrap().to_owned()
                };
                format!("{} {}", value("crd").split('.').next().unwrap(), value("reason"))
            });
            lines.collect::<Vec<String>>()
        };
        regenerations.hide("oars.example.com");
        regenerations.show(&summary("boats"));
        regenerations.show(&summary("oars"));
        let v3 = "apiextensions_openapi_v3_regeneration_count{";
        assert_eq!(reasons(v3), ["boats add", "oars update"]);
        regenerations.show(&summary("boats"));
        regenerations.hide("boats.example.com");
        assert_eq!(reasons(v3), ["boats add", "boats remove", "boats update", "oars update"]);
        let v2 = "apiextensions_openapi_v2_regeneration_count{";
        assert_eq!(reasons(v2), ["boats add", "boats remove", "boats update", "oars add"]);
        regenerations.hide("oars.example.com");
        assert!(regenerations.counts.is_empty() && regenerations.versions.is_empty());
    }
}
