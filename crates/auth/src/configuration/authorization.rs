//! `AuthorizationConfiguration`: the authorizers, in order.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use pintle_meta::field_path::{Error as FieldError, Path};
use pintle_meta::{format_duration, parse_duration, validation};
use serde::Deserialize;

use super::{Error, null_is_default, read};
use crate::Decision;
use crate::authorizer::webhook::Conditions;
use crate::review::Version;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthorizationConfiguration {
    #[serde(deserialize_with = "null_is_default")]
    pub authorizers: Vec<AuthorizerConfiguration>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthorizerConfiguration {
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    pub webhook: Option<WebhookConfiguration>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct WebhookConfiguration {
    #[serde(rename = "authorizedTTL", deserialize_with = "duration")]
    authorized_ttl: i64,
    cache_authorized_requests: Option<bool>,
    #[serde(rename = "unauthorizedTTL", deserialize_with = "duration")]
    unauthorized_ttl: i64,
    cache_unauthorized_requests: Option<bool>,
    #[serde(deserialize_with = "duration")]
    timeout: i64,
    subject_access_review_version: String,
    match_condition_subject_access_review_version: String,
    failure_policy: String,
    connection_info: ConnectionInfo,
    #[serde(deserialize_with = "null_is_default")]
    match_conditions: Vec<MatchCondition>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct ConnectionInfo {
    #[serde(rename = "type")]
    kind: String,
    kube_config_file: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MatchCondition {
    expression: String,
}

fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map_or(Ok(0), |text| parse_duration(&text).map_err(serde::de::Error::custom))
}

/// The types, in the order in which messages list them.
const TYPES: [&str; 6] = ["ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];
const SECOND: i64 = 1_000_000_000;
const LONGEST: i64 = 30 * SECOND;
const MOST_CONDITIONS: usize = 64;

impl AuthorizationConfiguration {
    /// Reads and validates. `required`: types that must be among them, since they were when the server began.
    pub fn read(text: &[u8], required: &[String]) -> Result<AuthorizationConfiguration, Error> {
        let failed = |why| Error::Read(format!("failed to load AuthorizationConfiguration from file: {why}"));
        let mut configuration = if text.is_empty() {
            AuthorizationConfiguration::default()
        } else {
            match read::<AuthorizationConfiguration>(text, "AuthorizationConfiguration") {
                Ok(configuration) => configuration,
                Err(error) => return Err(failed(error.to_string())),
            }
        };
        for authorizer in &mut configuration.authorizers {
            if let Some(webhook) = &mut authorizer.webhook {
                webhook.default();
            }
        }
        let errors = configuration.validate();
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        let mut problems = Vec::new();
        let built_in = configuration.authorizers.iter().filter(|authorizer| authorizer.kind != "Webhook");
        for AuthorizerConfiguration { kind, name, .. } in built_in.clone() {
            let expected = kind.to_lowercase();
            if *name != expected {
                problems.push(format!("expected name {expected} for authorizer {kind} instead of {name}"));
            }
        }
        let present: BTreeSet<&String> = built_in.map(|authorizer| &authorizer.kind).collect();
        let missing: BTreeSet<&str> =
            required.iter().filter(|kind| !present.contains(kind)).map(String::as_str).collect();
        if !missing.is_empty() {
            let missing: Vec<&str> = missing.into_iter().collect();
            problems.push(format!("missing required types: [{}]", missing.join(" ")));
        }
        match problems.as_slice() {
            [] => Ok(configuration),
            problems => Err(Error::Read(pintle_meta::field_path::aggregate(problems))),
        }
    }

    fn validate(&self) -> Vec<FieldError> {
        let root = Path::new("authorizers");
        let mut errors = Vec::new();
        if self.authorizers.is_empty() {
            errors.push(FieldError::required(&root, "at least one authorization mode must be defined"));
        }
        let (mut types, mut names) = (BTreeSet::new(), BTreeSet::new());
        for (at, authorizer) in self.authorizers.iter().enumerate() {
            let path = root.index(at);
            let (kind, name) = (authorizer.kind.as_str(), authorizer.name.as_str());
            let at_type = path.child("type");
            if kind.is_empty() {
                errors.push(FieldError::required(&at_type, ""));
                continue;
            }
            if !TYPES.contains(&kind) {
                errors.push(FieldError::not_supported(&at_type, kind, &TYPES));
                continue;
            }
            if !types.insert(kind) && kind != "Webhook" {
                errors.push(FieldError::duplicate(&at_type, kind));
                continue;
            }
            let at_name = path.child("name");
            let invalid = validation::dns1123_subdomain(name);
            if name.is_empty() {
                errors.push(FieldError::required(&at_name, ""));
            } else if names.contains(name) {
                errors.push(FieldError::duplicate(&at_name, name));
            } else if !invalid.is_empty() {
                let why = format!("authorizer name is invalid: {}", invalid.join(", "));
                errors.push(FieldError::invalid(&at_name, name, why));
            }
            names.insert(name);
            match (&authorizer.webhook, kind) {
                (Some(webhook), "Webhook") => webhook.validate(&path, &mut errors),
                (None, "Webhook") => {
                    errors.push(FieldError::required(&path.child("webhook"), "required when type=Webhook"));
                }
                (Some(_), _) => errors.push(FieldError::invalid(
                    &path.child("webhook"),
                    "non-null",
                    "may only be specified when type=Webhook",
                )),
                (None, _) => {}
            }
        }
        errors
    }
}

impl WebhookConfiguration {
    fn default(&mut self) {
        if self.authorized_ttl == 0 {
            self.authorized_ttl = 5 * 60 * SECOND;
        }
        if self.unauthorized_ttl == 0 {
            self.unauthorized_ttl = 30 * SECOND;
        }
    }

    pub fn allowed_ttl(&self) -> Duration {
        cached(self.authorized_ttl, self.cache_authorized_requests)
    }

    pub fn denied_ttl(&self) -> Duration {
        cached(self.unauthorized_ttl, self.cache_unauthorized_requests)
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.timeout).unwrap_or(0))
    }

    pub fn version(&self) -> Option<Version> {
        Version::named(&self.subject_access_review_version)
    }

    pub fn on_error(&self) -> Decision {
        match self.failure_policy.as_str() {
            "NoOpinion" => Decision::NoOpinion,
            _ => Decision::Deny,
        }
    }

    /// Where the webhook is; `None` if it is to be found by what only a pod has.
    pub fn kubeconfig(&self) -> Option<PathBuf> {
        self.connection_info.kube_config_file.as_ref().map(PathBuf::from)
    }

    pub fn conditions(&self) -> Vec<&str> {
        self.match_conditions.iter().map(|condition| condition.expression.as_str()).collect()
    }

    fn validate(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let at = path.child("timeout");
        match self.timeout {
            0 => errors.push(FieldError::required(&at, "")),
            timeout if !(0..=LONGEST).contains(&timeout) => {
                errors.push(FieldError::invalid(&at, format_duration(timeout), "must be > 0s and <= 30s"));
            }
            _ => {}
        }
        for (name, ttl) in
            [("authorizedTTL", self.authorized_ttl), ("unauthorizedTTL", self.unauthorized_ttl)]
        {
            if ttl < 0 {
                errors.push(FieldError::invalid(&path.child(name), format_duration(ttl), "must be > 0s"));
            }
        }
        let mut one_of = |name: &str, given: &str, known: &[&str], required: Option<&str>| {
            let at = path.child(name);
            match (given, required) {
                ("", Some(why)) => errors.push(FieldError::required(&at, why)),
                ("", None) => {}
                (given, _) if !known.contains(&given) => {
                    errors.push(FieldError::not_supported(&at, given, known));
                }
                _ => {}
            }
        };
        one_of(
            "subjectAccessReviewVersion",
            &self.subject_access_review_version,
            &["v1", "v1beta1"],
            Some(""),
        );
        one_of(
            "matchConditionSubjectAccessReviewVersion",
            &self.match_condition_subject_access_review_version,
            &["v1"],
            (!self.match_conditions.is_empty()).then_some("required if match conditions are specified"),
        );
        one_of("failurePolicy", &self.failure_policy, &["NoOpinion", "Deny"], Some(""));
        self.validate_connection(&path.child("connectionInfo"), errors);
        self.validate_conditions(path, errors);
    }

    fn validate_connection(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let ConnectionInfo { kind, kube_config_file } = &self.connection_info;
        let at = path.child("kubeConfigFile");
        match (kind.as_str(), kube_config_file.as_deref()) {
            ("", _) => errors.push(FieldError::required(&path.child("type"), "")),
            ("InClusterConfig", Some(file)) => {
                errors.push(FieldError::invalid(&at, file, "can only be set when type=KubeConfigFile"));
            }
            ("InClusterConfig", None) => errors.push(FieldError::invalid(
                &path.child("type"),
                kind.as_str(),
                "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be \
                 defined",
            )),
            ("KubeConfigFile", None | Some("")) => errors.push(FieldError::required(&at, "")),
            ("KubeConfigFile", Some(file)) => {
                let metadata = std::fs::metadata(file);
                let why = match metadata {
                    _ if !file.starts_with('/') => "must be an absolute path".to_owned(),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        format!("error loading file: stat {file}: no such file or directory")
                    }
                    Err(error) => format!("error loading file: {error}"),
                    Ok(metadata) if !metadata.is_file() => "must be a regular file".to_owned(),
                    Ok(_) => return,
                };
                errors.push(FieldError::invalid(&at, file, why));
            }
            (kind, _) => {
                let known = ["InClusterConfig", "KubeConfigFile"];
                errors.push(FieldError::not_supported(&path.child("type"), kind, &known));
            }
        }
    }

    fn validate_conditions(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let all = path.child("matchConditions");
        if self.match_conditions.len() > MOST_CONDITIONS {
            let count = Some(self.match_conditions.len());
            errors.push(FieldError::too_many(&all, count, Some(MOST_CONDITIONS)));
            return;
        }
        let mut seen = BTreeSet::new();
        for (at, MatchCondition { expression }) in self.match_conditions.iter().enumerate() {
            let at = all.index(at);
            let at = at.child("expression");
            if expression.trim().is_empty() {
                errors.push(FieldError::required(&at, ""));
            } else if !seen.insert(expression) {
                errors.push(FieldError::duplicate(&at, expression.as_str()));
            } else if let Err(why) = Conditions::new(&[expression]) {
                errors.push(FieldError::invalid(&at, expression.as_str(), why));
            }
        }
    }
}

fn cached(nanos: i64, cache: Option<bool>) -> Duration {
    match cache {
        Some(false) => Duration::ZERO,
        _ => Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)),
    }
}

#[cfg(test)]
#[path = "authorization_tests.rs"]
mod tests;
