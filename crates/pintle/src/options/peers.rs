//! Whom the server believes or asks about its clients: front proxies, password files, webhooks, token issuers.

use std::path::PathBuf;

use pintle_auth::authenticator::FrontProxyHeaders;
use pintle_flags::Parsed;

use super::path;

pub(crate) struct PeerOptions {
    pub(crate) request_header: Option<RequestHeaderOptions>,
    pub(crate) basic_auth_file: Option<PathBuf>,
}

/// Front proxies.
pub(crate) struct RequestHeaderOptions {
    pub(crate) client_ca: PathBuf,
    pub(crate) allowed_names: Vec<String>,
    pub(crate) headers: FrontProxyHeaders,
}

impl PeerOptions {
    pub(super) fn from_flags(flags: &Parsed) -> PeerOptions {
        let request_header = path(flags, "requestheader-client-ca-file").map(|client_ca| {
            let of = |name: &str| flags.strings(name).to_vec();
            RequestHeaderOptions {
                client_ca,
                allowed_names: of("requestheader-allowed-names"),
                headers: FrontProxyHeaders::new(
                    &of("requestheader-username-headers"),
                    &of("requestheader-uid-headers"),
                    &of("requestheader-group-headers"),
                    &of("requestheader-extra-headers-prefix"),
                ),
            }
        });
        PeerOptions { request_header, basic_auth_file: path(flags, "basic-auth-file") }
    }
}
