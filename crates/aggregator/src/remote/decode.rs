//! Discovery documents of other servers, read: aggregated ones (`v2`, `v2beta1`), and the list of a group version.

use std::collections::HashMap;

use pintle_codec::json;
use pintle_discovery::{Kind, Resource, Subresource};
use pintle_meta::Value;
use smol_str::SmolStr;

/// Resources by group and version.
pub(super) type Versions = HashMap<(String, String), Vec<Resource>>;

/// Reads an `APIGroupDiscoveryList`; both versions have the same fields.
pub(super) fn aggregated(body: &[u8]) -> Result<Versions, String> {
    let list = object(body, "APIGroupDiscoveryList")?;
    let mut versions = Versions::new();
    for item in list.items_at(&["items"]) {
        let group = item.text_at(&["metadata", "name"]);
        for version in item.items_at(&["versions"]) {
            let name = version.text_at(&["version"]);
            let resources =
                version.items_at(&["resources"]).iter().map(|found| resource(found, group, name)).collect();
            versions.insert((group.to_owned(), name.to_owned()), resources);
        }
    }
    Ok(versions)
}

/// Reads the `APIResourceList` of a group version. Subresources follow their resources there, or stand alone.
pub(super) fn legacy(body: &[u8], group: &str, version: &str) -> Result<Vec<Resource>, String> {
    let list = object(body, "APIResourceList")?;
    let mut resources: Vec<Resource> = Vec::new();
    let all = list.items_at(&["resources"]);
    for found in all.iter().filter(|found| !found.text_at(&["name"]).contains('/')) {
        resources.push(Resource {
            name: text(found, "name"),
            singular: text(found, "singularName"),
            short_names: texts(found, "shortNames"),
            categories: texts(found, "categories"),
            kind: kind(Some(found), group, version),
            namespaced: found.get("namespaced").and_then(Value::as_bool) == Some(true),
            verbs: texts(found, "verbs"),
            subresources: Vec::new(),
            storage: None,
        });
    }
    for found in all {
        let Some((parent, name)) = found.text_at(&["name"]).split_once('/') else { continue };
        let subresource = Subresource {
            name: name.into(),
            kind: kind(Some(found), group, version),
            verbs: texts(found, "verbs"),
        };
        match resources.iter_mut().find(|resource| resource.name == parent) {
            Some(resource) => resource.subresources.push(subresource),
            None => resources.push(Resource {
                name: parent.into(),
                singular: SmolStr::default(),
                short_names: Vec::new(),
                categories: Vec::new(),
                kind: Kind { name: SmolStr::default(), foreign: Some(Default::default()) },
                namespaced: found.get("namespaced").and_then(Value::as_bool) == Some(true),
                verbs: Vec::new(),
                subresources: vec![subresource],
                storage: None,
            }),
        }
    }
    Ok(resources)
}

/// Reads the index of OpenAPI documents of version 3. Returns the path of the document of a group version.
pub(super) fn openapi_v3_path(body: &[u8], group: &str, version: &str) -> Result<Option<String>, String> {
    let index = object(body, "")?;
    let name = format!("apis/{group}/{version}");
    let url = index.at(&["paths", &name, "serverRelativeURL"]).and_then(Value::as_str);
    // A server must not lead elsewhere.
    Ok(url.filter(|url| url.starts_with("/openapi/v3/")).map(str::to_owned))
}

/// Reads an object of a kind; the index of OpenAPI documents has none.
fn object(body: &[u8], kind: &str) -> Result<Value, String> {
    let value = json::decode_untyped(body).map_err(|error| error.to_string())?.value;
    match value.kind() == kind {
        true => Ok(value),
        false => Err(format!("the document is of kind {}", pintle_meta::quote(value.kind()))),
    }
}

fn resource(found: &Value, group: &str, version: &str) -> Resource {
    let subresources = found.items_at(&["subresources"]).iter().map(|found| Subresource {
        name: text(found, "subresource"),
        kind: kind(found.get("responseKind"), group, version),
        verbs: texts(found, "verbs"),
    });
    Resource {
        name: text(found, "resource"),
        singular: text(found, "singularResource"),
        short_names: texts(found, "shortNames"),
        categories: texts(found, "categories"),
        kind: kind(found.get("responseKind"), group, version),
        namespaced: found.text_at(&["scope"]) == "Namespaced",
        verbs: texts(found, "verbs"),
        subresources: subresources.collect(),
        storage: None,
    }
}

/// Reads a kind. One without group and version has those of its resource.
fn kind(found: Option<&Value>, group: &str, version: &str) -> Kind {
    let Some(found) = found else {
        return Kind { name: SmolStr::default(), foreign: Some(Default::default()) };
    };
    let (of_group, of_version) = (found.text_at(&["group"]), found.text_at(&["version"]));
    let is_own = of_version.is_empty() || (of_group, of_version) == (group, version);
    let foreign = (!is_own).then(|| (of_group.into(), of_version.into()));
    Kind { name: text(found, "kind"), foreign }
}

fn text(found: &Value, field: &str) -> SmolStr {
    found.text_at(&[field]).into()
}

fn texts(found: &Value, field: &str) -> Vec<SmolStr> {
    found.items_at(&[field]).iter().filter_map(|text| text.as_str().map(SmolStr::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aggregated_document_has_resources_of_all_versions() {
        let body = br#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
            {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","resources":[
                {"resource":"nodes","responseKind":{"group":"metrics.k8s.io","version":"v1beta1","kind":"NodeMetrics"},
                 "scope":"Cluster","singularResource":"node","verbs":["get","list"],
                 "subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},
                 "verbs":["get"]}]},
                {"resource":"pods","responseKind":null,"scope":"Namespaced","verbs":["get"]}]}]}]}"#;
        let versions = aggregated(body).unwrap();
        let resources = &versions[&("metrics.k8s.io".to_owned(), "v1beta1".to_owned())];
        let [nodes, pods] = &resources[..] else { panic!("{resources:?}") };
        assert_eq!((nodes.name.as_str(), nodes.namespaced), ("nodes", false));
        assert_eq!(nodes.kind, Kind { name: "NodeMetrics".into(), foreign: None });
        assert_eq!(nodes.subresources[0].kind.foreign, Some(("autoscaling".into(), "v1".into())));
        assert!(pods.namespaced && pods.kind.name.is_empty());
    }

    #[test]
    fn a_list_of_resources_has_subresources_among_them() {
        let body = br#"{"kind":"APIResourceList","groupVersion":"g/v1","resources":[
            {"name":"boats/status","namespaced":true,"kind":"Boat","verbs":["get"]},
            {"name":"boats","singularName":"boat","namespaced":true,"kind":"Boat","verbs":["get","list"]},
            {"name":"pods/move","namespaced":true,"kind":"Move","verbs":["create"]}]}"#;
        let resources = legacy(body, "g", "v1").unwrap();
        let [boats, pods] = &resources[..] else { panic!("{resources:?}") };
        assert_eq!((boats.name.as_str(), boats.subresources[0].name.as_str()), ("boats", "status"));
        assert_eq!((pods.name.as_str(), pods.verbs.len(), pods.subresources.len()), ("pods", 0, 1));
    }

    #[test]
    fn documents_that_are_none_are_refused() {
        for body in [&b"[]"[..], b"", b"<html>", b"null"] {
            assert!(aggregated(body).is_err() && legacy(body, "g", "v1").is_err());
        }
        let index = |url: &str| format!(r#"{{"paths":{{"apis/g/v1":{{"serverRelativeURL":"{url}"}}}}}}"#);
        let path = |url: &str| openapi_v3_path(index(url).as_bytes(), "g", "v1").unwrap();
        assert_eq!(path("/openapi/v3/apis/g/v1?hash=A").as_deref(), Some("/openapi/v3/apis/g/v1?hash=A"));
        assert_eq!(path("https://elsewhere/openapi/v3/apis/g/v1"), None);
        assert_eq!(openapi_v3_path(b"{}", "g", "v1"), Ok(None));
    }
}
