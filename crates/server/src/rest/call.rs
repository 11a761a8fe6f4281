//! One request for an endpoint, and the state that all of them share.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_admission::{Chain, Notes, RequestAdmission};
use pintle_auth::Authorizer;
use pintle_cache::Pool;
use pintle_codec::negotiate::Encoding;
use pintle_features::Features;
use pintle_meta::shards::ShardParser;
use pintle_meta::{Object, Value};
use pintle_registry::Context;
use pintle_runtime::{Clock, Random};

use super::endpoint::Endpoint;
use super::representation::Representation;
use crate::lifecycle::{Signal, WatchTermination};
use crate::{Metrics, Request, audit};

/// The time for a write and its admission, however long the request may take.
const LONGEST_WRITE: Duration = Duration::from_secs(34);

/// The state that all endpoints of a control plane share.
pub struct Shared {
    /// The memory of all encoded bodies.
    pub pool: Arc<Pool>,
    /// Encodings that clients may ask for.
    pub encodings: &'static [Encoding],
    /// The admission chain.
    pub admission: Chain,
    /// Decides whether a user may create the object that an update or apply found missing.
    pub authorizer: Arc<dyn Authorizer>,
    /// Number of objects of a collection that are deleted at once.
    pub delete_workers: usize,
    /// The least that a watch without a timeout of its own lasts; it may be twice that.
    pub min_request_timeout: Duration,
    pub metrics: Metrics,
    pub clock: Clock,
    pub random: Random,
    pub features: Features,
    /// The parser of `shardSelector`; `None` ignores the parameter (`ShardedListAndWatch`).
    pub parse_shards: Option<ShardParser>,
    /// Set when a shutdown begins: watches end, at once unless `termination` is set.
    pub shutdown: Signal,
    /// Spreads the ends of watches over `--shutdown-watch-termination-grace-period`.
    pub termination: Option<Arc<WatchTermination>>,
}

/// A request that has found its endpoint.
pub(crate) struct Call<'a> {
    pub(crate) request: &'a mut Request,
    pub(crate) representation: Representation,
    pub(crate) shared: &'a Shared,
    /// Sent to the client as `Warning` headers.
    pub(crate) warnings: Vec<String>,
    /// Warnings and audit annotations of admission plugins; made when a write is admitted.
    pub(crate) notes: OnceLock<Notes>,
}

impl Call<'_> {
    /// Names an object that a subresource creates after the path. Elsewhere a name in the path is for admission alone.
    pub(crate) fn name_from_path(&self, object: &mut Value) {
        let name = &self.request.info.name;
        if !name.is_empty()
            && self.request.info.parts.len() > 2
            && object.name().is_empty()
            && let Some(metadata) = object.metadata_mut()
        {
            metadata.insert("name", name.as_str());
        }
    }

    /// Returns the notes of admission, which its audit shows.
    fn notes(&self) -> &Notes {
        self.notes.get_or_init(|| {
            let notes = Notes::default();
            if let Some(audit) = &self.request.audit {
                audit::annotate_from(audit, &notes);
            }
            notes
        })
    }

    /// Makes the admission of this request, with the fields of its options.
    pub(crate) fn admission(
        &self,
        endpoint: &Endpoint,
        context: &Context,
        dry_run: bool,
        options: Option<Object>,
    ) -> RequestAdmission {
        let request = pintle_admission::Request {
            target: endpoint.target.clone(),
            namespace: context.namespace.clone(),
            name: self.request.info.name.clone(),
            user: self.request.user.clone().unwrap_or_default(),
            dry_run,
            options,
            conversion: Some(endpoint.conversion.clone()),
            notes: self.notes().clone(),
            deadline: self
                .request
                .deadline
                .map(|deadline| deadline.min(self.request.received + LONGEST_WRITE)),
        };
        RequestAdmission::new(self.shared.admission.clone(), request)
    }
}
