//! Addresses, certificates and protocols of the listener.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use pintle_flags::Parsed;
use pintle_server::tls::{KeyPairFiles, MinVersion};

use super::path;

pub(crate) struct ServingOptions {
    /// The address for plain HTTP.
    pub(crate) insecure_address: IpAddr,
    pub(crate) insecure_port: Option<u16>,
    pub(crate) bind_address: IpAddr,
    pub(crate) port: u16,
    /// Receives the port that the server listens on.
    pub(crate) port_file: Option<PathBuf>,
    pub(crate) share_port: bool,
    pub(crate) advertise_address: Option<IpAddr>,
    pub(crate) external_hostname: Option<String>,
    /// `None`: beside the store, or a temporary directory.
    pub(crate) cert_dir: Option<PathBuf>,
    pub(crate) key_pair: Option<KeyPairFiles>,
    pub(crate) named_key_pairs: Vec<(KeyPairFiles, Vec<String>)>,
    pub(crate) min_version: MinVersion,
    pub(crate) cipher_suites: Vec<String>,
    pub(crate) curve_preferences: Vec<i32>,
    pub(crate) http2: bool,
    pub(crate) http2_streams: Option<u32>,
    pub(crate) client_ca: Option<PathBuf>,
    pub(crate) service_ip_ranges: Vec<String>,
}

impl ServingOptions {
    pub(super) fn from_flags(flags: &Parsed) -> ServingOptions {
        let embedded = flags.strings("etcd-servers").is_empty();
        let given = |name: &str| flags.changed(name);
        // A server on the embedded store without any address listens on loopback. With etcd or an address to advertise it is
        // a member of a cluster, and the reference's default holds.
        let is_local = embedded && !given("bind-address") && !given("advertise-address");
        let bind_address = match flags.ip("bind-address") {
            Some(address) if !is_local => address,
            _ => Ipv4Addr::LOCALHOST.into(),
        };
        let key_pair = path(flags, "tls-cert-file")
            .zip(path(flags, "tls-private-key-file"))
            .map(|(certificate, key)| KeyPairFiles { certificate, key });
        let named_key_pairs = flags.cert_keys("tls-sni-cert-key").iter().map(|pair| {
            let files = KeyPairFiles {
                certificate: pair.cert_file.clone().into(),
                key: pair.key_file.clone().into(),
            };
            (files, pair.names.clone())
        });
        ServingOptions {
            insecure_address: flags.ip("insecure-bind-address").unwrap_or(Ipv4Addr::LOCALHOST.into()),
            insecure_port: u16::try_from(flags.int("insecure-port")).ok().filter(|port| *port > 0),
            bind_address,
            port: flags.int("secure-port").try_into().unwrap_or(0),
            port_file: path(flags, "port-file"),
            share_port: flags.bool("permit-port-sharing"),
            advertise_address: flags.ip("advertise-address"),
            external_hostname: flags.non_empty("external-hostname").map(str::to_owned),
            cert_dir: (given("cert-dir") || !embedded).then(|| flags.string("cert-dir").into()),
            key_pair,
            named_key_pairs: named_key_pairs.collect(),
            min_version: match flags.string("tls-min-version") {
                "VersionTLS13" => MinVersion::Tls13,
                _ => MinVersion::Tls12,
            },
            cipher_suites: flags.strings("tls-cipher-suites").to_vec(),
            curve_preferences: flags.int32s("tls-curve-preferences").to_vec(),
            http2: !flags.bool("disable-http2-serving"),
            http2_streams: flags
                .int("http2-max-streams-per-connection")
                .try_into()
                .ok()
                .filter(|streams| *streams > 0),
            client_ca: path(flags, "client-ca-file"),
            service_ip_ranges: flags
                .string("service-cluster-ip-range")
                .split(',')
                .map(str::trim)
                .filter(|range| !range.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }
}
