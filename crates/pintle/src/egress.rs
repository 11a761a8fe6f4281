//! `--egress-selector-config-file`: the proxies of connections that leave the server.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use pintle_outbound::egress::{Egress, Network, Selector};
use pintle_outbound::services::Address;
use pintle_server::{Metrics, MetricsOptions};
use pintle_storage_etcd::{Dialer, Stream};

/// Loads the proxies of the file, if there is one.
pub(crate) fn load(
    path: Option<&Path>,
    metrics: &Metrics,
    options: &MetricsOptions,
) -> anyhow::Result<Option<Selector>> {
    let Some(path) = path else { return Ok(None) };
    let events = Arc::new(metrics.egress(options)?);
    Selector::load(path, events).map_err(|error| anyhow!(error))
}

/// Returns the proxy of the control plane's network, where webhooks and issuers are.
pub(crate) fn control_plane(ways: Option<&Selector>) -> Option<Egress> {
    ways?.lookup(Network::ControlPlane)
}

/// Returns the dialer of etcd, if it is behind a proxy.
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
