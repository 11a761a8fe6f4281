//! Groups of the community's are for APIs that it approved of; an annotation says where.

use pintle_cel::Url;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Value, quote};

const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The state of the approval annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    Invalid,
    Approved,
    /// The annotation says `unapproved`.
    Bypassed,
    Missing,
}

/// Returns the approval of a definition with its message; `None` for a group that needs none.
pub fn approval(definition: &Value) -> Option<(Approval, String)> {
    is_protected(definition.text_at(&["spec", "group"])).then(|| state(definition))
}

fn is_protected(group: &str) -> bool {
    let is_or_within = |domain: &str| {
        group.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    is_or_within("k8s.io") || is_or_within("kubernetes.io")
}

fn state(definition: &Value) -> (Approval, String) {
    let text = definition.annotation(ANNOTATION).unwrap_or_default();
    if text.is_empty() {
        let why = format!("protected groups must have approval annotation {}, {SEE}", quote(ANNOTATION));
        return (Approval::Missing, why);
    }
    if text.starts_with("unapproved") {
        return (Approval::Bypassed, format!("not approved: {}", quote(text)));
    }
    let has_host = |url: Url| !url.host().is_empty() && !url.scheme().is_empty();
    if Url::parse_request(text).is_ok_and(has_host) {
        return (Approval::Approved, format!("approved in {text}"));
    }
    let why = format!(
        "protected groups must have approval annotation {} with either a URL or a reason starting with \"unapproved\", {SEE}",
        quote(ANNOTATION)
    );
    (Approval::Invalid, why)
}

/// An annotation that said the same before may stay.
pub(super) fn validate(new: &Value, old: Option<&Value>) -> Option<Error> {
    let (is, why) = approval(new)?;
    if old.is_some_and(|old| state(old).0 == is) {
        return None;
    }
    let path = Path::new("metadata");
    let path = path.child("annotations");
    let path = path.key(ANNOTATION);
    match is {
        Approval::Approved | Approval::Bypassed => None,
        Approval::Missing => Some(Error::required(&path, why)),
        Approval::Invalid => Some(Error::invalid(&path, new.annotation(ANNOTATION).unwrap_or_default(), why)),
    }
}
