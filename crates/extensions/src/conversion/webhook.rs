//! Conversion webhooks.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pintle_codec::json;
use pintle_meta::gvk::{GroupVersion, GroupVersionKind};
use pintle_meta::{Value, names};
use pintle_outbound::egress::Selector;
use pintle_outbound::services::Resolver;
use pintle_outbound::webhook::{self, Backoff};
use pintle_outbound::{ClientOptions, WebhookClientConfig};
use pintle_runtime::{Clock, Random, Stopwatch};

use super::review::{self, Review};
use super::{Converter, Failure, rename};
use crate::metrics::{Conversion, ConversionFailure, Metrics};

/// How long one review may take; the reference's.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long an answer may be. Reviews are of about a megabyte, or of one object.
const LARGEST_ANSWER: usize = 16 << 20;

/// Everything that conversion webhooks share.
#[derive(Clone)]
pub struct WebhookEnvironment {
    /// Resolves webhooks that are named by a service.
    pub services: Arc<dyn Resolver>,
    /// Proxies to networks that are not reached directly.
    pub egress: Option<Selector>,
    pub metrics: Metrics,
    pub clock: Clock,
    /// UIDs of reviews.
    pub random: Random,
}

/// The conversion webhook of a definition.
pub struct Webhook {
    webhook: pintle_outbound::Webhook,
    review: Review,
    definition: String,
    metrics: Metrics,
    random: Random,
}

impl Webhook {
    /// Reads `spec.conversion` of a definition in any of its versions. The error is for requests that need the conversion.
    pub fn new(definition: &Value, environment: &WebhookEnvironment) -> Result<Webhook, String> {
        let conversion = definition.at(&["spec", "conversion"]).unwrap_or(&Value::NULL);
        let webhook = conversion.get("webhook").filter(|webhook| !webhook.is_null());
        let (config, versions) = match webhook {
            Some(webhook) => (webhook.get("clientConfig"), webhook.items_at(&["conversionReviewVersions"])),
            None => {
                (conversion.get("webhookClientConfig"), conversion.items_at(&["conversionReviewVersions"]))
            }
        };
        let name = format!("conversion_webhook_for_{}", definition.name());
        let hook = WebhookClientConfig::parse(
            &name,
            config.unwrap_or(&Value::NULL),
            &environment.services,
            environment.egress.as_ref(),
        )?;
        let options = ClientOptions {
            timeout: TIMEOUT,
            largest_answer: LARGEST_ANSWER,
            clock: environment.clock.clone(),
            random: environment.random.clone(),
            ..hook.options
        };
        let once = Backoff { attempts: 1, ..Backoff::default() };
        let webhook = pintle_outbound::Webhook::new(&hook.url, options, once);
        Ok(Webhook {
            webhook: webhook.map_err(|error| error.to_string())?,
            review: Review::new(versions.iter().filter_map(Value::as_str)),
            definition: definition.name().to_owned(),
            metrics: environment.metrics.clone(),
            random: environment.random.clone(),
        })
    }

    /// Has objects of a kind converted, and counts how that went.
    async fn ask(
        &self,
        kind: &GroupVersionKind,
        mut objects: Vec<Value>,
        to: &GroupVersion,
    ) -> Result<Vec<Value>, Failure> {
        // An object that has nothing but its kind is the same in every version.
        let is_empty = |object: &Value| {
            let fields = object.as_object();
            fields.is_some_and(|fields| {
                fields.len() == 2 && fields.contains("kind") && fields.contains("apiVersion")
            })
        };
        let version = to.to_string();
        if objects.iter().all(is_empty) {
            objects.iter_mut().for_each(|object| rename(object, &version));
            return Ok(objects);
        }
        let stopwatch = Stopwatch::start();
        let uid = names::uuid((u128::from(self.random.number()) << 64) | u128::from(self.random.number()));
        let request = self.review.request(&uid, &version, &objects).map_err(Failure::refused)?;
        let outcome = self.reviewed(kind, &objects, to, &uid, request).await;
        let failure = outcome.as_ref().err().map(|(failure, _)| *failure);
        self.metrics.conversion_asked(failure, stopwatch.elapsed());
        outcome.map_err(|(_, failure)| failure)
    }

    async fn reviewed(
        &self,
        kind: &GroupVersionKind,
        objects: &[Value],
        to: &GroupVersion,
        uid: &str,
        request: Bytes,
    ) -> Result<Vec<Value>, (ConversionFailure, Failure)> {
        let answer = self.webhook.post(request, |_| {}).await.map_err(|error| {
            let message = format!("conversion webhook for {kind} failed: {error}");
            (ConversionFailure::Call, Failure { message, refused: is_about_size(&error) })
        })?;
        let converted = self.review.converted(uid, &answer).map_err(|reason| {
            let message = format!("conversion webhook for {kind} failed: {reason}");
            (ConversionFailure::MalformedResponse, Failure::refused(message))
        })?;
        let (count, expected) = (converted.len(), objects.len());
        if count != expected {
            let message =
                format!("conversion webhook for {kind} returned {count} objects, expected {expected}");
            return Err((ConversionFailure::PartialResponse, Failure::refused(message)));
        }
        let pairs = objects.iter().zip(&converted).enumerate();
        let checked = pairs.map(|(place, (original, raw))| {
            review::check(kind, to, place, original, raw)
                .map_err(|reason| (ConversionFailure::InvalidObject, Failure::refused(reason)))
        });
        checked.collect()
    }
}

#[async_trait]
impl Converter for Webhook {
    async fn convert(&self, objects: Vec<Value>, to: &str) -> Result<Vec<Value>, Failure> {
        let stopwatch = Stopwatch::start();
        let wanted = GroupVersion::parse(to).map_err(Failure::refused)?;
        let kind = objects.first().map(Value::group_version_kind).unwrap_or_default();
        let outcome = self.ask(&kind, objects, &wanted).await;
        self.metrics.converted(&Conversion {
            definition: &self.definition,
            from: &kind.version,
            to: &wanted.version,
            succeeded: outcome.is_ok(),
            took: stopwatch.elapsed(),
        });
        outcome
    }
}

fn is_about_size(error: &webhook::Error) -> bool {
    matches!(error, webhook::Error::Transport(error)
        if matches!(error.failure, pintle_outbound::Failure::TooLarge { .. }))
}

impl Review {
    /// Encodes the review of objects to be converted.
    fn request(&self, uid: &str, to: &str, objects: &[Value]) -> Result<Bytes, String> {
        let version = self.version().ok_or("no supported conversion review versions")?;
        let mut out = Vec::with_capacity(1 << 10);
        out.extend_from_slice(br#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/"#);
        out.extend_from_slice(version.as_bytes());
        out.extend_from_slice(br#"","request":{"uid":"#);
        json::write::string(uid, &mut out);
        out.extend_from_slice(br#","desiredAPIVersion":"#);
        json::write::string(to, &mut out);
        out.extend_from_slice(br#","objects":["#);
        for (place, object) in objects.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            json::encode(object, &mut out);
        }
        let end = br#"]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}"#;
        out.extend_from_slice(end);
        out.push(b'\n');
        Ok(out.into())
    }
}
