//! `EgressSelectorConfiguration`: the file that says which way connections leave, in the reference's words about what is
//! wrong with it.

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use pintle_meta::field_path::{Error as FieldError, Path, Value};
use serde::{Deserialize, Serialize};

use crate::configuration::{self, null_is_default};

const KIND: &str = "EgressSelectorConfiguration";
const VERSIONS: [&str; 2] = ["apiserver.k8s.io/v1beta1", "apiserver.k8s.io/v1alpha1"];
/// Sorted, as messages show them.
const NAMES: [&str; 3] = ["cluster", "controlplane", "etcd"];

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct EgressSelectorConfiguration {
    /// Nothing is not the same as none: with none, ways can be asked for and there is none.
    pub egress_selections: Option<Vec<EgressSelection>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressSelection {
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub connection: Connection,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Connection {
    #[serde(deserialize_with = "null_is_default")]
    pub proxy_protocol: String,
    pub transport: Option<Transport>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Transport {
    pub tcp: Option<Tcp>,
    pub uds: Option<Uds>,
}

/// Written only into messages, which show Go's names.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    #[serde(rename(serialize = "URL"), deserialize_with = "null_is_default")]
    pub url: String,
    #[serde(rename(serialize = "TLSConfig", deserialize = "tlsConfig"))]
    pub tls: Option<TlsConfig>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Uds {
    /// The path of a socket.
    #[serde(rename = "udsName", deserialize_with = "null_is_default")]
    pub name: String,
}

/// Files.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    #[serde(rename(serialize = "CABundle", deserialize = "caBundle"), deserialize_with = "null_is_default")]
    pub ca_bundle: String,
    #[serde(
        rename(serialize = "ClientKey", deserialize = "clientKey"),
        deserialize_with = "null_is_default"
    )]
    pub client_key: String,
    #[serde(
        rename(serialize = "ClientCert", deserialize = "clientCert"),
        deserialize_with = "null_is_default"
    )]
    pub client_cert: String,
    #[serde(
        rename(serialize = "TLSServerName", deserialize = "tlsServerName"),
        deserialize_with = "null_is_default"
    )]
    pub tls_server_name: String,
}

impl EgressSelectorConfiguration {
    pub fn read(text: &[u8]) -> Result<EgressSelectorConfiguration, String> {
        let mut read: EgressSelectorConfiguration = configuration::read(text, &VERSIONS, KIND)?;
        for selection in read.egress_selections.iter_mut().flatten() {
            // Its name of earlier releases.
            if selection.name == "master" {
                selection.name = "controlplane".into();
            }
        }
        Ok(read)
    }

    /// Returns the errors of the configuration. Checks that files exist.
    pub fn validate(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let root = Path::new("service");
        let path = root.child("connection");
        let selections = self.egress_selections.as_deref().unwrap_or_default();
        for EgressSelection { connection, .. } in selections {
            connection.validate(&path, &mut errors);
        }
        let mut seen = BTreeSet::new();
        for (at, selection) in selections.iter().enumerate() {
            let name = selection.name.to_lowercase();
            if !seen.insert(name.clone()) {
                errors.push(FieldError::duplicate(&path.index(at), name));
            } else if !NAMES.contains(&name.as_str()) {
                errors.push(FieldError::not_supported(&path, name, &NAMES));
            }
        }
        errors
    }
}

impl Connection {
    fn validate(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let (transport, at) = (self.transport.as_ref(), path.child("transport"));
        match (self.proxy_protocol.as_str(), transport) {
            ("Direct", None) => {}
            ("Direct", Some(_)) => {
                errors.push(FieldError::invalid(&at, "direct", "config must be absent for direct connect"));
            }
            (protocol @ ("HTTPConnect" | "GRPC"), None) => {
                errors.push(FieldError::required(&at, format!("transport must be set for {protocol}")));
            }
            ("HTTPConnect", Some(Transport { tcp, uds })) => {
                let at = path.child("tcp");
                match (tcp, uds) {
                    (Some(tcp), Some(_)) => {
                        let why = "TCP and UDS cannot both be set";
                        errors.push(FieldError::invalid(&at, Value::json(tcp), why));
                    }
                    (None, None) => errors.push(FieldError::required(&at, "One of TCP or UDS must be set")),
                    (Some(tcp), None) => tcp.validate(path, errors),
                    (None, Some(uds)) => uds.validate(path, errors),
                }
            }
            ("GRPC", Some(Transport { uds, .. })) => match uds {
                Some(uds) => uds.validate(path, errors),
                None => errors.push(FieldError::required(&path.child("uds"), "UDS must be set with GRPC")),
            },
            (other, _) => {
                let known = ["Direct", "HTTPConnect", "GRPC"];
                errors.push(FieldError::not_supported(&path.child("protocol"), other, &known));
            }
        }
    }
}

impl Uds {
    fn validate(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        if self.name.is_empty() {
            let why = "must be present for UDS connections";
            errors.push(FieldError::invalid(&path.child("udsName"), "nil", why));
        }
    }
}

impl Tcp {
    fn validate(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let at = path.child("tlsConfig");
        match &self.tls {
            Some(_) if self.url.starts_with("http://") => {
                let why = "config must not be present when using HTTP";
                errors.push(FieldError::invalid(&at, "nil", why));
            }
            None if self.url.starts_with("http://") => {}
            Some(tls) if self.url.starts_with("https://") => tls.validate(&at, errors),
            None if self.url.starts_with("https://") => {
                errors.push(FieldError::required(&at, "TLSConfig must be present when using HTTPS"));
            }
            _ => {
                let why = "supported connection protocols are http:// and https://";
                errors.push(FieldError::invalid(&path.child("url"), &self.url, why));
            }
        }
    }
}

impl TlsConfig {
    fn validate(&self, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let is_there = |file: &str| FilePath::new(file).exists();
        if !self.ca_bundle.is_empty() && !is_there(&self.ca_bundle) {
            let why = "TLS config ca bundle does not exist";
            errors.push(FieldError::invalid(&path.child("caBundle"), &self.ca_bundle, why));
        }
        let files = [
            (
                "clientCert",
                &self.client_cert,
                "Using TLS requires clientCert",
                "TLS client cert does not exist",
            ),
            // The reference's words, twice.
            (
                "clientKey",
                &self.client_key,
                "Using TLS requires requires clientKey",
                "TLS client key does not exist",
            ),
        ];
        for (name, file, missing, absent) in files {
            let at = path.child(name);
            if file.is_empty() {
                errors.push(FieldError::invalid(&at, "nil", missing));
            } else if !is_there(file) {
                errors.push(FieldError::invalid(&at, file, absent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_meta::field_path::aggregate;

    use super::*;

    fn file(selections: &str) -> String {
        format!(
            "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections: {selections}\n"
        )
    }

    fn wrong(selections: &str) -> String {
        let read = EgressSelectorConfiguration::read(file(selections).as_bytes()).unwrap();
        aggregate(&read.validate())
    }

    fn connection(text: &str) -> String {
        wrong(&format!("[{{name: cluster, connection: {text}}}]"))
    }

    #[test]
    fn a_file_of_any_version_is_read_and_master_is_the_control_plane() {
        for version in ["v1beta1", "v1alpha1"] {
            let text =
                file("[{name: master, connection: {proxyProtocol: GRPC, transport: {uds: {udsName: /s}}}}]");
            let read =
                EgressSelectorConfiguration::read(text.replace("v1beta1", version).as_bytes()).unwrap();
            assert!(read.validate().is_empty());
            let selections = read.egress_selections.unwrap();
            assert_eq!(selections[0].name, "controlplane");
            assert_eq!(selections[0].connection.transport.as_ref().unwrap().uds.as_ref().unwrap().name, "/s");
        }
        let nothing = EgressSelectorConfiguration::read(file("null").as_bytes()).unwrap();
        assert_eq!(nothing.egress_selections, None);
        let none = EgressSelectorConfiguration::read(file("[]").as_bytes()).unwrap();
        assert_eq!(none.egress_selections, Some(Vec::new()));
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let error = |text: &str| EgressSelectorConfiguration::read(text.as_bytes()).unwrap_err();
        assert_eq!(error("a: b"), "Object 'Kind' is missing");
        assert_eq!(
            error("apiVersion: apiserver.config.k8s.io/v1\nkind: EgressSelectorConfiguration"),
            "no kind \"EgressSelectorConfiguration\" is registered for version \"apiserver.config.k8s.io/v1\" in scheme"
        );
        assert_eq!(
            error(&file("[{nam: x}]")),
            "strict decoding error: unknown field \"egressSelections[0].nam\""
        );
        let twice = error(&file("[{name: x, name: z}]"));
        assert!(twice.starts_with("strict decoding error: yaml: unmarshal errors:"), "{twice}");
        assert!(error("- a: [").len() < 200);
    }

    #[test]
    fn names_are_known_and_different() {
        let direct = "connection: {proxyProtocol: Direct}";
        assert_eq!(
            wrong(&format!(
                "[{{name: Cluster, {direct}}}, {{name: cluster, {direct}}}, {{name: other, {direct}}}]"
            )),
            "[service.connection[1]: Duplicate value: \"cluster\", service.connection: Unsupported value: \"other\": \
             supported values: \"cluster\", \"controlplane\", \"etcd\"]"
        );
        assert_eq!(
            wrong(&format!("[{{name: master, {direct}}}, {{name: controlplane, {direct}}}]")),
            "service.connection[1]: Duplicate value: \"controlplane\""
        );
    }

    #[test]
    fn every_rule_about_connections_has_its_words() {
        let check = |text: &str, expect: &str| assert_eq!(connection(text), expect, "{text}");
        check(
            "{proxyProtocol: http}",
            "service.connection.protocol: Unsupported value: \"http\": supported values: \"Direct\", \"HTTPConnect\", \
             \"GRPC\"",
        );
        check(
            "{proxyProtocol: Direct, transport: {}}",
            "service.connection.transport: Invalid value: \"direct\": config must be absent for direct connect",
        );
        check(
            "{proxyProtocol: HTTPConnect}",
            "service.connection.transport: Required value: transport must be set for HTTPConnect",
        );
        check(
            "{proxyProtocol: GRPC}",
            "service.connection.transport: Required value: transport must be set for GRPC",
        );
        check(
            "{proxyProtocol: GRPC, transport: {tcp: {url: 'http://a'}}}",
            "service.connection.uds: Required value: UDS must be set with GRPC",
        );
        check(
            "{proxyProtocol: GRPC, transport: {uds: {}}}",
            "service.connection.udsName: Invalid value: \"nil\": must be present for UDS connections",
        );
        check(
            "{proxyProtocol: HTTPConnect, transport: {}}",
            "service.connection.tcp: Required value: One of TCP or UDS must be set",
        );
        check(
            "{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://a'}, uds: {udsName: b}}}",
            "service.connection.tcp: Invalid value: {\"URL\":\"http://a\",\"TLSConfig\":null}: TCP and UDS cannot both be \
             set",
        );
        check(
            "{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'a:1'}}}",
            "service.connection.url: Invalid value: \"a:1\": supported connection protocols are http:// and https://",
        );
        check(
            "{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://a', tlsConfig: {}}}}",
            "service.connection.tlsConfig: Invalid value: \"nil\": config must not be present when using HTTP",
        );
        check("{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://a'}}}", "");
        check(
            "{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'https://a'}}}",
            "service.connection.tlsConfig: Required value: TLSConfig must be present when using HTTPS",
        );
        check(
            "{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'https://a', tlsConfig: {caBundle: /nowhere/a}}}}",
            "[service.connection.tlsConfig.caBundle: Invalid value: \"/nowhere/a\": TLS config ca bundle does not exist, \
             service.connection.tlsConfig.clientCert: Invalid value: \"nil\": Using TLS requires clientCert, \
             service.connection.tlsConfig.clientKey: Invalid value: \"nil\": Using TLS requires requires clientKey]",
        );
        check(
            "{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'https://a', tlsConfig: {clientCert: /nowhere/c, \
             clientKey: /nowhere/k}}}}",
            "[service.connection.tlsConfig.clientCert: Invalid value: \"/nowhere/c\": TLS client cert does not exist, \
             service.connection.tlsConfig.clientKey: Invalid value: \"/nowhere/k\": TLS client key does not exist]",
        );
    }
}
