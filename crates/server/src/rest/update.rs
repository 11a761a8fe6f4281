//! Replacing one object, or what a subresource shows of it.

use async_trait::async_trait;
use http::StatusCode;
use pintle_admission::RequestAdmission;
use pintle_meta::Value;
use pintle_registry::{Preconditions, Transform, WriteOptions as Registry};

use super::call::Call;
use super::endpoint::{Behind, Endpoint};
use super::may_create::MayCreate;
use super::owners::{admitted, without_duplicates};
use super::write::{Manager, Sent};
use super::{Result, bad_request, internal};
use crate::Response;

pub(crate) async fn update(endpoint: &Endpoint, behind: &Behind, call: &mut Call<'_>) -> Result<Response> {
    let Sent { mut object, options } = Sent::by_put(endpoint, call).await?;
    let mut context = endpoint.context(call.request);
    let name = call.request.info.name.clone();
    settle_namespace(&mut object, &context.namespace)?;
    check_name(&object, &name, &context.namespace)?;
    call.warnings.extend(without_duplicates(&mut object, false));
    let manager = Manager::new(endpoint, call.request, &options.field_manager, behind.reset_fields());
    let gate = call.gate(endpoint, &context, options.dry_run);
    let mut put = Put { object, manager, gate: &gate, told: None };
    let dry_run = Registry { dry_run: options.dry_run };
    let asked = MayCreate::new(call, &gate);
    let result = match behind {
        Behind::Store(store) => store.update(&mut context, &name, &mut put, &asked, false, dry_run).await,
        Behind::Subresource(behind) => behind.update(&mut context, &name, &mut put, &asked, dry_run).await,
        Behind::Computed(_) | Behind::Connection | Behind::Missing => {
            Err(internal("there is nothing to replace"))
        }
    };
    call.warnings.extend(put.told);
    call.warnings.append(&mut context.warnings);
    let result = result?;
    let code = if result.created { StatusCode::CREATED } else { StatusCode::OK };
    call.negotiated.object(endpoint, result.object, code)
}

/// An object that says nothing about its namespace is in that of the request, which everybody after this sees.
pub(crate) fn settle_namespace(object: &mut Value, namespace: &str) -> Result<()> {
    let own = object.namespace();
    if own == namespace {
        return Ok(());
    }
    if !own.is_empty() && !namespace.is_empty() {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(bad_request(why));
    }
    if let Some(metadata) = object.metadata_mut() {
        match namespace {
            "" => drop(metadata.remove("namespace")),
            namespace => drop(metadata.insert("namespace", namespace)),
        }
    }
    Ok(())
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
struct Put<'a> {
    object: Value,
    manager: Manager<'a>,
    gate: &'a RequestAdmission,
    /// Of the last attempt.
    told: Option<String>,
}

#[async_trait]
impl Transform for Put<'_> {
    async fn transform(&mut self, old: Option<&Value>) -> Result<Value> {
        let this = &*self;
        let new = pintle_work::run(|| -> Result<Value> {
            let mut new = this.object.clone();
            this.manager.record(old, &mut new)?;
            Ok(new)
        });
        let new = new.await?;
        let (new, told) = admitted(self.gate, new, old).await?;
        self.told = told;
        Ok(new)
    }

    fn preconditions(&self) -> Preconditions {
        let uid = self.object.uid();
        Preconditions { uid: (!uid.is_empty()).then(|| uid.to_owned()), resource_version: None }
    }
}
