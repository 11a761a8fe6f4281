//! Replacing one object.

use async_trait::async_trait;
use http::StatusCode;
use pintle_admission::Gate;
use pintle_meta::Value;
use pintle_registry::{Preconditions, Transform, WriteOptions as Registry};

use super::call::Call;
use super::endpoint::Serving;
use super::options::WriteOptions;
use super::owners::without_duplicates;
use super::write::{Manager, read};
use super::{Result, bad_request, body};
use crate::Response;

pub(crate) async fn update(serving: &Serving, call: &mut Call<'_>) -> Result<Response> {
    let bytes = body::read(&mut call.request.body).await?;
    let options = WriteOptions::read(call.request, "UpdateOptions")?;
    let encoding = body::encoding(call.request, call.shared.encodings)?;
    let served = &*serving.served;
    let object = read(served, encoding, &bytes, options.field_validation, &mut call.warnings)?;
    let mut object = served.to_stored(object)?;
    call.warnings.extend(without_duplicates(&mut object, false));
    let mut context = serving.context(call.request);
    let name = call.request.info.name.clone();
    check_namespace(&object, &context.namespace)?;
    check_name(&object, &name, &context.namespace)?;
    let resets = serving.store.config().strategy.reset_fields();
    let manager = Manager::new(serving, call.request, &options.field_manager, resets);
    let gate = call.gate(serving, &context, options.dry_run);
    let mut put = Put { object, manager, gate: &gate };
    let dry_run = Registry { dry_run: options.dry_run };
    let result = serving.store.update(&mut context, &name, &mut put, &gate, false, dry_run).await;
    call.warnings.append(&mut context.warnings);
    let result = result?;
    let code = if result.created { StatusCode::CREATED } else { StatusCode::OK };
    call.negotiated.object(serving, result.object, code)
}

/// An object that names a namespace is in that of the request.
pub(crate) fn check_namespace(object: &Value, namespace: &str) -> Result<()> {
    let own = object.namespace();
    if own.is_empty() || namespace.is_empty() || own == namespace {
        return Ok(());
    }
    Err(bad_request("the namespace of the provided object does not match the namespace sent on the request"))
}

pub(crate) fn check_name(object: &Value, name: &str, namespace: &str) -> Result<()> {
    let refuse = |why: String| Err(bad_request(why));
    let (own, own_namespace) = (object.name(), object.namespace());
    if own.is_empty() {
        return refuse(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ));
    }
    if own != name {
        return refuse(format!("the name of the object ({own}) does not match the name on the URL ({name})"));
    }
    if !namespace.is_empty() && !own_namespace.is_empty() && own_namespace != namespace {
        return refuse(format!(
            "the namespace of the object ({own_namespace}) does not match the namespace on the request ({namespace})"
        ));
    }
    Ok(())
}

/// The object that was sent, in place of whatever is there.
pub(crate) struct Put<'a> {
    pub(crate) object: Value,
    pub(crate) manager: Manager<'a>,
    pub(crate) gate: &'a Gate,
}

#[async_trait]
impl Transform for Put<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let mut new = self.object.clone();
        self.manager.record(old, &mut new)?;
        match old {
            Some(old) => self.gate.on_update(new, old).await,
            None => self.gate.on_create(new).await,
        }
    }

    fn preconditions(&self) -> Preconditions {
        let uid = self.object.uid();
        Preconditions { uid: (!uid.is_empty()).then(|| uid.to_owned()), resource_version: None }
    }
}
