//! The columns of certificate requests and trust bundles.

use pintle_meta::Value;
use pintle_meta::time::human_duration;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "CertificateSigningRequest" => &CERTIFICATE_SIGNING_REQUEST,
        "ClusterTrustBundle" => &CLUSTER_TRUST_BUNDLE,
        "PodCertificateRequest" => &POD_CERTIFICATE_REQUEST,
        _ => return None,
    })
}

static CERTIFICATE_SIGNING_REQUEST: Columns = Columns::new(
    "certificates/v1.CertificateSigningRequest",
    &[
        NAME,
        AGE,
        text("SignerName", doc::CERTIFICATE_SIGNING_REQUEST_SPEC_SIGNER_NAME),
        text("Requestor", doc::CERTIFICATE_SIGNING_REQUEST_SPEC_REQUEST),
        text("RequestedDuration", doc::CERTIFICATE_SIGNING_REQUEST_SPEC_EXPIRATION_SECONDS),
        text("Condition", doc::CERTIFICATE_SIGNING_REQUEST_STATUS_CONDITIONS),
    ],
    |object, context, cells| {
        let seconds = object.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64);
        let duration = seconds.map(|seconds| human_duration(seconds.saturating_mul(1_000_000_000)));
        cells.extend([
            cell::name(object),
            context.age(object),
            cell::text_unless_empty(object, &["spec", "signerName"], cell::NONE),
            cell::text(object, &["spec", "username"]),
            duration.unwrap_or_else(|| cell::NONE.into()).into(),
            condition(object).into(),
        ]);
    },
);

static CLUSTER_TRUST_BUNDLE: Columns = Columns::new(
    "certificates/v1beta1.ClusterTrustBundle",
    &[NAME, text("SignerName", doc::CLUSTER_TRUST_BUNDLE_SPEC_SIGNER_NAME)],
    |object, _, cells| {
        let signer = cell::text_unless_empty(object, &["spec", "signerName"], cell::NONE);
        cells.extend([cell::name(object), signer]);
    },
);

static POD_CERTIFICATE_REQUEST: Columns = Columns::new(
    "certificates/v1beta1.PodCertificateRequest",
    &[
        NAME,
        text("PodName", doc::POD_CERTIFICATE_REQUEST_SPEC_POD_NAME),
        text("ServiceAccountName", doc::POD_CERTIFICATE_REQUEST_SPEC_SERVICE_ACCOUNT_NAME),
        text("NodeName", doc::POD_CERTIFICATE_REQUEST_SPEC_NODE_NAME),
        text("SignerName", doc::POD_CERTIFICATE_REQUEST_SPEC_SIGNER_NAME),
        text("State", "Is the request Pending, Issued, Denied, or Failed?"),
        text("UnverifiedUserAnnotations", doc::POD_CERTIFICATE_REQUEST_SPEC_UNVERIFIED_USER_ANNOTATIONS),
    ],
    |object, _, cells| {
        cells.push(cell::name(object));
        let fields = ["podName", "serviceAccountName", "nodeName", "signerName"];
        cells.extend(fields.map(|field| cell::text(object, &["spec", field])));
        let known = |condition: &Value| match condition.text_at(&["type"]) {
            "Issued" => Some("Issued"),
            "Denied" => Some("Denied"),
            "Failed" => Some("Failed"),
            _ => None,
        };
        let state = object.items_at(&["status", "conditions"]).iter().rev().find_map(known);
        cells.extend([
            Value::literal(state.unwrap_or("Pending")),
            cell::labels(object, &["spec", "unverifiedUserAnnotations"]),
        ]);
    },
);

fn condition(object: &Value) -> String {
    let conditions = object.items_at(&["status", "conditions"]);
    let has = |kind: &str| conditions.iter().any(|condition| condition.text_at(&["type"]) == kind);
    let mut shown = String::from(match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    });
    if has("Failed") {
        shown.push_str(",Failed");
    }
    let certificate = object.at(&["status", "certificate"]).and_then(Value::as_bytes);
    if certificate.is_some_and(|certificate| !certificate.is_empty()) {
        shown.push_str(",Issued");
    }
    shown
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_request_is_pending_until_somebody_decides() {
        let kind = "certificates/v1.CertificateSigningRequest";
        for (status, shown) in [
            ("", "Pending"),
            (r#""conditions":[{"type":"Approved"}]"#, "Approved"),
            (r#""conditions":[{"type":"Approved"},{"type":"Denied"}]"#, "Denied"),
            (r#""conditions":[{"type":"Approved"},{"type":"Failed"}]"#, "Approved,Failed"),
            (r#""conditions":[{"type":"Approved"}],"certificate":"YQ==""#, "Approved,Issued"),
            (r#""certificate":"""#, "Pending"),
        ] {
            let object = format!(
                r#"{{"metadata":{{"name":"c"}},"spec":{{"signerName":"a/b","username":"u","expirationSeconds":600}},
                    "status":{{{status}}}}}"#
            );
            check(kind, &object, &format!(r#"["c","<unknown>","a/b","u","10m",{shown:?}]"#));
        }
        let cells = r#"["c","<unknown>","<none>","","<none>","Pending"]"#;
        check(kind, r#"{"metadata":{"name":"c"}}"#, cells);
    }

    #[test]
    fn trust_bundles_name_their_signer() {
        let kind = "certificates/v1beta1.ClusterTrustBundle";
        check(kind, r#"{"metadata":{"name":"b"}}"#, r#"["b","<none>"]"#);
        check(kind, r#"{"metadata":{"name":"b"},"spec":{"signerName":"a/b"}}"#, r#"["b","a/b"]"#);
    }

    #[test]
    fn pod_certificate_requests_show_their_last_state() {
        let object = r#"{"metadata":{"name":"r"},"spec":{"podName":"p","serviceAccountName":"s","nodeName":"n",
            "signerName":"a/b","unverifiedUserAnnotations":{"x/y":"z"}},
            "status":{"conditions":[{"type":"Denied"},{"type":"Issued"}]}}"#;
        let kind = "certificates/v1beta1.PodCertificateRequest";
        check(kind, object, r#"["r","p","s","n","a/b","Issued","x/y=z"]"#);
        check(kind, r#"{"metadata":{"name":"r"}}"#, r#"["r","","","","","Pending","<none>"]"#);
    }
}
