//! Server-side apply: a patch that says how its manager wants an object to be, and creates what is not there.
//!
//! Every attempt merges the configuration into what there is by then, so that managers of different fields do not get into
//! each other's way.

use async_trait::async_trait;
use bytes::Bytes;
use pintle_codec::kind::warnings;
use pintle_codec::{Decoded, Error, cbor, yaml};
use pintle_meta::{Status, Value};
use pintle_registry::{Change, IfMissing, Sent, Write};

use super::call::Call;
use super::endpoint::Endpoint;
use super::options::{FieldValidation, WriteOptions, boolean};
use super::write::update as write;
use super::{Result, bad_request};
use crate::Response;

/// The format of an applied configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Or JSON, which is the same.
    Yaml,
    Cbor,
}

impl Format {
    /// Decodes the body, with the errors of strict decoding.
    fn read(self, body: &[u8]) -> std::result::Result<Decoded, Error> {
        match self {
            Format::Yaml => yaml::decode_untyped(body),
            Format::Cbor => cbor::decode_untyped(body),
        }
    }
}

pub(crate) async fn apply(
    endpoint: &Endpoint,
    call: &mut Call<'_>,
    body: &Bytes,
    format: Format,
    options: WriteOptions,
) -> Result<Response> {
    let context = endpoint.context(call.request);
    let config = pintle_work::run(|| format.read(body)).await;
    let name = call.request.info.name.clone();
    let force = boolean(call.request, "force").unwrap_or(false);
    let mut apply =
        Apply { endpoint, config, force, validation: options.field_validation, name: &name, merged: None };
    write(endpoint, call, context, &options, &mut apply).await
}

/// A configuration on its way to an object.
struct Apply<'a> {
    endpoint: &'a Endpoint,
    /// Whether it can be read is of interest only where there is something to apply it to.
    config: std::result::Result<Decoded, Error>,
    force: bool,
    validation: FieldValidation,
    name: &'a str,
    /// The merged object of the last attempt.
    merged: Option<Value>,
}

impl Apply<'_> {
    fn applied(&mut self, write: &Write<'_>, old: Option<&Value>, warned: &mut Vec<String>) -> Result<Value> {
        let undecodable = |error: &Error| bad_request(format!("error decoding YAML: {error}"));
        let config = self.config.as_ref().map_err(undecodable)?;
        let applied = write.apply(old, &config.value, self.force)?;
        let new = applied.object;
        self.merged = applied.merged;
        match (self.validation, &config.strict[..]) {
            (FieldValidation::Strict, [first, ..]) => {
                return Err(bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: {first}"
                )));
            }
            (FieldValidation::Warn, strict) => *warned = warnings(strict),
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
        Ok(new)
    }
}

#[async_trait]
impl Change for Apply<'_> {
    async fn change(
        &mut self,
        write: &Write<'_>,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Value> {
        pintle_work::run(|| self.applied(write, old, warnings)).await
    }

    fn sent(&mut self) -> Option<Sent> {
        self.merged.take().map(Sent::Patched)
    }

    fn if_missing(&self) -> IfMissing {
        // The parent of a subresource must exist.
        if self.endpoint.subresource.is_none() { IfMissing::Create } else { IfMissing::AskStrategy }
    }

    fn needs_managers(&self) -> bool {
        true
    }
}
