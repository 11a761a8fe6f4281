//! Creating one object.

use http::StatusCode;

use crate::Response;
use crate::rest::Result;
use crate::rest::call::Call;
use crate::rest::endpoint::Serving;
use crate::rest::write::Sent;

pub(crate) async fn create(serving: &Serving, call: &mut Call<'_>) -> Result<Response> {
    let Sent { mut object, options } = Sent::by_post(serving, call).await?;
    call.settle_name(&mut object);
    let mut context = serving.context(call.request);
    let gate = call.gate(serving, &context, options.dry_run);
    let manager = call.field_manager(serving, &options.field_manager);
    let write = serving.write(&manager, &gate, &options, &call.shared.clock);
    let created = write.create(&mut context, &serving.store, object).await;
    call.warnings.append(&mut context.warnings);
    call.negotiated.object(serving, created?, StatusCode::CREATED)
}
