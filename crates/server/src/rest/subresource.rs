//! Subresources that show something else than the object they are of.

use http::StatusCode;
use pintle_meta::{Details, Status, Value};
use pintle_registry::{ResetFields, Subresource, WriteOptions as Registry};

use super::call::Call;
use super::endpoint::Endpoint;
use super::options::WriteOptions;
use super::update::{Put, check_name, check_namespace};
use super::write::{Manager, read};
use super::{Result, body};
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
    let encoding = body::encoding(call.request, call.shared.encodings)?;
    let bytes = body::read(&mut call.request.body).await?;
    let options = WriteOptions::read(call.request, "CreateOptions")?;
    let served = &*endpoint.served;
    let object = read(served, encoding, &bytes, options.field_validation, &mut call.warnings)?;
    let mut object = served.to_stored(object)?;
    let mut context = endpoint.context(call.request);
    settle_namespace(&mut object, &context.namespace)?;
    let name = call.request.info.name.clone();
    let gate = call.gate(endpoint, &context, options.dry_run);
    let object = gate.on_create(object).await?;
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

/// What says nothing about its namespace is in that of the request.
fn settle_namespace(object: &mut Value, namespace: &str) -> Result<()> {
    check_namespace(object, namespace)?;
    if object.namespace() != namespace
        && let Some(metadata) = object.metadata_mut()
    {
        match namespace {
            "" => drop(metadata.remove("namespace")),
            namespace => drop(metadata.insert("namespace", namespace)),
        }
    }
    Ok(())
}

pub(crate) async fn update(
    endpoint: &Endpoint,
    behind: &dyn Subresource,
    call: &mut Call<'_>,
) -> Result<Response> {
    let bytes = body::read(&mut call.request.body).await?;
    let options = WriteOptions::read(call.request, "UpdateOptions")?;
    let encoding = body::encoding(call.request, call.shared.encodings)?;
    let served = &*endpoint.served;
    let object = read(served, encoding, &bytes, options.field_validation, &mut call.warnings)?;
    let object = served.to_stored(object)?;
    let mut context = endpoint.context(call.request);
    let name = call.request.info.name.clone();
    check_name(&object, &name, &context.namespace)?;
    let manager = Manager::new(endpoint, call.request, &options.field_manager, ResetFields::These(&[]));
    let gate = call.gate(endpoint, &context, options.dry_run);
    let mut put = Put { object, manager, gate: &gate };
    let dry_run = Registry { dry_run: options.dry_run };
    let result = behind.update(&mut context, &name, &mut put, &gate, dry_run).await;
    call.warnings.append(&mut context.warnings);
    call.negotiated.object(endpoint, result?.object, StatusCode::OK)
}
