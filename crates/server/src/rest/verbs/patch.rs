//! Changing parts of one object.
//!
//! A patch is applied to the object as the request's version shows it, on every attempt anew.

use async_trait::async_trait;
use http::header::CONTENT_TYPE;
use pintle_codec::negotiate::Encoding;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Details, Status, Value};
use pintle_registry::{Change, IfMissing, Sent, Write};
use pintle_schema::Type;

use crate::rest::apply::{Format, apply};
use crate::rest::call::Call;
use crate::rest::endpoint::Endpoint;
use crate::rest::options::{FieldValidation, WriteOptions};
use crate::rest::patch_body::PatchBody;
use crate::rest::write::update as write;
use crate::rest::{Result, body};
use crate::{Request, Response, audit};

/// The media types of patches.
const TYPES: [&str; 5] = [JSON, MERGE, STRATEGIC, APPLY, APPLY_CBOR];
const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
/// Apply in CBOR, where that is served.
const APPLY_CBOR: &str = "application/apply-patch+cbor";

/// Answers what kind of patch it is, in the router's words where it is none.
pub(crate) fn kind_of(
    endpoint: &Endpoint,
    request: &Request,
    encodings: &[Encoding],
) -> Result<&'static str> {
    let given = request.header(&CONTENT_TYPE).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default();
    let types = if encodings.contains(&Encoding::Cbor) { &TYPES[..] } else { &TYPES[..4] };
    let known = types.iter().copied().find(|known| *known == given);
    if endpoint.is_custom && known.is_none_or(|known| known == STRATEGIC) {
        let mut known = vec![JSON, MERGE, APPLY];
        known.extend(encodings.contains(&Encoding::Cbor).then_some(APPLY_CBOR));
        return Err(Box::new(Status::unsupported_media_type(&known)));
    }
    known.ok_or_else(|| {
        let mut status = Status::unsupported_media_type(types);
        status.message = "415: Unsupported Media Type".into();
        status.details = Some(Details::default());
        Box::new(status)
    })
}

pub(crate) async fn patch(endpoint: &Endpoint, call: &mut Call<'_>) -> Result<Response> {
    let kind = kind_of(endpoint, call.request, call.shared.encodings)?;
    let bytes = body::read(call.request).await?;
    let options = WriteOptions::read_after(call.request, "PatchOptions", check_apply(call.request, kind))?;
    if let Some(audit) = &call.request.audit {
        audit::record_patch(audit, &bytes, kind == APPLY_CBOR);
    }
    let change = match kind {
        JSON => PatchBody::Json(bytes),
        MERGE => PatchBody::Merge(bytes),
        STRATEGIC => PatchBody::Strategic(bytes, strategic_type(endpoint.served.strategic_type())?),
        APPLY => return apply(endpoint, call, &bytes, Format::Yaml, options).await,
        _ => return apply(endpoint, call, &bytes, Format::Cbor, options).await,
    };
    let context = endpoint.context(call.request);
    let mut patch = Patch { endpoint, change, validation: options.field_validation, document: None };
    write(endpoint, call, context, &options, &mut patch).await
}

/// The type that a strategic merge goes by. Kinds without one take no such patch.
fn strategic_type(of: Option<&'static Type>) -> Result<&'static Type> {
    of.ok_or_else(|| Box::new(Status::unsupported_media_type(&[JSON, MERGE, APPLY])))
}

/// Checks the options that only an apply may, and must, have.
fn check_apply(request: &Request, kind: &str) -> Vec<Error> {
    let given = |name: &'static str| request.query(name).next();
    match kind {
        APPLY | APPLY_CBOR if given("fieldManager").unwrap_or_default().is_empty() => {
            vec![Error::required(&Path::new("fieldManager"), "is required for apply patch")]
        }
        APPLY | APPLY_CBOR => Vec::new(),
        _ if given("force").is_some() => {
            vec![Error::forbidden(&Path::new("force"), "may not be specified for non-apply patch")]
        }
        _ => Vec::new(),
    }
}

/// A patch on its way to an object.
struct Patch<'a> {
    endpoint: &'a Endpoint,
    change: PatchBody,
    validation: FieldValidation,
    /// The patched document of the last attempt.
    document: Option<Value>,
}

impl Patch<'_> {
    fn patched(&mut self, write: &Write<'_>, old: &Value, warnings: &mut Vec<String>) -> Result<Value> {
        let served = &*self.endpoint.served;
        let before = served.to_served(old.clone())?;
        let patched = self.change.apply(served, before, self.validation)?;
        *warnings = patched.warnings;
        self.document = Some(patched.document);
        let mut new = served.to_stored(patched.object).map_err(|error| Box::new(Status::internal(error)))?;
        write.record(Some(old), &mut new)?;
        Ok(new)
    }
}

#[async_trait]
impl Change for Patch<'_> {
    async fn change(
        &mut self,
        write: &Write<'_>,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Value> {
        let old = old.cloned().unwrap_or_default();
        pintle_work::run(|| self.patched(write, &old, warnings)).await
    }

    fn sent(&mut self) -> Option<Sent> {
        self.document.take().map(Sent::Patched)
    }

    fn if_missing(&self) -> IfMissing {
        IfMissing::Refuse
    }
}

#[cfg(test)]
mod tests {
    use pintle_meta::Reason;

    use super::*;

    #[test]
    fn a_kind_without_a_type_takes_no_strategic_merge() {
        let status = strategic_type(None).unwrap_err();
        assert_eq!((status.code, status.reason), (415, Reason::UnsupportedMediaType));
        assert_eq!(
            status.message,
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        );
        assert!(strategic_type(pintle_schema::find("core/v1.Pod")).is_ok());
    }
}
