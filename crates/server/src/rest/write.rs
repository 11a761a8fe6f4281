//! Reading the body of a write, and its way into the registry's write pipeline.

use bytes::Bytes;
use http::StatusCode;
use pintle_codec::kind::{Unreadable, strict_error, warnings};
use pintle_codec::negotiate::Encoding;
use pintle_meta::Value;
use pintle_patch::managed::manager_name;
use pintle_registry::{Change, Context, FieldManager, MutatingAdmission, Sent, Served, Target, Write};
use pintle_runtime::Clock;

use super::call::Call;
use super::endpoint::{Endpoint, Implementation};
use super::may_create::MayCreate;
use super::options::{FieldValidation, WriteOptions};
use super::{Result, body, internal};
use crate::{Response, audit};

/// The decoded body and options of a write.
pub(crate) struct WriteRequest {
    /// The object in the stored version, with its defaults.
    pub(crate) object: Value,
    pub(crate) options: WriteOptions,
    pub(crate) sent: Sent,
}

impl WriteRequest {
    /// Reads a POST. The order in which errors are found differs from that of a PUT.
    pub(crate) async fn from_post(endpoint: &Endpoint, call: &mut Call<'_>) -> Result<WriteRequest> {
        let encoding = body::encoding(call.request, call.shared.encodings)?;
        let bytes = body::read(call.request).await?;
        let options = WriteOptions::read(call.request, "CreateOptions")?;
        WriteRequest::read(endpoint, call, encoding, bytes, options).await
    }

    pub(crate) async fn from_put(endpoint: &Endpoint, call: &mut Call<'_>) -> Result<WriteRequest> {
        let bytes = body::read(call.request).await?;
        let options = WriteOptions::read(call.request, "UpdateOptions")?;
        let encoding = body::encoding(call.request, call.shared.encodings)?;
        WriteRequest::read(endpoint, call, encoding, bytes, options).await
    }

    async fn read(
        endpoint: &Endpoint,
        call: &mut Call<'_>,
        encoding: Encoding,
        bytes: Bytes,
        options: WriteOptions,
    ) -> Result<WriteRequest> {
        let served = &*endpoint.served;
        let read = || read(served, encoding, &bytes, options.field_validation);
        let (object, warned) = pintle_work::run(read).await;
        call.warnings.extend(warned);
        let object = object?;
        if let Some(audit) = &call.request.audit {
            audit::record_object(audit, served, &object);
        }
        Ok(WriteRequest { object, options, sent: Sent::Body { encoding, bytes } })
    }
}

/// Decodes an object and returns it in the stored version, and the warnings that the client gets in any case. Unknown fields are
/// refused, reported as warnings, or ignored.
fn read(
    served: &dyn Served,
    encoding: Encoding,
    body: &[u8],
    validation: FieldValidation,
) -> (Result<Value>, Vec<String>) {
    let mut warned = Vec::new();
    let received = match served.read(encoding, body) {
        Ok(received) => received,
        Err(status) => return (Err(status), warned),
    };
    let unreadable = |error| {
        let unreadable = Unreadable { kind: Some(received.kind.clone()), error };
        Box::new(unreadable.status(&served.kind().kind, body))
    };
    // A decoder ends with the conversion, so that its error hides unknown fields.
    let stored = match received.object.map(|object| served.to_stored(object)) {
        Ok(Ok(stored)) => Ok(stored),
        Ok(Err(error)) => return (Err(unreadable(pintle_codec::Error::new(error))), warned),
        Err(status) => Err(status),
    };
    if !received.strict.is_empty() {
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => warned = warnings(&received.strict),
            FieldValidation::Strict => {
                return (Err(unreadable(strict_error(&received.strict))), warned);
            }
        }
    }
    (stored, warned)
}

/// Changes an object through the write pipeline, and answers with it.
pub(crate) async fn update(
    endpoint: &Endpoint,
    call: &mut Call<'_>,
    mut context: Context,
    options: &WriteOptions,
    change: &mut dyn Change,
) -> Result<Response> {
    let target = match &endpoint.implementation {
        Implementation::Store(store) => Target::Store(store),
        Implementation::Subresource(subresource) => Target::Subresource(&**subresource),
        Implementation::Computed(_)
        | Implementation::Connection { .. }
        | Implementation::Stream(_)
        | Implementation::Missing => {
            return Err(internal("there is nothing to write to"));
        }
    };
    let admission = call.admission(endpoint, &context, options.dry_run, Some(options.fields.clone()));
    let admission = MayCreate::new(call, &admission);
    let manager = call.field_manager(endpoint, &options.field_manager);
    let write = endpoint.write(&manager, &admission, options, &call.shared.clock);
    let updated = write.update(&mut context, target, &call.request.info.name, change).await;
    call.warnings.append(&mut context.warnings);
    let updated = updated?;
    let code = if updated.created { StatusCode::CREATED } else { StatusCode::OK };
    call.representation.object(endpoint, updated.object, code)
}

impl Endpoint {
    /// A write of this resource, on its way through the pipeline.
    pub(crate) fn write<'a>(
        &'a self,
        manager: &'a FieldManager,
        admission: &'a dyn MutatingAdmission,
        options: &WriteOptions,
        clock: &Clock,
    ) -> Write<'a> {
        Write {
            group: &self.group,
            resource: &self.resource,
            served: &*self.served,
            manager,
            admission,
            options: pintle_registry::WriteOptions { dry_run: options.dry_run },
            now: clock.now().into(),
        }
    }
}

impl Call<'_> {
    /// The field manager of this request, by the name that it asks for.
    pub(crate) fn field_manager(&self, endpoint: &Endpoint, name: &str) -> FieldManager {
        let name = manager_name(name, &self.request.user_agent());
        let subresource = endpoint.subresource.clone().unwrap_or_default();
        let manager = FieldManager::new(name, subresource, endpoint.implementation.reset_fields());
        if endpoint.is_custom { manager.of_version(endpoint.served.kind().api_version()) } else { manager }
    }
}
