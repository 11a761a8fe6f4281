//! Encodes the `Status` of an error as the client accepts it, indented for `?pretty` and for people's own tools.

use std::borrow::Cow;

use async_trait::async_trait;
use http::header::{ACCEPT, HeaderName, HeaderValue, USER_AGENT};
use pintle_codec::negotiate::{ENCODINGS, Encoding};
use pintle_meta::Status;

use crate::filter::{Filter, Next};
use crate::metrics::ResponseMetrics;
use crate::request::text_of;
use crate::rest::{Representation, StatusRequest};
use crate::{Request, Response};

pub struct StatusEncoding {
    /// The encodings that clients of resources may ask for.
    pub encodings: &'static [Encoding],
}

#[async_trait]
impl Filter for StatusEncoding {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        // Kept and not parsed: most requests succeed, and then the headers are not needed.
        let header = |name: &HeaderName| request.parts.headers.get(name).cloned();
        let (accept, user_agent, uri) = (header(&ACCEPT), header(&USER_AGENT), request.parts.uri.clone());
        let mut response = next.run(request).await;
        let Some(status) = response.extensions_mut().remove::<Status>() else { return response };
        // Only resources know CBOR.
        let is_resource = response.extensions().get::<ResponseMetrics>().is_some();
        let encodings = if is_resource { self.encodings } else { ENCODINGS };
        let (accept, user_agent) = (text(accept.as_ref()), text(user_agent.as_ref()));
        let request = StatusRequest { accept: &accept, user_agent: &user_agent, uri: &uri };
        Representation::for_status(&request, encodings).encode_status(response, &status)
    }
}

fn text(header: Option<&HeaderValue>) -> Cow<'_, str> {
    header.map(text_of).unwrap_or_default()
}
