//! Changing parts of one object.
//!
//! A patch is applied to the object as the request's version shows it, on every attempt anew.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use pintle_admission::RequestAdmission;
use pintle_codec::negotiate::Encoding;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Details, Status, Value};
use pintle_registry::{Context, ResetFields, Transform, WriteOptions as Registry};
use pintle_schema::Type;

use super::apply::{Format, apply};
use super::call::Call;
use super::change::Change;
use super::endpoint::{Behind, Endpoint};
use super::options::{FieldValidation, WriteOptions};
use super::owners::admitted;
use super::update::{check_name, settle_namespace};
use super::write::Manager;
use super::{Result, body, internal};
use crate::{Request, Response};

/// What kinds of patches there are.
const TYPES: [&str; 5] = [JSON, MERGE, STRATEGIC, APPLY, APPLY_CBOR];
const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
/// Where CBOR is served.
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
    if endpoint.is_defined && known.is_none_or(|known| known == STRATEGIC) {
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

pub(crate) async fn patch(endpoint: &Endpoint, behind: &Behind, call: &mut Call<'_>) -> Result<Response> {
    let kind = kind_of(endpoint, call.request, call.shared.encodings)?;
    let bytes = body::read(call.request).await?;
    let options = WriteOptions::read_after(call.request, "PatchOptions", check_apply(call.request, kind))?;
    let change = match kind {
        JSON => Change::Json(bytes),
        MERGE => Change::Merge(bytes),
        STRATEGIC => Change::Strategic(bytes, strategic_type(endpoint.served.strategic_type())?),
        APPLY => return apply(endpoint, behind, call, &bytes, Format::Yaml, options).await,
        _ => return apply(endpoint, behind, call, &bytes, Format::Cbor, options).await,
    };
    let mut context = endpoint.context(call.request);
    let name = call.request.info.name.clone();
    let resets = match behind {
        Behind::Store(store) => store.config().strategy.reset_fields(),
        _ => ResetFields::These(&[]),
    };
    let gate = call.gate(endpoint, &context, options.dry_run);
    let mut patching = Patching {
        endpoint,
        change,
        validation: options.field_validation,
        manager: Manager::new(endpoint, call.request, &options.field_manager, resets),
        gate: &gate,
        context: context.clone(),
        name: &name,
        told: Mutex::default(),
    };
    let dry_run = Registry { dry_run: options.dry_run };
    let result = match behind {
        Behind::Store(store) => store.update(&mut context, &name, &mut patching, &gate, false, dry_run).await,
        Behind::Subresource(behind) => {
            behind.update(&mut context, &name, &mut patching, &gate, dry_run).await
        }
        Behind::Computed(_) | Behind::Connection | Behind::Missing => {
            Err(internal("there is nothing to patch"))
        }
    };
    call.warnings.append(&mut patching.told.into_inner().unwrap_or_else(PoisonError::into_inner));
    call.warnings.append(&mut context.warnings);
    let result = result?;
    let code = if result.created { StatusCode::CREATED } else { StatusCode::OK };
    call.negotiated.object(endpoint, result.object, code)
}

/// The type that a strategic merge goes by. Kinds without one take no such patch.
fn strategic_type(of: Option<&'static Type>) -> Result<&'static Type> {
    of.ok_or_else(|| Box::new(Status::unsupported_media_type(&[JSON, MERGE, APPLY])))
}

/// What only an apply may and must say.
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
struct Patching<'a> {
    endpoint: &'a Endpoint,
    change: Change,
    validation: FieldValidation,
    manager: Manager<'a>,
    gate: &'a RequestAdmission,
    context: Context,
    name: &'a str,
    /// Of the last attempt.
    told: Mutex<Vec<String>>,
}

impl Patching<'_> {
    fn patched(&self, old: &Value) -> Result<Value> {
        let served = &*self.endpoint.served;
        let before = served.to_served(old.clone())?;
        let (object, told) = self.change.apply(served, before, self.validation)?;
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
        served.to_stored(object)
    }
}

#[async_trait]
impl Transform for Patching<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let Some(old) = old else {
            return Err(Box::new(Status::not_found(
                &self.endpoint.group,
                &self.endpoint.resource,
                self.name,
            )));
        };
        let this = &*self;
        let new = pintle_work::run(|| -> Result<Value> {
            let mut new = this.patched(old)?;
            this.manager.record(Some(old), &mut new)?;
            Ok(new)
        });
        let mut new = new.await?;
        settle_namespace(&mut new, &self.context.namespace)?;
        check_name(&new, self.name, &self.context.namespace)?;
        let (new, told) = admitted(self.gate, new, Some(old)).await?;
        self.told.lock().unwrap_or_else(PoisonError::into_inner).extend(told);
        Ok(new)
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
