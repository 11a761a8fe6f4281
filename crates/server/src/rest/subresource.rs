//! Subresources that show something else than the object they are of.

use http::StatusCode;
use pintle_meta::{Details, Status, Value};
use pintle_registry::Subresource;

use super::Result;
use super::call::Call;
use super::endpoint::Endpoint;
use super::write::WriteRequest;
use crate::{Response, query};

pub(crate) async fn get(
    endpoint: &Endpoint,
    subresource: &dyn Subresource,
    call: &Call<'_>,
) -> Result<Response> {
    let context = endpoint.context(call.request);
    let query: Vec<_> = query::pairs(call.request.parts.uri.query().unwrap_or_default()).collect();
    let object = subresource.get_with(&context, &call.request.info.name, &query).await?;
    call.representation.object(endpoint, object, StatusCode::OK)
}

pub(crate) async fn create(
    endpoint: &Endpoint,
    subresource: &dyn Subresource,
    call: &mut Call<'_>,
) -> Result<Response> {
    let WriteRequest { mut object, options, sent } = WriteRequest::from_post(endpoint, call).await?;
    forget_empty_managers(&mut object);
    let mut context = endpoint.context(call.request);
    context.sent = Some(sent);
    let admission = call.admission(endpoint, &context, options.dry_run, Some(options.fields.clone()));
    // Managers are shown where the answer is what was sent.
    let manager = call.field_manager(endpoint, &options.field_manager);
    let write = endpoint.write(&manager, &admission, &options, &call.shared.clock);
    let created = write.create_in(&mut context, subresource, &call.request.info.name, object).await;
    call.warnings.append(&mut context.warnings);
    if let Some(audit) = &call.request.audit {
        context.annotations.iter().for_each(|(key, value)| audit.annotate(key, value));
    }
    match created? {
        Some(object) => call.representation.object(endpoint, object, StatusCode::CREATED),
        None => {
            let mut status = Status::success(Details::default());
            (status.code, status.details) = (StatusCode::CREATED.as_u16(), None);
            Ok(call.representation.status(&status, StatusCode::CREATED))
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
