//! The plugins that are on, in order.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use pintle_auth::Authorizer;
use pintle_features::Features;
use pintle_meta::quote;
use pintle_metrics::Registry;
use pintle_outbound::egress::Selector;
use pintle_outbound::hosts::Hosts;
use pintle_outbound::services::Resolver;
use pintle_registry::Client;
use pintle_runtime::{Clock, Random, Spawner, Stopwatch};

use crate::attributes::Attributes;
use crate::configuration::Configurations;
use crate::manifests::ManifestEnvironment;
use crate::namespaces::NamespaceLister;
use crate::objects::{AdmissionStores, ObjectLister};
use crate::observer::{AdmissionType, Observation, Observer};
use crate::plugin::{InitError, Plugin};
use crate::policies::params::ParamKinds;
use crate::priority_classes::PriorityClassLister;
use crate::rest_mapper::RestMapper;
use crate::webhook_metrics::WebhookMetrics;
use crate::{Result, plugins};

/// The parts of a control plane that plugins are made of.
#[derive(Clone)]
pub struct Cluster {
    pub namespaces: Arc<dyn NamespaceLister>,
    pub objects: Arc<dyn ObjectLister>,
    /// The stores behind `objects`, for mirrors of what every request needs.
    pub stores: AdmissionStores,
    /// The resources that plugins write.
    pub clients: Clients,
    /// The configuration of plugins, from `--admission-control-config-file`.
    pub configurations: Configurations,
    /// For objects of plugins that are files; `None` in a control plane that reads no files.
    pub manifests: Option<ManifestEnvironment>,
    pub priority_classes: Arc<dyn PriorityClassLister>,
    /// Finds the resources of kinds.
    pub rest_mapper: Arc<dyn RestMapper>,
    /// Finds the parameters of policies.
    pub param_kinds: Arc<dyn ParamKinds>,
    /// For permissions that a request needs beside that of its verb.
    pub authorizer: Arc<dyn Authorizer>,
    pub features: Features,
    pub toleration_seconds: TolerationSeconds,
    /// Finds webhooks behind services.
    pub services: Arc<dyn Resolver>,
    /// The proxies on the way to webhooks.
    pub egress: Option<Selector>,
    /// The lookup of webhooks' host names.
    pub hosts: Hosts,
    /// The metrics that webhooks and policies share.
    pub webhook_metrics: Arc<WebhookMetrics>,
    /// For the metrics of plugins that have some of their own.
    pub metrics: Registry,
    /// For tasks that go on after a request, such as reading a file again.
    pub spawner: Spawner,
    pub clock: Clock,
    pub random: Random,
}

/// The resources that plugins write, in the server's own name. `None` where a resource is not served.
#[derive(Clone, Default)]
pub struct Clients {
    /// Namespaces, whose writes pass admission too.
    pub namespaces: Option<Client>,
    /// The status of resource quotas, without admission.
    pub quota_status: Option<Client>,
}

/// The seconds for which pods tolerate a node that is not ready or unreachable, unless they have tolerations of their own.
#[derive(Clone, Copy, Debug)]
pub struct TolerationSeconds {
    pub not_ready: i64,
    pub unreachable: i64,
}

/// Runs plugins one after the other; the first rejection is the answer. Clones are the same chain.
#[derive(Clone, Default)]
pub struct Chain {
    plugins: Arc<[Arc<dyn Plugin>]>,
    observer: Option<Arc<dyn Observer>>,
}

/// A chain that is known later, for clients of its own plugins: they must not keep it alive.
#[derive(Clone, Default)]
pub struct LateChain(Arc<OnceLock<WeakChain>>);

struct WeakChain {
    plugins: Weak<[Arc<dyn Plugin>]>,
    observer: Option<Arc<dyn Observer>>,
}

impl LateChain {
    /// Sets the chain; only the first one counts.
    pub fn set(&self, chain: &Chain) {
        let weak = WeakChain { plugins: Arc::downgrade(&chain.plugins), observer: chain.observer.clone() };
        // A second one would be an error of the caller, and the first is in use.
        let _ = self.0.set(weak);
    }

    /// Returns the chain, which is there while one of its plugins runs; `None` before it is set.
    pub fn chain(&self) -> Option<Chain> {
        let weak = self.0.get()?;
        Some(Chain { plugins: weak.plugins.upgrade()?, observer: weak.observer.clone() })
    }
}

impl Chain {
    pub fn new(plugins: impl IntoIterator<Item = Arc<dyn Plugin>>) -> Chain {
        Chain { plugins: plugins.into_iter().collect(), observer: None }
    }

    /// Returns a chain of the plugins with these names, in their order. Names of plugins that are not implemented, or whose
    /// feature gate is off, are left out. Errors if the configuration of a plugin is wrong, in the reference's words.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>, cluster: &Cluster) -> Result<Chain, String> {
        let mut made = Vec::new();
        for name in names {
            let plugin = plugins::make(name, cluster).map_err(|error| {
                let failed = match &error {
                    InitError::Configuration(_) => "couldn't init admission plugin",
                    InitError::Initialization(_) => "failed to initialize admission plugin",
                };
                format!("{failed} {}: {error}", quote(name))
            });
            made.extend(plugin?);
        }
        Ok(Chain::new(made))
    }

    /// Returns the same chain with measurements.
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Chain {
        Chain { observer: Some(observer), ..self }
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.plugins.iter().map(|plugin| plugin.name())
    }

    /// Runs the mutating plugins, twice if one of them asks for it.
    pub async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let mut step = Measured::start(self, AdmissionType::Admit, attributes);
        let mut result = self.admit_once(attributes, &mut step).await;
        if result.is_ok() && attributes.reinvocation.begin_second_run() {
            result = self.admit_once(attributes, &mut step).await;
        }
        step.end(&result);
        result
    }

    async fn admit_once(&self, attributes: &mut Attributes<'_>, step: &mut Measured<'_>) -> Result<()> {
        for plugin in &*self.plugins {
            if plugin.admits(attributes.operation, attributes.target()) {
                step.plugin_starts();
                let result = plugin.admit(attributes).await;
                step.plugin_ends(plugin.name(), &result);
                result?;
            }
        }
        Ok(())
    }

    /// Runs the validating plugins.
    pub async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        let mut step = Measured::start(self, AdmissionType::Validate, attributes);
        let result = self.validate_measured(attributes, &mut step).await;
        step.end(&result);
        result
    }

    async fn validate_measured(&self, attributes: &Attributes<'_>, step: &mut Measured<'_>) -> Result<()> {
        for plugin in &*self.plugins {
            if plugin.validates(attributes.operation, attributes.target()) {
                step.plugin_starts();
                let result = plugin.validate(attributes).await;
                step.plugin_ends(plugin.name(), &result);
                result?;
            }
        }
        Ok(())
    }
}

/// The measurement of one part of admission: a single stopwatch, read around each plugin that runs.
struct Measured<'a> {
    observer: Option<&'a dyn Observer>,
    /// `duration` is when the plugin that runs has started.
    observation: Observation,
    watch: Stopwatch,
}

impl<'a> Measured<'a> {
    fn start(chain: &'a Chain, admission: AdmissionType, attributes: &Attributes<'_>) -> Measured<'a> {
        let operation = attributes.operation;
        let observation = Observation { admission, operation, rejected: false, duration: Duration::ZERO };
        Measured { observer: chain.observer.as_deref(), observation, watch: Stopwatch::start() }
    }

    fn plugin_starts(&mut self) {
        if self.observer.is_some() {
            self.observation.duration = self.watch.elapsed();
        }
    }

    fn plugin_ends(&self, name: &'static str, result: &Result<()>) {
        if let Some(observer) = self.observer {
            let duration = self.watch.elapsed().saturating_sub(self.observation.duration);
            observer.plugin(name, Observation { rejected: result.is_err(), duration, ..self.observation });
        }
    }

    fn end(&self, result: &Result<()>) {
        if let Some(observer) = self.observer {
            let duration = self.watch.elapsed();
            observer.step(Observation { rejected: result.is_err(), duration, ..self.observation });
        }
    }
}
