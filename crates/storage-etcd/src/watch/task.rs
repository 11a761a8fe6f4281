//! The task behind a watch.

use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{Error, Event, KeyValue, Result, Revision, WatchItem, WatchRequest};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::assemble::{Assembler, Malformed};
use super::{Opened, Refusal, canceled, open, refusal};
use crate::classify::Failure;
use crate::client::{Client, pause};
use crate::kv;
use crate::proto::{self, WatchProgressRequest, WatchUnion};

/// etcd leaves a request for progress unanswered while the watch is catching up, so it is asked again this often.
const ASK_AGAIN: Duration = Duration::from_millis(100);

pub(super) struct Task {
    client: Client,
    request: WatchRequest,
    assembler: Assembler,
    asks: watch::Receiver<Revision>,
    /// The request for progress that is not answered yet.
    due: Option<Revision>,
    out: mpsc::Sender<Result<WatchItem>>,
}

/// How one stream ended.
enum End {
    /// So did the watch.
    Over,
    /// It goes on with another one.
    BrokeOff { after_messages: bool },
}

impl Task {
    pub(super) fn new(
        client: Client,
        request: WatchRequest,
        assembler: Assembler,
        asks: watch::Receiver<Revision>,
        out: mpsc::Sender<Result<WatchItem>>,
    ) -> Task {
        Task { client, request, assembler, asks, due: None, out }
    }

    pub(super) async fn run(mut self, mut opened: Opened) {
        let mut failures = 0;
        loop {
            let member = opened.connection.member;
            let End::BrokeOff { after_messages } = self.follow(opened).await else { return };
            self.assembler.broke_off();
            failures = if after_messages { 0 } else { failures + 1 };
            let (mut client, out) = (self.client.clone(), self.out.clone());
            let again = tokio::select! {
                again = self.reopen(member, &mut failures) => again,
                () = client.wait_closed() => return,
                () = out.closed() => return,
            };
            match again {
                Ok(again) => opened = again,
                Err(error) => {
                    self.end(error).await;
                    return;
                }
            }
        }
    }

    /// Opens the watch again where it broke off, for as long as that takes.
    async fn reopen(&self, member: usize, failures: &mut u32) -> Result<Opened> {
        let mut avoid = Some(member);
        loop {
            if *failures > 0 {
                pause(*failures).await;
            }
            let deadline = self.client.attempt_deadline();
            match open(&self.client, &self.request, self.assembler.next(), &mut avoid, deadline).await {
                Ok(opened) => {
                    tracing::debug!(from = %self.assembler.next(), "etcd watch resumed");
                    return Ok(opened);
                }
                Err(Refusal::Final(error)) => return Err(error),
                Err(Refusal::TryAgain(message)) => {
                    tracing::debug!(message, "etcd watch cannot be resumed yet");
                    *failures += 1;
                }
            }
        }
    }

    /// Delivers what one stream brings.
    async fn follow(&mut self, mut opened: Opened) -> End {
        let mut ask_at = Instant::now();
        let mut after_messages = false;
        loop {
            let message = tokio::select! {
                () = self.client.wait_closed() => return End::Over,
                () = self.out.closed() => return End::Over,
                asked = self.asks.changed() => {
                    if asked.is_err() {
                        return End::Over;
                    }
                    self.due = Some(*self.asks.borrow_and_update());
                    ask_at = Instant::now();
                    continue;
                }
                () = tokio::time::sleep_until(ask_at), if self.due.is_some() => {
                    let ask = WatchUnion::Progress(WatchProgressRequest {});
                    // When the queue is full, etcd is asked already.
                    let _ = opened.requests.try_send(proto::WatchRequest { request: Some(ask) });
                    ask_at = Instant::now() + ASK_AGAIN;
                    continue;
                }
                message = opened.responses.message() => message,
            };
            let response = match message {
                Ok(Some(response)) => response,
                Ok(None) => return End::BrokeOff { after_messages },
                Err(status) => match refusal(&self.client, &opened.connection, &status) {
                    Refusal::Final(error) => return self.end(error).await,
                    Refusal::TryAgain(message) => {
                        tracing::debug!(message, "etcd watch broke off");
                        return End::BrokeOff { after_messages };
                    }
                },
            };
            after_messages = true;
            if response.canceled {
                match canceled(&response, self.assembler.next()) {
                    Refusal::Final(error) => return self.end(error).await,
                    Refusal::TryAgain(_) => return End::BrokeOff { after_messages: false },
                }
            }
            let items = match self.assembler.take(response) {
                Ok(items) => items,
                Err(Malformed) => {
                    tracing::warn!("etcd sent watch events that make no sense; asking again");
                    return End::BrokeOff { after_messages: false };
                }
            };
            for mut item in items {
                if !self.complete(&mut item).await || !self.deliver(item).await {
                    return End::Over;
                }
            }
        }
    }

    /// Adds previous values that etcd left out. It does so for a moment after a watch was accepted: it begins to send
    /// events before it has noted that they should carry previous values. False when the watch is over.
    async fn complete(&mut self, item: &mut WatchItem) -> bool {
        let WatchItem::Changes { revision, events } = item else { return true };
        if !self.request.prev {
            return true;
        }
        let before = Revision(revision.0.saturating_sub(1));
        let mut closed = self.client.clone();
        for event in events.iter_mut().filter(|event| lacks_prev(event)) {
            let found = tokio::select! {
                found = self.read(event.key().clone(), before) => found,
                () = closed.wait_closed() => return false,
                () = self.out.closed() => return false,
            };
            if let Event::Put { prev, .. } | Event::Delete { prev, .. } = event {
                *prev = found;
            }
        }
        true
    }

    /// A key as it was; nothing if that is compacted. Waits for as long as etcd is away.
    async fn read(&self, key: Bytes, at: Revision) -> Option<KeyValue> {
        for failures in 0.. {
            match kv::get(&self.client, key.clone(), Some(at)).await {
                Ok((found, _)) => return found.map(kv::key_value),
                Err(Failure::Unavailable(_)) => pause(failures).await,
                Err(_) => break,
            }
        }
        None
    }

    /// Waits for the watcher when it is slow. False when the watch is over.
    async fn deliver(&mut self, item: WatchItem) -> bool {
        if let WatchItem::Progress(reached) = item
            && self.due.is_some_and(|due| due <= reached)
        {
            self.due = None;
        }
        tokio::select! {
            sent = self.out.send(Ok(item)) => sent.is_ok(),
            () = self.client.wait_closed() => false,
        }
    }

    async fn end(&mut self, error: Error) -> End {
        tokio::select! {
            _ = self.out.send(Err(error)) => {}
            () = self.client.wait_closed() => {}
        }
        End::Over
    }
}

/// Whether there was a value before that the event does not carry.
fn lacks_prev(event: &Event) -> bool {
    match event {
        Event::Put { prev, .. } => prev.is_none() && !event.is_create(),
        Event::Delete { prev, .. } => prev.is_none(),
        Event::Unreadable(_) => false,
    }
}
