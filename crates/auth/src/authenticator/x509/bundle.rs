//! Bundles of authorities, put together.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};

/// How long after its end a certificate still counts: clocks differ.
const SLACK: Duration = Duration::from_secs(5 * 60);

/// All certificates of some PEM bundles in their order, each once, without those that have expired. Empty if none is left.
/// Each bundle must have a certificate, and all of them must be ones.
pub fn merge_bundles(bundles: &[&str], now: SystemTime) -> Result<String, String> {
    let mut all: Vec<CertificateDer<'static>> = Vec::new();
    for bundle in bundles {
        let before = all.len();
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            let certificate =
                certificate.map_err(|error| format!("not a bundle of certificates: {error:?}"))?;
            found += 1;
            if !is_over(&certificate, now)? && !all.contains(&certificate) {
                all.push(certificate);
            }
        }
        if found == 0 {
            all.truncate(before);
            return Err("data does not contain any valid RSA or ECDSA certificates".into());
        }
    }
    Ok(all.iter().map(|certificate| pem(certificate)).collect())
}

fn is_over(certificate: &[u8], now: SystemTime) -> Result<bool, String> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|error| error.to_string())?;
    let end = u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or(0);
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(Duration::from_secs(end) <= now.saturating_sub(SLACK))
}

fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn authority(name: &str, until: i32) -> String {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem().replace("\r\n", "\n")
    }

    #[test]
    fn each_certificate_is_there_once_in_the_order_of_the_bundles() {
        let [a, b, c] = ["a", "b", "c"].map(|name| authority(name, 4000));
        let (first, second) = (format!("{a}# a comment\n{b}"), format!("{b}{c}{a}"));
        let merged = merge_bundles(&[&first, &second], SystemTime::now()).unwrap();
        assert_eq!(merged, format!("{a}{b}{c}"));
        assert_eq!(merge_bundles(&[], SystemTime::now()).unwrap(), "");
    }

    #[test]
    fn expired_certificates_are_left_out() {
        let (old, new) = (authority("old", 2001), authority("new", 4000));
        let both = format!("{old}{new}");
        assert_eq!(merge_bundles(&[&both], SystemTime::now()).unwrap(), new);
        assert_eq!(merge_bundles(&[&old], SystemTime::now()).unwrap(), "");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(978_307_200);
        assert_eq!(merge_bundles(&[&old], then + SLACK - Duration::from_secs(1)).unwrap(), old);
        assert_eq!(merge_bundles(&[&old], then + SLACK).unwrap(), "");
    }

    #[test]
    fn a_malformed_bundle_is_an_error() {
        let good = authority("a", 4000);
        for bad in ["", "nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(merge_bundles(&[&good, bad], SystemTime::now()).is_err(), "{bad}");
        }
    }
}
