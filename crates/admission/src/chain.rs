//! The plugins that are on, in order.

use std::sync::Arc;

use pintle_auth::Authorizer;
use pintle_features::Features;

use crate::attributes::Attributes;
use crate::namespaces::NamespaceLister;
use crate::objects::ObjectLister;
use crate::plugin::Plugin;
use crate::priority_classes::PriorityClassLister;
use crate::{Result, plugins};

/// What plugins may know of the cluster.
#[derive(Clone)]
pub struct Cluster {
    pub namespaces: Arc<dyn NamespaceLister>,
    pub objects: Arc<dyn ObjectLister>,
    pub priority_classes: Arc<dyn PriorityClassLister>,
    /// For what needs a permission of its own beside that for the request.
    pub authorizer: Arc<dyn Authorizer>,
    pub features: Features,
    pub toleration_seconds: TolerationSeconds,
}

/// For how long pods that do not say bear a node that is not well.
#[derive(Clone, Copy, Debug)]
pub struct TolerationSeconds {
    pub not_ready: i64,
    pub unreachable: i64,
}

/// Asks one plugin after the other; the first refusal is the answer.
#[derive(Clone, Default)]
pub struct Chain {
    plugins: Arc<[Arc<dyn Plugin>]>,
}

impl Chain {
    pub fn new(plugins: impl IntoIterator<Item = Arc<dyn Plugin>>) -> Chain {
        Chain { plugins: plugins.into_iter().collect() }
    }

    /// Of the plugins with these names, in their order. Those that are not written yet are left out.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>, cluster: &Cluster) -> Chain {
        Chain::new(names.into_iter().filter_map(|name| plugins::make(name, cluster)))
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.plugins.iter().map(|plugin| plugin.name())
    }

    /// The half that may change the object.
    pub async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        for plugin in &*self.plugins {
            if plugin.admits(attributes.operation, attributes.target()) {
                plugin.admit(attributes).await?;
            }
        }
        Ok(())
    }

    /// The half that only refuses.
    pub async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        for plugin in &*self.plugins {
            if plugin.validates(attributes.operation, attributes.target()) {
                plugin.validate(attributes).await?;
            }
        }
        Ok(())
    }
}
