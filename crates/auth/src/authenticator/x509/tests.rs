use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

use super::*;

struct Authority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    Authority { certificate, issuer: Issuer::new(params, key) }
}

fn client(authority: &Authority, change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "ann");
    params.distinguished_name.push(DnType::OrganizationName, "devs");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    change(&mut params);
    params.signed_by(&KeyPair::generate().unwrap(), &authority.issuer).unwrap().der().clone()
}

fn reason(result: Result<Option<Verified>, Error>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn the_subject_names_user_and_groups() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let verified = verifier.verify(&[client(&ca, |_| {})], SystemTime::now()).unwrap().unwrap();
    assert_eq!(verified.user.name, "ann");
    assert_eq!(verified.user.groups, ["devs", "system:authenticated"]);
    assert!(verified.user.extra["authentication.kubernetes.io/credential-id"][0].starts_with("X509SHA256="));
}

#[test]
fn no_certificate_is_no_opinion() {
    let verifier = ClientCertificates::new(&[authority("ca").certificate], true).unwrap();
    assert!(verifier.verify(&[], SystemTime::now()).unwrap().is_none());
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let verifier = ClientCertificates::new(&[authority("ca").certificate], true).unwrap();
    let error = reason(verifier.verify(&[client(&authority("other"), |_| {})], SystemTime::now()));
    assert!(error.contains("UnknownIssuer"), "{error}");
}

#[test]
fn an_expired_certificate_is_refused() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate = client(&ca, |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let error = reason(verifier.verify(&[certificate], SystemTime::now()));
    assert!(error.contains("Expired"), "{error}");
}

#[test]
fn a_server_certificate_is_refused() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate =
        client(&ca, |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]);
    assert_ne!(reason(verifier.verify(&[certificate], SystemTime::now())), "");
}

#[test]
fn a_verification_ends_with_the_certificate_and_with_the_roots() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate = client(&ca, |params| params.not_after = date_time_ymd(2050, 1, 1));
    let verified = verifier.verify(&[certificate], SystemTime::now()).unwrap().unwrap();
    assert!(verifier.still_holds(&verified, SystemTime::now()));
    let later = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(2_600_000_000);
    assert!(!verifier.still_holds(&verified, later), "the certificate has expired");
    verifier.replace(&[authority("new").certificate]).unwrap();
    assert!(!verifier.still_holds(&verified, SystemTime::now()), "its roots are gone");
}

#[tokio::test]
async fn a_connection_s_verification_is_used_again_until_the_roots_change() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificates = PeerCertificates::new(vec![client(&ca, |_| {})]);
    let headers = http::HeaderMap::new();
    let credentials =
        Credentials { headers: &headers, path: "/", certificates: &certificates, now: SystemTime::now() };
    let first = verifier.authenticate(credentials).await.unwrap().unwrap();
    let second = verifier.authenticate(credentials).await.unwrap().unwrap();
    assert!(Arc::ptr_eq(&first.user, &second.user));
    verifier.replace(&[authority("new").certificate]).unwrap();
    assert!(verifier.authenticate(credentials).await.is_err());
}

#[test]
fn a_uid_in_the_subject_counts_where_it_may() {
    let ca = authority("ca");
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let certificate = client(&ca, |params| params.distinguished_name.push(uid, "u-1"));
    for (reads_uid, expect) in [(true, "u-1"), (false, "")] {
        let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), reads_uid).unwrap();
        let verified =
            verifier.verify(std::slice::from_ref(&certificate), SystemTime::now()).unwrap().unwrap();
        assert_eq!(verified.user.uid, expect);
    }
}

#[test]
fn an_expired_authority_is_not_trusted_any_more() {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "old");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let ca = Authority { certificate, issuer: Issuer::new(params, key) };
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    assert_ne!(reason(verifier.verify(&[client(&ca, |_| {})], SystemTime::now())), "");
}

#[test]
fn a_certificate_that_is_no_authority_vouches_only_for_itself() {
    let ca = authority("ca");
    let trusted = client(&ca, |_| {});
    let verifier = ClientCertificates::new(std::slice::from_ref(&trusted), true).unwrap();
    let user = |certificate| verifier.verify(&[certificate], SystemTime::now()).ok().flatten();
    assert_eq!(user(trusted.clone()).unwrap().user.name, "ann");
    assert!(user(client(&ca, |_| {})).is_none(), "not even for one of the same authority");
}

#[test]
fn a_client_that_is_an_authority_itself_is_let_in() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate = client(&ca, |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    assert!(verifier.verify(&[certificate], SystemTime::now()).unwrap().is_some());
    let forged = client(&authority("ca"), |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    assert_ne!(
        reason(verifier.verify(&[forged], SystemTime::now())),
        "",
        "another authority of the same name"
    );
}

#[test]
fn a_subject_without_a_common_name_is_nobody() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate = client(&ca, |params| params.distinguished_name = rcgen::DistinguishedName::new());
    assert!(verifier.verify(&[certificate], SystemTime::now()).unwrap().is_none());
}
