//! `pods/log`: what a container has written, as its kubelet streams it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, Method, StatusCode};
use http_body_util::BodyExt;
use pintle_features::Feature;
use pintle_meta::{ServerResponse, Status, Value};
use pintle_outbound::egress::BoxedStream;
use pintle_outbound::{Failure, RequestBody, ResponseBody, Streamed};
use pintle_resources::pod_logs;
use pintle_server::rest::{Connector, Target};
use pintle_server::{Body, Request, Response, forward, respond};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};

use crate::websocket::{Decoder, Event, close, encode, handshake};
use crate::{Shared, pods};

/// Bytes of an error that a kubelet answers with.
const LARGEST_ERROR: usize = 50_000;
const TEXT: HeaderValue = HeaderValue::from_static("text/plain");

pub(crate) struct Log(pub(crate) Arc<Shared>);

#[async_trait]
impl Connector for Log {
    async fn connect(&self, target: Target<'_>, request: &mut Request) -> Result<Response, Box<Status>> {
        let shared = &self.0;
        let splits = shared.features.enabled(Feature::PodLogsQuerySplitStreams);
        let options = pod_logs::options(&request.query_pairs(), &target.name, splits)?;
        let skips = is_on(&options, "insecureSkipTLSVerifyBackend");
        shared.metrics.log_asked(skips);
        let pod = shared.stores.pods.get(&target.context, &target.name).await?;
        let container =
            pod_logs::container(&pod, options.text_at(&["container"])).map_err(Status::bad_request)?;
        let node = pod.text_at(&["spec", "nodeName"]);
        if node.is_empty() {
            let mut response = http::Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            return Ok(response);
        }
        let kubelet = shared.kubelets.find(node).await?;
        let parameters = parameters(&options, splits);
        let url = pods::of_kubelet(&kubelet, "containerLogs", &pod, Some(container), parameters)?;
        let client = if skips { &shared.kubelets.unverified } else { &shared.kubelets.client };
        let limits = shared.limits.clone();
        let streamed = client.stream(Method::GET, &url, HeaderMap::new(), RequestBody::empty(), limits).await;
        let response = match streamed {
            Ok(Streamed::Response(response)) => checked(response, &target.name).await?,
            Ok(Streamed::Upgraded(_)) => {
                return Err(Box::new(Status::plain("the kubelet switched protocols")));
            }
            Err(error) => {
                if matches!(&error.failure, Failure::Tls(why) if why.contains("x509:")) {
                    shared.metrics.log_not_verified();
                }
                return Err(Box::new(Status::plain(error)));
            }
        };
        let body = response.into_body();
        if handshake::is_asked_for(&request.parts.headers) {
            return over_websocket(body, request, target);
        }
        let mut response = http::Response::new(Body::passed_on(body.map_err(Into::into).boxed_unsync()));
        response.headers_mut().insert(CONTENT_TYPE, TEXT);
        Ok(response)
    }
}

fn is_on(options: &Value, name: &str) -> bool {
    options.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the parameters by which a kubelet knows the options.
fn parameters(options: &Value, splits: bool) -> Vec<(&'static str, String)> {
    let flags = ["follow", "previous", "timestamps"].into_iter().filter(|name| is_on(options, name));
    let mut parameters: Vec<_> = flags.map(|name| (name, "true".to_owned())).collect();
    for name in ["sinceSeconds", "tailLines", "limitBytes"] {
        parameters.extend(options.get(name).and_then(Value::as_i64).map(|number| (name, number.to_string())));
    }
    for name in ["sinceTime", "stream"].into_iter().filter(|name| splits || *name != "stream") {
        let text = Some(options.text_at(&[name])).filter(|text| !text.is_empty());
        parameters.extend(text.map(|text| (name, text.to_owned())));
    }
    parameters
}

/// Returns a response that is a log, or the status that a kubelet's error becomes.
async fn checked(
    response: http::Response<ResponseBody>,
    name: &str,
) -> Result<http::Response<ResponseBody>, Box<Status>> {
    let code = response.status();
    if code.is_redirection() && response.headers().contains_key(http::header::LOCATION) {
        let location = &response.headers()[http::header::LOCATION];
        let location = pintle_meta::quote(&String::from_utf8_lossy(location.as_bytes()));
        return Err(Box::new(Status::plain(format_args!("Get {location}: redirects forbidden"))));
    }
    if (200..=206).contains(&code.as_u16()) {
        return Ok(response);
    }
    let mut body = response.into_body();
    let mut text = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|failure| Box::new(Status::internal(failure)))?;
        let left = LARGEST_ERROR - text.len();
        if let Some(data) = frame.data_ref() {
            text.extend_from_slice(&data[..data.len().min(left)]);
        }
        if text.len() == LARGEST_ERROR {
            break;
        }
    }
    let text = String::from_utf8_lossy(&text);
    Err(Box::new(match code.as_u16() {
        500 => Status::internal(&text),
        400 => Status::bad_request(text),
        code => {
            ServerResponse { code, resource: "pods/log", name, message: &text, ..ServerResponse::default() }
                .into()
        }
    }))
}

/// Answers with a WebSocket, whose messages are parts of the log.
fn over_websocket(
    body: ResponseBody,
    request: &mut Request,
    target: Target<'_>,
) -> Result<Response, Box<Status>> {
    const PROTOCOLS: [&str; 2] = ["binary.k8s.io", "base64.binary.k8s.io"];
    let headers = &request.parts.headers;
    let offered = handshake::protocols(headers);
    let protocol = offered.iter().find_map(|offered| PROTOCOLS.into_iter().find(|known| known == offered));
    if protocol.is_none() && !offered.is_empty() {
        let message = format!(
            "requested protocol(s) are not supported: [{}]; supports [{}]",
            offered.join(" "),
            PROTOCOLS.join(" ")
        );
        return Ok(respond::text_error(StatusCode::FORBIDDEN, &message));
    }
    let head = match handshake::accept(&request.parts.method, headers, protocol) {
        Ok(head) => head,
        Err((code, reason)) => return Ok(respond::text_error(code, reason)),
    };
    let is_text = protocol == Some(PROTOCOLS[1]);
    let (_, client) = forward::take(request);
    Ok(client.switch(head, target.stop, async move |client: BoxedStream| {
        let (reading, writing) = tokio::io::split(client);
        tokio::select! {
            _ = send(body, writing, is_text) => {}
            () = until_closed(reading) => {}
        }
    }))
}

/// Sends a log, after an empty message which says that it begins.
async fn send(
    mut body: ResponseBody,
    mut client: WriteHalf<BoxedStream>,
    is_text: bool,
) -> std::io::Result<()> {
    let mut message = async |data: Bytes| {
        let mut out = BytesMut::new();
        if is_text {
            let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &data);
            encode::text_head(&mut out, text.len());
            out.extend_from_slice(text.as_bytes());
        } else {
            encode::binary_head(&mut out, data.len());
            out.extend_from_slice(&data);
        }
        client.write_all(&out).await?;
        client.flush().await
    };
    message(Bytes::new()).await?;
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            message(data).await?;
        }
    }
    let mut out = BytesMut::new();
    encode::close(&mut out, close::NORMAL);
    client.write_all(&out).await?;
    client.shutdown().await
}

/// Reads what a client sends, which means nothing, until it is gone.
async fn until_closed(mut client: ReadHalf<BoxedStream>) {
    let (mut decoder, mut arrived) = (Decoder::default(), BytesMut::new());
    loop {
        match decoder.decode(&mut arrived) {
            Ok(Some(Event::Close)) | Err(_) => return,
            Ok(Some(_)) => {}
            Ok(None) => {
                if !matches!(client.read_buf(&mut arrived).await, Ok(1..)) {
                    return;
                }
            }
        }
    }
}
