//! AdmissionReviews: the question as JSON, and the answer, checked.

use std::collections::BTreeMap;

use bytes::Bytes;
use pintle_codec::negotiate::Encoding;
use pintle_codec::{json, kind, yaml};
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::warnings::Warnings;
use pintle_meta::{Status, Value, quote};
use pintle_schema::find;

use super::Type;
use crate::attributes::{Attributes, Versioned};
use crate::expressions::user_info;
use crate::matching::Match;

/// The versions of AdmissionReview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    /// Neither the UID nor the version of an answer is checked.
    V1beta1,
}

impl ReviewVersion {
    pub(super) fn parse(text: &str) -> Option<ReviewVersion> {
        match text {
            "v1" => Some(ReviewVersion::V1),
            "v1beta1" => Some(ReviewVersion::V1beta1),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1beta1 => "v1beta1",
        }
    }

    fn kind(self) -> GroupVersionKind {
        GroupVersionKind::new("admission.k8s.io", self.as_str(), "AdmissionReview")
    }

    /// Encodes the review of a request. The objects are encoded once per version, whatever the number of webhooks.
    pub(super) fn request(
        self,
        uid: &str,
        attributes: &Attributes<'_>,
        seen_as: &Match,
        versioned: &Versioned,
    ) -> Bytes {
        let (object, old_object) = (versioned.object_json(), versioned.old_object_json());
        let length = |json: &Option<Bytes>| json.as_ref().map_or(0, Bytes::len);
        let out = Vec::with_capacity(length(&object) + length(&old_object) + (2 << 10));
        let target = attributes.target();
        let mut review = Json { out, is_first: true };
        review.raw(r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/"#);
        review.raw(self.as_str());
        review.raw(r#"","request":{"#);
        review.text("uid", uid);
        review.kind("kind", &seen_as.kind);
        review.resource("resource", &seen_as.resource);
        review.given("subResource", &target.subresource);
        review.kind("requestKind", &target.kind);
        review.resource("requestResource", &target.resource);
        review.given("requestSubResource", &target.subresource);
        review.given("name", attributes.name());
        review.given("namespace", attributes.namespace());
        review.text("operation", attributes.operation.as_str());
        review.value("userInfo", &user_info(attributes).into());
        review.bytes("object", object.as_deref());
        review.bytes("oldObject", old_object.as_deref());
        review.value("dryRun", &attributes.request.dry_run.into());
        review.value("options", &attributes.options().unwrap_or_default());
        review.raw("}}\n");
        review.out.into()
    }

    /// Decodes an answer, as the reference's client does.
    pub(super) fn decode(self, body: &[u8]) -> Result<Value, String> {
        let converted;
        let body = match kind::recognize(body) {
            Encoding::Json => body,
            _ => {
                converted = yaml::to_json_strict(body).map_err(|error| error.to_string())?.0;
                &converted
            }
        };
        let mut stated = kind::of_json(body).map_err(|error| error.to_string())?;
        let own = self.kind();
        if stated.kind.is_empty() {
            stated.kind.clone_from(&own.kind);
        }
        if stated.version.is_empty() && (stated.group.is_empty() || stated.group == own.group) {
            (stated.group, stated.version) = (own.group.clone(), own.version.clone());
        }
        if stated != own {
            let is_review =
                (stated.group.as_str(), stated.kind.as_str()) == ("admission.k8s.io", "AdmissionReview");
            return Err(match ReviewVersion::parse(&stated.version).filter(|_| is_review) {
                Some(other) => format!(
                    "converting ({}.AdmissionReview) to ({}.AdmissionReview): unknown conversion",
                    other.as_str(),
                    self.as_str()
                ),
                None => format!(
                    "no kind {} is registered for version {} in scheme \"k8s.io/apiserver/pkg/util/webhook/client.go:75\"",
                    quote(&stated.kind),
                    quote(&stated.api_version())
                ),
            });
        }
        let of = match self {
            ReviewVersion::V1 => find("admission/v1.AdmissionReview"),
            ReviewVersion::V1beta1 => find("admission/v1beta1.AdmissionReview"),
        };
        let of = of.ok_or("the type AdmissionReview is not known")?;
        Ok(json::decode(of, body).map_err(|error| error.to_string())?.value)
    }

    /// Checks a decoded answer to the review of `uid`.
    pub(super) fn response(self, of: Type, uid: &str, review: &Value) -> Result<Response, String> {
        let response = review.get("response").filter(|response| !response.is_null());
        let response = response.ok_or("webhook response was absent")?;
        let patch = response.get("patch").and_then(Value::as_bytes).unwrap_or_default();
        let patch_type = response.get("patchType").and_then(Value::as_str);
        let patch_type = match self {
            ReviewVersion::V1 => {
                let found = response.text_at(&["uid"]);
                if found != uid {
                    return Err(format!("expected response.uid={}, got {}", quote(uid), quote(found)));
                }
                let (expected, found) = (self.kind(), review.group_version_kind());
                if found != expected {
                    return Err(format!(
                        "expected webhook response of {}, got {}",
                        go_text(&expected),
                        go_text(&found)
                    ));
                }
                checked_patch_type(of, patch, patch_type)?
            }
            ReviewVersion::V1beta1 => "JSONPatch",
        };
        let patch = if of == Type::Mutating { patch } else { &[] };
        let annotations = response.get("auditAnnotations").and_then(Value::as_object);
        let mut warnings = Warnings::new();
        let texts = response.items_at(&["warnings"]).iter().filter_map(Value::as_str);
        warnings.extend(texts.map(|text| {
            pintle_work::check();
            text.to_owned()
        }));
        Ok(Response {
            is_allowed: response.get("allowed").and_then(Value::as_bool).unwrap_or(false),
            patch: patch.to_vec(),
            patch_type: patch_type.to_owned(),
            result: response.get("status").filter(|status| !status.is_null()).cloned(),
            audit_annotations: annotations.map_or_else(BTreeMap::new, |annotations| {
                let texts = annotations.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
                texts.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
            }),
            warnings: warnings.into_texts(),
        })
    }
}

/// Checks that only a mutating webhook has a patch, and that it says of what type.
fn checked_patch_type<'a>(of: Type, patch: &[u8], patch_type: Option<&'a str>) -> Result<&'a str, String> {
    let why = match (of, patch.is_empty(), patch_type) {
        (Type::Mutating, false, None) => "webhook returned response.patch but not response.patchType",
        (Type::Mutating, true, Some(_)) => "webhook returned response.patchType but not response.patch",
        (Type::Mutating, _, Some("")) => "webhook returned invalid response.patchType of \"\"",
        (Type::Validating, false, _) => "validating webhook may not return response.patch",
        (Type::Validating, true, Some(_)) => "validating webhook may not return response.patchType",
        _ => return Ok(patch_type.unwrap_or_default()),
    };
    Err(why.to_owned())
}

/// Returns a kind as Go prints it, also without its parts.
fn go_text(kind: &GroupVersionKind) -> String {
    format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind)
}

/// An answer.
#[derive(Debug, PartialEq)]
pub(super) struct Response {
    pub(super) is_allowed: bool,
    /// Empty for none.
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
    /// The `Status` of a rejection.
    pub(super) result: Option<Value>,
    pub(super) audit_annotations: BTreeMap<String, String>,
    /// No more than are sent to the client.
    pub(super) warnings: Vec<String>,
}

impl Response {
    /// Returns the status of a rejection by the webhook `name`: that of the answer, as a failure and with its author.
    pub(super) fn rejection(&self, name: &str) -> Box<Status> {
        let nothing = Value::default();
        let result = self.result.as_ref().unwrap_or(&nothing);
        let mut status = Status::from_value(result);
        let code = result.get("code").and_then(Value::as_i64).unwrap_or_default();
        // No answer can have a code of more than three digits.
        status.code = u16::try_from(code.max(400)).unwrap_or(500);
        let denied = format!("admission webhook {} denied the request", quote(name));
        let reason = result.text_at(&["reason"]);
        status.message = match (status.message.as_str(), reason) {
            ("", "") => format!("{denied} without explanation"),
            ("", reason) => format!("{denied}: {reason}"),
            (message, _) => format!("{denied}: {message}"),
        };
        Box::new(status)
    }
}

/// Writes the fields of an object.
struct Json {
    out: Vec<u8>,
    is_first: bool,
}

impl Json {
    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        json::write::string(key, &mut self.out);
        self.out.push(b':');
    }

    fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        json::write::string(text, &mut self.out);
    }

    /// Writes a text unless it is empty.
    fn given(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.text(key, text);
        }
    }

    fn value(&mut self, key: &str, value: &Value) {
        self.key(key);
        json::encode(value, &mut self.out);
    }

    fn bytes(&mut self, key: &str, json: Option<&[u8]>) {
        self.key(key);
        self.out.extend_from_slice(json.unwrap_or(b"null"));
    }

    fn kind(&mut self, key: &str, kind: &GroupVersionKind) {
        self.three(key, [("group", &kind.group), ("version", &kind.version), ("kind", &kind.kind)]);
    }

    fn resource(&mut self, key: &str, of: &GroupVersionResource) {
        self.three(key, [("group", &of.group), ("version", &of.version), ("resource", &of.resource)]);
    }

    fn three(&mut self, key: &str, fields: [(&str, &String); 3]) {
        self.key(key);
        self.out.push(b'{');
        self.is_first = true;
        for (key, text) in fields {
            self.text(key, text);
        }
        self.out.push(b'}');
    }
}
