//! Approval of kubelets' client certificates: for themselves, or by who may ask for any node's.

use async_trait::async_trait;
use pintle_auth::certificate_request::Details;
use pintle_meta::gvk::GroupVersionResource;
use pintle_meta::{Object, Value};
use pintle_registry::Result;
use serde_json::{Value as Json, json};

use super::{
    CertificateController, CertificateStep, GROUP, KUBELET_CLIENT, NOT_APPROVED, failure, has_condition,
    kubelet, pem, usages, with_condition,
};
use crate::api::{ApiClient, Location};
use crate::followed::Followed;

/// The subresources by which permissions are named, and the message of an approval. The first is for requests of a node itself.
const PERMISSIONS: [(&str, &str); 2] = [
    ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."),
    ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."),
];

/// Approves requests whose requester may have them approved.
pub struct CertificateApprover {
    requests: Followed,
    api: ApiClient,
}

impl CertificateApprover {
    pub const NAME: &'static str = "certificatesigningrequest-approving-controller";

    /// Returns the controller.
    pub fn controller(requests: Followed, api: ApiClient) -> CertificateController<CertificateApprover> {
        CertificateController::new(requests.clone(), CertificateApprover { requests, api })
    }

    /// Asks whether the requester has a permission.
    async fn may(&self, request: &Value, subresource: &str) -> Result<bool> {
        let reviews = GroupVersionResource::new("authorization.k8s.io", "v1", "subjectaccessreviews");
        let review =
            self.api.create(&Location::collection(reviews, ""), &review(request, subresource)).await?;
        Ok(review.at(&["status", "allowed"]).and_then(Value::as_bool) == Some(true))
    }
}

#[async_trait]
impl CertificateStep for CertificateApprover {
    async fn handle(&self, request: Value) -> Result<()> {
        if has_condition(&request, "Approved") || has_condition(&request, "Denied") {
            return Ok(());
        }
        let name = request.name();
        let details = Details::read(pem(&request))
            .map_err(|error| failure(format!("unable to parse csr {name:?}: {error}")))?;
        let tried = permissions(&request, &details);
        for (subresource, message) in &tried {
            if self.may(&request, subresource).await? {
                let location = self.requests.location(&request).subresource("approval");
                let approved = self.api.replace(&location, &with_condition(request, approval(message))).await;
                return approved.map(drop).map_err(|status| {
                    failure(format!("error updating approval for csr: {}", status.message))
                });
            }
        }
        if tried.is_empty() {
            return Ok(());
        }
        let tried: Vec<&str> = tried.iter().map(|(subresource, _)| *subresource).collect();
        Err(failure(format!(
            "{NOT_APPROVED}{name:?} as [{}] but subject access review was not approved",
            tried.join(" ")
        )))
    }
}

/// Returns the permissions of which one is enough.
fn permissions(request: &Value, details: &Details) -> Vec<(&'static str, &'static str)> {
    let is_kubelet = request.text_at(&["spec", "signerName"]) == KUBELET_CLIENT
        && kubelet::check_client(details, &usages(request)).is_ok();
    let is_own = request.text_at(&["spec", "username"]) == details.subject.common_name;
    let [own, any] = PERMISSIONS;
    match (is_kubelet, is_own) {
        (false, _) => Vec::new(),
        (true, true) => vec![own, any],
        (true, false) => vec![any],
    }
}

fn review(request: &Value, subresource: &str) -> Json {
    let text = |field: &str| request.text_at(&["spec", field]);
    let texts =
        |values: &[Value]| values.iter().filter_map(Value::as_str).map(Json::from).collect::<Vec<_>>();
    let extra = request.at(&["spec", "extra"]).and_then(Value::as_object);
    let extra: serde_json::Map<String, Json> = extra
        .into_iter()
        .flat_map(Object::iter)
        .map(|(key, values)| (key.to_owned(), texts(values.as_list().unwrap_or_default()).into()))
        .collect();
    let attributes = json!({
        "group": GROUP, "version": "*", "resource": "certificatesigningrequests", "subresource": subresource,
        "verb": "create",
    });
    json!({
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {
            "user": text("username"), "uid": text("uid"), "groups": texts(request.items_at(&["spec", "groups"])),
            "extra": extra, "resourceAttributes": attributes,
        },
    })
}

fn approval(message: &str) -> Value {
    Value::object(Object::from_iter([
        ("type", "Approved"),
        ("status", "True"),
        ("reason", "AutoApproved"),
        ("message", message),
    ]))
}
