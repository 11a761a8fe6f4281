use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};

use super::*;

const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn write_pair(dir: &Path, name: &str, subjects: &[&str]) -> KeyPairFiles {
    let names: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let files =
        KeyPairFiles { certificate: dir.join(format!("{name}.crt")), key: dir.join(format!("{name}.key")) };
    std::fs::write(&files.certificate, certificate.pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    files
}

fn options(default: KeyPairFiles) -> TlsOptions {
    TlsOptions {
        default,
        named: Vec::new(),
        min_version: MinVersion::Tls12,
        cipher_suites: Vec::new(),
        curve_preferences: Vec::new(),
        http2: true,
        client_cas: Vec::new(),
    }
}

#[test]
fn a_reload_takes_new_files_and_keeps_the_old_when_they_are_bad() {
    let dir = tempfile::tempdir().unwrap();
    let pair = write_pair(dir.path(), "a", &["localhost"]);
    let tls = Tls::new(options(pair.clone())).unwrap();
    let first = tls.current(LOCAL);
    std::fs::write(&pair.certificate, "garbage").unwrap();
    assert!(matches!(tls.reload(), Err(Error::NoCertificate(_))));
    assert!(Arc::ptr_eq(&first, &tls.current(LOCAL)));
    write_pair(dir.path(), "a", &["localhost"]);
    tls.reload().unwrap();
    assert!(!Arc::ptr_eq(&first, &tls.current(LOCAL)));
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (write_pair(dir.path(), "a", &["a"]), write_pair(dir.path(), "b", &["b"]));
    let error = Tls::new(options(KeyPairFiles { key: b.key, ..a })).err().map(|error| error.to_string());
    assert!(error.unwrap_or_default().contains("does not fit the certificate"));
}

#[test]
fn a_key_file_s_content_is_never_in_the_message() {
    let dir = tempfile::tempdir().unwrap();
    let pair = write_pair(dir.path(), "a", &["a"]);
    std::fs::write(&pair.key, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n").unwrap();
    let error = Tls::new(options(pair)).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("holds no PEM private key") && !error.contains("c2VjcmV0"), "{error}");
}

#[test]
fn every_file_is_watched() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (write_pair(dir.path(), "a", &["a"]), write_pair(dir.path(), "b", &["b"]));
    let mut options = options(a.clone());
    options.named = vec![(b, Vec::new())];
    options.client_cas = vec![a.certificate];
    assert_eq!(options.files().len(), 5);
}

#[test]
fn certificates_are_chosen_by_name_then_wildcard_then_default() {
    let dir = tempfile::tempdir().unwrap();
    let provider = aws_lc_rs::default_provider();
    let load = |name: &str, subjects: &[&str]| {
        keys::load(&write_pair(dir.path(), name, subjects), &provider).unwrap()
    };
    let (default, exact, wildcard) =
        (load("d", &["d"]), load("e", &["a.example.com"]), load("w", &["ignored"]));
    let named = vec![
        NamedCertificate::new(exact.clone(), Vec::new()),
        NamedCertificate::new(wildcard.clone(), vec!["*.Example.com".into()]),
    ];
    let resolver = sni::Resolver::new(default.clone(), &named);
    let is = |name: &str, expect: &Arc<_>| assert!(Arc::ptr_eq(&resolver.find(name), expect), "{name}");
    is("a.example.com", &exact);
    is("A.example.com.", &exact);
    is("b.example.com", &wildcard);
    is("a.b.example.com", &default);
    is("ignored", &default);
}

#[test]
fn a_name_said_for_a_certificate_beats_one_found_in_another() {
    let dir = tempfile::tempdir().unwrap();
    let provider = aws_lc_rs::default_provider();
    let load = |name: &str| keys::load(&write_pair(dir.path(), name, &["a.example.com"]), &provider).unwrap();
    let (default, found, said) = (load("d"), load("f"), load("s"));
    let named = [
        NamedCertificate::new(found, Vec::new()),
        NamedCertificate::new(said.clone(), vec!["a.example.com".into()]),
    ];
    assert!(Arc::ptr_eq(&sni::Resolver::new(default, &named).find("a.example.com"), &said));
}

#[test]
fn a_certificate_for_an_address_is_found_by_the_connection() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(write_pair(dir.path(), "a", &["localhost"]));
    options.named = vec![(write_pair(dir.path(), "b", &["b"]), vec!["127.0.0.9".into()])];
    let tls = Tls::new(options).unwrap();
    let by_name = tls.current(LOCAL);
    assert!(!Arc::ptr_eq(&tls.current([127, 0, 0, 9].into()), &by_name));
    assert!(Arc::ptr_eq(&tls.current([127, 0, 0, 8].into()), &by_name));
}
