//! Connections to one origin that are kept for the next request.
//!
//! Of HTTP/2 connections one is enough. An HTTP/1.1 connection is taken out while it is in use and comes back when its
//! answer was read to the end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};

use crate::Failure;
use crate::dial::{Connection, dial};
use crate::tls::Tls;
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
    http2: Option<http2::SendRequest<Full<Bytes>>>,
    http1: Vec<(Instant, http1::SendRequest<Full<Bytes>>)>,
}

impl Pool {
    /// A connection, and whether it was used before: then it may have died in the meantime.
    pub(crate) async fn connection(&self, url: &Url, tls: &Tls) -> Result<(Connection, bool), Failure> {
        if let Some(connection) = self.take() {
            return Ok((connection, true));
        }
        Ok((self.fresh(url, tls).await?, false))
    }

    pub(crate) async fn fresh(&self, url: &Url, tls: &Tls) -> Result<Connection, Failure> {
        let connection = dial(url, tls).await?;
        if let Connection::Http2(sender) = &connection {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).http2 = Some(sender.clone());
        }
        Ok(connection)
    }

    fn take(&self) -> Option<Connection> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match &kept.http2 {
            Some(sender) if !sender.is_closed() => return Some(Connection::Http2(sender.clone())),
            _ => kept.http2 = None,
        }
        let now = Instant::now();
        kept.http1.retain(|(since, sender)| !sender.is_closed() && now.duration_since(*since) < LONGEST_IDLE);
        kept.http1.pop().map(|(_, sender)| Connection::Http1(sender))
    }

    pub(crate) fn keep(&self, sender: http1::SendRequest<Full<Bytes>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.http1.len() < MOST_IDLE && !sender.is_closed() {
            kept.http1.push((Instant::now(), sender));
        }
    }
}
