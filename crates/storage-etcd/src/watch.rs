//! Watches: one stream to one member each, opened again wherever it broke off.
//!
//! A task reads the stream and hands batches to the watcher through a short queue. A watcher that does not keep up fills
//! the queue, then the stream's flow-control window, and then etcd holds the rest: it reads old events from its disk when
//! they are asked for. So a slow watcher costs a bounded amount of memory and delays no other watcher.

mod assemble;
mod task;

use pintle_storage::{Error, Result, Revision, WatchRequest, WatchStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::classify::{Failure, Verdict};
use crate::client::{Client, pause, with_leader};
use crate::kv::{bounds, from_etcd, to_etcd};
use crate::pool::Connection;
use crate::proto::{self, Rpc, WatchResponse, WatchUnion};
use assemble::Assembler;
use task::Task;

/// Batches between the task and its watcher.
const QUEUE: usize = 16;

/// A watch that a member has accepted.
struct Opened {
    connection: Connection,
    responses: Streaming<WatchResponse>,
    requests: mpsc::Sender<proto::WatchRequest>,
}

/// Why a watch could not be opened.
enum Refusal {
    Final(Error),
    TryAgain(String),
}

/// `asks` brings requests for progress, each with the revision to reach.
pub(crate) async fn watch(
    client: Client,
    asks: watch::Receiver<Revision>,
    request: WatchRequest,
) -> Result<WatchStream> {
    let deadline = client.deadline();
    let assembler = Assembler::new(request.from);
    let mut avoid = None;
    let mut failures = 0;
    let opened = loop {
        if client.is_closed() {
            return Err(Error::Closed);
        }
        let until = deadline.min(client.attempt_deadline());
        match open(&client, &request, request.from, &mut avoid, until).await {
            Ok(opened) => break opened,
            Err(Refusal::Final(error)) => return Err(error),
            Err(Refusal::TryAgain(message)) if Instant::now() >= deadline => {
                return Err(Error::Unavailable(message));
            }
            Err(Refusal::TryAgain(_)) => pause(failures).await,
        }
        failures += 1;
    };
    let (out, items) = mpsc::channel(QUEUE);
    tokio::spawn(Task::new(client, request, assembler, asks, out).run(opened));
    // A task that ends without an error ended because the store closed.
    let stream = futures_util::stream::unfold(Some(items), |items| async {
        let mut items = items?;
        match items.recv().await {
            Some(Ok(item)) => Some((Ok(item), Some(items))),
            Some(Err(error)) => Some((Err(error), None)),
            None => Some((Err(Error::Closed), None)),
        }
    });
    Ok(Box::pin(stream))
}

/// Opens a watch from a revision on some member and waits until it is accepted.
async fn open(
    client: &Client,
    request: &WatchRequest,
    from: Revision,
    avoid: &mut Option<usize>,
    deadline: Instant,
) -> Result<Opened, Refusal> {
    let connection = client.pool.connection(*avoid, deadline).await.map_err(Refusal::TryAgain)?;
    // After a failure from here on, the next attempt uses another member.
    *avoid = Some(connection.member);
    let (requests, outgoing) = mpsc::channel(4);
    let (key, range_end) = bounds(&request.prefix);
    let create = proto::WatchCreateRequest {
        key,
        range_end,
        // 0 would skip everything up to now.
        start_revision: to_etcd(from).max(1),
        progress_notify: request.progress,
        prev_kv: request.prev,
        fragment: true,
    };
    let create = proto::WatchRequest { request: Some(WatchUnion::Create(create)) };
    // The queue is empty and its other end is at hand.
    let _ = requests.try_send(create);
    let accepted = async {
        let mut grpc = Grpc::new(connection.channel.clone())
            .max_decoding_message_size(client.pool.config().max_message_bytes);
        grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
        let outgoing = with_leader(Request::new(ReceiverStream::new(outgoing)));
        let path = PathAndQuery::from_static(proto::WatchRequest::PATH);
        let codec = ProstCodec::<proto::WatchRequest, WatchResponse>::default();
        let mut responses = grpc.streaming(outgoing, path, codec).await?.into_inner();
        let first = responses.message().await?;
        Ok::<_, Status>((responses, first))
    };
    let (responses, first) = match timeout_at(deadline, accepted).await {
        Ok(Ok(accepted)) => accepted,
        Ok(Err(status)) => return Err(refusal(client, &connection, &status)),
        Err(_) => {
            client.pool.prefer_another(connection.member);
            return Err(Refusal::TryAgain(format!(
                "{} did not answer in time",
                client.pool.address(connection.member)
            )));
        }
    };
    match first {
        Some(first) if first.canceled => Err(canceled(&first, from)),
        Some(first) if first.created => Ok(Opened { connection, responses, requests }),
        _ => Err(Refusal::TryAgain("etcd did not accept a watch".to_owned())),
    }
}

/// Classifies the failure of a watch's stream.
fn refusal(client: &Client, connection: &Connection, status: &Status) -> Refusal {
    match client.judge(connection, status) {
        Verdict::Final(Failure::Unavailable(message) | Failure::InvalidArgument(message)) => {
            Refusal::Final(Error::Unavailable(message))
        }
        Verdict::Final(failure) => Refusal::TryAgain(format!("{failure:?}")),
        Verdict::Refused(message) | Verdict::Lost(message) => Refusal::TryAgain(message),
    }
}

/// Returns the error for a watch from this revision that etcd canceled.
fn canceled(response: &WatchResponse, from: Revision) -> Refusal {
    let reason = &response.cancel_reason;
    if response.compact_revision > 0 {
        let compacted = from_etcd(response.compact_revision);
        return Refusal::Final(Error::Compacted { requested: from, compacted });
    }
    if reason.contains("permission denied") || reason.contains("auth") {
        return Refusal::Final(Error::Unavailable(reason.clone()));
    }
    Refusal::TryAgain(format!("etcd ended a watch: {reason}"))
}
