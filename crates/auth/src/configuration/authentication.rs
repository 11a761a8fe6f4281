//! `AuthenticationConfiguration`: issuers of tokens, and anonymous requests.

use std::collections::BTreeSet;

use pintle_cel::selects;
use pintle_meta::field_path::{Error as FieldError, Path, Value};
use pintle_meta::validation;
use pintle_outbound::Url;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};

use super::{Error, null_is_default, read};
use crate::authenticator::oidc::expressions;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthenticationConfiguration {
    #[serde(deserialize_with = "null_is_default")]
    pub jwt: Vec<JwtAuthenticator>,
    pub anonymous: Option<Anonymous>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Anonymous {
    pub enabled: bool,
    #[serde(deserialize_with = "null_is_default")]
    pub conditions: Vec<AnonymousCondition>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnonymousCondition {
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct JwtAuthenticator {
    pub issuer: Issuer,
    #[serde(deserialize_with = "null_is_default")]
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    pub claim_mappings: ClaimMappings,
    #[serde(deserialize_with = "null_is_default")]
    pub user_validation_rules: Vec<UserValidationRule>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Issuer {
    pub url: String,
    #[serde(rename = "discoveryURL", deserialize_with = "null_is_default")]
    pub discovery_url: String,
    pub certificate_authority: String,
    #[serde(deserialize_with = "null_is_default")]
    pub audiences: Vec<String>,
    pub audience_match_policy: String,
    pub egress_selector_type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ClaimValidationRule {
    pub claim: String,
    pub required_value: String,
    pub expression: String,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ClaimMappings {
    pub username: Mapping,
    pub groups: Mapping,
    pub uid: Mapping,
    #[serde(deserialize_with = "null_is_default")]
    pub extra: Vec<ExtraMapping>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Mapping {
    pub claim: String,
    pub prefix: Option<String>,
    pub expression: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ExtraMapping {
    pub key: String,
    pub value_expression: String,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct UserValidationRule {
    pub expression: String,
    pub message: String,
}

const MOST_ISSUERS: usize = 64;

/// Rules of a valid configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules<'a> {
    /// Issuers of this server itself, which must not be configured as others.
    pub disallowed: &'a [String],
    /// Whether issuers may be in another network.
    pub egress_selectors: bool,
}

impl AuthenticationConfiguration {
    /// Reads and validates.
    pub fn read(text: &[u8], rules: Rules<'_>) -> Result<AuthenticationConfiguration, Error> {
        let configuration: AuthenticationConfiguration = read(text, "AuthenticationConfiguration")?;
        let errors = configuration.validate(rules);
        if errors.is_empty() { Ok(configuration) } else { Err(Error::Invalid(errors)) }
    }

    pub fn validate(&self, rules: Rules<'_>) -> Vec<FieldError> {
        let root = Path::new("jwt");
        let mut errors = Vec::new();
        if self.jwt.len() > MOST_ISSUERS {
            return vec![FieldError::too_many(&root, Some(self.jwt.len()), Some(MOST_ISSUERS))];
        }
        let (mut issuers, mut discoveries) = (BTreeSet::new(), BTreeSet::new());
        for (at, authenticator) in self.jwt.iter().enumerate() {
            let path = root.index(at);
            authenticator.validate(&path, rules, &mut errors);
            let (issuer, at_issuer) = (&authenticator.issuer, path.child("issuer"));
            if !issuers.insert(&issuer.url) {
                errors.push(FieldError::duplicate(&at_issuer.child("url"), issuer.url.as_str()));
            }
            if !issuer.discovery_url.is_empty() && !discoveries.insert(&issuer.discovery_url) {
                errors.push(FieldError::duplicate(
                    &at_issuer.child("discoveryURL"),
                    issuer.discovery_url.as_str(),
                ));
            }
        }
        if let Some(anonymous) = &self.anonymous
            && !anonymous.enabled
            && !anonymous.conditions.is_empty()
        {
            errors.push(FieldError::invalid(
                &Path::new("anonymous").child("conditions"),
                Value::json(&anonymous.conditions),
                "enabled should be set to true when conditions are defined",
            ));
        }
        errors
    }
}

impl JwtAuthenticator {
    fn validate(&self, path: &Path<'_>, rules: Rules<'_>, errors: &mut Vec<FieldError>) {
        self.issuer.validate(&path.child("issuer"), rules, errors);
        self.validate_rules(&path.child("claimValidationRules"), errors);
        self.validate_mappings(&path.child("claimMappings"), errors);
        let rules = path.child("userValidationRules");
        let mut seen = BTreeSet::new();
        for (at, rule) in self.user_validation_rules.iter().enumerate() {
            let path = rules.index(at);
            let path = path.child("expression");
            match rule.expression.as_str() {
                "" => errors.push(FieldError::required(&path, "")),
                expression if !seen.insert(expression) => {
                    errors.push(FieldError::duplicate(&path, expression));
                }
                expression => {
                    if let Err(why) = expressions::user_condition(expression) {
                        errors.push(FieldError::invalid(&path, expression, why));
                    }
                }
            }
        }
    }

    fn validate_rules(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let (mut claims, mut seen) = (BTreeSet::new(), BTreeSet::new());
        for (at, rule) in self.claim_validation_rules.iter().enumerate() {
            let path = path.index(at);
            match (rule.claim.as_str(), rule.expression.as_str()) {
                ("", "") => errors.push(FieldError::required(&path, "claim or expression is required")),
                (claim, "") => {
                    if !rule.message.is_empty() {
                        let why = "may not be specified when claim is set";
                        errors.push(FieldError::invalid(&path.child("message"), rule.message.as_str(), why));
                    }
                    if !claims.insert(claim) {
                        errors.push(FieldError::duplicate(&path.child("claim"), claim));
                    }
                }
                ("", expression) => {
                    if !rule.required_value.is_empty() {
                        let why = "may not be specified when expression is set";
                        let value = rule.required_value.as_str();
                        errors.push(FieldError::invalid(&path.child("requiredValue"), value, why));
                    }
                    let path = path.child("expression");
                    if !seen.insert(expression) {
                        errors.push(FieldError::duplicate(&path, expression));
                    } else if let Err(why) = expressions::claims_condition(expression) {
                        errors.push(FieldError::invalid(&path, expression, why));
                    }
                }
                (claim, _) => {
                    errors.push(FieldError::invalid(&path, claim, "claim and expression can't both be set"));
                }
            }
        }
    }

    fn validate_mappings(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let mappings = &self.claim_mappings;
        mappings.username.validate(&path.child("username"), true, errors);
        mappings.groups.validate(&path.child("groups"), false, errors);
        let uid = path.child("uid");
        match (mappings.uid.claim.as_str(), mappings.uid.expression.as_str()) {
            (_, "") => {}
            ("", expression) => check_mapping(&uid.child("expression"), expression, errors),
            _ => errors.push(FieldError::invalid(&uid, "", "claim and expression can't both be set")),
        }
        let extra = path.child("extra");
        let mut seen = BTreeSet::new();
        for (at, mapping) in mappings.extra.iter().enumerate() {
            let path = extra.index(at);
            mapping.validate(&path, &mut seen, errors);
        }
        let username = mappings.username.expression.as_str();
        let others = mappings.extra.iter().map(|mapping| mapping.value_expression.as_str());
        let others = others.chain(self.claim_validation_rules.iter().map(|rule| rule.expression.as_str()));
        let mut all = others.chain([username]);
        if selects(username, "claims", "email") && !all.any(|text| selects(text, "claims", "email_verified"))
        {
            errors.push(FieldError::invalid(
                &path.child("username").child("expression"),
                username,
                "claims.email_verified must be used in claimMappings.username.expression or \
                 claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in \
                 claimMappings.username.expression",
            ));
        }
    }
}

fn check_mapping(path: &Path<'_>, expression: &str, errors: &mut Vec<FieldError>) {
    if let Err(why) = expressions::mapping(expression) {
        errors.push(FieldError::invalid(path, expression, why));
    }
}

impl Mapping {
    fn validate(&self, path: &Path<'_>, required: bool, errors: &mut Vec<FieldError>) {
        match (self.claim.as_str(), self.expression.as_str()) {
            ("", "") if required => {
                errors.push(FieldError::required(path, "claim or expression is required"));
            }
            ("", "") => {}
            ("", expression) => {
                if let Some(prefix) = &self.prefix {
                    let why = "may not be specified when expression is set";
                    errors.push(FieldError::invalid(&path.child("prefix"), prefix.as_str(), why));
                }
                check_mapping(&path.child("expression"), expression, errors);
            }
            (_, "") => {
                if self.prefix.is_none() {
                    errors.push(FieldError::required(
                        &path.child("prefix"),
                        "prefix is required when claim is set. It can be set to an empty string to disable prefixing",
                    ));
                }
            }
            _ => errors.push(FieldError::invalid(path, "", "claim and expression can't both be set")),
        }
    }
}

impl ExtraMapping {
    fn validate<'a>(&'a self, path: &Path<'_>, seen: &mut BTreeSet<&'a str>, errors: &mut Vec<FieldError>) {
        let (at_key, key) = (path.child("key"), self.key.as_str());
        domain_prefixed_path(&at_key, key, errors);
        if key != key.to_lowercase() {
            errors.push(FieldError::invalid(&at_key, key, "must be lowercase"));
        }
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let reserved = |name: &str| domain == name || domain.ends_with(&format!(".{name}"));
        if reserved("kubernetes.io") || reserved("k8s.io") {
            let why = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
            errors.push(FieldError::invalid(&at_key, key, why));
        }
        if !seen.insert(key) {
            errors.push(FieldError::duplicate(&at_key, key));
            return;
        }
        let at_value = path.child("valueExpression");
        match self.value_expression.as_str() {
            "" => errors.push(FieldError::required(&at_value, "")),
            expression => check_mapping(&at_value, expression, errors),
        }
    }
}

/// `example.com/path`.
fn domain_prefixed_path(path: &Path<'_>, key: &str, errors: &mut Vec<FieldError>) {
    if key.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((host, rest)) = key.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty())
    else {
        errors.push(FieldError::invalid(
            path,
            key,
            "must be a domain-prefixed path (such as \"acme.io/foo\")",
        ));
        return;
    };
    for why in validation::dns1123_subdomain(host) {
        errors.push(FieldError::invalid(path, host, why));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(allowed) {
        errors.push(FieldError::invalid(
            path,
            rest,
            "Invalid path (must match regex '^[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+$')",
        ));
    }
}

impl Issuer {
    fn validate(&self, path: &Path<'_>, rules: Rules<'_>, errors: &mut Vec<FieldError>) {
        let at_url = path.child("url");
        match self.url.as_str() {
            "" => errors.push(FieldError::required(&at_url, "")),
            url => check_url(&at_url, url, rules.disallowed, errors),
        }
        if !self.discovery_url.is_empty() {
            let (at, url) = (path.child("discoveryURL"), self.discovery_url.as_str());
            if !self.url.is_empty() && self.url.trim_end_matches('/') == url.trim_end_matches('/') {
                errors.push(FieldError::invalid(&at, url, "discoveryURL must be different from URL"));
            }
            check_url(&at, url, &[], errors);
        }
        self.validate_audiences(path, errors);
        if !self.certificate_authority.is_empty() {
            let found: Result<Vec<_>, _> =
                CertificateDer::pem_slice_iter(self.certificate_authority.as_bytes()).collect();
            if !found.is_ok_and(|found| !found.is_empty()) {
                let why = "data does not contain any valid RSA or ECDSA certificates";
                errors.push(FieldError::invalid(&path.child("certificateAuthority"), "<omitted>", why));
            }
        }
        if !self.egress_selector_type.is_empty() {
            let (at, given) = (path.child("egressSelectorType"), self.egress_selector_type.as_str());
            let mut wrong = |why: &str| errors.push(FieldError::invalid(&at, given, why));
            if !rules.egress_selectors {
                wrong(
                    "egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature \
                     gate is disabled",
                );
            }
            if !matches!(given, "controlplane" | "cluster") {
                wrong("egress selector must be either controlplane or cluster");
            }
        }
    }

    fn validate_audiences(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let at = path.child("audiences");
        if self.audiences.is_empty() {
            errors.push(FieldError::required(&at, format!("at least one {at} is required")));
            return;
        }
        let mut seen = BTreeSet::new();
        for (index, audience) in self.audiences.iter().enumerate() {
            let at = at.index(index);
            if audience.is_empty() {
                errors.push(FieldError::required(&at, ""));
            }
            if !seen.insert(audience) {
                errors.push(FieldError::duplicate(&at, audience.as_str()));
            }
        }
        let (policy, at) = (self.audience_match_policy.as_str(), path.child("audienceMatchPolicy"));
        match (self.audiences.len(), policy) {
            (_, "MatchAny") | (1, "") => {}
            (1, _) => {
                let why = "audienceMatchPolicy must be empty or MatchAny for single audience";
                errors.push(FieldError::invalid(&at, policy, why));
            }
            _ => {
                let why = "audienceMatchPolicy must be MatchAny for multiple audiences";
                errors.push(FieldError::invalid(&at, policy, why));
            }
        }
    }
}

fn check_url(path: &Path<'_>, url: &str, disallowed: &[String], errors: &mut Vec<FieldError>) {
    let mut wrong = |why: &str| errors.push(FieldError::invalid(path, url, why));
    if disallowed.iter().any(|other| other == url) {
        let mut all: Vec<&str> = disallowed.iter().map(String::as_str).collect();
        all.sort_unstable();
        wrong(&format!("URL must not overlap with disallowed issuers: [{}]", all.join(" ")));
    }
    let before = errors.len();
    let mut wrong = |why: &str| errors.push(FieldError::invalid(path, url, why));
    if !url.starts_with("https://") {
        wrong("URL scheme must be https");
    }
    let authority =
        url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if authority.contains('@') {
        wrong("URL must not contain a username or password");
    }
    let (without_fragment, fragment) = url.split_once('#').unwrap_or((url, ""));
    if without_fragment.split_once('?').is_some_and(|(_, query)| !query.is_empty()) {
        wrong("URL must not contain a query");
    }
    if !fragment.is_empty() {
        wrong("URL must not contain a fragment");
    }
    if errors.len() == before
        && let Err(why) = Url::parse(url)
    {
        errors.push(FieldError::invalid(path, url, why.to_string()));
    }
}

#[cfg(test)]
#[path = "authentication_tests.rs"]
mod tests;
