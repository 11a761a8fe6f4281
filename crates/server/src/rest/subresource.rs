//! Subresources that show something else than the object they are of.

use http::StatusCode;
use pintle_meta::{Details, Status, Value};
use pintle_registry::{ResetFields, Subresource, WriteOptions as Registry};

use super::Result;
use super::call::Call;
use super::create::wipe;
use super::endpoint::Endpoint;
use super::owners::{admitted, without_duplicates};
use super::update::settle_namespace;
use super::write::{Manager, Sent};
use crate::Response;

pub(crate) async fn get(endpoint: &Endpoint, behind: &dyn Subresource, call: &Call<'_>) -> Result<Response> {
    let context = endpoint.context(call.request);
    let object = behind.get(&context, &call.request.info.name).await?;
    call.negotiated.object(endpoint, object, StatusCode::OK)
}

pub(crate) async fn create(
    endpoint: &Endpoint,
    behind: &dyn Subresource,
    call: &mut Call<'_>,
) -> Result<Response> {
    let Sent { mut object, options } = Sent::by_post(endpoint, call).await?;
    forget_empty_managers(&mut object);
    if endpoint.subresource.is_none() || !behind.keeps_system_fields() {
        wipe(&mut object);
    }
    let mut context = endpoint.context(call.request);
    settle_namespace(&mut object, &context.namespace)?;
    let name = call.request.info.name.clone();
    call.warnings.extend(without_duplicates(&mut object, false));
    // It is shown where the answer is what was sent.
    let resets = ResetFields::These(&[]);
    Manager::new(endpoint, call.request, &options.field_manager, resets).record(None, &mut object)?;
    let gate = call.gate(endpoint, &context, options.dry_run);
    let (object, told) = admitted(&gate, object, None).await?;
    call.warnings.extend(told);
    let dry_run = Registry { dry_run: options.dry_run };
    let result = behind.create(&mut context, &name, object, &gate, dry_run).await;
    call.warnings.append(&mut context.warnings);
    match result? {
        Some(object) => call.negotiated.object(endpoint, object, StatusCode::CREATED),
        None => {
            let mut status = Status::success(Details::default());
            (status.code, status.details) = (StatusCode::CREATED.as_u16(), None);
            Ok(call.negotiated.status(&status, StatusCode::CREATED))
        }
    }
}

/// An empty list of managers asks to forget those of what is stored, and this is not.
fn forget_empty_managers(object: &mut Value) {
    let managers = object.at(&["metadata", "managedFields"]).and_then(Value::as_list);
    if managers.is_some_and(<[Value]>::is_empty)
        && let Some(metadata) = object.metadata_mut()
    {
        metadata.remove("managedFields");
    }
}
