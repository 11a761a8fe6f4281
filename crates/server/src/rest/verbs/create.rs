//! Creating one object.

use http::StatusCode;

use crate::Response;
use crate::rest::Result;
use crate::rest::call::Call;
use crate::rest::endpoint::StoredEndpoint;
use crate::rest::write::WriteRequest;

pub(crate) async fn create(serving: &StoredEndpoint, call: &mut Call<'_>) -> Result<Response> {
    let WriteRequest { mut object, options, sent } = WriteRequest::from_post(serving, call).await?;
    call.name_from_path(&mut object);
    let mut context = serving.context(call.request);
    context.sent = Some(sent);
    let admission = call.admission(serving, &context, options.dry_run, Some(options.fields.clone()));
    let manager = call.field_manager(serving, &options.field_manager);
    let write = serving.write(&manager, &admission, &options, &call.shared.clock);
    let created = write.create(&mut context, &serving.store, object).await;
    call.warnings.append(&mut context.warnings);
    call.representation.object(serving, created?, StatusCode::CREATED)
}
