//! The TLS listener.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, Int, Int32Slice, Ip, NamedCertKey, String, Strings};

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "bind-address",
        Ip,
        "0.0.0.0",
        "Address to listen on. An unspecified one (0.0.0.0 or ::) means every interface and both IP families.",
    )
    .active(),
    flag(
        "cert-dir",
        String,
        "/var/run/kubernetes",
        "Directory with apiserver.crt and apiserver.key, which are made there when missing; not used with \
         --tls-cert-file and --tls-private-key-file.",
    )
    .active(),
    flag("disable-http2-serving", Bool, "", "Offer HTTP/1.1 only.").active(),
    flag(
        "http2-max-streams-per-connection",
        Int,
        "",
        "Requests a client may have open on one HTTP/2 connection; 0 for the built-in limit.",
    )
    .active(),
    flag(
        "permit-address-sharing",
        Bool,
        "",
        "Bind with SO_REUSEADDR, so that a wildcard and a specific address can share the port.",
    )
    .active(),
    flag("permit-port-sharing", Bool, "", "Bind with SO_REUSEPORT, so that several processes can share the port.")
        .active(),
    flag("secure-port", Int, "6443", "Port to serve HTTPS on; it cannot be turned off.").active(),
    flag(
        "tls-cert-file",
        String,
        "",
        "Serving certificate, followed by its intermediates. Without it and the key, a self-signed one is made in \
         --cert-dir.",
    )
    .active(),
    flag(
        "tls-cipher-suites",
        Strings,
        "",
        "Cipher suites of TLS 1.2 to offer, by their IANA names, comma separated; without it, the secure ones.",
    )
    .active(),
    flag(
        "tls-curve-preferences",
        Int32Slice,
        "",
        "Key exchange groups to allow, by their numbers in the TLS registry, comma separated; their order does not \
         matter.",
    )
    .active(),
    flag(
        "tls-min-version",
        String,
        "",
        "Lowest TLS version to accept: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13.",
    )
    .active(),
    flag("tls-private-key-file", String, "", "Key of --tls-cert-file.").active(),
    flag(
        "tls-sni-cert-key",
        NamedCertKey,
        "",
        "Certificate and key for clients that ask for certain names, as cert,key or cert,key:name,*.name; without \
         names, those in the certificate. May be given several times.",
    )
    .active(),
];
