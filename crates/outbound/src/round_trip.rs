//! One request on one connection, repeated on another where a pooled connection turns out to be dead.

use std::sync::Arc;

use http::header::{HOST, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;

use crate::Failure;
use crate::body::{RequestBody, Reusable};
use crate::dial::{Connection, Dialer, Versions};
use crate::error::broken;
use crate::pool::Pool;
use crate::services::Address;
use crate::url::Url;

/// A response whose body has not been read, and the HTTP/1.1 connection that it arrives on.
type Outcome = (Response<Incoming>, Option<Reusable>);

/// Sends a request on a pooled or new connection and waits for the header of its response.
///
/// A pooled connection may be dead. A request that was not sent then is sent on a new one; a GET without a body even if it was.
pub(crate) async fn round_trip(
    pool: &Arc<Pool>,
    dialer: &Dialer,
    address: &Address,
    url: &Url,
    versions: Versions,
    request: Request<RequestBody>,
) -> Result<Outcome, Failure> {
    let pooled = if versions == Versions::Negotiated { pool.take(address, url.is_https()) } else { None };
    let Some(pooled) = pooled else {
        let connection = pool.open(address, url, dialer, versions).await?;
        return attempt(pool, connection, address, url, request).await.map_err(|(failure, _)| failure);
    };
    let is_repeatable = request.method() == Method::GET && request.body().is_end_stream();
    let copy = is_repeatable.then(|| {
        let mut copy = Request::new(RequestBody::empty());
        (*copy.uri_mut(), *copy.headers_mut()) = (request.uri().clone(), request.headers().clone());
        copy
    });
    match attempt(pool, pooled, address, url, request).await {
        Err((failure, unsent)) => {
            let Some(request) = unsent.or(copy) else { return Err(failure) };
            let connection = pool.open(address, url, dialer, versions).await?;
            attempt(pool, connection, address, url, request).await.map_err(|(failure, _)| failure)
        }
        Ok(outcome) => Ok(outcome),
    }
}

/// Sends a request on a connection; a failure comes with the request if it was not sent.
async fn attempt(
    pool: &Arc<Pool>,
    connection: Connection,
    address: &Address,
    url: &Url,
    mut request: Request<RequestBody>,
) -> Result<Outcome, (Failure, Option<Request<RequestBody>>)> {
    let failed = |mut error: TrySendError<Request<RequestBody>>| {
        let unsent = error.take_message();
        (broken(error.error()), unsent)
    };
    match connection {
        Connection::Http2(mut sender) => {
            // HTTP/2 has the host in its target.
            let host = request.headers_mut().remove(HOST);
            if let Some(authority) = host.and_then(|host| host.as_bytes().try_into().ok()) {
                let mut target = request.uri().clone().into_parts();
                target.authority = Some(authority);
                *request.uri_mut() =
                    Uri::from_parts(target).map_err(|error| (Failure::Protocol(error.to_string()), None))?;
            }
            let response = sender.try_send_request(request).await.map_err(failed)?;
            Ok((response, None))
        }
        Connection::Http1(mut sender) => {
            if !request.headers().contains_key(HOST) {
                let host = request.uri().authority().map_or_else(|| url.authority(), ToString::to_string);
                let host = HeaderValue::try_from(host)
                    .map_err(|error| (Failure::Protocol(error.to_string()), None))?;
                request.headers_mut().insert(HOST, host);
            }
            let relative: Uri = url
                .path_and_query()
                .parse()
                .map_err(|error: http::uri::InvalidUri| (Failure::Protocol(error.to_string()), None))?;
            let absolute = std::mem::replace(request.uri_mut(), relative);
            if let Err(error) = sender.ready().await {
                *request.uri_mut() = absolute;
                return Err((broken(&error), Some(request)));
            }
            let response = sender.try_send_request(request).await.map_err(failed)?;
            Ok((response, Some(Reusable::new(pool, address, url.is_https(), sender))))
        }
    }
}
