//! The controllers of service accounts, certificates and bootstrap tokens.

use std::sync::Arc;

use pintle_controllers::{
    ApiClient, BootstrapSigner, BootstrapTokenCleaner, CERTIFICATE_ACCOUNT, CertificateApprover,
    CertificateRequestCleaner, CertificateSigner, Controller, Followed, LegacyTokenCleaner,
    PodCertificateRequestCleaner, RootCaPublisher, ServiceAccountTokens, SyncMetrics, TokenResources,
    TrustBundlePublisher,
};
use pintle_features::Feature;
use pintle_resources::field_labels;

use super::ManagedControllers;
use crate::Error;
use crate::error::no_resource;
use crate::resources::namespace_phase;

type Made = Vec<Arc<dyn Controller>>;

impl ManagedControllers<'_> {
    /// Makes the parts of one of these controllers: none if it lacks something that it needs, which is logged; `None` if it is not
    /// one of these.
    pub(super) fn make_of_accounts(&self, name: &str) -> Result<Option<Made>, Error> {
        let client = |account: &str| ApiClient::new(self.api.clone(), account);
        let clock = || self.runtime.clock.clone();
        let controller: Arc<dyn Controller> = match name {
            ServiceAccountTokens::NAME => match self.legacy_signer.clone() {
                Some(signer) => Arc::new(ServiceAccountTokens::new(
                    self.token_resources()?,
                    ApiClient::of_manager(self.api.clone()),
                    signer,
                    self.config.root_ca.clone(),
                    clock(),
                )),
                None => return Ok(without(name, "there is no private key")),
            },
            LegacyTokenCleaner::NAME => Arc::new(LegacyTokenCleaner::new(
                self.token_resources()?,
                self.followed("pods", "v1")?,
                client(LegacyTokenCleaner::ACCOUNT),
                self.config.legacy_token_period,
                clock(),
            )),
            RootCaPublisher::NAME => match self.config.root_ca.clone() {
                Some(root_ca) => Arc::new(RootCaPublisher::new(
                    self.stores.require_store("namespaces")?,
                    namespace_phase()?,
                    self.followed("configmaps", "v1")?,
                    client(RootCaPublisher::ACCOUNT),
                    root_ca,
                    clock(),
                    SyncMetrics::of_root_ca(self.registry).map_err(Error::part)?,
                )),
                None => return Ok(without(name, "there is no certificate authority to publish")),
            },
            TrustBundlePublisher::NAME => return self.trust_bundles().map(Some),
            CertificateApprover::NAME => {
                Arc::new(CertificateApprover::controller(self.requests()?, client(CERTIFICATE_ACCOUNT)))
            }
            CertificateRequestCleaner::NAME => Arc::new(CertificateRequestCleaner::new(
                self.requests()?,
                client(CERTIFICATE_ACCOUNT),
                clock(),
            )),
            CertificateSigner::NAME if self.config.signers.authorities.is_empty() => {
                return Ok(without(name, "there is no certificate authority with its key"));
            }
            CertificateSigner::NAME => Arc::new(CertificateSigner::controller(
                self.requests()?,
                client(CERTIFICATE_ACCOUNT),
                self.config.signers.clone(),
                clock(),
            )),
            PodCertificateRequestCleaner::NAME => {
                if !self.serves(Feature::PodCertificateRequest, "podcertificaterequests") {
                    return Ok(without(name, "its API is not served"));
                }
                Arc::new(PodCertificateRequestCleaner::new(
                    self.followed("podcertificaterequests", "v1beta1")?,
                    client(PodCertificateRequestCleaner::ACCOUNT),
                    clock(),
                ))
            }
            BootstrapSigner::NAME => Arc::new(BootstrapSigner::new(
                self.followed("configmaps", "v1")?,
                self.followed("secrets", "v1")?,
                secret_type()?,
                client(BootstrapSigner::ACCOUNT),
                clock(),
            )),
            BootstrapTokenCleaner::NAME => Arc::new(BootstrapTokenCleaner::new(
                self.followed("secrets", "v1")?,
                secret_type()?,
                client(BootstrapTokenCleaner::ACCOUNT),
                clock(),
            )),
            _ => return Ok(None),
        };
        Ok(Some(vec![controller]))
    }

    fn trust_bundles(&self) -> Result<Made, Error> {
        let name = TrustBundlePublisher::NAME;
        if !self.serves(Feature::ClusterTrustBundle, "clustertrustbundles") {
            return Ok(without(name, "its API is not served").unwrap_or_default());
        }
        let Some(root_ca) = self.config.root_ca.clone() else {
            return Ok(without(name, "there is no certificate authority to publish").unwrap_or_default());
        };
        let signer = field_labels::place("certificates/v1beta1.ClusterTrustBundle", "spec.signerName");
        Ok(vec![Arc::new(TrustBundlePublisher::new(
            self.followed("clustertrustbundles", "v1beta1")?,
            signer.ok_or_else(no_resource("clustertrustbundles with a signer"))?,
            ApiClient::new(self.api.clone(), TrustBundlePublisher::ACCOUNT),
            root_ca,
            self.runtime.clock.clone(),
            SyncMetrics::of_trust_bundle(self.registry).map_err(Error::part)?,
        ))])
    }

    /// Returns whether a beta resource of certificates is served, and its gate is on.
    fn serves(&self, gate: Feature, resource: &str) -> bool {
        let version = self
            .served
            .iter()
            .find(|version| version.group == "certificates.k8s.io" && version.version == "v1beta1");
        self.features.enabled(gate)
            && version.is_some_and(|version| version.resources.iter().any(|known| known.name == resource))
    }

    fn token_resources(&self) -> Result<TokenResources, Error> {
        Ok(TokenResources {
            accounts: self.followed("serviceaccounts", "v1")?,
            secrets: self.followed("secrets", "v1")?,
            secret_type: secret_type()?,
        })
    }

    fn requests(&self) -> Result<Followed, Error> {
        self.followed("certificatesigningrequests", "v1")
    }

    fn followed(&self, path: &str, version: &str) -> Result<Followed, Error> {
        Ok(Followed::new(self.stores.require_store(path)?, version))
    }
}

/// Says why a controller does not run, which is no error.
fn without(name: &str, why: &str) -> Option<Made> {
    tracing::info!("Controller {name} does not run: {why}");
    Some(Vec::new())
}

/// Returns the place of the type among the fields of secrets.
fn secret_type() -> Result<usize, Error> {
    field_labels::place("core/v1.Secret", "type").ok_or_else(no_resource("secrets with a type"))
}
