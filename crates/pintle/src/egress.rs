//! `--egress-selector-config-file`: the proxies of connections that leave the server.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use pintle_metrics::Registry;
use pintle_outbound::egress::{Egress, Network, Selector};
use pintle_outbound::hosts::Hosts;
use pintle_outbound::services::Address;
use pintle_runtime::Random;
use pintle_storage_etcd::{Dialer, Stream};

/// Loads the proxies of the file, if there is one.
pub(crate) fn load(
    path: Option<&Path>,
    registry: &Registry,
    random: &Random,
) -> anyhow::Result<Option<Selector>> {
    let Some(path) = path else { return Ok(None) };
    let events = Arc::new(pintle_outbound::egress::Metrics::new(registry)?);
    Selector::load(path, events, random).map_err(|error| anyhow!(error))
}

/// Returns the proxy of the control plane's network, where webhooks and issuers are.
pub(crate) fn control_plane(egress: Option<&Selector>) -> Option<Egress> {
    egress?.lookup(Network::ControlPlane)
}

/// Returns the dialer of etcd, if it is behind a proxy.
pub(crate) fn etcd(egress: Option<&Selector>) -> Option<Dialer> {
    let egress = egress?.lookup(Network::Etcd).filter(Egress::is_proxied)?;
    Some(Dialer::new(move |host, port| {
        let egress = egress.clone();
        Box::pin(async move {
            let stream =
                egress.connect(&Address { host, port }, &Hosts::system()).await.map_err(io::Error::other)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }))
}
