//! The socket: where it listens and how it accepts.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};

/// Dead peers are found after this, as in the reference.
const KEEP_ALIVE: Duration = Duration::from_secs(3 * 60);
const BACKLOG: i32 = 4096;

#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    pub address: SocketAddr,
    /// `--permit-port-sharing`: several processes may listen on the port.
    pub share_port: bool,
}

/// Listens. An unspecified IPv4 address means IPv6 as well, where the machine has it.
pub fn listen(options: ListenOptions) -> io::Result<TcpListener> {
    let ListenOptions { address, share_port } = options;
    if address.ip() == IpAddr::from([0, 0, 0, 0]) {
        let both = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), address.port());
        if let Ok(listener) = bind(both, share_port, false) {
            return Ok(listener);
        }
    }
    bind(address, share_port, true)
}

fn bind(address: SocketAddr, share_port: bool, v6_only: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(v6_only && address.ip() != IpAddr::from(Ipv6Addr::UNSPECIFIED))?;
    }
    // Without this a restart would have to wait for old connections to time out.
    socket.set_reuse_address(true)?;
    if share_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Lets the process open as many files as it may: every connection is one.
pub fn raise_open_file_limit() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(())
}

/// The next connection. Errors of a single connection are passed over; a lack of descriptors or memory is waited out.
pub(crate) async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut delay = Duration::from_millis(5);
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => {
                // Both are wishes: the connection works without them.
                let _ = stream.set_nodelay(true);
                let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE);
                let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&keep_alive);
                return (stream, remote);
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, retry_in = ?delay, "http: Accept error");
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(Duration::from_secs(1));
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
