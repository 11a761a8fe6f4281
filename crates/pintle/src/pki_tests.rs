//! Certificates that are made, kept and renewed.

use super::*;

fn names(addresses: &[&str]) -> Names {
    Names {
        dns: vec!["localhost".into()],
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
    }
}

#[test]
fn certificates_are_kept_until_names_change() {
    let dir = tempfile::tempdir().unwrap();
    let pki = Pki::new(dir.path().join("pki"));
    let read = || std::fs::read(pki.serving().certificate).unwrap();
    pki.ensure_serving(&names(&["127.0.0.1"])).unwrap();
    let (first, authority) = (read(), std::fs::read(pki.authority()).unwrap());
    pki.ensure_serving(&names(&["127.0.0.1"])).unwrap();
    assert_eq!(read(), first, "still good");
    pki.ensure_serving(&names(&["127.0.0.1", "10.1.2.3"])).unwrap();
    assert_ne!(read(), first, "a new address");
    assert_eq!(std::fs::read(pki.authority()).unwrap(), authority, "the authority stays");
}

#[test]
fn a_foreign_serving_certificate_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let pki = Pki::new(dir.path().into());
    let other = Pki::new(dir.path().join("other"));
    other.ensure_serving(&names(&[])).unwrap();
    std::fs::copy(other.serving().certificate, pki.serving().certificate).unwrap();
    std::fs::copy(other.serving().key, pki.serving().key).unwrap();
    pki.ensure_admin().unwrap();
    pki.ensure_serving(&names(&["10.1.2.3"])).unwrap();
    assert!(pki.has_foreign_serving());
    let served = std::fs::read(pki.serving().certificate).unwrap();
    assert_eq!(served, std::fs::read(other.serving().certificate).unwrap());
}

#[test]
fn a_start_that_was_cut_short_is_made_good() {
    let dir = tempfile::tempdir().unwrap();
    let pki = Pki::new(dir.path().into());
    let serving = pki.serving();
    pki.ensure_serving(&names(&[])).unwrap();
    std::fs::remove_file(&serving.key).unwrap();
    pki.ensure_serving(&names(&[])).unwrap();
    assert!(pki.is_good(&serving, &names(&[])), "our certificate without its key");

    std::fs::copy(dir.path().join("pintle-ca.key"), &serving.key).unwrap();
    pki.ensure_serving(&names(&[])).unwrap();
    assert!(pki.is_good(&serving, &names(&[])), "our certificate with another key");

    let key = std::fs::read(dir.path().join("pintle-ca.key")).unwrap();
    std::fs::remove_file(pki.authority()).unwrap();
    pki.ensure_admin().unwrap();
    assert_eq!(
        std::fs::read(dir.path().join("pintle-ca.key")).unwrap(),
        key,
        "an authority's key is never replaced"
    );
}

#[test]
fn half_a_foreign_pair_is_an_error_and_not_replaced() {
    let other = tempfile::tempdir().unwrap();
    Pki::new(other.path().into()).ensure_serving(&names(&[])).unwrap();
    for file in ["apiserver.crt", "apiserver.key"] {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (other.path().join(file), dir.path().join(file));
        std::fs::copy(&from, &to).unwrap();
        let error = Pki::new(dir.path().into()).ensure_serving(&names(&[])).unwrap_err().to_string();
        assert!(error.contains("there is only one"), "{error}");
        assert_eq!(std::fs::read(from).unwrap(), std::fs::read(to).unwrap());
    }
}

#[test]
fn an_authority_without_its_key_is_an_error_and_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let pki = Pki::new(dir.path().into());
    pki.ensure_admin().unwrap();
    std::fs::remove_file(dir.path().join("pintle-ca.key")).unwrap();
    std::fs::remove_file(pki.admin().certificate).unwrap();
    let error = pki.ensure_admin().unwrap_err().to_string();
    assert!(error.contains("without its key"), "{error}");
}
