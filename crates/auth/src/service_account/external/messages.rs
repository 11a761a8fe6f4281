//! The messages of `v1.ExternalJWTSigner`, by hand: generating them would need `protoc`.

use pintle_outbound::grpc::Method;

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SignRequest {
    /// The payload in base64, as it is in the token.
    #[prost(string, tag = "1")]
    pub claims: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SignResponse {
    /// In base64, as it is in the token.
    #[prost(string, tag = "1")]
    pub header: String,
    /// The same.
    #[prost(string, tag = "2")]
    pub signature: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct FetchKeysRequest {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct FetchKeysResponse {
    #[prost(message, repeated, tag = "1")]
    pub keys: Vec<Key>,
    /// When the signer got them.
    #[prost(message, optional, tag = "2")]
    pub data_timestamp: Option<Timestamp>,
    #[prost(int64, tag = "3")]
    pub refresh_hint_seconds: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Key {
    #[prost(string, tag = "1")]
    pub key_id: String,
    /// `SubjectPublicKeyInfo` in DER.
    #[prost(bytes = "vec", tag = "2")]
    pub key: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub exclude_from_oidc_discovery: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct MetadataRequest {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct MetadataResponse {
    #[prost(int64, tag = "1")]
    pub max_token_expiration_seconds: i64,
}

impl Method for SignRequest {
    const PATH: &'static str = "/v1.ExternalJWTSigner/Sign";
    type Response = SignResponse;
}

impl Method for FetchKeysRequest {
    const PATH: &'static str = "/v1.ExternalJWTSigner/FetchKeys";
    type Response = FetchKeysResponse;
}

impl Method for MetadataRequest {
    const PATH: &'static str = "/v1.ExternalJWTSigner/Metadata";
    type Response = MetadataResponse;
}
