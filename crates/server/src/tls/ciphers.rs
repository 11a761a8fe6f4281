//! Go's names and numbers for protocol versions, cipher suites and curves, and what of them this server has.

use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::{self, cipher_suite as suite, kx_group};
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};

/// `--tls-min-version`. Older ones than 1.2 are raised to it, as nothing safe speaks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinVersion {
    #[default]
    Tls12,
    Tls13,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CipherError {
    #[error(
        "--tls-cipher-suites names none that this server has; it has {}",
        TLS12.map(|(name, _)| name).join(", ")
    )]
    NoneLeft,
    #[error("--tls-curve-preferences names none that this server has; it has 23, 24, 29 and 4588")]
    NoCurveLeft,
}

const TLS12: [(&str, SupportedCipherSuite); 6] = [
    ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];

/// Not configurable in Go: always on where TLS 1.3 is.
const TLS13: [(&str, SupportedCipherSuite); 3] = [
    ("TLS_AES_128_GCM_SHA256", suite::TLS13_AES_128_GCM_SHA256),
    ("TLS_AES_256_GCM_SHA384", suite::TLS13_AES_256_GCM_SHA384),
    ("TLS_CHACHA20_POLY1305_SHA256", suite::TLS13_CHACHA20_POLY1305_SHA256),
];

const CURVES: [(i32, &dyn SupportedKxGroup); 4] = [
    (23, kx_group::SECP256R1),
    (24, kx_group::SECP384R1),
    (29, kx_group::X25519),
    (4588, kx_group::X25519MLKEM768),
];

impl MinVersion {
    pub(super) fn protocol_versions(self) -> &'static [&'static SupportedProtocolVersion] {
        static ONLY_TLS13: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS13];
        match self {
            MinVersion::Tls12 => rustls::ALL_VERSIONS,
            MinVersion::Tls13 => &ONLY_TLS13,
        }
    }
}

/// The suites of these names, in the server's own order. Names it lacks are left out with a warning.
pub(super) fn suites(names: &[String], min: MinVersion) -> Result<Vec<SupportedCipherSuite>, CipherError> {
    if names.is_empty() {
        return Ok(aws_lc_rs::default_provider().cipher_suites);
    }
    for name in names {
        let bare = name.strip_suffix("_SHA256").unwrap_or(name);
        let known = TLS12.iter().chain(&TLS13).any(|(ours, _)| is_named(ours, name) || *ours == bare);
        if !known {
            tracing::warn!(
                cipher = name,
                "--tls-cipher-suites: this server does not have this cipher, it is left out"
            );
        }
    }
    let asked = |ours: &str| names.iter().any(|name| is_named(ours, name));
    let chosen: Vec<_> = TLS12.iter().filter(|(name, _)| asked(name)).map(|(_, suite)| *suite).collect();
    let names_tls13 = TLS13.iter().any(|(name, _)| asked(name));
    if chosen.is_empty() && !names_tls13 && min == MinVersion::Tls12 {
        return Err(CipherError::NoneLeft);
    }
    Ok(TLS13.iter().map(|(_, suite)| *suite).chain(chosen).collect())
}

/// Go has an older, shorter name for the ChaCha suites.
fn is_named(ours: &str, name: &str) -> bool {
    ours == name || (name.ends_with("CHACHA20_POLY1305") && ours.strip_suffix("_SHA256") == Some(name))
}

/// The key exchange groups of these numbers, in the order given.
pub(super) fn groups(numbers: &[i32]) -> Result<Vec<&'static dyn SupportedKxGroup>, CipherError> {
    if numbers.is_empty() {
        return Ok(aws_lc_rs::default_provider().kx_groups);
    }
    let mut groups = Vec::new();
    for number in numbers {
        match CURVES.iter().find(|(known, _)| known == number) {
            Some((_, group)) => groups.push(*group),
            None => {
                tracing::warn!(
                    curve = number,
                    "--tls-curve-preferences: this server does not have this curve"
                );
            }
        }
    }
    if groups.is_empty() { Err(CipherError::NoCurveLeft) } else { Ok(groups) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(names: &[&str]) -> Result<usize, CipherError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        suites(&names, MinVersion::Tls12).map(|suites| suites.len())
    }

    #[test]
    fn tls13_suites_stay_whatever_is_named() {
        assert_eq!(choose(&["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]), Ok(4));
        assert_eq!(choose(&["TLS_AES_128_GCM_SHA256"]), Ok(3));
        assert_eq!(choose(&["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"]), Ok(4));
    }

    #[test]
    fn ciphers_we_lack_are_left_out_and_only_such_fail() {
        let cbc = "TLS_RSA_WITH_AES_128_CBC_SHA";
        assert_eq!(choose(&[cbc, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]), Ok(4));
        assert_eq!(choose(&[cbc]), Err(CipherError::NoneLeft));
    }

    #[test]
    fn curves_keep_their_order() {
        let names: Vec<_> = groups(&[29, 99, 23]).unwrap().iter().map(|group| group.name()).collect();
        assert_eq!(names, [rustls::NamedGroup::X25519, rustls::NamedGroup::secp256r1]);
        assert_eq!(groups(&[25]).err(), Some(CipherError::NoCurveLeft));
    }
}
