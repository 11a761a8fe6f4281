//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::{certificate_signing_request, cluster_trust_bundle, pod_certificate_request};
use crate::framework::strategy::{Entry, Settings, find};

const REQUEST: &str = "certificates/v1.CertificateSigningRequest";
const POD_REQUEST: &str = "certificates/v1beta1.PodCertificateRequest";

const TABLE: &[Entry] = &[
    Entry { name: "certificatesigningrequests", kind: REQUEST, rules: certificate_signing_request::REQUESTS },
    Entry {
        name: "certificatesigningrequests/approval",
        kind: REQUEST,
        rules: certificate_signing_request::APPROVAL,
    },
    Entry {
        name: "certificatesigningrequests/status",
        kind: REQUEST,
        rules: certificate_signing_request::STATUS,
    },
    Entry {
        name: "clustertrustbundles",
        kind: "certificates/v1beta1.ClusterTrustBundle",
        rules: cluster_trust_bundle::BUNDLES,
    },
    Entry { name: "podcertificaterequests", kind: POD_REQUEST, rules: pod_certificate_request::REQUESTS },
    Entry {
        name: "podcertificaterequests/status",
        kind: POD_REQUEST,
        rules: pod_certificate_request::STATUS,
    },
];

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
