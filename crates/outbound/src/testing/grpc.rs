//! A real gRPC service on a unix socket.

use std::convert::Infallible;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener};
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixListener;
use tokio::task::{JoinHandle, JoinSet};

/// The answer to a call: a message, or a status and its text.
pub type Reply = Result<Vec<u8>, (u32, &'static str)>;

type Answer = dyn Fn(&str, &[u8]) -> Reply + Send + Sync;

/// A service that runs until it is dropped or stopped.
pub struct GrpcServer {
    accepting: JoinHandle<()>,
}

impl GrpcServer {
    /// Answers calls by path and message. `address` is a path or `@name`; a socket that is left there is replaced.
    pub fn start(address: &str, answer: impl Fn(&str, &[u8]) -> Reply + Send + Sync + 'static) -> GrpcServer {
        let listener = match address.strip_prefix('@') {
            Some(name) => StdListener::bind_addr(&SocketAddr::from_abstract_name(name).expect("a name"))
                .expect("a socket"),
            None => {
                // Not there is what it is meant to be.
                let _ = std::fs::remove_file(address);
                StdListener::bind(address).expect("a socket")
            }
        };
        listener.set_nonblocking(true).expect("a socket");
        let listener = UnixListener::from_std(listener).expect("a socket");
        let answer: Arc<Answer> = Arc::new(answer);
        let accepting = tokio::spawn(async move {
            // Dropped with the task, which ends all connections.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answer.clone();
                connections.spawn(async move {
                    let service = service_fn(|request| respond(request, answer.clone()));
                    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    // A client that goes away is its own business.
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        GrpcServer { accepting }
    }

    /// Returns when the server has stopped listening.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // That it was aborted is no news.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for GrpcServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: Arc<Answer>,
) -> Result<Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    // A flag and a length come before the message.
    let reply = answer(&path, body.get(5..).unwrap_or_default());
    let mut trailers = HeaderMap::new();
    let mut frame = BytesMut::new();
    let code = match reply {
        Ok(message) => {
            frame.put_u8(0);
            frame.put_u32(u32::try_from(message.len()).expect("a short message"));
            frame.extend_from_slice(&message);
            0
        }
        Err((code, message)) => {
            trailers.insert("grpc-message", HeaderValue::from_static(message));
            code
        }
    };
    trailers.insert("grpc-status", code.into());
    let body = Full::new(frame.freeze()).with_trailers(async move { Some(Ok(trailers)) });
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    Ok(response)
}
