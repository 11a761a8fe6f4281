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
    authority_for(name, &[])
}

/// One that says what it is for.
fn authority_for(name: &str, usages: &[ExtendedKeyUsagePurpose]) -> Authority {
    let (params, key) = (authority_params(name, usages), KeyPair::generate().unwrap());
    let certificate = params.self_signed(&key).unwrap().der().clone();
    Authority { certificate, issuer: Issuer::new(params, key) }
}

fn authority_params(name: &str, usages: &[ExtendedKeyUsagePurpose]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.extended_key_usages = usages.to_vec();
    params
}

/// One that another vouches for.
fn intermediate(above: &Authority, usages: &[ExtendedKeyUsagePurpose]) -> Authority {
    let (params, key) = (authority_params("between", usages), KeyPair::generate().unwrap());
    let certificate = params.signed_by(&key, &above.issuer).unwrap().der().clone();
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

fn verify(
    verifier: &ClientCertificates,
    chain: &[CertificateDer<'static>],
) -> Result<Option<Arc<User>>, Error> {
    let certificates = PeerCertificates::new(chain.to_vec());
    Ok(verifier.certified(&certificates, SystemTime::now())?.and_then(|verified| verified.user))
}

fn reason(result: Result<Option<Arc<User>>, Error>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn the_subject_names_user_and_groups() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let verified = verify(&verifier, &[client(&ca, |_| {})]).unwrap().unwrap();
    assert_eq!(verified.name, "ann");
    assert_eq!(verified.groups, ["devs", "system:authenticated"]);
    assert!(verified.extra["authentication.kubernetes.io/credential-id"][0].starts_with("X509SHA256="));
}

#[test]
fn no_certificate_is_no_opinion() {
    let verifier = ClientCertificates::new(&[authority("ca").certificate], true).unwrap();
    assert!(verify(&verifier, &[]).unwrap().is_none());
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let verifier = ClientCertificates::new(&[authority("ca").certificate], true).unwrap();
    let error = reason(verify(&verifier, &[client(&authority("other"), |_| {})]));
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
    let error = reason(verify(&verifier, &[certificate]));
    assert!(error.contains("Expired"), "{error}");
}

#[test]
fn a_server_certificate_is_refused() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate =
        client(&ca, |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]);
    assert_ne!(reason(verify(&verifier, &[certificate])), "");
}

#[test]
fn every_certificate_of_a_chain_must_be_for_clients_or_for_anything() {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, ServerAuth};
    let check = |root: &[_], between: Option<&[_]>, leaf: &[ExtendedKeyUsagePurpose], expect: bool| {
        let ca = authority_for("ca", root);
        let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
        let between = between.map(|usages| intermediate(&ca, usages));
        let signer = between.as_ref().unwrap_or(&ca);
        let mut chain = vec![client(signer, |params| params.extended_key_usages = leaf.to_vec())];
        chain.extend(between.as_ref().map(|between| between.certificate.clone()));
        let found = verify(&verifier, &chain);
        assert_eq!(matches!(&found, Ok(Some(_))), expect, "{chain:?}: {}", reason(found));
    };
    check(&[], None, &[Any], true);
    check(&[], None, &[ServerAuth, Any], true);
    check(&[], None, &[], true);
    check(&[], None, &[ServerAuth], false);
    check(&[], Some(&[]), &[Any], true);
    check(&[], Some(&[Any]), &[Any], true);
    check(&[], Some(&[Any]), &[ClientAuth], true);
    check(&[], Some(&[ClientAuth]), &[Any], true);
    check(&[], Some(&[ServerAuth]), &[Any], false);
    check(&[], Some(&[Any]), &[ServerAuth], false);
    check(&[ClientAuth], None, &[Any], true);
    check(&[Any], Some(&[]), &[ClientAuth], true);
    check(&[ServerAuth], None, &[Any], false);
    check(&[ServerAuth], Some(&[Any]), &[ClientAuth], false);
}

#[test]
fn a_verification_ends_with_the_certificate_and_with_the_roots() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate = client(&ca, |params| params.not_after = date_time_ymd(2050, 1, 1));
    let certificates = PeerCertificates::new(vec![certificate]);
    let verified = verifier.certified(&certificates, SystemTime::now()).unwrap().unwrap();
    assert!(verified.still_holds(&verifier.current(), SystemTime::now()));
    let later = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(2_600_000_000);
    assert!(!verified.still_holds(&verifier.current(), later), "the certificate has expired");
    verifier.replace(&[authority("new").certificate]).unwrap();
    assert!(!verified.still_holds(&verifier.current(), SystemTime::now()), "its roots are gone");
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
        let verified = verify(&verifier, std::slice::from_ref(&certificate)).unwrap().unwrap();
        assert_eq!(verified.uid, expect);
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
    assert_ne!(reason(verify(&verifier, &[client(&ca, |_| {})])), "");
}

#[test]
fn a_certificate_that_is_no_authority_vouches_only_for_itself() {
    let ca = authority("ca");
    let trusted = client(&ca, |_| {});
    let verifier = ClientCertificates::new(std::slice::from_ref(&trusted), true).unwrap();
    let user = |certificate| verify(&verifier, &[certificate]).ok().flatten();
    assert_eq!(user(trusted.clone()).unwrap().name, "ann");
    assert!(user(client(&ca, |_| {})).is_none(), "not even for one of the same authority");
}

#[test]
fn a_client_that_is_an_authority_itself_is_let_in() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate = client(&ca, |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    assert!(verify(&verifier, &[certificate]).unwrap().is_some());
    let forged = client(&authority("ca"), |params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    assert_ne!(reason(verify(&verifier, &[forged])), "", "another authority of the same name");
}

#[test]
fn a_subject_without_a_common_name_is_no_user() {
    let ca = authority("ca");
    let verifier = ClientCertificates::new(std::slice::from_ref(&ca.certificate), true).unwrap();
    let certificate = client(&ca, |params| params.distinguished_name = rcgen::DistinguishedName::new());
    assert!(verify(&verifier, &[certificate]).unwrap().is_none());
}

#[tokio::test]
async fn two_sets_of_roots_do_not_take_each_other_s_verifications() {
    let (clients, proxies) = (authority("clients"), authority("proxies"));
    let of = |authority: &Authority| {
        ClientCertificates::new(std::slice::from_ref(&authority.certificate), true).unwrap()
    };
    let (clients, proxies, certificate) = (of(&clients), of(&proxies), client(&clients, |_| {}));
    let certificates = PeerCertificates::new(vec![certificate]);
    for _ in 0..2 {
        assert!(clients.certified(&certificates, SystemTime::now()).is_ok());
        assert!(proxies.certified(&certificates, SystemTime::now()).is_err());
    }
}
