//! Changing parts of one object.
//!
//! A patch is applied to the object as the request's version shows it, on every attempt anew.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use pintle_admission::Gate;
use pintle_codec::kind::{strict_error, warnings};
use pintle_codec::{json, unstructured};
use pintle_meta::field_path::{Error, Path};
use pintle_meta::{Details, Reason, Status, Value};
use pintle_patch::json_patch::{self, MAX_OPERATIONS};
use pintle_patch::merge_patch;
use pintle_registry::{Context, ResetFields, Transform, WriteOptions as Registry};

use super::call::Call;
use super::endpoint::{Behind, Endpoint};
use super::options::{FieldValidation, WriteOptions};
use super::owners::without_duplicates;
use super::update::{check_name, check_namespace};
use super::write::Manager;
use super::{Result, bad_request, body, internal};
use crate::{Request, Response};

/// What kinds of patches there are.
const TYPES: [&str; 4] = [JSON, MERGE, STRATEGIC, APPLY];
const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Answers what kind of patch it is, in the router's words where it is none.
fn kind_of(request: &Request) -> Result<&'static str> {
    let given = request.header(&CONTENT_TYPE).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default();
    let known = TYPES.into_iter().find(|known| *known == given);
    known.ok_or_else(|| {
        let mut status = Status::unsupported_media_type(&TYPES);
        status.message = "415: Unsupported Media Type".into();
        status.details = Some(Details::default());
        Box::new(status)
    })
}

pub(crate) async fn patch(endpoint: &Endpoint, behind: &Behind, call: &mut Call<'_>) -> Result<Response> {
    let kind = kind_of(call.request)?;
    let bytes = body::read(&mut call.request.body).await?;
    let options = WriteOptions::read_after(call.request, "PatchOptions", check_apply(call.request, kind))?;
    let change = match kind {
        JSON => Change::Json(bytes),
        MERGE => Change::Merge(bytes),
        other => {
            let message = format!("patches of type {other} are not implemented by this server yet");
            return Err(Box::new(Status::not_implemented(message)));
        }
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
        Behind::Missing => Err(internal("there is nothing to patch")),
    };
    call.warnings.append(&mut patching.told.into_inner().unwrap_or_else(PoisonError::into_inner));
    call.warnings.append(&mut context.warnings);
    let result = result?;
    let code = if result.created { StatusCode::CREATED } else { StatusCode::OK };
    call.negotiated.object(endpoint, result.object, code)
}

/// What only an apply may and must say.
fn check_apply(request: &Request, kind: &str) -> Vec<Error> {
    let given = |name: &'static str| request.query(name).next();
    match kind {
        APPLY if given("fieldManager").unwrap_or_default().is_empty() => {
            vec![Error::required(&Path::new("fieldManager"), "is required for apply patch")]
        }
        APPLY => Vec::new(),
        _ if given("force").is_some() => {
            vec![Error::forbidden(&Path::new("force"), "may not be specified for non-apply patch")]
        }
        _ => Vec::new(),
    }
}

enum Change {
    Json(bytes::Bytes),
    Merge(bytes::Bytes),
}

impl Change {
    /// The document after the patch, and what a strict reader minds about the patch.
    fn apply(&self, document: Value, strictly: bool) -> Result<(Value, Vec<String>)> {
        let undecodable = |error| bad_request(format!("error decoding patch: {error}"));
        match self {
            Change::Json(bytes) => {
                let strict =
                    if strictly { json_patch::strict(bytes).map_err(undecodable)? } else { Vec::new() };
                let patch =
                    json_patch::Patch::decode(bytes).map_err(|error| bad_request(error.to_string()))?;
                if patch.len() > MAX_OPERATIONS {
                    return Err(Box::new(Status::request_entity_too_large(format_args!(
                        "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                        patch.len()
                    ))));
                }
                let applied = patch.apply(document).map_err(|_| Box::new(not_applicable()))?;
                Ok((applied, strict))
            }
            Change::Merge(bytes) => {
                let strict =
                    if strictly { merge_patch::strict(bytes).map_err(undecodable)? } else { Vec::new() };
                let applied = merge_patch::apply(document, bytes);
                Ok((applied.map_err(|error| bad_request(error.to_string()))?, strict))
            }
        }
    }
}

/// All that clients learn about a JSON patch that cannot be applied.
fn not_applicable() -> Status {
    let mut status = Status::bad_request("the server rejected our request due to an error in our request");
    status.code = 422;
    status.reason = Reason::Invalid;
    status.details = Some(Details::default());
    status
}

/// A patch on its way to an object.
struct Patching<'a> {
    endpoint: &'a Endpoint,
    change: Change,
    validation: FieldValidation,
    manager: Manager<'a>,
    gate: &'a Gate,
    context: Context,
    name: &'a str,
    /// Of the last attempt.
    told: Mutex<Vec<String>>,
}

impl Patching<'_> {
    fn patched(&self, old: &Value) -> Result<Value> {
        let served = &*self.endpoint.served;
        let document = unstructured::from_typed(&served.to_served(old.clone())?);
        let strictly = self.validation != FieldValidation::Ignore;
        let (document, mut strict) = self.change.apply(document, strictly)?;
        let mut text = Vec::new();
        json::encode(&document, &mut text);
        let refuse = |why: String| {
            let shown = String::from_utf8_lossy(&text).into_owned();
            let error = Error::invalid(&Path::new("patch"), shown.as_str(), &why);
            Box::new(Status::invalid("", "", "", &[error]))
        };
        let received = served.parse(&text).map_err(refuse)?;
        strict.extend(received.strict);
        match self.validation {
            FieldValidation::Strict if !strict.is_empty() => {
                return Err(refuse(strict_error(&strict).to_string()));
            }
            FieldValidation::Warn => {
                *self.told.lock().unwrap_or_else(PoisonError::into_inner) = warnings(&strict);
            }
            _ => {}
        }
        served.to_stored(received.object)
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
        let mut new = self.patched(old)?;
        self.manager.record(Some(old), &mut new)?;
        check_namespace(&new, &self.context.namespace)?;
        check_name(&new, self.name, &self.context.namespace)?;
        let mut new = self.gate.on_update(new, old).await?;
        if let Some(warning) = without_duplicates(&mut new, true) {
            self.told.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
        }
        Ok(new)
    }
}
