//! The calls of a plugin, measured.

use std::time::Duration;

use pintle_outbound::grpc::Code;
use pintle_outbound::grpc::{Method, UnixClient, code_name};
use pintle_runtime::Stopwatch;
use zeroize::{Zeroize, Zeroizing};

use super::messages::{
    DecryptRequest, EncryptRequest, EncryptResponse, EncryptedObject, StatusRequest, StatusResponse,
};
use crate::failure::Failure;
use crate::metrics::Metrics;

pub(crate) struct Service {
    client: UnixClient,
    provider: String,
    timeout: Duration,
    metrics: Metrics,
}

impl Service {
    pub(crate) fn new(socket: String, provider: String, timeout: Duration, metrics: Metrics) -> Service {
        Service { client: UnixClient::new(socket), provider, timeout, metrics }
    }

    async fn call<M: Method>(&self, request: M) -> Result<M::Response, Failure> {
        let watch = Stopwatch::start();
        let answer = self.client.call(request, self.timeout).await;
        let code = code_name(answer.as_ref().err().map_or(Code::Ok, |status| status.code));
        self.metrics.kms_called(&self.provider, M::PATH, code, watch.elapsed());
        Ok(answer?)
    }

    pub(crate) async fn status(&self) -> Result<StatusResponse, Failure> {
        self.call(StatusRequest {}).await
    }

    pub(crate) async fn encrypt(&self, uid: &str, plain: &[u8]) -> Result<EncryptResponse, Failure> {
        let mut request = EncryptRequest { plaintext: plain.to_vec(), uid: uid.to_owned() };
        let answer = self.call(request.clone()).await;
        request.plaintext.zeroize();
        answer
    }

    /// Decrypts the source of a value's data key.
    pub(crate) async fn decrypt(
        &self,
        uid: String,
        of: &EncryptedObject,
    ) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let request = DecryptRequest {
            ciphertext: of.encrypted_dek_source.clone(),
            uid,
            key_id: of.key_id.clone(),
            annotations: of.annotations.clone(),
        };
        Ok(Zeroizing::new(self.call(request).await?.plaintext))
    }
}
