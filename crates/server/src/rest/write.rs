//! What creating and updating have in common: reading the object, and recording who manages its fields.

use pintle_codec::kind::{Unreadable, strict_error, warnings};
use pintle_codec::negotiate::Encoding;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_patch::managed::manager_name;
use pintle_registry::{FieldManager, ResetFields, Served};

use super::Result;
use super::endpoint::Endpoint;
use super::options::FieldValidation;
use crate::Request;

/// An object of the served version out of a body. Unknown fields are refused, told to the client, or neither.
pub(crate) fn read(
    served: &dyn Served,
    encoding: Encoding,
    body: &[u8],
    validation: FieldValidation,
    told: &mut Vec<String>,
) -> Result<Value> {
    let received = served.read(encoding, body)?;
    if !received.strict.is_empty() {
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => told.extend(warnings(&received.strict)),
            FieldValidation::Strict => {
                let kind = served.kind();
                let unreadable =
                    Unreadable { kind: Some(kind.clone()), error: strict_error(&received.strict) };
                return Err(Box::new(unreadable.status(&kind.kind, body)));
            }
        }
    }
    Ok(received.object)
}

/// Who writes, as far as field management cares.
pub(crate) struct Manager<'a> {
    endpoint: &'a Endpoint,
    manager: FieldManager,
}

impl<'a> Manager<'a> {
    /// `asked` is what the request calls its manager.
    pub(crate) fn new(
        endpoint: &'a Endpoint,
        request: &Request,
        asked: &str,
        resets: ResetFields,
    ) -> Manager<'a> {
        let name = manager_name(asked, request.user_agent());
        let subresource = endpoint.subresource.clone().unwrap_or_default();
        Manager { endpoint, manager: FieldManager::new(name, subresource, resets) }
    }

    /// The new object of an apply. Both objects are of the stored version.
    pub(crate) fn apply(&self, live: Option<&Value>, config: &Value, force: bool) -> Result<Value> {
        let now = Time::from(std::time::SystemTime::now());
        self.manager.apply(&*self.endpoint.served, live, config, force, &now)
    }

    /// Gives a new object its managers. Both objects are of the stored version.
    pub(crate) fn record(&self, live: Option<&Value>, new: &mut Value) -> Result<()> {
        let now = Time::from(std::time::SystemTime::now());
        self.manager.record(&*self.endpoint.served, live, new, &now)
    }
}
