use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, IsCa, KeyPair, SanType,
};
use x509_parser::extensions::GeneralName;

use super::*;

const NOW: i64 = 1_800_000_000;
const YEAR: i64 = 365 * 24 * 3600;

fn at(seconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs())
}

fn offset(seconds: i64) -> CertificateParams {
    let mut params = CertificateParams::default();
    let year = i32::try_from(2027 + seconds / YEAR).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(year, 1, 15);
    params
}

/// An authority that ends some years after 2027, with its certificate.
fn authority_of(key: &KeyPair, years: i64) -> (Authority, String) {
    let mut params = offset(years * YEAR);
    params.distinguished_name.push(DnType::CommonName, "test-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(key).unwrap().pem();
    (Authority::from_pem(pem.as_bytes(), key.serialize_pem().as_bytes()).unwrap(), pem)
}

fn authority() -> (Authority, String) {
    authority_of(&KeyPair::generate().unwrap(), 10)
}

fn request_of(names: &[(DnType, &str)], edit: impl FnOnce(&mut CertificateParams)) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, name) in names {
        params.distinguished_name.push(kind.clone(), *name);
    }
    edit(&mut params);
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

fn request() -> String {
    request_of(&[(DnType::CommonName, "ann"), (DnType::OrganizationName, "devs")], |_| {})
}

fn terms(hours: u64) -> Terms<'static> {
    Terms { lifetime: Duration::from_secs(hours * 3600), usages: &["client auth"], now: at(NOW) }
}

fn der(pem: &str) -> Vec<u8> {
    let (block, rest) = pem::decode(pem.as_bytes()).unwrap();
    assert_eq!((block.label.as_str(), rest), ("CERTIFICATE", &b""[..]));
    block.contents
}

#[test]
fn a_certificate_is_of_its_request_and_verifies_with_its_authority() {
    for algorithm in [
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_ED25519,
    ] {
        let (authority, own) = authority_of(&KeyPair::generate_for(algorithm).unwrap(), 10);
        let names = [
            SanType::DnsName("a.example".try_into().unwrap()),
            SanType::IpAddress(IpAddr::from([1, 2, 3, 4])),
        ];
        let request =
            request_of(&[(DnType::CommonName, "ann"), (DnType::OrganizationName, "a, b*")], |params| {
                params.subject_alt_names.extend(names);
            });
        let usages = ["digital signature", "key encipherment", "client auth", "server auth"];
        let signed = authority.sign(request.as_bytes(), &Terms { usages: &usages, ..terms(24) }).unwrap();
        let (signed, own) = (der(&signed), der(&own));
        let (_, certificate) = X509Certificate::from_der(&signed).unwrap();
        let (_, own) = X509Certificate::from_der(&own).unwrap();
        assert!(certificate.verify_signature(Some(own.public_key())).is_ok());
        assert_eq!(certificate.issuer().as_raw(), own.subject().as_raw());
        assert_eq!(certificate.subject().to_string(), "O=a, b*, CN=ann");
        let asked = Details::read(request.as_bytes()).unwrap();
        assert_eq!(certificate.public_key().raw, asked.key_der);
        let usage = certificate.key_usage().unwrap().unwrap();
        assert!(usage.critical && usage.value.digital_signature() && usage.value.key_encipherment());
        assert!(!usage.value.key_cert_sign());
        let extended = certificate.extended_key_usage().unwrap().unwrap().value;
        assert!(extended.client_auth && extended.server_auth && !extended.any);
        let constraints = certificate.basic_constraints().unwrap().unwrap();
        assert!(constraints.critical && !constraints.value.ca);
        let names = &certificate.subject_alternative_name().unwrap().unwrap().value.general_names;
        assert_eq!(names, &[GeneralName::DNSName("a.example"), GeneralName::IPAddress(&[1, 2, 3, 4])]);
        assert_eq!(certificate.version().0, 2);
    }
}

/// A user's UID is an attribute of this kind, and would be taken for the authority's word.
#[test]
fn attributes_and_extensions_beside_the_known_ones_are_dropped() {
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let request = request_of(&[(DnType::CommonName, "ann"), (uid, "root")], |params| {
        params.custom_extensions.push(CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]));
    });
    let signed = der(&authority().0.sign(request.as_bytes(), &terms(1)).unwrap());
    let (_, certificate) = X509Certificate::from_der(&signed).unwrap();
    assert_eq!(certificate.subject().to_string(), "CN=ann");
    assert_eq!(certificate.extensions().len(), 3, "usage, constraints and the authority's key");
}

#[test]
fn several_values_of_an_attribute_are_kept() {
    // One set with two organizations, and another one beside it.
    let organization =
        |name: &str| encoding::sequence(&[&[6, 3, 85, 4, 10], &crate::jwt::der::tagged(12, name.as_bytes())]);
    let set = |values: &[Vec<u8>]| crate::jwt::der::tagged(0x31, &values.concat());
    let name = [set(&[organization("b"), organization("c")]), set(&[organization("a")])].concat();
    let name = crate::jwt::der::tagged(0x30, &name);
    let (_, name) = x509_parser::x509::X509Name::from_der(&name).unwrap();
    let rebuilt = subject(&name);
    let (_, rebuilt) = x509_parser::x509::X509Name::from_der(&rebuilt).unwrap();
    let values: Vec<_> = rebuilt.iter_organization().map(|value| value.as_str().unwrap()).collect();
    assert_eq!(values, ["a", "b", "c"]);
}

#[test]
fn long_lives_end_earlier_for_being_backdated_and_short_ones_do_not() {
    let (authority, _) = authority();
    let period = |hours: u64| {
        let signed = der(&authority.sign(request().as_bytes(), &terms(hours)).unwrap());
        let (_, certificate) = X509Certificate::from_der(&signed).unwrap();
        let validity = certificate.validity();
        (validity.not_before.timestamp() - NOW, validity.not_after.timestamp() - NOW)
    };
    assert_eq!(period(1), (-300, 3600));
    assert_eq!(period(8), (-300, 8 * 3600 - 300));
    assert_eq!(period(24 * 365 * 100).1, authority.not_after - NOW, "no longer than the authority");
}

#[test]
fn years_after_2049_have_four_digits() {
    let (authority, _) = authority_of(&KeyPair::generate().unwrap(), 60);
    let signed = der(&authority.sign(request().as_bytes(), &terms(24 * 365 * 50)).unwrap());
    let (_, certificate) = X509Certificate::from_der(&signed).unwrap();
    assert_eq!(certificate.validity().not_after.timestamp() - NOW, 50 * YEAR - 300);
}

#[test]
fn an_authority_that_has_expired_signs_nothing() {
    let (authority, _) = authority();
    let now = |seconds| Terms { now: at(authority.not_after + seconds), ..terms(1) };
    let signed = |seconds| authority.sign(request().as_bytes(), &now(seconds)).unwrap_err().to_string();
    assert!(signed(0).starts_with("refusing to sign a certificate that expired in the past"));
    assert!(signed(300).starts_with("the signer has expired: NotAfter="));
    assert!(authority.sign(request().as_bytes(), &now(-1)).is_ok());
}

#[test]
fn unknown_usages_and_bad_requests_are_refused() {
    let (authority, _) = authority();
    let terms_of = |usages| Terms { usages, ..terms(1) };
    let refused = |request: &str, usages| authority.sign(request.as_bytes(), &terms_of(usages)).unwrap_err();
    let unknown = refused(&request(), &["client auth", "x", "y"]);
    assert_eq!(unknown.to_string(), r#"unrecognized usage values: ["x" "y"]"#);
    let none = refused("", &["client auth"]).to_string();
    assert_eq!(none, "unable to parse certificate request: PEM block type must be CERTIFICATE REQUEST");
    let (mut block, _) = pem::decode(request().as_bytes()).unwrap();
    *block.contents.last_mut().unwrap() ^= 1;
    let forged = pem_of(&block.contents).replace("CERTIFICATE", "CERTIFICATE REQUEST");
    assert!(matches!(refused(&forged, &["client auth"]), Error::Signature(_)));
}

#[test]
fn every_usage_is_encoded() {
    let all: Vec<&str> = "signing,digital signature,content commitment,key encipherment,key agreement,data encipherment,cert sign,\
        crl sign,encipher only,decipher only,any,server auth,client auth,code signing,email protection,s/mime,ipsec end \
        system,ipsec tunnel,ipsec user,timestamping,ocsp signing,microsoft sgc,netscape sgc"
        .split(',')
        .collect();
    let (authority, _) = authority();
    let signed = der(&authority.sign(request().as_bytes(), &Terms { usages: &all, ..terms(1) }).unwrap());
    let (_, certificate) = X509Certificate::from_der(&signed).unwrap();
    assert_eq!(certificate.key_usage().unwrap().unwrap().value.flags, 0x1ff);
    let extended = certificate.extended_key_usage().unwrap().unwrap().value;
    assert!(extended.any && extended.ocsp_signing && extended.time_stamping && extended.email_protection);
    assert_eq!(extended.other.len(), 5);
}

#[test]
fn a_key_has_to_be_of_the_certificate() {
    let (key, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let (_, pem) = authority_of(&key, 10);
    let read =
        |certificate: &str, key: &str| Authority::from_pem(certificate.as_bytes(), key.as_bytes()).err();
    assert_eq!(read(&pem, &other.serialize_pem()), Some(Error::Mismatch));
    assert_eq!(read(&pem, &pem), Some(Error::Key));
    assert_eq!(read(&pem.repeat(2), &key.serialize_pem()), Some(Error::Certificates(2)));
    assert_eq!(read("", &key.serialize_pem()), Some(Error::Certificates(0)));
    assert_eq!(read(&pem, &key.serialize_pem()), None);
}

#[test]
fn details_of_a_request_are_what_signers_look_at() {
    let names = ["x@example.com", "spiffe://a/b"];
    let request = request_of(&[(DnType::CommonName, "ann")], |params| {
        params.subject_alt_names = vec![
            SanType::Rfc822Name(names[0].try_into().unwrap()),
            SanType::URI(names[1].try_into().unwrap()),
            SanType::IpAddress("::1".parse().unwrap()),
        ];
    });
    let details = Details::read(request.as_bytes()).unwrap();
    assert_eq!(details.subject.common_name, "ann");
    assert_eq!(details.email_addresses, &names[..1]);
    assert_eq!(details.uris, &names[1..]);
    assert_eq!(details.ip_addresses, [std::net::Ipv6Addr::LOCALHOST.octets().to_vec()]);
}
