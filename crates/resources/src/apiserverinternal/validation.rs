//! Validation of StorageVersions: the versions that servers of a cluster store and serve a resource in.

use std::collections::{HashMap, HashSet};

use pintle_meta::Value;
use pintle_meta::field_path::Error;
use pintle_meta::validation::{
    dns1035_label, dns1123_subdomain, empty_error, object_meta, qualified_name, regex_error,
};
use pintle_schema::go;

use crate::framework::validation::Cursor;

/// Checks a status: the servers, the version they agree on, conditions.
pub(super) fn status(status: &Cursor<'_, '_>) {
    let servers = status.field("storageVersions");
    let mut names = HashSet::new();
    for server in servers.items() {
        let id = server.field("apiServerID");
        if !names.insert(id.text()) {
            id.duplicate(id.text());
        }
        server_version(&server);
    }
    common_version(&servers, &status.field("commonEncodingVersion"));
    conditions(status);
}

fn server_version(server: &Cursor<'_, '_>) {
    server.field("apiServerID").text_format(|id| object_meta::subdomain_name(id, false));
    let encoding = server.field("encodingVersion");
    api_version(&encoding);
    let decodable = server.field("decodableVersions");
    decodable.each(api_version);
    let is_decodable = |version: &str| decodable.values().iter().any(|known| known.as_str() == Some(version));
    if !is_decodable(encoding.text()) {
        let why = format!("decodableVersions must include encodingVersion {}", encoding.text());
        decodable.invalid(decodable.printed_as("[]string"), why);
    }
    for served in server.field("servedVersions").items() {
        api_version(&served);
        if !is_decodable(served.text()) {
            let why = format!(
                "individual served version : {} must be included in decodableVersions : {}",
                served.text(),
                go::display(&Value::list(decodable.values().to_vec()))
            );
            served.invalid(served.text(), why);
        }
    }
}

/// Checks the version on which the servers agree, if they do.
fn common_version(servers: &Cursor<'_, '_>, common: &Cursor<'_, '_>) {
    let mut encodings = servers.values().iter().map(|server| server.text_at(&["encodingVersion"]));
    let agreed = encodings.next().filter(|first| encodings.all(|other| other == *first));
    match (agreed, common.optional_text()) {
        (None, Some(common_text)) => common.invalid(
            common_text,
            "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the \
             supported versions yet",
        ),
        (Some(agreed), None) => {
            common.invalid(common.printed_as("*string"), format!("the common encoding version is {agreed}"));
        }
        (Some(agreed), Some(found)) if agreed != found => {
            common.invalid(found, format!("the actual common encoding version is {agreed}"));
        }
        _ => {}
    }
}

/// Checks conditions, whose errors the reference reports at `status[0]` and so on.
fn conditions(status: &Cursor<'_, '_>) {
    let mut types: HashMap<&str, usize> = HashMap::new();
    for (index, condition) in status.field("conditions").values().iter().enumerate() {
        let at = status.path().index(index);
        let (of, is) = (condition.text_at(&["type"]), condition.text_at(&["status"]));
        if let Some(before) = types.insert(of, index) {
            let why =
                format!("the type of the condition is not unique, it also appears in conditions[{before}]");
            status.report([Error::invalid(&at.child("type"), of, why)]);
        }
        status.report(qualified_name(of).into_iter().map(|why| Error::invalid(&at.child("type"), of, why)));
        status.report(qualified_name(is).into_iter().map(|why| Error::invalid(&at.child("status"), is, why)));
        for name in ["reason", "message"] {
            if condition.text_at(&[name]).is_empty() {
                status.report([Error::required(&at.child(name), "")]);
            }
        }
    }
}

/// Checks `version` or `group/version`; all that is wrong is one error.
fn api_version(at: &Cursor<'_, '_>) {
    let wrong = wrong_with_api_version(at.text());
    if !wrong.is_empty() {
        at.invalid(at.text(), wrong.join(","));
    }
}

fn wrong_with_api_version(text: &str) -> Vec<String> {
    const MESSAGE: &str = "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an \
                           alphabetic character, and end with an alphanumeric character";
    let mut wrong = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let version = match parts.as_slice() {
        [version] => version,
        [group, version] => {
            let found = if group.is_empty() { vec![empty_error()] } else { dns1123_subdomain(group) };
            wrong.extend(found.into_iter().map(|why| format!("group part: {why}")));
            version
        }
        _ => {
            let label = regex_error(MESSAGE, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]);
            let prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";
            return vec![format!("an apiVersion is {label} {prefix}")];
        }
    };
    let found = if version.is_empty() { vec![empty_error()] } else { dns1035_label(version) };
    wrong.extend(found.into_iter().map(|why| format!("version part: {why}")));
    wrong
}

#[cfg(test)]
mod tests {
    use crate::framework::validation::testing::Base;

    const OBJECT: &str = r#"{"metadata":{"name":"apps.deployments"},"spec":{},"status":{"commonEncodingVersion":"apps/v1",
        "storageVersions":[{"apiServerID":"a","encodingVersion":"apps/v1","decodableVersions":["apps/v1"],"servedVersions":["apps/v1"]}]}}"#;
    const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

    fn server(id: &str, encoding: &str) -> String {
        format!(
            r#"{{"apiServerID":"{id}","encodingVersion":"{encoding}","decodableVersions":["{encoding}"]}}"#
        )
    }

    #[test]
    fn servers_have_names_and_store_versions_they_can_read() {
        let base = Base::new("internal.apiserver.k8s.io", "storageversions/status", OBJECT);
        base.accepts_update(&[&[("/status/storageVersions/-", &server("b", "apps/v1"))]]);
        base.refuses_update(&[
            (
                &[("/status/storageVersions/-", &server("a", "apps/v1"))],
                &[r#"status.storageVersions[1].apiServerID: Duplicate value: "a""#],
            ),
            (
                &[("/status/storageVersions/0/apiServerID", r#""-""#)],
                &[r#"status.storageVersions[0].apiServerID: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"#],
            ),
            (
                &[("/status/storageVersions/0/decodableVersions/0", r#""/1""#)],
                &[
                    &format!(r#"status.storageVersions[0].decodableVersions[0]: Invalid value: "/1": group part: must be non-empty,version part: {LABEL}"#),
                    r#"status.storageVersions[0].decodableVersions: Invalid value: ["/1"]: decodableVersions must include encodingVersion apps/v1"#,
                    r#"status.storageVersions[0].servedVersions[0]: Invalid value: "apps/v1": individual served version : apps/v1 must be included in decodableVersions : [/1]"#,
                ],
            ),
            (
                &[("/status/storageVersions/0/servedVersions/0", r#""a/b/c""#)],
                &[
                    r#"status.storageVersions[0].servedVersions[0]: Invalid value: "a/b/c": an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"#,
                    r#"status.storageVersions[0].servedVersions[0]: Invalid value: "a/b/c": individual served version : a/b/c must be included in decodableVersions : [apps/v1]"#,
                ],
            ),
        ]);
    }

    #[test]
    fn the_common_version_is_the_one_that_all_servers_store() {
        let base = Base::new("internal.apiserver.k8s.io", "storageversions/status", OBJECT);
        base.refuses_update(&[
            (
                &[("/status/storageVersions/-", &server("b", "apps/v2"))],
                &[r#"status.commonEncodingVersion: Invalid value: "apps/v1": should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet"#],
            ),
            (
                &[("/status/commonEncodingVersion", "")],
                &["status.commonEncodingVersion: Invalid value: null: the common encoding version is apps/v1"],
            ),
            (
                &[("/status/commonEncodingVersion", r#""v2""#)],
                &[r#"status.commonEncodingVersion: Invalid value: "v2": the actual common encoding version is apps/v1"#],
            ),
        ]);
    }

    #[test]
    fn conditions_have_types_reasons_and_messages() {
        let base = Base::new("internal.apiserver.k8s.io", "storageversions/status", OBJECT);
        base.refuses_update(&[(
            &[("/status/conditions", r#"[{"type":"a","status":"True","reason":"r","message":"m"},{"type":"a","status":"True"}]"#)],
            &[
                r#"status[1].type: Invalid value: "a": the type of the condition is not unique, it also appears in conditions[0]"#,
                "status[1].reason: Required value",
                "status[1].message: Required value",
            ],
        ),
        (
            &[("/status/conditions", r#"[{"type":"-","status":"-","reason":"r","message":"m"}]"#)],
            &[
                "status[0].type: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                "status[0].status: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        )]);
    }
}
