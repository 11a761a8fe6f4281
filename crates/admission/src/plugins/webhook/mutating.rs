//! `MutatingAdmissionWebhook`: webhooks are asked one after the other; each sees the patches of those before it.

use std::collections::HashSet;

use async_trait::async_trait;
use pintle_codec::json;
use pintle_meta::{Value, quote};
use pintle_patch::json_patch::Patch;
use pintle_runtime::Stopwatch;

use super::call::{Failure, annotate, expired};
use super::hook::Hook;
use super::source::Candidate;
use super::{Type, Webhooks};
use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::chain::Cluster;
use crate::matching::Match;
use crate::notes::AuditLevel;
use crate::plugin::Plugin;

pub(crate) struct MutatingWebhooks(Webhooks);

/// The record of the webhooks that were asked in the first run, for the second.
#[derive(Default)]
struct Record {
    /// The object as the last run of webhooks left it.
    last_output: Option<Value>,
    /// UIDs of webhooks that were asked and want to be asked again if the object changes after them.
    asked: HashSet<String>,
    /// Of these, those after which the object has changed.
    reinvoked: HashSet<String>,
}

impl Record {
    /// Called when the object has changed.
    fn reinvoke(&mut self) {
        self.reinvoked.extend(self.asked.drain());
    }
}

/// A patch that was applied.
struct Patched {
    /// The object in the storage version, with its defaults.
    object: Value,
    has_changed: bool,
    /// The patch, as the audit annotation has it.
    shown: Value,
}

impl MutatingWebhooks {
    pub(crate) fn new(cluster: &Cluster) -> Result<MutatingWebhooks, String> {
        Ok(MutatingWebhooks(Webhooks::new(Type::Mutating, cluster)?))
    }

    async fn dispatch(&self, attributes: &mut Attributes<'_>, candidates: &[Candidate]) -> Result<()> {
        let is_second_run = attributes.reinvocation.is_second_run();
        for Candidate { index, hook } in candidates {
            let Some(found) = self.0.find(hook, attributes).await? else { continue };
            // A webhook that did not match in the first run is not asked in the second.
            if is_second_run && !record(attributes, |record| record.reinvoked.contains(&hook.uid)) {
                continue;
            }
            let watch = Stopwatch::start();
            let key = format!("round_{}_index_{index}", u8::from(is_second_run));
            let result = self.call(attributes, hook, &found, &key).await;
            self.0.observe(hook, attributes.operation, result.as_ref().err(), &watch);
            if matches!(result, Ok(true)) {
                record(attributes, Record::reinvoke);
                attributes.reinvocation.request();
            }
            if hook.is_reinvoked {
                record(attributes, |record| record.asked.insert(hook.uid.clone()));
            }
            let Err(failure) = result else { continue };
            let annotation = format!("failed-open.mutation.webhook.admission.k8s.io/{key}");
            let answer = self.0.answer(hook, failure, &annotation, &attributes.request.notes);
            // The failure was ignored; the request may have no time left.
            if let Some(status) = answer.or_else(|| expired(attributes)) {
                return Err(status);
            }
        }
        Ok(())
    }

    /// Asks one webhook and applies its patch. Reports whether the object has changed.
    async fn call(
        &self,
        attributes: &mut Attributes<'_>,
        hook: &Hook,
        seen_as: &Match,
        key: &str,
    ) -> Result<bool, Failure> {
        let result = self.patched(attributes, hook, seen_as).await;
        let notes = &attributes.request.notes;
        let (configuration, webhook) = (json_text(&hook.configuration), json_text(&hook.name));
        let begin = format!(r#"{{"configuration":{configuration},"webhook":{webhook}"#);
        let mutated = result.as_ref().is_ok_and(|patched| patched.as_ref().is_some_and(|it| it.has_changed));
        let annotation = format!(r#"{begin},"mutated":{mutated}}}"#);
        annotate(notes, &format!("mutation.webhook.admission.k8s.io/{key}"), &annotation);
        let Some(patched) = result? else { return Ok(false) };
        let mut value = format!(r#"{begin},"patch":"#).into_bytes();
        json::encode(&patched.shown, &mut value);
        value.extend_from_slice(br#","patchType":"JSONPatch"}"#);
        let value = String::from_utf8_lossy(&value);
        let key = format!("patch.webhook.admission.k8s.io/{key}");
        if notes.annotate_at(AuditLevel::Request, &key, value).is_err() {
            // Without the patch, which may hold secrets.
            tracing::warn!(key, webhook = hook.name, "failed to set the patch annotation of a webhook");
        }
        attributes.set_object(patched.object);
        Ok(patched.has_changed)
    }

    /// Returns the object after the webhook's patch; `None` if it has none.
    async fn patched(
        &self,
        attributes: &Attributes<'_>,
        hook: &Hook,
        seen_as: &Match,
    ) -> Result<Option<Patched>, Failure> {
        let kind = &seen_as.kind;
        let versioned = pintle_work::run(|| attributes.versioned(kind)).await.map_err(Failure::Internal)?;
        let response = self.0.ask(hook, attributes, seen_as, &versioned).await?;
        if response.patch.is_empty() {
            return Ok(None);
        }
        let patch = Patch::decode(&response.patch).map_err(|error| {
            let why = format!("received undecodable patch in webhook response: {error}");
            Failure::calling(why, 503)
        })?;
        if patch.is_empty() {
            return Ok(None);
        }
        let Some(before) = versioned.object() else {
            return Err(Failure::internal(format_args!(
                "admission webhook {} attempted to modify the object, which is not supported for this operation",
                quote(&hook.name)
            )));
        };
        if response.patch_type != "JSONPatch" {
            let why = format!("unsupported patch type {}", quote(&response.patch_type));
            return Err(Failure::calling(why, response.rejection(&hook.name).code));
        }
        let shown = json::decode_any(&response.patch).map_err(Failure::internal)?.value;
        let apply = || {
            let document = patch.apply(before.clone()).map_err(Failure::internal)?;
            let mut text = Vec::new();
            json::encode(&document, &mut text);
            let after = attributes.parse(&text, kind).map_err(Failure::internal)?;
            let has_changed = after != *before;
            let object = attributes.to_storage(after, kind).map_err(Failure::Internal)?;
            Ok(Patched { object, has_changed, shown: shown.clone() })
        };
        pintle_work::run(apply).await.map(Some)
    }
}

/// Reads or changes the record of this plugin.
fn record<T>(attributes: &mut Attributes<'_>, with: impl FnOnce(&mut Record) -> T) -> T {
    match attributes.reinvocation.record(Type::Mutating.plugin()) {
        Some(record) => with(record),
        // No other plugin has this name.
        None => with(&mut Record::default()),
    }
}

fn json_text(text: &str) -> String {
    let mut out = Vec::new();
    json::write::string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[async_trait]
impl Plugin for MutatingWebhooks {
    fn name(&self) -> &'static str {
        Type::Mutating.plugin()
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        self.0.handles(operation, target)
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let candidates = self.0.candidates(attributes).await?;
        if candidates.is_empty() {
            return Ok(());
        }
        let object = attributes.object().cloned();
        if attributes.reinvocation.is_second_run() {
            record(attributes, |record| {
                // Other plugins have changed the object since.
                if record.last_output != object {
                    record.reinvoke();
                }
            });
        }
        let result = self.dispatch(attributes, &candidates).await;
        let object = attributes.object().cloned();
        record(attributes, |record| record.last_output = object);
        result
    }
}
