//! Server-wide settings: addresses, limits, timeouts, shutdown, versions and feature gates.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, Duration, Float, Int, Ip, Multimap, String, Strings};

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "advertise-address",
        Ip,
        "",
        "Address under which the members of the cluster reach this server. Without it, --bind-address, or the host's \
         default interface when that is unspecified.",
    )
    .active(),
    flag(
        "cors-allowed-origins",
        Strings,
        "",
        r"Regular expressions of the web origins that may read answers across sites; none turns CORS off. Pin both ends of the host, for example '//example\.com(:|$)'.",
    )
    .active(),
    flag(
        "emulated-version",
        Strings,
        "",
        "Release whose behaviour to show, as [component=]major.minor, for example kube=1.35; 1.33 to 1.36.",
    ),
    flag(
        "emulation-forward-compatible",
        Bool,
        "",
        "Under --emulated-version, also serve newer versions of the APIs that are enabled there.",
    ),
    flag("external-hostname", String, "", "Host name to put into URLs that are meant for clients.").active(),
    flag(
        "feature-gates",
        Multimap,
        "",
        "Switch features on or off, as a comma-separated list of [component:]Name=true|false; the component is kube \
         when left out. May be given several times. AllAlpha and AllBeta stand for every gate of that stage.",
    )
    .active(),
    flag(
        "goaway-chance",
        Float,
        "",
        "Share of HTTP/2 requests after which the connection is asked to move elsewhere, 0 (never) to 0.02. Useful only \
         with several servers behind a balancer.",
    )
    .active(),
    flag(
        "livez-grace-period",
        Duration,
        "",
        "Time after the start during which /livez takes unfinished start-up hooks for healthy.",
    )
    .active(),
    flag(
        "max-mutating-requests-inflight",
        Int,
        "200",
        "Writes served at the same time. With priority and fairness, a part of the total; otherwise a limit of its own, \
         where 0 is none.",
    )
    .active(),
    flag(
        "max-requests-inflight",
        Int,
        "400",
        "Reads served at the same time. With priority and fairness, a part of the total; otherwise a limit of its own, \
         where 0 is none.",
    )
    .active(),
    flag(
        "min-compatibility-version",
        Strings,
        "",
        "Oldest release of the other control plane components to stay compatible with, as [component=]major.minor.",
    ),
    flag(
        "min-request-timeout",
        Int,
        "1800",
        "Shortest life of a watch in seconds; the real one is drawn at random above it to spread reconnections.",
    )
    .active(),
    flag("request-timeout", Duration, "1m0s", "Time a request may take unless its kind has a limit of its own.")
        .active(),
    flag(
        "runtime-config-emulation-forward-compatible",
        Bool,
        "",
        "Under --emulated-version, allow --runtime-config to name APIs that are newer than the emulated release.",
    ),
    flag(
        "shutdown-delay-duration",
        Duration,
        "",
        "Time between the signal to stop and the end of normal service, so that balancers notice the failing /readyz.",
    )
    .active(),
    flag(
        "shutdown-send-retry-after",
        Bool,
        "",
        "While running requests drain, keep listening and answer new ones with 429 and Retry-After.",
    )
    .active(),
    flag(
        "shutdown-watch-termination-grace-period",
        Duration,
        "",
        "Time within which open watches are ended, one after the other, during shutdown; 0 ends them at once.",
    )
    .active(),
    flag(
        "storage-initialization-timeout",
        Duration,
        "1m0s",
        "How long to wait for the store to be ready before the server reports itself ready anyway.",
    )
    .active(),
    flag(
        "strict-transport-security-directives",
        Strings,
        "",
        "Directives of the Strict-Transport-Security header, for example max-age=31536000,includeSubDomains,preload; \
         none leaves the header out.",
    )
    .active(),
];
