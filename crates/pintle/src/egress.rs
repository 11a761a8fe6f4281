//! `--egress-selector-config-file`: which of the server's connections leave by which way.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use pintle_metrics::Registry;
use pintle_outbound::egress::{Egress, Network, Selector};
use pintle_outbound::services::Address;
use pintle_storage_etcd::{Dialer, Stream};

/// The ways that the file names; nothing is made without one.
pub(crate) fn load(path: Option<&Path>, registry: &Registry) -> anyhow::Result<Option<Selector>> {
    let Some(path) = path else { return Ok(None) };
    let events = Arc::new(pintle_outbound::egress::Metrics::new(registry)?);
    Selector::load(path, events).map_err(|error| anyhow!(error))
}

/// The way of the control plane, which most peers are in.
pub(crate) fn control_plane(ways: Option<&Selector>) -> Option<Egress> {
    ways?.lookup(Network::ControlPlane)
}

/// How etcd is reached, if not straight away.
pub(crate) fn etcd(ways: Option<&Selector>) -> Option<Dialer> {
    let egress = ways?.lookup(Network::Etcd).filter(Egress::is_proxied)?;
    Some(Dialer::new(move |host, port| {
        let egress = egress.clone();
        Box::pin(async move {
            let stream = egress.connect(&Address { host, port }).await.map_err(io::Error::other)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }))
}
