//! JSON web tokens and sets of keys, before anything about them is believed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pintle_auth::jwt::{PublicKey, Unverified, read_set, unverified_issuer};

use super::{refused, skeleton, way};
use crate::Target;

pub(super) const TARGETS: &[Target] = &[TOKEN, KEYS];

const TOKEN: Target = Target {
    name: "jwt",
    seeds: || {
        let seeds = [
            "{\"alg\":\"ES256\",\"kid\":\"a\"}\n{\"iss\":\"i\",\"aud\":[\"a\"],\"exp\":1,\"nbf\":2.5}\ns",
            "{\"alg\":\"none\"}\n{\"kubernetes.io\":{\"pod\":{\"name\":\"p\"}}}\n",
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UifQ.AAAA",
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "\"alg\":",
        "\"RS256\"",
        "\"crit\":[]",
        "\"kid\":",
        "\"aud\":",
        "\"exp\":1e999",
        "\n",
        ".",
        "{",
        "}",
        "[",
        "]",
    ],
    run: token,
};

const KEYS: Target = Target {
    name: "jwk-set",
    seeds: || {
        let seeds = [
            r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#,
            r#"{"keys":[{"kty":"RSA","kid":"a","n":"AQAB","e":"AQAB"},{"kty":"oct","k":"AA"}]}"#,
        ];
        seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect()
    },
    tokens: &[
        "\"kty\":\"EC\",",
        "\"kty\":\"RSA\",",
        "\"crv\":\"P-521\",",
        "\"x\":\"",
        "\"n\":\"",
        "AQAB",
        "{",
        "}",
        "[",
        "]",
        ",",
    ],
    run: keys,
};

/// The input as it is, and as the encoded parts of a token.
fn token(input: &[u8]) -> u64 {
    let lines: Vec<String> =
        input.split(|byte| *byte == b'\n').map(|line| URL_SAFE_NO_PAD.encode(line)).collect();
    let encoded = lines.join(".");
    way([input, encoded.as_bytes()].map(|token| {
        let known = unverified_issuer(token).is_some();
        let read = match Unverified::parse(token) {
            Err(error) => refused(error),
            Ok(parsed) => match parsed.unverified_claims() {
                Err(error) => refused(error),
                Ok(claims) => {
                    way((claims.audiences().is_ok(), claims.date("exp").is_ok(), parsed.algorithm()))
                }
            },
        };
        (known, read)
    }))
}

fn keys(input: &[u8]) -> u64 {
    let der = PublicKey::from_spki(input).is_some();
    match read_set(input) {
        Err(error) => way((der, refused(error))),
        Ok(keys) => way((der, keys.len(), skeleton(&String::from_utf8_lossy(input)))),
    }
}
