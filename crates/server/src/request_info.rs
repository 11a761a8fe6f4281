//! The attributes of a request, read from its method and path alone.
//!
//! `/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}/{subresource}`, with `/api/{version}` for the core
//! group. Everything else is a non-resource request: its verb is the method and its path is all there is to it.

use http::Method;
use percent_encoding::percent_decode_str;
use pintle_auth::authorizer::Selector;
use pintle_auth::{Attributes, User};
use pintle_meta::selector::{field, label};
use pintle_meta::validation;

use crate::query::first;

/// The verbs that come as a path segment before the resource.
const SPECIAL_VERBS: [&str; 2] = ["proxy", "watch"];
/// Path segments that may follow a namespace's name without being a resource inside it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    pub is_resource: bool,
    /// The decoded path.
    pub path: String,
    pub verb: String,
    /// `api` or `apis`.
    pub prefix: String,
    pub group: String,
    pub version: String,
    pub namespace: String,
    pub resource: String,
    pub subresource: String,
    pub name: String,
    /// `{resource}/{name}/...`, with all that follows.
    pub parts: Vec<String>,
    /// The selector as given, for verbs that select (list, watch, deletecollection).
    pub field_selector: Option<String>,
    pub label_selector: Option<String>,
}

/// The path names a special verb and nothing to apply it to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to determine kind and namespace from url, {0}")]
pub struct Error(pub String);

impl RequestInfo {
    pub fn parse(method: &Method, uri: &http::Uri) -> Result<RequestInfo, Error> {
        let path = percent_decode_str(uri.path()).decode_utf8_lossy().into_owned();
        let mut info = RequestInfo {
            verb: method.as_str().to_ascii_lowercase(),
            path: path.clone(),
            ..RequestInfo::default()
        };
        let trimmed = path.trim_matches('/');
        let mut parts: Vec<&str> = if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() };
        if parts.len() < 3 || !matches!(parts[0], "api" | "apis") {
            return Ok(info);
        }
        info.prefix = parts.remove(0).into();
        if info.prefix == "apis" {
            if parts.len() < 3 {
                return Ok(info);
            }
            info.group = parts.remove(0).into();
        }
        info.is_resource = true;
        info.version = parts.remove(0).into();

        let verb_in_path = SPECIAL_VERBS.contains(&parts[0]);
        if verb_in_path {
            if parts.len() < 2 {
                return Err(Error(uri.to_string()));
            }
            info.verb = parts.remove(0).into();
        } else {
            info.verb = verb_of(method).into();
        }

        if parts[0] == "namespaces" && parts.len() > 1 {
            info.namespace = parts[1].into();
            if parts.len() > 2 && !NAMESPACE_SUBRESOURCES.contains(&parts[2]) {
                parts.drain(..2);
            }
        }
        info.parts = parts.iter().map(|part| (*part).to_owned()).collect();
        let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
        info.resource = part(0);
        info.name = part(1);
        if info.verb != "proxy" {
            info.subresource = part(2);
        }

        if info.name.is_empty() {
            info.resolve_collection_verb(uri.query().unwrap_or_default());
        }
        if !verb_in_path && matches!(info.verb.as_str(), "list" | "watch" | "deletecollection") {
            let query = uri.query().unwrap_or_default();
            info.field_selector = first(query, "fieldSelector");
            info.label_selector = first(query, "labelSelector");
        }
        Ok(info)
    }

    /// Makes a get without a name a list or watch, and such a delete a deletecollection.
    fn resolve_collection_verb(&mut self, query: &str) {
        match self.verb.as_str() {
            "get" => {
                let watch = first(query, "watch")
                    .is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"));
                self.verb = if watch { "watch" } else { "list" }.into();
                // A list of exactly one name is, to authorization, about that name.
                if let Some(name) = first(query, "fieldSelector").as_deref().and_then(exact_name) {
                    self.name = name;
                }
            }
            "delete" => self.verb = "deletecollection".into(),
            _ => {}
        }
    }

    /// The selectors, understood, for [`RequestInfo::attributes`].
    pub fn selectors(&self) -> Selectors {
        Selectors {
            field: self.field_selector.as_deref().map(field::Selector::parse),
            label: self.label_selector.as_deref().map(label::Selector::parse),
        }
    }

    /// Returns the attributes that authorizers see.
    pub fn attributes<'a>(&'a self, user: &'a User, selectors: &'a Selectors) -> Attributes<'a> {
        Attributes {
            user,
            verb: &self.verb,
            is_resource: self.is_resource,
            path: &self.path,
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: &self.name,
            field_selector: selectors.of_fields(),
            label_selector: selectors.of_labels(),
        }
    }

    /// Returns whether the request may outlive the request timeout: watches, and what turns a connection into a stream.
    pub fn is_long_running(&self) -> bool {
        if !self.is_resource {
            return self.path.starts_with("/debug/pprof/");
        }
        matches!(self.verb.as_str(), "watch" | "proxy")
            || matches!(self.subresource.as_str(), "attach" | "exec" | "proxy" | "log" | "portforward")
    }
}

/// The selectors of a request, or why they are none.
#[derive(Default)]
pub struct Selectors {
    field: Option<Result<field::Selector, String>>,
    label: Option<Result<label::Selector, String>>,
}

impl Selectors {
    fn of_fields(&self) -> Selector<'_, field::Requirement> {
        match &self.field {
            None => Selector::Absent,
            Some(Ok(selector)) => Selector::Requirements(selector.requirements()),
            Some(Err(error)) => Selector::Invalid { understood: &[], error },
        }
    }

    fn of_labels(&self) -> Selector<'_, label::Requirement> {
        match &self.label {
            None => Selector::Absent,
            Some(Ok(selector)) => Selector::Requirements(selector.requirements().unwrap_or_default()),
            Some(Err(error)) => Selector::Invalid { understood: &[], error },
        }
    }
}

fn verb_of(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

/// The name in a field selector that holds for one name only: `metadata.name=a`, perhaps among other terms. A selector
/// that is not valid as a whole names nothing: what its list would return is not known.
fn exact_name(selector: &str) -> Option<String> {
    let selector = field::Selector::parse(selector).ok()?;
    let name = selector.requires_exact_match("metadata.name")?;
    (!name.is_empty() && validation::path_segment_name(name).is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `verb group/version namespace resource/name/subresource`, or `verb path` where there is no resource.
    fn check(request: &str, expect: &str) {
        let (method, uri) = request.split_once(' ').unwrap();
        let info = RequestInfo::parse(&method.parse().unwrap(), &uri.parse().unwrap());
        let shown = match info {
            Ok(info) if info.is_resource => format!(
                "{} {}/{} {} {}/{}/{}",
                info.verb,
                info.group,
                info.version,
                info.namespace,
                info.resource,
                info.name,
                info.subresource
            ),
            Ok(info) => format!("{} {}", info.verb, info.path),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expect, "{request}");
    }

    #[test]
    fn resource_paths() {
        check("GET /api/v1/namespaces/a/pods", "list /v1 a pods//");
        check("GET /api/v1/namespaces/a/pods/p", "get /v1 a pods/p/");
        check("HEAD /api/v1/namespaces/a/pods/p", "get /v1 a pods/p/");
        check("PUT /api/v1/namespaces/a/pods/p/status", "update /v1 a pods/p/status");
        check("POST /apis/apps/v1/namespaces/a/deployments", "create apps/v1 a deployments//");
        check("PATCH /apis/apps/v1/namespaces/a/deployments/d", "patch apps/v1 a deployments/d/");
        check("DELETE /api/v1/nodes", "deletecollection /v1  nodes//");
        check("DELETE /api/v1/nodes/n", "delete /v1  nodes/n/");
        check("GET /api/v1/pods/", "list /v1  pods//");
    }

    #[test]
    fn a_namespace_is_in_itself() {
        check("GET /api/v1/namespaces", "list /v1  namespaces//");
        check("GET /api/v1/namespaces/a", "get /v1 a namespaces/a/");
        check("PUT /api/v1/namespaces/a/finalize", "update /v1 a namespaces/a/finalize");
        check("GET /api/v1/namespaces/a/status", "get /v1 a namespaces/a/status");
    }

    #[test]
    fn watches_by_query_and_by_path() {
        check("GET /api/v1/pods?watch=true", "watch /v1  pods//");
        check("GET /api/v1/pods?watch=0", "list /v1  pods//");
        check("GET /api/v1/watch/namespaces/a/pods", "watch /v1 a pods//");
        check("GET /api/v1/watch", "unable to determine kind and namespace from url, /api/v1/watch");
        check("GET /api/v1/proxy/nodes/n/logs", "proxy /v1  nodes/n/");
    }

    #[test]
    fn a_selected_name_counts_as_the_name() {
        check("GET /api/v1/pods?fieldSelector=metadata.name%3Dp", "list /v1  pods/p/");
        check("GET /api/v1/pods?fieldSelector=metadata.name%3D..", "list /v1  pods//");
        check("GET /api/v1/pods?fieldSelector=metadata.name!%3Dp", "list /v1  pods//");
        check("GET /api/v1/pods?fieldSelector=a%3Db,metadata.name%3D%3Dp", "list /v1  pods/p/");
        check("GET /api/v1/pods?fieldSelector=metadata.name%3Dp,garbage", "list /v1  pods//");
    }

    #[test]
    fn other_paths_keep_method_and_path() {
        check("GET /", "get /");
        check("GET /healthz", "get /healthz");
        check("POST /version", "post /version");
        check("GET /apis/apps/v1", "get /apis/apps/v1");
        check("GET /api/v1", "get /api/v1");
        check("GET /%2e%2e/x", "get /../x");
    }

    #[test]
    fn streams_are_long_running() {
        let long =
            |uri: &str| RequestInfo::parse(&Method::GET, &uri.parse().unwrap()).unwrap().is_long_running();
        assert!(long("/api/v1/pods?watch=1"));
        assert!(long("/api/v1/namespaces/a/pods/p/exec"));
        assert!(!long("/api/v1/pods"));
        assert!(!long("/healthz"));
    }
}
