//! Idle connections of a client, for its next requests.
//!
//! One HTTP/2 connection to each address is enough. An HTTP/1.1 connection is taken out while it is in use and returned
//! when its response was read to the end. Mostly an origin has one address; where it is a service, requests go to
//! the address that it has now, and connections to others idle until they are closed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use tokio::time::Instant;

use crate::Failure;
use crate::body::RequestBody;
use crate::dial::{Connection, Dialer, Versions};
use crate::services::Address;
use crate::url::Url;

/// The reference's limits.
const MOST_IDLE: usize = 25;
const LONGEST_IDLE: Duration = Duration::from_secs(90);

#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    http2: Vec<Idle<http2::SendRequest<RequestBody>>>,
    http1: Vec<Idle<http1::SendRequest<RequestBody>>>,
}

struct Idle<S> {
    address: Address,
    https: bool,
    since: Instant,
    sender: S,
}

impl<S> Idle<S> {
    fn leads_to(&self, address: &Address, https: bool) -> bool {
        self.https == https && self.address == *address
    }
}

impl Pool {
    /// Opens a connection. One of HTTP/2 is shared with later requests.
    pub(crate) async fn open(
        &self,
        address: &Address,
        url: &Url,
        dialer: &Dialer,
        versions: Versions,
    ) -> Result<Connection, Failure> {
        let connection = dialer.dial(address, url, versions).await?;
        if let Connection::Http2(sender) = &connection {
            let idle = &mut self.idle.lock().unwrap_or_else(PoisonError::into_inner).http2;
            // Only over TLS.
            idle.retain(|idle| !idle.leads_to(address, true));
            if idle.len() < MOST_IDLE {
                let (address, since) = (address.clone(), Instant::now());
                idle.push(Idle { address, https: true, since, sender: sender.clone() });
            }
        }
        Ok(connection)
    }

    /// Takes a connection to an address, which may have died in the meantime.
    pub(crate) fn take(&self, address: &Address, https: bool) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_recent = |since: Instant| now.duration_since(since) < LONGEST_IDLE;
        idle.http2.retain(|idle| {
            !idle.sender.is_closed() && (idle.leads_to(address, https) || is_recent(idle.since))
        });
        idle.http1.retain(|idle| !idle.sender.is_closed() && is_recent(idle.since));
        if let Some(idle) = idle.http2.iter_mut().find(|idle| idle.leads_to(address, https)) {
            idle.since = now;
            return Some(Connection::Http2(idle.sender.clone()));
        }
        let index = idle.http1.iter().rposition(|idle| idle.leads_to(address, https))?;
        Some(Connection::Http1(idle.http1.remove(index).sender))
    }

    /// Returns a connection whose response was read to the end.
    pub(crate) fn release(&self, address: &Address, https: bool, sender: http1::SendRequest<RequestBody>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.http1.len() < MOST_IDLE && !sender.is_closed() {
            idle.http1.push(Idle { address: address.clone(), https, since: Instant::now(), sender });
        }
    }
}
