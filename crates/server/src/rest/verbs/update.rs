//! Replacing one object, or what a subresource shows of it.

use pintle_registry::Replace;

use crate::Response;
use crate::rest::Result;
use crate::rest::call::Call;
use crate::rest::endpoint::Endpoint;
use crate::rest::write::{WriteRequest, update as write};

pub(crate) async fn update(endpoint: &Endpoint, call: &mut Call<'_>) -> Result<Response> {
    let WriteRequest { object, options, sent } = WriteRequest::from_put(endpoint, call).await?;
    let mut context = endpoint.context(call.request);
    context.sent = Some(sent);
    let mut replace = Replace::new(object, &mut context, &call.request.info.name)?;
    write(endpoint, call, context, &options, &mut replace).await
}
