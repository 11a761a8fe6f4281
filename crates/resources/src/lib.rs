//! Built-in resources: defaults, conversions, strategies, validation, columns and subresources.
//!
//! Each folder is an API group, called after its name without the domain, and holds one file or folder per resource that has rules
//! of its own. So `storage` is `storage.k8s.io`, `events` is `events.k8s.io` and `discovery` is `discovery.k8s.io`; none of
//! them is the crate of that name. The folder that is no group is [`framework`], the machinery that all groups share.

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apiserverinternal;
mod apps;
mod authentication;
mod authorization;
pub mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod events;
mod flowcontrol;
mod framework;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;

/// Objects of `authentication.k8s.io` and `authorization.k8s.io` that are answered and not stored.
pub mod reviews {
    pub use crate::authentication::self_review::SelfReview;
    pub use crate::authentication::token_review::TokenReview;
    pub use crate::authorization::access_review::{AccessReview, Kind};
    pub use crate::authorization::rules_review::RulesReview;
    pub use crate::framework::review::requesting_user;
}

/// Subresources with an object or an effect of their own.
pub mod subresources {
    pub use crate::autoscaling::scale::{Scale, Scaled};
    pub use crate::core::pod::binding::Binding;
    pub use crate::core::service_account::token::{TokenRequest, TokenRequestSettings};
    pub use crate::policy::eviction::Eviction;
}

/// Options of requests for the logs of pods, and the container that a request is about.
pub mod pod_logs {
    pub use crate::core::pod::log::{container, options};
}

/// Type checking of ValidatingAdmissionPolicies.
pub mod type_checking {
    pub use crate::admissionregistration::type_checking::{
        CheckedKinds, ExpressionWarning, KindType, NamedResource, kinds_to_check, type_warnings,
    };
}

pub use self::core::{component_status, service};
pub use self::framework::{builtin, columns, conversion, defaults, field_labels, served, strategy};
