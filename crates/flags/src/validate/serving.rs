//! The TLS listener.

use super::Problems;
use crate::Parsed;
use crate::golang::quote;

const VERSIONS: [&str; 4] = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];

/// Every cipher suite name the reference takes. Whether the TLS library has it is for the listener to say: a suite it
/// lacks is a warning, not an error.
const CIPHER_SUITES: [&str; 27] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// P-256, P-384, P-521, X25519, and the three hybrids with ML-KEM.
const KEY_EXCHANGES: [i32; 7] = [23, 24, 25, 29, 4587, 4588, 4589];

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let port = flags.int("secure-port");
    let first = if flags.non_empty("port-file").is_some() { 0 } else { 1 };
    if !(first..=65_535).contains(&port) {
        problems.push(format!(
            "--secure-port {port} must be between 1 and 65535, inclusive. It cannot be turned off with 0"
        ));
    }
    let plain = flags.int("insecure-port");
    if !(0..=65_535).contains(&plain) {
        problems.push(format!(
            "--insecure-port {plain} must be between 0 and 65535, inclusive. 0 for turning off insecure (HTTP) port"
        ));
    }
    if flags.non_empty("tls-cert-file").is_some() != flags.non_empty("tls-private-key-file").is_some() {
        problems.push("--tls-cert-file and --tls-private-key-file must be specified together".into());
    }
    let version = flags.string("tls-min-version");
    if !version.is_empty() && !VERSIONS.contains(&version) {
        problems.push(format!("--tls-min-version: unknown tls version {}", quote(version)));
    }
    let unknown = |suite: &&String| !CIPHER_SUITES.contains(&suite.as_str());
    if let Some(suite) = flags.strings("tls-cipher-suites").iter().find(unknown) {
        problems.push(format!("--tls-cipher-suites: Cipher suite {suite} not supported or doesn't exist"));
    }
    problems.extend(key_exchange_problem(flags.int32s("tls-curve-preferences")));
}

fn key_exchange_problem(ids: &[i32]) -> Option<String> {
    let reason = |(at, id): (usize, &i32)| {
        if !(1..=65_535).contains(id) {
            Some(format!("curve preference {id} is out of range (must be 1-65535)"))
        } else if ids[..at].contains(id) {
            Some(format!("duplicate curve preference {id}"))
        } else if !KEY_EXCHANGES.contains(id) {
            Some(format!("curve preference {id} is not supported"))
        } else {
            None
        }
    };
    let reason = ids.iter().enumerate().find_map(reason)?;
    Some(format!("--tls-curve-preferences: {reason}"))
}
