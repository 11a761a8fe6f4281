//! One webhook of a configuration, with everything that does not depend on the request.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pintle_meta::Value;
use pintle_outbound::Webhook;

use super::clients::Clients;
use super::review::ReviewVersion;
use super::text;
use crate::matching::Predicate;
use crate::matching::conditions::MatchConditions;

pub(super) struct Hook {
    /// Unique in its configuration only if its author wants it so.
    pub(super) name: String,
    /// `configuration/name/n`, where `n` counts webhooks of the same name; `manifest/configuration/name/n` in a file.
    pub(super) uid: String,
    pub(super) configuration: Arc<str>,
    pub(super) predicate: Predicate,
    pub(super) conditions: MatchConditions,
    /// `failurePolicy: Ignore`.
    pub(super) ignores_failures: bool,
    pub(super) side_effects: SideEffects,
    pub(super) timeout: Option<Duration>,
    /// The first version of reviews that both sides know.
    pub(super) review: Option<ReviewVersion>,
    /// `reinvocationPolicy: IfNeeded`.
    pub(super) is_reinvoked: bool,
    /// The webhook as it is stored.
    stored: Value,
    client: OnceLock<Result<Arc<Webhook>, String>>,
}

/// Effects of a call beside its answer, which a dry run must not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideEffects {
    /// `None`, or `NoneOnDryRun`.
    NotOnDryRun,
    Possible,
    /// Not set, as in objects that an old release has stored.
    Missing,
}

impl Hook {
    /// Reads the webhooks of a configuration, in their order. Those that are as `before` are the same, with their clients and
    /// compiled conditions; of others, conditions that did not change are. `origin` begins their UIDs: two configurations may
    /// have one name if one of them is a file.
    pub(super) fn read_all(configuration: &Value, origin: &str, before: &[Arc<Hook>]) -> Vec<Arc<Hook>> {
        let before: HashMap<&str, &Arc<Hook>> = before.iter().map(|hook| (&*hook.uid, hook)).collect();
        let mut names: HashMap<&str, usize> = HashMap::new();
        let configured: Arc<str> = configuration.name().into();
        let webhooks = configuration.items_at(&["webhooks"]).iter();
        webhooks
            .map(|webhook| {
                let name = webhook.text_at(&["name"]);
                let count = names.entry(name).or_default();
                let uid = format!("{origin}{configured}/{name}/{count}");
                *count += 1;
                match before.get(&*uid) {
                    Some(known) if known.stored == *webhook => Arc::clone(known),
                    known => {
                        let conditions = known.map(|known| &known.conditions);
                        Arc::new(Hook::read(webhook, uid, &configured, conditions))
                    }
                }
            })
            .collect()
    }

    fn read(
        webhook: &Value,
        uid: String,
        configuration: &Arc<str>,
        conditions: Option<&MatchConditions>,
    ) -> Hook {
        let seconds = webhook.get("timeoutSeconds").and_then(Value::as_i64);
        let versions = webhook.items_at(&["admissionReviewVersions"]).iter().filter_map(Value::as_str);
        Hook {
            name: webhook.text_at(&["name"]).to_owned(),
            uid,
            configuration: configuration.clone(),
            predicate: Predicate::read(webhook, webhook.items_at(&["rules"])),
            conditions: MatchConditions::read(webhook.items_at(&["matchConditions"]), conditions),
            ignores_failures: webhook.text_at(&["failurePolicy"]) == "Ignore",
            side_effects: match text(webhook, "sideEffects").as_deref() {
                Some("None" | "NoneOnDryRun") => SideEffects::NotOnDryRun,
                Some(_) => SideEffects::Possible,
                None => SideEffects::Missing,
            },
            timeout: seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs),
            review: versions.filter_map(ReviewVersion::parse).next(),
            is_reinvoked: webhook.text_at(&["reinvocationPolicy"]) == "IfNeeded",
            stored: webhook.clone(),
            client: OnceLock::new(),
        }
    }

    /// Returns the client, which is made by the first call.
    pub(super) fn client(&self, clients: &Clients) -> Result<Arc<Webhook>, String> {
        let config = || self.stored.get("clientConfig").cloned().unwrap_or_default();
        self.client.get_or_init(|| clients.client(&self.name, &config())).clone()
    }
}
