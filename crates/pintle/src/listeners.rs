//! The sockets of the server: one for TLS, and one without where it is asked for.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use pintle_control_plane::ControlPlane;
use pintle_server::{Acceptor, Limits, ListenOptions, listen};
use tokio::net::TcpListener;

use crate::certificates::Certificates;
use crate::options::{Options, ServingOptions};

/// Sockets that listen. Connections wait until [`Listeners::accept`].
pub(crate) struct Listeners {
    secure: TcpListener,
    plain: Option<TcpListener>,
    limits: Limits,
}

impl Listeners {
    pub(crate) fn open(options: &Options) -> anyhow::Result<Listeners> {
        let ServingOptions { bind_address, port, share_port, http2_streams, .. } = options.serving;
        let secure = ListenOptions { address: SocketAddr::new(bind_address, port), share_port };
        let secure = listen(secure).with_context(|| {
            format!("cannot listen on {} (--bind-address, --secure-port)", secure.address)
        })?;
        let plain = match plain(options)? {
            Some(plain) => Some(listen(plain).with_context(|| {
                format!("cannot listen on {} (--insecure-bind-address, --insecure-port)", plain.address)
            })?),
            None => None,
        };
        let mut limits = Limits::default();
        if let Some(streams) = http2_streams {
            limits.http2_streams = streams;
        }
        Ok(Listeners { secure, plain, limits })
    }

    /// Returns the address of the listener with TLS.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.secure.local_addr()?)
    }

    /// Lets a control plane serve the connections.
    pub(crate) fn accept(self, plane: &ControlPlane, certificates: &Certificates) -> Acceptor {
        let server = plane.server();
        let mut acceptor = Acceptor::new(self.limits, plane.metrics().clone(), server);
        acceptor.listen(self.secure, Some(certificates.tls.clone()), plane.handler());
        if let Some(plain) = self.plain {
            acceptor.listen(plain, None, server.unsecured_handler().clone());
        }
        acceptor
    }
}

/// Returns the address for plain HTTP, if there is one. Its requests are neither authenticated nor authorized, so it must not
/// be reachable from other machines.
fn plain(options: &Options) -> anyhow::Result<Option<ListenOptions>> {
    let ServingOptions { insecure_address, insecure_port, .. } = options.serving;
    let Some(port) = insecure_port else { return Ok(None) };
    if !insecure_address.is_loopback() {
        bail!(
            "--insecure-bind-address: {insecure_address} is not a loopback address; plain HTTP is for this machine only"
        );
    }
    let address = SocketAddr::new(insecure_address, port);
    tracing::warn!(
        "--insecure-port is deprecated: whoever can connect to {address} may do everything, and is not asked who they are"
    );
    Ok(Some(ListenOptions { address, share_port: false }))
}
