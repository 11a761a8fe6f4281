//! One request for an endpoint, and what all of them share.

use std::sync::Arc;
use std::time::Duration;

use pintle_admission::{Chain, Gate};
use pintle_auth::Authorizer;
use pintle_cache::Pool;
use pintle_codec::negotiate::Encoding;
use pintle_features::Features;
use pintle_meta::Value;
use pintle_registry::Context;
use pintle_runtime::{Clock, Random};

use super::answer::Negotiated;
use super::endpoint::Endpoint;
use crate::lifecycle::{Signal, WatchTermination};
use crate::{Metrics, Request};

/// What every endpoint of a control plane uses.
pub struct Shared {
    /// Of all encoded bodies.
    pub pool: Arc<Pool>,
    /// What clients may ask for.
    pub encodings: &'static [Encoding],
    /// Who is asked before something is written.
    pub admission: Chain,
    /// Who is asked whether a user may create what an update or an apply found missing.
    pub authorizer: Arc<dyn Authorizer>,
    /// How many deletions of a collection go on at once.
    pub delete_workers: usize,
    /// The least that a watch without a timeout of its own lasts; it may be twice that.
    pub min_request_timeout: Duration,
    pub metrics: Metrics,
    pub clock: Clock,
    pub random: Random,
    pub features: Features,
    /// Watches end when it comes...
    pub stop: Signal,
    /// ...or by and by from then on.
    pub termination: Option<Arc<WatchTermination>>,
}

/// A request that has found its endpoint.
pub(crate) struct Call<'a> {
    pub(crate) request: &'a mut Request,
    pub(crate) negotiated: Negotiated,
    pub(crate) shared: &'a Shared,
    /// Told to the client beside the answer.
    pub(crate) warnings: Vec<String>,
}

impl Call<'_> {
    /// A path may name what a subresource creates. Elsewhere a name in the path is only what plugins are told.
    pub(crate) fn settle_name(&self, object: &mut Value) {
        let name = &self.request.info.name;
        if !name.is_empty()
            && self.request.info.parts.len() > 2
            && object.name().is_empty()
            && let Some(metadata) = object.metadata_mut()
        {
            metadata.insert("name", name.as_str());
        }
    }

    /// Who else has a say in this write.
    pub(crate) fn gate(&self, endpoint: &Endpoint, context: &Context, dry_run: bool) -> Gate {
        let request = pintle_admission::Request {
            target: endpoint.target.clone(),
            namespace: context.namespace.clone(),
            name: self.request.info.name.clone(),
            user: self.request.user.clone().unwrap_or_default(),
            dry_run,
            options: None,
        };
        Gate::new(self.shared.admission.clone(), request)
    }
}
