//! `ImageReview` of `imagepolicy.k8s.io/v1alpha1`.

use std::collections::BTreeMap;

use aws_lc_rs::digest;
use pintle_meta::{Value, quote};
use pintle_outbound::configuration::null_is_default;
use serde::{Deserialize, Serialize};

const KIND: &str = "ImageReview";
const VERSION: &str = "imagepolicy.k8s.io/v1alpha1";

/// The question, with fields in the order of the reference's type.
#[derive(Serialize)]
pub(super) struct Spec<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    containers: Vec<Container<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
}

#[derive(Serialize)]
struct Container<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    image: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: NoMetadata,
    spec: &'a Spec<'a>,
    status: Undecided,
}

#[derive(Serialize)]
struct NoMetadata {}

#[derive(Serialize)]
struct Undecided {
    allowed: bool,
}

/// The webhook's verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Verdict {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) allowed: bool,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) reason: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) audit_annotations: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    #[serde(deserialize_with = "null_is_default")]
    kind: String,
    #[serde(deserialize_with = "null_is_default")]
    api_version: String,
    #[serde(deserialize_with = "null_is_default")]
    status: Verdict,
}

impl<'a> Spec<'a> {
    /// Asks about the images of these lists of containers.
    pub(super) fn new(pod: &'a Value, lists: &[&str], namespace: &'a str) -> Spec<'a> {
        let containers = lists.iter().flat_map(|list| pod.items_at(&["spec", list]));
        let annotations = pod.annotations().filter(|(key, _)| key.contains(".image-policy.k8s.io/"));
        Spec {
            containers: containers
                .map(|container| Container { image: container.text_at(&["image"]) })
                .collect(),
            annotations: annotations.collect(),
            namespace,
        }
    }

    /// Returns a key that stands for the whole question. A digest, since the question may be long.
    pub(super) fn key(&self) -> serde_json::Result<String> {
        let digest = digest::digest(&digest::SHA256, &serde_json::to_vec(self)?);
        Ok(digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(super) fn review(&self) -> serde_json::Result<Vec<u8>> {
        let (metadata, status) = (NoMetadata {}, Undecided { allowed: false });
        let mut review =
            serde_json::to_vec(&Review { kind: KIND, api_version: VERSION, metadata, spec: self, status })?;
        review.push(b'\n');
        Ok(review)
    }
}

impl Verdict {
    /// Reads an answer, which must be of the kind if it names one.
    pub(super) fn read(answer: &[u8]) -> Result<Verdict, String> {
        let answer: Answer = serde_json::from_slice(answer)
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
        let fits = |given: &str, expected: &str| given.is_empty() || given == expected;
        if !fits(&answer.kind, KIND) || !fits(&answer.api_version, VERSION) {
            let (kind, version) = (quote(&answer.kind), quote(&answer.api_version));
            return Err(format!(
                "the webhook answered with a {kind} of {version} and not a {KIND} of {VERSION}"
            ));
        }
        Ok(answer.status)
    }
}
