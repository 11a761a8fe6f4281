//! HTTP clients of webhooks: one for each distinct `clientConfig`, kept while configurations change around it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pintle_codec::json;
use pintle_meta::Value;
use pintle_outbound::egress::Selector;
use pintle_outbound::hosts::Hosts;
use pintle_outbound::kubeconfig::Users;
use pintle_outbound::services::Resolver;
use pintle_outbound::webhook::Backoff;
use pintle_outbound::{ClientOptions, Webhook, WebhookClientConfig};
use pintle_runtime::{Clock, Random};

use crate::chain::Cluster;

/// The reference's number of clients that are kept.
const MOST_KEPT: usize = 200;
/// Size limit of an answer: a patch may hold an object of the largest size, encoded in base64.
pub(super) const LARGEST_ANSWER: usize = 16 << 20;
/// The reference's limit for a webhook without a timeout of its own.
pub(super) const LONGEST_CALL: Duration = Duration::from_secs(30);
const USER_AGENT: &str = "kube-apiserver-admission";

/// Makes clients, and keeps them.
pub(super) struct Clients {
    users: Users,
    services: Arc<dyn Resolver>,
    egress: Option<Selector>,
    hosts: Hosts,
    clock: Clock,
    random: Random,
    /// By their `clientConfig` as JSON; the one that was used last comes last.
    kept: Mutex<Vec<Kept>>,
}

struct Kept {
    config: Box<[u8]>,
    client: Arc<Webhook>,
}

impl Clients {
    pub(super) fn new(users: Users, cluster: &Cluster) -> Clients {
        Clients {
            users,
            services: cluster.services.clone(),
            egress: cluster.egress.clone(),
            hosts: cluster.hosts.clone(),
            clock: cluster.clock.clone(),
            random: cluster.random.clone(),
            kept: Mutex::default(),
        }
    }

    /// Returns the client of a `clientConfig`. The error is for the caller of the webhook, which is called `name`.
    pub(super) fn client(&self, name: &str, config: &Value) -> Result<Arc<Webhook>, String> {
        let mut key = Vec::new();
        json::encode(config, &mut key);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|known| *known.config == *key) {
            let found = kept.remove(at);
            let client = found.client.clone();
            kept.push(found);
            return Ok(client);
        }
        let client = Arc::new(self.make(name, config)?);
        if kept.len() >= MOST_KEPT {
            kept.remove(0);
        }
        kept.push(Kept { config: key.into(), client: client.clone() });
        Ok(client)
    }

    fn make(&self, name: &str, config: &Value) -> Result<Webhook, String> {
        let found = WebhookClientConfig::parse(name, config, &self.services, self.egress.as_ref())?;
        let credentials = self.users.of(&found.server()).map_err(|error| error.to_string())?;
        let options = ClientOptions {
            timeout: LONGEST_CALL,
            largest_answer: LARGEST_ANSWER,
            user_agent: USER_AGENT.parse().ok(),
            hosts: self.hosts.clone(),
            clock: self.clock.clone(),
            random: self.random.clone(),
            ..found.options
        };
        let once = Backoff { attempts: 1, ..Backoff::default() };
        Webhook::new(&found.url, credentials.apply(options), once).map_err(|error| error.to_string())
    }
}
