//! The strategies of the group's resources.

use std::sync::Arc;

use pintle_registry::Strategy;

use super::{ingress, ingress_class, ip_address, network_policy, service_cidr};
use crate::framework::strategy::{Entry, Rules, Settings, find};

const TABLE: &[Entry] = &[
    Entry {
        name: "ingressclasses",
        kind: "networking/v1.IngressClass",
        rules: ingress_class::INGRESS_CLASSES,
    },
    Entry { name: "ingresses", kind: "networking/v1.Ingress", rules: ingress::INGRESSES },
    Entry { name: "ingresses/status", kind: "networking/v1.Ingress", rules: ingress::STATUS },
    Entry { name: "ipaddresses", kind: "networking/v1.IPAddress", rules: ip_address::IP_ADDRESSES },
    Entry {
        name: "networkpolicies",
        kind: "networking/v1.NetworkPolicy",
        rules: network_policy::NETWORK_POLICIES,
    },
    Entry { name: "servicecidrs", kind: "networking/v1.ServiceCIDR", rules: service_cidr::SERVICE_CIDRS },
    Entry { name: "servicecidrs/status", kind: "networking/v1.ServiceCIDR", rules: service_cidr::STATUS },
];

pub(super) const NAMESPACED: Rules = Rules { unconditional_update: true, ..Rules::NAMESPACED };
pub(super) const CLUSTER: Rules = Rules { namespaced: false, ..NAMESPACED };

/// The strategy of a resource or subresource.
pub(crate) fn strategy(name: &str, settings: &Settings) -> Option<Arc<dyn Strategy>> {
    find(TABLE, name, settings)
}
