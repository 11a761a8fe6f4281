//! Server-side apply: a patch that says how its manager wants an object to be, and creates what is not there.
//!
//! Every attempt merges the configuration into what there is by then, so that managers of different fields do not get into
//! each other's way.

use async_trait::async_trait;
use bytes::Bytes;
use http::StatusCode;
use pintle_admission::RequestAdmission;
use pintle_codec::kind::warnings;
use pintle_codec::{Decoded, Error, cbor, yaml};
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Transform, WriteOptions as Registry};

use super::call::Call;
use super::endpoint::{Behind, Endpoint};
use super::may_create::MayCreate;
use super::options::{FieldValidation, WriteOptions, boolean};
use super::owners::admitted;
use super::update::{check_name, settle_namespace};
use super::write::Manager;
use super::{Result, bad_request, internal};
use crate::Response;

/// In what a configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Or JSON, which is the same.
    Yaml,
    Cbor,
}

impl Format {
    /// What the body says, and what a strict reader minds about it.
    fn read(self, body: &[u8]) -> std::result::Result<Decoded, Error> {
        match self {
            Format::Yaml => yaml::decode_untyped(body),
            Format::Cbor => cbor::decode_untyped(body),
        }
    }
}

pub(crate) async fn apply(
    endpoint: &Endpoint,
    behind: &Behind,
    call: &mut Call<'_>,
    body: &Bytes,
    format: Format,
    options: WriteOptions,
) -> Result<Response> {
    let mut context = endpoint.context(call.request);
    let name = call.request.info.name.clone();
    let gate = call.gate(endpoint, &context, options.dry_run);
    let config = pintle_work::run(|| format.read(body)).await;
    let mut applying = Applying {
        endpoint,
        config,
        force: boolean(call.request, "force").unwrap_or(false),
        validation: options.field_validation,
        manager: Manager::new(endpoint, call.request, &options.field_manager, behind.reset_fields()),
        gate: &gate,
        context: context.clone(),
        name: &name,
        told: Vec::new(),
    };
    let dry_run = Registry { dry_run: options.dry_run };
    let result = match behind {
        Behind::Store(store) => {
            // What a subresource is of must be there already.
            let may_create = endpoint.subresource.is_none();
            let asked = MayCreate::new(call, &gate);
            store.update(&mut context, &name, &mut applying, &asked, may_create, dry_run).await
        }
        Behind::Subresource(behind) => {
            behind.update(&mut context, &name, &mut applying, &gate, dry_run).await
        }
        Behind::Computed(_) | Behind::Connection | Behind::Missing => {
            Err(internal("there is nothing to apply to"))
        }
    };
    call.warnings.append(&mut applying.told);
    call.warnings.append(&mut context.warnings);
    let result = result?;
    let code = if result.created { StatusCode::CREATED } else { StatusCode::OK };
    call.negotiated.object(endpoint, result.object, code)
}

/// A configuration on its way to an object.
struct Applying<'a> {
    endpoint: &'a Endpoint,
    /// Whether it can be read is of interest only where there is something to apply it to.
    config: std::result::Result<Decoded, Error>,
    force: bool,
    validation: FieldValidation,
    manager: Manager<'a>,
    gate: &'a RequestAdmission,
    context: Context,
    name: &'a str,
    /// Of the last attempt.
    told: Vec<String>,
}

impl Applying<'_> {
    /// The object after the merge, and what the client is warned of.
    fn applied(&self, old: Option<&Value>) -> Result<(Value, Vec<String>)> {
        let mut told = Vec::new();
        let undecodable = |error: &Error| bad_request(format!("error decoding YAML: {error}"));
        let config = self.config.as_ref().map_err(undecodable)?;
        let mut new = self.manager.apply(old, &config.value, self.force)?;
        match (self.validation, &config.strict[..]) {
            (FieldValidation::Strict, [first, ..]) => {
                return Err(bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: {first}"
                )));
            }
            (FieldValidation::Warn, strict) => told = warnings(strict),
            _ => {}
        }
        if old.is_none() && !new.uid().is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                new.uid()
            );
            let endpoint = self.endpoint;
            return Err(Box::new(Status::conflict(&endpoint.group, &endpoint.resource, self.name, why)));
        }
        settle_namespace(&mut new, &self.context.namespace)?;
        check_name(&new, self.name, &self.context.namespace)?;
        Ok((new, told))
    }
}

#[async_trait]
impl Transform for Applying<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let (new, told) = pintle_work::run(|| self.applied(old)).await?;
        self.told = told;
        let (new, told) = admitted(self.gate, new, old).await?;
        self.told.extend(told);
        Ok(new)
    }

    fn needs_managers(&self) -> bool {
        true
    }
}
