//! Connections to one origin that are kept for the next request.
//!
//! Of HTTP/2 connections one to each address is enough. An HTTP/1.1 connection is taken out while it is in use and comes
//! back when its answer was read to the end. Mostly an origin has one address; where it is a service, requests go to
//! the address that it has now, and connections to others idle until they are closed.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};

use crate::Failure;
use crate::dial::{Connection, Dialer};
use crate::services::Address;
use crate::url::Url;

/// As in the reference.
const MOST_IDLE: usize = 25;
const LONGEST_IDLE: Duration = Duration::from_secs(90);

#[derive(Default)]
pub(crate) struct Pool {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    http2: Vec<Idle<http2::SendRequest<Full<Bytes>>>>,
    http1: Vec<Idle<http1::SendRequest<Full<Bytes>>>>,
}

struct Idle<S> {
    address: Address,
    since: Instant,
    sender: S,
}

impl Pool {
    /// A connection, and whether it was used before: then it may have died in the meantime.
    pub(crate) async fn connection(
        &self,
        address: &Address,
        url: &Url,
        dialer: &Dialer,
    ) -> Result<(Connection, bool), Failure> {
        if let Some(connection) = self.take(address) {
            return Ok((connection, true));
        }
        Ok((self.fresh(address, url, dialer).await?, false))
    }

    pub(crate) async fn fresh(
        &self,
        address: &Address,
        url: &Url,
        dialer: &Dialer,
    ) -> Result<Connection, Failure> {
        let connection = dialer.dial(address, url).await?;
        if let Connection::Http2(sender) = &connection {
            let kept = &mut self.kept.lock().unwrap_or_else(PoisonError::into_inner).http2;
            kept.retain(|idle| idle.address != *address);
            if kept.len() < MOST_IDLE {
                kept.push(Idle { address: address.clone(), since: Instant::now(), sender: sender.clone() });
            }
        }
        Ok(connection)
    }

    fn take(&self, address: &Address) -> Option<Connection> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_recent = |since: Instant| now.duration_since(since) < LONGEST_IDLE;
        kept.http2
            .retain(|idle| !idle.sender.is_closed() && (idle.address == *address || is_recent(idle.since)));
        kept.http1.retain(|idle| !idle.sender.is_closed() && is_recent(idle.since));
        if let Some(idle) = kept.http2.iter_mut().find(|idle| idle.address == *address) {
            idle.since = now;
            return Some(Connection::Http2(idle.sender.clone()));
        }
        let place = kept.http1.iter().rposition(|idle| idle.address == *address)?;
        Some(Connection::Http1(kept.http1.remove(place).sender))
    }

    pub(crate) fn keep(&self, address: &Address, sender: http1::SendRequest<Full<Bytes>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.http1.len() < MOST_IDLE && !sender.is_closed() {
            kept.http1.push(Idle { address: address.clone(), since: Instant::now(), sender });
        }
    }
}
