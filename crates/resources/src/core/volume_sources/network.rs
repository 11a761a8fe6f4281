//! File systems of the network, and storage that has a service of its own.

use pintle_meta::validation::{dns1123_label, object_meta};

use super::{require, secret_reference};
use crate::framework::validation::Cursor;

pub(crate) fn nfs(source: &Cursor<'_, '_>) {
    require(source, &["server", "path"]);
    let path = source.field("path");
    if !path.text().starts_with('/') {
        path.invalid(path.text(), "must be an absolute path");
    }
}

pub(crate) fn glusterfs(source: &Cursor<'_, '_>) {
    require(source, &["endpoints", "path"]);
}

pub(crate) fn glusterfs_persistent(source: &Cursor<'_, '_>) {
    glusterfs(source);
    let namespace = source.field("endpointsNamespace");
    if namespace.is_set() && namespace.is_empty() {
        namespace.invalid("", "if the endpointnamespace is set, it must be a valid namespace name");
    } else if namespace.is_set() {
        namespace.text_format(|name| object_meta::label_name(name, false));
    }
}

pub(crate) fn flocker(source: &Cursor<'_, '_>) {
    let name = source.field("datasetName");
    match (name.is_empty(), source.field("datasetUUID").is_empty()) {
        (true, true) => source.required("one of datasetName and datasetUUID is required"),
        (false, false) => {
            source.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously");
        }
        _ => {}
    }
    if name.text().contains('/') {
        name.invalid(name.text(), "must not contain '/'");
    }
}

pub(crate) fn rbd(source: &Cursor<'_, '_>) {
    require(source, &["monitors", "image"]);
}

/// Errors of its own name it `cephfs`, and errors about a second source `cephFS`.
pub(crate) fn cephfs(source: &Cursor<'_, '_>) {
    require(source, &["monitors"]);
}

pub(crate) fn quobyte(source: &Cursor<'_, '_>) {
    const FORM: &str = "must be a host:port pair or multiple pairs separated by commas";
    let (registry, tenant) = (source.field("registry"), source.field("tenant"));
    if registry.is_empty() {
        registry.required(FORM);
    } else if tenant.text().len() >= 65 {
        tenant.required("must be a UUID and may not exceed a length of 64 characters");
    } else {
        for pair in registry.text().split(',') {
            if !is_host_and_port(pair) {
                registry.invalid(registry.text(), FORM);
            }
        }
    }
    require(source, &["volume"]);
}

/// Whether a text is `host:port` or `[host]:port`; either part may be empty.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let brackets = |c: char| c == '[' || c == ']';
    match host.strip_prefix('[') {
        Some(inner) => {
            inner.strip_suffix(']').is_some_and(|host| !host.contains(brackets)) && !port.contains(brackets)
        }
        None => !host.contains(':') && !text.contains(brackets),
    }
}

pub(crate) fn azure_file(source: &Cursor<'_, '_>) {
    require(source, &["secretName", "shareName"]);
}

pub(crate) fn azure_file_persistent(source: &Cursor<'_, '_>) {
    azure_file(source);
    let namespace = source.field("secretNamespace");
    if namespace.is_set() && namespace.is_empty() {
        namespace.required("");
    }
}

pub(crate) fn scale_io(source: &Cursor<'_, '_>) {
    require(source, &["gateway", "system", "volumeName"]);
}

pub(crate) fn storage_os(source: &Cursor<'_, '_>) {
    storage_os_names(source);
    secret_reference(source, &["name"]);
}

pub(crate) fn storage_os_persistent(source: &Cursor<'_, '_>) {
    storage_os_names(source);
    secret_reference(source, &["name", "namespace"]);
}

fn storage_os_names(source: &Cursor<'_, '_>) {
    let (name, namespace) = (source.field("volumeName"), source.field("volumeNamespace"));
    if name.is_empty() {
        name.required("");
    } else {
        name.text_format(dns1123_label);
    }
    if !namespace.is_empty() {
        namespace.text_format(dns1123_label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_ports() {
        for right in ["a:1", ":", "[::1]:80", "[]:", "a:b"] {
            assert!(is_host_and_port(right), "{right}");
        }
        for wrong in ["", "a", "a:b:c", "[a:1", "[a]", "[a]b:1", "a]:1", "a[:1", "[a]:[1", "[[a]:1", "::1"] {
            assert!(!is_host_and_port(wrong), "{wrong}");
        }
    }
}
