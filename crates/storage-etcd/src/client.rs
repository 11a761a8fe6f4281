//! One call to etcd: which member it goes to, how often it is tried, and what its failure means.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::classify::{Failure, Verdict, classify};
use crate::pool::{Connection, Pool, backoff};
use crate::proto::Rpc;

/// The effect of a second attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The same as one: reads, compactions, and grants, whose spare leases end by themselves.
    Repeatable,
    /// Perhaps something else: a transaction.
    Once,
}

/// The members and whether the store is closed.
#[derive(Clone)]
pub(crate) struct Client {
    pub pool: Arc<Pool>,
    pub closed: watch::Receiver<bool>,
}

impl Client {
    /// Whether the store was closed, or dropped.
    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow() || self.closed.has_changed().is_err()
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.pool.config().request_timeout
    }

    /// Until when one attempt may take that began now, of something that can be tried again.
    pub(crate) fn attempt_deadline(&self) -> Instant {
        Instant::now() + self.attempt_timeout()
    }

    fn attempt_timeout(&self) -> Duration {
        let config = self.pool.config();
        config.attempt_timeout.min(config.request_timeout)
    }

    /// Calls until it is answered, refused for good, lost, or the time is up.
    pub(crate) async fn call<R: Rpc>(&self, request: R, effect: Effect) -> Result<R::Response, Failure> {
        let deadline = self.deadline();
        let mut avoid = None;
        for attempt in 0.. {
            if self.is_closed() {
                return Err(Failure::Closed);
            }
            let connection = self.pool.connection(avoid, deadline).await.map_err(Failure::Unavailable)?;
            let limit = self.pool.config().max_message_bytes;
            let until = self.attempt_until(effect, deadline);
            let verdict = match timeout_at(until, unary(&connection.channel, request.clone(), limit)).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(status)) => self.judge(&connection, &status),
                Err(_) => {
                    self.pool.prefer_another(connection.member);
                    Verdict::Lost(format!("{} did not answer in time", self.pool.address(connection.member)))
                }
            };
            let message = match verdict {
                Verdict::Final(failure) => return Err(failure),
                Verdict::Lost(message) if effect == Effect::Once => return Err(Failure::Unknown(message)),
                Verdict::Lost(message) | Verdict::Refused(message) => message,
            };
            tracing::debug!(path = R::PATH, attempt, message, "etcd call failed, trying again");
            let pause = backoff(attempt);
            if Instant::now() + pause >= deadline {
                return Err(Failure::Unavailable(message));
            }
            tokio::time::sleep(pause).await;
            avoid = Some(connection.member);
        }
        Err(Failure::Unavailable("out of attempts".to_owned()))
    }

    /// A member that hangs must not take all the time of a read that another one could answer.
    fn attempt_until(&self, effect: Effect, deadline: Instant) -> Instant {
        match effect {
            Effect::Repeatable if self.pool.len() > 1 => {
                deadline.min(Instant::now() + self.attempt_timeout() / 3)
            }
            Effect::Repeatable => deadline.min(self.attempt_deadline()),
            Effect::Once => deadline,
        }
    }

    /// Classifies a status, and reports the connection's failure to the pool.
    pub(crate) fn judge(&self, connection: &Connection, status: &Status) -> Verdict {
        let verdict = classify(status);
        match &verdict {
            Verdict::Final(_) => {}
            // A member that answers at all keeps its connection; another one is tried first.
            Verdict::Refused(message) | Verdict::Lost(message) if message.starts_with("etcdserver: ") => {
                self.pool.prefer_another(connection.member);
            }
            Verdict::Refused(_) | Verdict::Lost(_) => self.pool.failed(connection),
        }
        verdict
    }

    /// Ready when the store closes.
    pub(crate) async fn wait_closed(&mut self) {
        // An error means that the store is gone altogether.
        let _ = self.closed.wait_for(|closed| *closed).await;
    }
}

/// One attempt on one connection.
pub(crate) async fn unary<R: Rpc>(
    channel: &Channel,
    request: R,
    limit: usize,
) -> Result<R::Response, Status> {
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(limit);
    grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
    let codec = ProstCodec::<R, R::Response>::default();
    let response =
        grpc.unary(with_leader(Request::new(request)), PathAndQuery::from_static(R::PATH), codec).await?;
    Ok(response.into_inner())
}

/// Asks a member that is cut off from its leader to refuse at once rather than to let the request time out.
pub(crate) fn with_leader<T>(mut request: Request<T>) -> Request<T> {
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    request
}

/// The pause before a stream that failed so often in a row is opened again.
pub(crate) async fn pause(failures: u32) {
    tokio::time::sleep(backoff(failures).max(Duration::from_millis(10))).await;
}
