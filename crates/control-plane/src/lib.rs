//! One control plane as a value.
//!
//! [`ControlPlane::start`] takes a store and a [`Config`] and puts together everything that serves the Kubernetes API on that
//! store: stores, authentication, authorization, admission, resources, custom resources, documents, health, metrics and
//! controllers. Requests come in through a [`Handler`](pintle_server::filter::Handler), with or without a socket.
//!
//! A control plane owns every task that it starts. [`ControlPlane::stop`] ends them in order; dropping it ends them at once.
//! Flags, files and listeners belong to the program around it.

mod access;
mod aggregation;
mod api_groups;
mod bootstrap;
mod catalog;
mod components;
mod config;
mod consistency;
mod control_plane;
mod encryption;
mod endpoints;
mod error;
mod flow_control;
mod health;
mod identity;
mod in_process;
mod managed;
mod manifests;
mod own_writes;
mod peers;
mod policy_params;
mod policy_types;
mod resources;
mod service_account_tokens;
mod services;
mod startup;
mod storage_versions;
mod stores;
mod version;

pub use self::access::ClusterAuthorizers;
pub use self::api_groups::ApiGroupsConfig;
pub use self::components::StoreServer;
pub use self::config::{
    AggregationConfig, ApiConfig, AuthenticationConfig, Config, ControllersConfig, HealthConfig,
    MakeAuthorizer, NetworkConfig, RequestConfig, ShutdownConfig, StorageConfig, StoreOverrides,
    default_admission_plugins,
};
pub use self::control_plane::ControlPlane;
pub use self::error::Error;
pub use self::identity::server_id;
pub use self::service_account_tokens::{DEFAULT_ISSUER, ServiceAccountConfig};
pub use self::version::kubernetes as kubernetes_version;
pub use pintle_connections::KubeletConfig;
pub use pintle_controllers::manager::Selection as ControllerSelection;
