//! Everything the reference files under "Misc": kubelet connections, service addresses, aggregation, leases.

use super::{Flag, flag};
use crate::kind::Kind::{Bool, Duration, Int, PortRange, String, Strings};

/// kube-apiserver does not use it either.
const KUBELET_TIMEOUT: &str =
    "connecting to a kubelet has limits of its own, and its answers may take as long as clients wait";

pub(super) const FLAGS: &[Flag] = &[
    flag(
        "aggregator-reject-forwarding-redirect",
        Bool,
        "true",
        "Refuse redirects from aggregated API servers instead of passing them on.",
    )
    .active(),
    flag("allow-privileged", Bool, "", "Allow privileged containers."),
    flag("coordinated-leadership-lease-duration", Duration, "15s", "Life of a coordinated leader's lease."),
    flag(
        "coordinated-leadership-renew-deadline",
        Duration,
        "10s",
        "Time a coordinated leader has to renew its lease.",
    ),
    flag(
        "coordinated-leadership-retry-period",
        Duration,
        "2s",
        "Time between attempts to renew such a lease.",
    ),
    flag(
        "enable-aggregator-routing",
        Bool,
        "",
        "Send requests for aggregated APIs and webhooks to endpoint addresses instead of the service's cluster IP.",
    )
    .active(),
    flag("enable-logs-handler", Bool, "", "Serve the log directory under /logs.")
        .deprecated("Log handler functionality is deprecated"),
    flag(
        "endpoint-reconciler-type",
        String,
        "lease",
        "How the endpoints of the kubernetes service are kept: lease, none or the outdated master-count.",
    )
    .active(),
    flag("event-ttl", Duration, "1h0m0s", "How long events are kept.").active(),
    flag("kubelet-certificate-authority", String, "", "Certificate authorities of the kubelets.").active(),
    flag("kubelet-client-certificate", String, "", "Client certificate to present to kubelets.").active(),
    flag("kubelet-client-key", String, "", "Key of --kubelet-client-certificate.").active(),
    flag(
        "kubelet-preferred-address-types",
        Strings,
        "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP",
        "Node address types in the order in which to try them for kubelet connections.",
    )
    .active(),
    flag("kubelet-timeout", Duration, "5s", "Time a kubelet has to answer.").moot(KUBELET_TIMEOUT),
    flag(
        "kubernetes-service-node-port",
        Int,
        "",
        "Make the kubernetes service of type NodePort with this port; 0 keeps it ClusterIP.",
    )
    .active(),
    flag(
        "max-connection-bytes-per-sec",
        Int,
        "",
        "Bytes per second that a long-running request may use; 0 for no limit.",
    )
    .active(),
    flag("peer-advertise-ip", String, "", "Address under which other API servers reach this one."),
    flag("peer-advertise-port", String, "", "Port under which other API servers reach this one."),
    flag(
        "peer-ca-file",
        String,
        "",
        "Certificate authorities of other API servers that requests are passed to.",
    ),
    flag(
        "proxy-client-cert-file",
        String,
        "",
        "Client certificate this server presents to aggregated API servers.",
    )
    .active(),
    flag("proxy-client-key-file", String, "", "Key of --proxy-client-cert-file.").active(),
    flag(
        "service-account-signing-endpoint",
        String,
        "",
        "Socket of an external signer of service account tokens; excludes the two key file flags.",
    )
    .active(),
    flag("service-account-signing-key-file", String, "", "Private key that signs service account tokens.")
        .active(),
    flag(
        "service-cluster-ip-range",
        String,
        "",
        "CIDR of the services' cluster IPs, or two of them, one per IP family; without it, 10.0.0.0/24.",
    )
    .active(),
    flag(
        "service-node-port-range",
        PortRange,
        "30000-32767",
        "Ports for services of type NodePort, both ends included.",
    )
    .active(),
];
