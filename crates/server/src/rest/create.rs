//! Creating one object.

use http::StatusCode;
use pintle_meta::Value;
use pintle_registry::WriteOptions as Registry;

use super::Result;
use super::call::Call;
use super::endpoint::Serving;
use super::owners::{admitted, without_duplicates};
use super::update::settle_namespace;
use super::write::{Manager, Sent};
use crate::Response;

pub(crate) async fn create(serving: &Serving, call: &mut Call<'_>) -> Result<Response> {
    let Sent { mut object, options } = Sent::by_post(serving, call).await?;
    let mut context = serving.context(call.request);
    wipe(&mut object);
    settle_namespace(&mut object, &context.namespace)?;
    call.settle_name(&mut object);
    call.warnings.extend(without_duplicates(&mut object, false));
    let resets = serving.store.config().strategy.reset_fields();
    Manager::new(serving, call.request, &options.field_manager, resets).record(None, &mut object)?;
    let gate = call.gate(serving, &context, options.dry_run);
    let (object, told) = admitted(&gate, object, None).await?;
    call.warnings.extend(told);
    let dry_run = Registry { dry_run: options.dry_run };
    let result = serving.store.create(&mut context, &object, &gate, dry_run).await;
    call.warnings.append(&mut context.warnings);
    call.negotiated.object(serving, result?, StatusCode::CREATED)
}

/// What the system says about an object, the client does not; nor does it come to manage it.
pub(crate) fn wipe(object: &mut Value) {
    const SYSTEM: [&str; 5] =
        ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];
    let Some(metadata) = object.metadata() else { return };
    if SYSTEM.iter().any(|field| metadata.contains(field))
        && let Some(metadata) = object.metadata_mut()
    {
        SYSTEM.iter().for_each(|field| drop(metadata.remove(field)));
    }
}
