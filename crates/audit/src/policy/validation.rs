//! Validation of policies, in the reference's words.

use pintle_meta::field_path::{Error, Path, Value};
use pintle_meta::validation::dns1123_subdomain;

use super::file::{Document, ResourcesDocument, RuleDocument};
use crate::event::{Level, Stage};

impl Document {
    /// Returns everything that is wrong with the policy.
    pub(super) fn validate(&self) -> Vec<Error> {
        let mut errors = omitted_stages(&self.omit_stages, &Path::new("omitStages"));
        let rules = Path::new("rules");
        for (index, rule) in self.rules.iter().enumerate() {
            rule.validate(&rules.index(index), &mut errors);
        }
        errors
    }
}

impl RuleDocument {
    fn validate(&self, path: &Path<'_>, errors: &mut Vec<Error>) {
        let level = path.child("level");
        match self.level.as_str() {
            "" => errors.push(Error::required(&level, "")),
            name if Level::named(name).is_none() => {
                let mut known = Level::ALL.map(Level::as_str);
                known.sort_unstable();
                errors.push(Error::not_supported(&level, Value::json(name), &known));
            }
            _ => {}
        }
        let urls = path.child("nonResourceURLs");
        for (index, url) in self.non_resource_urls.iter().enumerate() {
            errors.extend(non_resource_url(url, &urls.index(index)));
        }
        let resources = path.child("resources");
        for those in &self.resources {
            those.validate(&resources, errors);
        }
        errors.extend(omitted_stages(&self.omit_stages, &path.child("omitStages")));
        if !self.non_resource_urls.is_empty() && (!self.resources.is_empty() || !self.namespaces.is_empty()) {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(Error::invalid(&urls, Value::json(&self.non_resource_urls), why));
        }
    }
}

impl ResourcesDocument {
    fn validate(&self, path: &Path<'_>, errors: &mut Vec<Error>) {
        if !matches!(self.group.as_str(), "" | "*") {
            let problems = dns1123_subdomain(&self.group);
            if !problems.is_empty() {
                errors.push(Error::invalid(&path.child("group"), &self.group, problems.join(",")));
            }
        }
        if !self.resource_names.is_empty() && self.resources.is_empty() {
            let why = "using resourceNames requires at least one resource";
            errors.push(Error::invalid(&path.child("resourceNames"), Value::json(&self.resource_names), why));
        }
    }
}

fn non_resource_url(url: &str, path: &Path<'_>) -> Vec<Error> {
    let mut errors = Vec::new();
    if url == "*" {
        return errors;
    }
    if !url.starts_with('/') {
        errors.push(Error::invalid(path, url, "non-resource URL rules must begin with a '/' character"));
    }
    let mut chars = url.chars();
    chars.next_back();
    if chars.as_str().contains('*') {
        let why = "non-resource URL wildcards '*' must be the final character of the rule";
        errors.push(Error::invalid(path, url, why));
    }
    errors
}

fn omitted_stages(names: &[String], path: &Path<'_>) -> Vec<Error> {
    let unknown = names.iter().enumerate().filter(|(_, name)| Stage::named(name).is_none());
    let refuse = |(index, name): (usize, &String)| {
        let allowed = Stage::ALL.map(Stage::as_str).join(",");
        Error::invalid(&path.index(index), name, format!("allowed stages are {allowed}"))
    };
    unknown.map(refuse).collect()
}
