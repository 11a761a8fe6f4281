//! JSON web tokens: compact JWS and nothing else of JOSE.
//!
//! A token never says how it wants to be checked. Its `alg` must be one that the caller allows *and* the one kind of
//! signature that the key can make, so that neither `none` nor a public key taken for an HMAC secret gets anywhere: those
//! algorithms have no name here. Nothing that a token brings (`jwk`, `jku`, `x5c`) is looked at, and what must be
//! understood (`crit`) is not. Times, issuers and audiences are for callers to judge, since they differ in leeway and words.

mod algorithm;
mod claims;
pub(crate) mod der;
mod detached;
mod jwk;
mod private;
mod public;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::NO_PAD;
#[cfg(test)]
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pintle_meta::Value;

pub use self::algorithm::Algorithm;
pub use self::claims::Claims;
pub(crate) use self::claims::date;
pub use self::detached::detached_signature;
pub use self::jwk::{JwkError, read_set, write_set};
pub use self::private::{PrivateKey, PrivateKeyError};
pub(crate) use self::public::is_ed25519;
pub use self::public::{Kind, PublicKey};

/// A longer token is refused before anything is done with it. A bound token has about 1 KB, one of an identity provider with
/// hundreds of groups some 30.
pub const MAX_TOKEN: usize = 128 << 10;

/// Why a token is not accepted; holds nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("token is too long")]
    TooLong,
    #[error("compact JWS format must have three parts")]
    Parts,
    #[error("illegal base64 data")]
    Base64,
    #[error("header is not a JSON object with an algorithm")]
    Header,
    #[error("header has critical parameters")]
    Critical,
    #[error("claims are not a JSON object")]
    Payload,
    #[error("the same name is there twice")]
    Duplicate,
    #[error("algorithm is not accepted")]
    Algorithm,
    #[error("signature does not match")]
    Signature,
    #[error("claim {0:?} is not of the right type")]
    Claim(&'static str),
}

/// A token whose signature is not verified yet.
pub struct Unverified<'a> {
    /// Header and payload as they came, which is what was signed.
    signed: &'a [u8],
    algorithm: Algorithm,
    key_id: Option<String>,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl<'a> Unverified<'a> {
    /// Takes a token apart. Its claims are not read yet.
    pub fn parse(token: &'a [u8]) -> Result<Unverified<'a>, Error> {
        let [header, payload, signature] = parts(token)?;
        let signed = &token[..header.len() + 1 + payload.len()];
        let header = object(&decode(header)?, Error::Header)?;
        if header.get("crit").is_some() {
            return Err(Error::Critical);
        }
        let name = header.get("alg").and_then(Value::as_str).ok_or(Error::Header)?;
        let algorithm = Algorithm::named(name).ok_or(Error::Algorithm)?;
        let key_id = match header.get("kid") {
            None => None,
            Some(id) => Some(id.as_str().ok_or(Error::Header)?.to_owned()),
        };
        let (payload, signature) = (decode(payload)?, decode(signature)?);
        Ok(Unverified { signed, algorithm, key_id, payload, signature })
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Which key it says it was signed with; an empty name is none.
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref().filter(|id| !id.is_empty())
    }

    /// Returns the claims without verification, to find the authenticator of the token. They must not be trusted.
    pub fn unverified_claims(&self) -> Result<Claims, Error> {
        self.claims()
    }

    /// The claims, if this key has signed them in a way that the caller allows.
    pub fn verify(&self, key: &PublicKey, allowed: &[Algorithm]) -> Result<Claims, Error> {
        if !allowed.contains(&self.algorithm) || !self.algorithm.fits(key.kind()) {
            return Err(Error::Algorithm);
        }
        if !key.has_signed(self.algorithm, self.signed, &self.signature) {
            return Err(Error::Signature);
        }
        self.claims()
    }

    fn claims(&self) -> Result<Claims, Error> {
        Ok(Claims(object(&self.payload, Error::Payload)?))
    }
}

/// The issuer that a token names, if it is a token at all, without looking at more than that takes. To be trusted in nothing.
pub fn unverified_issuer(token: &[u8]) -> Option<String> {
    let [_, payload, _] = parts(token).ok()?;
    let claims = Claims(object(&decode(payload).ok()?, Error::Payload).ok()?);
    Some(claims.text("iss").ok()?.unwrap_or_default().to_owned())
}

fn parts(token: &[u8]) -> Result<[&[u8]; 3], Error> {
    if token.len() > MAX_TOKEN {
        return Err(Error::TooLong);
    }
    let mut parts = token.split(|byte| *byte == b'.');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(header), Some(payload), Some(signature), None) => Ok([header, payload, signature]),
        _ => Err(Error::Parts),
    }
}

/// As Go reads it: bits after the last byte may be anything. What is signed is the text, so nothing comes of that.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

fn decode(part: &[u8]) -> Result<Vec<u8>, Error> {
    LENIENT.decode(part).map_err(|_| Error::Base64)
}

/// A JSON object in which no name is there twice, at any depth: readers that differ on which of them counts would
/// differ on what was signed.
fn object(text: &[u8], otherwise: Error) -> Result<Value, Error> {
    let decoded = pintle_codec::json::decode_any(text).map_err(|_| otherwise)?;
    if decoded.value.as_object().is_none() {
        return Err(otherwise);
    }
    if decoded.strict.is_empty() { Ok(decoded.value) } else { Err(Error::Duplicate) }
}
