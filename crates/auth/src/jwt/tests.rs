use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as Rsa, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
};
use aws_lc_rs::{encoding::AsDer, encoding::Pkcs8V1Der, hmac};
use proptest::prelude::*;

use super::*;

fn ecdsa(curve: &'static aws_lc_rs::signature::EcdsaSigningAlgorithm) -> PrivateKey {
    let pair = EcdsaKeyPair::generate(curve).unwrap();
    PrivateKey::from_section("PRIVATE KEY", pair.to_pkcs8v1().unwrap().as_ref()).unwrap()
}

fn rsa() -> (Rsa, PrivateKey) {
    let pair = Rsa::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let key = PrivateKey::from_section("PRIVATE KEY", der.as_ref()).unwrap();
    (pair, key)
}

fn json(text: &str) -> Value {
    pintle_codec::json::decode_any(text.as_bytes()).unwrap().value
}

fn unsigned(header: &str, payload: &str) -> String {
    format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload))
}

fn with_signature(unsigned: &str, signature: &[u8]) -> String {
    format!("{unsigned}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn verify(token: &str, key: &PublicKey) -> Result<Claims, Error> {
    Unverified::parse(token.as_bytes())?.verify(key, &Algorithm::ALL)
}

fn refusal(token: &[u8]) -> Error {
    Unverified::parse(token).err().unwrap()
}

#[test]
fn a_signed_token_is_verified_and_a_changed_one_is_not() {
    let (_, rsa) = rsa();
    let (p256, _) = PrivateKey::generate().unwrap();
    for key in [rsa, p256, ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING), ecdsa(&ECDSA_P521_SHA512_FIXED_SIGNING)] {
        let token = key.sign(&json(r#"{"sub":"a","iss":"b"}"#)).unwrap();
        let parsed = Unverified::parse(token.as_bytes()).unwrap();
        assert_eq!(parsed.key_id(), Some(key.public().id()));
        assert_eq!(parsed.algorithm(), key.public().kind().algorithm());
        assert_eq!(verify(&token, key.public()).unwrap().text("sub"), Ok(Some("a")));

        let [header, _, signature]: [&str; 3] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
        assert!(verify(&format!("{token}A"), key.public()).is_err());
        let other = URL_SAFE_NO_PAD.encode(r#"{"sub":"b","iss":"b"}"#);
        assert_eq!(verify(&format!("{header}.{other}.{signature}"), key.public()), Err(Error::Signature));
    }
}

#[test]
fn every_rsa_algorithm_is_verified() {
    let (pair, key) = rsa();
    let encodings: [(&str, &'static dyn RsaEncoding); 5] = [
        ("RS384", &RSA_PKCS1_SHA384),
        ("RS512", &RSA_PKCS1_SHA512),
        ("PS256", &RSA_PSS_SHA256),
        ("PS384", &RSA_PSS_SHA384),
        ("PS512", &RSA_PSS_SHA512),
    ];
    for (name, encoding) in encodings {
        let text = unsigned(&format!(r#"{{"alg":"{name}"}}"#), "{}");
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(encoding, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
        assert!(verify(&with_signature(&text, &signature), key.public()).is_ok(), "{name}");
        // The same signature under another name is none.
        for other in Algorithm::ALL.iter().filter(|other| other.name() != name) {
            let renamed = unsigned(&format!(r#"{{"alg":"{other}"}}"#), "{}");
            assert!(
                verify(&with_signature(&renamed, &signature), key.public()).is_err(),
                "{name} as {other}"
            );
        }
    }
}

/// RFC 7515, A.3 and A.4.
#[test]
fn published_examples_verify() {
    let keys = read_set(
        br#"{"keys":[
        {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
        {"kty":"EC","crv":"P-521",
         "x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
         "y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}]}"#,
    )
    .unwrap();
    let claims = verify(
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        &keys[0],
    )
    .unwrap();
    assert_eq!((claims.text("iss"), claims.date("exp")), (Ok(Some("joe")), Ok(Some(1_300_819_380))));
    // Signed, but what is signed is no JSON.
    let text = "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";
    assert_eq!(verify(text, &keys[1]), Err(Error::Payload));
}

#[test]
fn an_unsigned_token_is_refused_whatever_its_algorithm() {
    for name in ["none", "None", "NONE", "nOnE", "", "null"] {
        let token = unsigned(&format!(r#"{{"alg":"{name}"}}"#), "{}") + ".";
        assert_eq!(refusal(token.as_bytes()), Error::Algorithm, "{name}");
    }
    assert_eq!(refusal((unsigned("{}", "{}") + ".").as_bytes()), Error::Header);
    let (key, _) = PrivateKey::generate().unwrap();
    assert_eq!(verify(&(unsigned(r#"{"alg":"ES256"}"#, "{}") + "."), key.public()), Err(Error::Signature));
}

#[test]
fn a_public_key_is_never_taken_for_a_shared_secret() {
    let (_, key) = rsa();
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        base64::engine::general_purpose::STANDARD.encode(key.public().spki())
    );
    for secret in [key.public().spki(), pem.as_bytes()] {
        let text = unsigned(r#"{"alg":"HS256"}"#, r#"{"sub":"admin"}"#);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes());
        assert_eq!(refusal(with_signature(&text, tag.as_ref()).as_bytes()), Error::Algorithm);
        let text = unsigned(r#"{"alg":"RS256"}"#, r#"{"sub":"admin"}"#);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes());
        assert_eq!(verify(&with_signature(&text, tag.as_ref()), key.public()), Err(Error::Signature));
    }
}

#[test]
fn a_key_of_another_kind_is_not_tried() {
    let (_, rsa) = rsa();
    let (p256, _) = PrivateKey::generate().unwrap();
    let p384 = ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING);
    let keys = [&rsa, &p256, &p384];
    for signer in keys {
        let token = signer.sign(&json("{}")).unwrap();
        for other in keys.iter().filter(|other| other.public() != signer.public()) {
            assert_eq!(verify(&token, other.public()), Err(Error::Algorithm));
        }
    }
}

#[test]
fn an_algorithm_must_be_allowed_by_the_caller() {
    let (key, _) = PrivateKey::generate().unwrap();
    let token = key.sign(&json("{}")).unwrap();
    let parsed = Unverified::parse(token.as_bytes()).unwrap();
    assert_eq!(parsed.verify(key.public(), &[Algorithm::Rs256]), Err(Error::Algorithm));
    assert_eq!(parsed.verify(key.public(), &[]), Err(Error::Algorithm));
    assert!(parsed.verify(key.public(), &[Algorithm::Rs256, Algorithm::Es256]).is_ok());
}

#[test]
fn a_key_that_a_token_brings_along_is_not_used() {
    let (attacker, _) = PrivateKey::generate().unwrap();
    let (key, _) = PrivateKey::generate().unwrap();
    let set = json(std::str::from_utf8(&write_set([attacker.public()])).unwrap());
    let mut header = json(r#"{"alg":"ES256"}"#);
    let jwk = set.items_at(&["keys"])[0].clone();
    header.as_object_mut().unwrap().insert("jwk", jwk);
    let mut text = Vec::new();
    pintle_codec::json::encode(&header, &mut text);
    let signed = attacker.sign(&json("{}")).unwrap();
    let [_, payload, signature]: [&str; 3] = signed.split('.').collect::<Vec<_>>().try_into().unwrap();
    let token = format!("{}.{payload}.{signature}", URL_SAFE_NO_PAD.encode(text));
    assert_eq!(verify(&token, key.public()), Err(Error::Signature));
}

#[test]
fn critical_headers_are_refused() {
    for crit in [r#"["b64"]"#, "[]", "null", r#""exp""#] {
        let header = format!(r#"{{"alg":"ES256","crit":{crit},"b64":false}}"#);
        assert_eq!(refusal((unsigned(&header, "{}") + ".AA").as_bytes()), Error::Critical, "{crit}");
    }
}

#[test]
fn malformed_tokens_are_refused() {
    let check = |token: &str, expect: Error| assert_eq!(refusal(token.as_bytes()), expect, "{token}");
    check("", Error::Parts);
    check("a.b", Error::Parts);
    check("a.b.c.d", Error::Parts);
    check("..", Error::Header);
    check("*.e30.AA", Error::Base64);
    check("e30=.e30.AA", Error::Base64);
    check(r#"{"payload":"","signatures":[]}"#, Error::Parts);
    check(&(unsigned("[]", "{}") + ".AA"), Error::Header);
    check(&(unsigned(r#"{"alg":1}"#, "{}") + ".AA"), Error::Header);
    check(&(unsigned(r#"{"alg":"ES256","kid":7}"#, "{}") + ".AA"), Error::Header);
    check(&(unsigned(r#"{"alg":"ES256","alg":"none"}"#, "{}") + ".AA"), Error::Duplicate);
}

#[test]
fn names_that_are_there_twice_make_claims_worthless() {
    for claims in [r#"{"sub":"a","sub":"b"}"#, r#"{"x":{"y":[{"z":1,"z":1}]}}"#] {
        let token = unsigned(r#"{"alg":"ES256"}"#, claims) + ".AA";
        let parsed = Unverified::parse(token.as_bytes()).unwrap();
        assert_eq!(parsed.unverified_claims(), Err(Error::Duplicate), "{claims}");
        assert_eq!(unverified_issuer(token.as_bytes()), None);
    }
}

#[test]
fn deep_claims_are_refused_without_a_deep_stack() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(40_000), "]".repeat(40_000));
    let token = unsigned(r#"{"alg":"ES256"}"#, &deep) + ".AA";
    assert!(token.len() < MAX_TOKEN);
    assert_eq!(Unverified::parse(token.as_bytes()).unwrap().unverified_claims(), Err(Error::Payload));
}

#[test]
fn a_token_of_a_megabyte_is_refused_at_sight() {
    let (key, _) = PrivateKey::generate().unwrap();
    let long = "x".repeat(1 << 20);
    let token = key.sign(&json(&format!(r#"{{"iss":"a","x":"{long}"}}"#))).unwrap();
    assert_eq!(refusal(token.as_bytes()), Error::TooLong);
    assert_eq!(unverified_issuer(token.as_bytes()), None);
    // Not even its parts are counted.
    assert_eq!(refusal(".".repeat(1 << 20).as_bytes()), Error::TooLong);
}

#[test]
fn claims_are_of_their_types() {
    let claims = |text: &str| Claims(json(text));
    assert_eq!(claims("{}").text("sub"), Ok(None));
    assert_eq!(claims(r#"{"sub":null}"#).text("sub"), Ok(None));
    assert_eq!(claims(r#"{"sub":["a"]}"#).text("sub"), Err(Error::Claim("sub")));
    assert_eq!(claims(r#"{"exp":1.9e3}"#).date("exp"), Ok(Some(1900)));
    assert_eq!(claims(r#"{"exp":"9"}"#).date("exp"), Err(Error::Claim("exp")));
    assert_eq!(claims(r#"{"aud":"a"}"#).audiences(), Ok(vec!["a".into()]));
    assert_eq!(claims(r#"{"aud":["a","b"]}"#).audiences(), Ok(vec!["a".into(), "b".into()]));
    assert_eq!(claims(r#"{"aud":["a",1]}"#).audiences(), Err(Error::Claim("aud")));
    assert_eq!(claims(r#"{"aud":{}}"#).audiences(), Err(Error::Claim("aud")));
}

/// As Go reads them on the processors that the reference runs on: an integer by way of a floating point number, and what does not fit
/// one is the smallest.
#[test]
fn absurd_dates_are_read_as_the_reference_does() {
    let date = |text: &str| Claims(json(&format!(r#"{{"exp":{text}}}"#))).date("exp");
    for (text, seconds) in [
        ("1800000000", 1_800_000_000),
        ("1800000000.9", 1_800_000_000),
        ("-1.9", -1),
        ("-5", -5),
        ("1e10", 10_000_000_000),
        ("9.2e18", 9_200_000_000_000_000_000),
        ("9007199254740993", 9_007_199_254_740_992),
        // Beyond what Go's clock counts to, and beyond what an integer holds.
        ("9223372036854774784", i64::MIN),
        ("9223372036854775807", i64::MIN),
        ("9223372036854775808", i64::MIN),
        ("18446744073709551615", i64::MIN),
        ("100000000000000000000", i64::MIN),
        ("1e20", i64::MIN),
        ("1e300", i64::MIN),
        ("-1e20", i64::MIN),
    ] {
        assert_eq!(date(text), Ok(Some(seconds)), "{text}");
    }
    assert_eq!(date("null"), Ok(None));
    for text in [r#""1800000000""#, "true", "[]", "{}"] {
        assert_eq!(date(text), Err(Error::Claim("exp")), "{text}");
    }
}

#[test]
fn dates_of_identity_providers_may_be_texts() {
    let date =
        |text: &str, required| Claims(json(&format!(r#"{{"exp":{text}}}"#))).openid_date("exp", required);
    for (text, seconds) in [
        ("1800000000", 1_800_000_000),
        (r#""1800000000""#, 1_800_000_000),
        (r#""1.8e9""#, 1_800_000_000),
        ("1800000000.9", 1_800_000_000),
        ("9007199254740993", 9_007_199_254_740_993),
        ("1e20", i64::MIN),
        (r#""100000000000000000000""#, i64::MIN),
        ("9223372036854775807", i64::MIN),
    ] {
        assert_eq!(date(text, true), Ok(Some(seconds)), "{text}");
    }
    for text in [r#""""#, r#""soon""#, r#"" 1""#, r#""0x1""#, r#""inf""#, r#""+1""#, "true", "[]"] {
        assert_eq!(date(text, true), Err(Error::Claim("exp")), "{text}");
    }
    assert_eq!(date("null", false), Ok(None));
    assert_eq!(date("null", true), Err(Error::Claim("exp")));
}

#[test]
fn a_set_of_keys_reads_back_as_written() {
    let (_, rsa) = rsa();
    let (p256, _) = PrivateKey::generate().unwrap();
    let p384 = ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING);
    let p521 = ecdsa(&ECDSA_P521_SHA512_FIXED_SIGNING);
    let keys: Vec<PublicKey> = [&rsa, &p256, &p384, &p521].map(|key| key.public().clone()).to_vec();
    let text = write_set(&keys);
    assert_eq!(read_set(&text).unwrap(), keys);
    let text = String::from_utf8(text).unwrap();
    let id = rsa.public().id();
    assert!(
        text.starts_with(&format!(r#"{{"keys":[{{"use":"sig","kty":"RSA","kid":"{id}","alg":"RS256","n":""#)),
        "{text}"
    );
    assert!(text.contains(r#"","e":"AQAB"},{"use":"sig","kty":"EC","kid":""#), "{text}");
    assert!(text.contains(r#""crv":"P-521","alg":"ES512","x":""#), "{text}");
}

#[test]
fn keys_of_other_types_are_passed_over_and_broken_ones_fail_the_set() {
    let others = r#"{"keys":[{"kty":"oct","k":"AAAA"},{"kty":"OKP","crv":"Ed25519","x":"AA"},{"kty":"EC","crv":"secp256k1"}]}"#;
    assert_eq!(read_set(others.as_bytes()), Ok(Vec::new()));
    let bad = |text: &str| read_set(text.as_bytes()).unwrap_err();
    assert_eq!(bad("[]"), JwkError::NoSet);
    assert_eq!(bad(r#"{"keys":{}}"#), JwkError::NoSet);
    assert!(matches!(bad("{"), JwkError::Json(_)));
    // Not on the curve, too long, too short.
    assert_eq!(bad(r#"{"keys":[{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}]}"#), JwkError::Key(0, "EC"));
    let long = "A".repeat(20_000) + "BB";
    assert_eq!(
        bad(&format!(r#"{{"keys":[{{"kty":"RSA","n":"{long}","e":"AQAB"}}]}}"#)),
        JwkError::Key(0, "RSA")
    );
    let long = "_".repeat(20_000);
    assert_eq!(
        bad(&format!(r#"{{"keys":[{{"kty":"RSA","n":"{long}","e":"AQAB"}}]}}"#)),
        JwkError::Key(0, "RSA")
    );
    assert_eq!(
        bad(&format!(r#"{{"keys":[{{"kty":"EC","crv":"P-256","x":"{long}","y":"AQ"}}]}}"#)),
        JwkError::Key(0, "EC")
    );
}

/// Its digest by `openssl pkey -pubin -outform DER | openssl dgst -sha256`.
#[test]
fn a_key_is_named_by_its_digest() {
    let pem = "-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEUrAdNVWnDjd/FeRdnpDQzT2KNoEo\n\
        5fBgVR8zx17Ayi9RqZuHcf7mLQudJoBd5jmsAKD4v4djRXShOBUI3rOCsA==\n\
        -----END PUBLIC KEY-----\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pem).unwrap();
    let keys = crate::service_account::read_public_keys(file.path()).unwrap();
    assert_eq!(keys[0].kind(), Kind::P256);
    assert_eq!(keys[0].id(), "xjKkkHalnrR1-TU6f8OI-MhGxuin61B8L6DnY0mQcPY");
}

#[test]
fn a_generated_key_is_read_back_from_its_pem() {
    let (key, pem) = PrivateKey::generate().unwrap();
    assert_eq!(PrivateKey::from_pem(pem.as_bytes()).unwrap().public(), key.public());
    assert!(matches!(PrivateKey::from_pem(b"nothing"), Err(PrivateKeyError::None)));
    assert!(
        PrivateKey::from_pem(pem.replace('A', "B").as_bytes())
            .map_or(true, |other| other.public() != key.public())
    );
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_without_a_panic(token in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Unverified::parse(&token);
        let _ = unverified_issuer(&token);
        let _ = read_set(&token);
        let _ = PublicKey::from_spki(&token);
        let _ = PrivateKey::from_pem(&token);
    }

    #[test]
    fn any_parts_are_parsed_without_a_panic(header in ".{0,80}", payload in ".{0,80}", signature in any::<[u8; 64]>()) {
        let token = with_signature(&unsigned(&header, &payload), &signature);
        if let Ok(parsed) = Unverified::parse(token.as_bytes()) {
            let _ = parsed.unverified_claims();
        }
        let token = with_signature(&unsigned(r#"{"alg":"ES256"}"#, &payload), &signature);
        let parsed = Unverified::parse(token.as_bytes()).unwrap();
        let _ = parsed.unverified_claims();
    }
}
