//! The messages of KMS v1 (`v1beta1.KeyManagementService`), by hand: generating them would need `protoc`.

use pintle_outbound::grpc::Method;

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct VersionRequest {
    #[prost(string, tag = "1")]
    pub version: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct VersionResponse {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(string, tag = "2")]
    pub runtime_name: String,
    #[prost(string, tag = "3")]
    pub runtime_version: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DecryptRequest {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(bytes = "vec", tag = "2")]
    pub cipher: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub plain: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct EncryptRequest {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(bytes = "vec", tag = "2")]
    pub plain: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct EncryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub cipher: Vec<u8>,
}

impl Method for VersionRequest {
    const PATH: &'static str = "/v1beta1.KeyManagementService/Version";
    type Response = VersionResponse;
}

impl Method for DecryptRequest {
    const PATH: &'static str = "/v1beta1.KeyManagementService/Decrypt";
    type Response = DecryptResponse;
}

impl Method for EncryptRequest {
    const PATH: &'static str = "/v1beta1.KeyManagementService/Encrypt";
    type Response = EncryptResponse;
}
