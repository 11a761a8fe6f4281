//! What creating and updating have in common: reading what was sent, and recording who manages its fields.

use pintle_codec::kind::{Unreadable, strict_error, warnings};
use pintle_codec::negotiate::Encoding;
use pintle_meta::Value;
use pintle_meta::time::Time;
use pintle_patch::managed::manager_name;
use pintle_registry::{FieldManager, ResetFields, Served};

use super::call::Call;
use super::endpoint::Endpoint;
use super::options::{FieldValidation, WriteOptions};
use super::{Result, body};
use crate::Request;

/// What a request asks to be written.
pub(crate) struct Sent {
    /// Of the stored version, with its defaults.
    pub(crate) object: Value,
    pub(crate) options: WriteOptions,
}

impl Sent {
    /// By a POST. Of several things that are wrong with a request, other ones come first than with a PUT.
    pub(crate) async fn by_post(endpoint: &Endpoint, call: &mut Call<'_>) -> Result<Sent> {
        let encoding = body::encoding(call.request, call.shared.encodings)?;
        let bytes = body::read(call.request).await?;
        let options = WriteOptions::read(call.request, "CreateOptions")?;
        Sent::read(endpoint, call, encoding, &bytes, options).await
    }

    pub(crate) async fn by_put(endpoint: &Endpoint, call: &mut Call<'_>) -> Result<Sent> {
        let bytes = body::read(call.request).await?;
        let options = WriteOptions::read(call.request, "UpdateOptions")?;
        let encoding = body::encoding(call.request, call.shared.encodings)?;
        Sent::read(endpoint, call, encoding, &bytes, options).await
    }

    async fn read(
        endpoint: &Endpoint,
        call: &mut Call<'_>,
        encoding: Encoding,
        bytes: &[u8],
        options: WriteOptions,
    ) -> Result<Sent> {
        let served = &*endpoint.served;
        let read = || {
            let (object, told) = read(served, encoding, bytes, options.field_validation);
            (object.and_then(|object| served.to_stored(object)), told)
        };
        let (object, told) = pintle_work::run(read).await;
        call.warnings.extend(told);
        let object = object?;
        Ok(Sent { object, options })
    }
}

/// An object of the served version out of a body, and what the client is warned of in any case. Unknown fields are refused, told to the
/// client, or neither.
fn read(
    served: &dyn Served,
    encoding: Encoding,
    body: &[u8],
    validation: FieldValidation,
) -> (Result<Value>, Vec<String>) {
    let mut told = Vec::new();
    let received = match served.read(encoding, body) {
        Ok(received) => received,
        Err(status) => return (Err(status), told),
    };
    if !received.strict.is_empty() {
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => told = warnings(&received.strict),
            FieldValidation::Strict => {
                let error = strict_error(&received.strict);
                let unreadable = Unreadable { kind: Some(received.kind), error };
                return (Err(Box::new(unreadable.status(&served.kind().kind, body))), told);
            }
        }
    }
    (received.object, told)
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
        let name = manager_name(asked, &request.user_agent());
        let subresource = endpoint.subresource.clone().unwrap_or_default();
        let manager = FieldManager::new(name, subresource, resets);
        let manager = match endpoint.is_defined {
            true => manager.of_version(endpoint.served.kind().api_version()),
            false => manager,
        };
        Manager { endpoint, manager }
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
