//! Somebody else who converts objects.

use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pintle_codec::json;
use pintle_meta::gvk::GroupVersion;
use pintle_meta::{Value, names};
use pintle_outbound::webhook::{self, Backoff};
use pintle_outbound::{ClientOptions, Material, Roots, TlsOptions, Url};

use super::answer::{self, Review};
use super::{Converter, Failure, rename};

/// How long one review may take; the reference's.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long an answer may be. Reviews are of about a megabyte, or of one object.
const LARGEST_ANSWER: usize = 16 << 20;

/// Where a definition says that its objects are converted.
pub struct Webhook {
    webhook: pintle_outbound::Webhook,
    review: Review,
}

impl Webhook {
    /// What a definition says in `spec.conversion`, in any of its versions. The error is for whoever wants to use it.
    pub fn new(definition: &Value) -> Result<Webhook, String> {
        let conversion = definition.at(&["spec", "conversion"]).unwrap_or(&Value::NULL);
        let webhook = conversion.get("webhook").filter(|webhook| !webhook.is_null());
        let (config, versions) = match webhook {
            Some(webhook) => (webhook.get("clientConfig"), webhook.items_at(&["conversionReviewVersions"])),
            None => {
                (conversion.get("webhookClientConfig"), conversion.items_at(&["conversionReviewVersions"]))
            }
        };
        let failed = |reason: String| {
            let name = format!("conversion_webhook_for_{}", definition.name());
            format!("failed calling webhook {}: {reason}", pintle_meta::quote(&name))
        };
        let config = config.unwrap_or(&Value::NULL);
        let target = Target::of(config).map_err(failed)?;
        let options = ClientOptions {
            tls: TlsOptions {
                roots: roots(config)?,
                server_name: target.server_name,
                ..TlsOptions::default()
            },
            timeout: TIMEOUT,
            largest_answer: LARGEST_ANSWER,
            ..ClientOptions::default()
        };
        let once = Backoff { attempts: 1, ..Backoff::default() };
        let webhook = pintle_outbound::Webhook::to(&target.url, options, once);
        let webhook = webhook.map_err(|error| error.to_string())?;
        Ok(Webhook { webhook, review: Review::of(versions.iter().filter_map(Value::as_str)) })
    }
}

/// Where reviews go.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    url: Url,
    server_name: Option<String>,
}

impl Target {
    fn of(config: &Value) -> Result<Target, String> {
        let unparsable = |error: pintle_outbound::BadUrl| format!("Unparsable URL: {error}");
        if let Some(service) = config.get("service").filter(|service| !service.is_null()) {
            let name = format!("{}.{}.svc", service.text_at(&["name"]), service.text_at(&["namespace"]));
            let port = match service.get("port").and_then(Value::as_i64) {
                None | Some(0) => 443,
                Some(port) => port,
            };
            let path = service.text_at(&["path"]);
            let slash = if path.starts_with('/') { "" } else { "/" };
            let url = Url::parse(&format!("https://{name}:{port}{slash}{path}")).map_err(unparsable)?;
            return Ok(Target { url, server_name: Some(name) });
        }
        match config.text_at(&["url"]) {
            "" => Err("webhook configuration must have either service or URL".into()),
            url => Ok(Target { url: Url::parse(url).map_err(unparsable)?, server_name: None }),
        }
    }
}

/// Those of the definition, or of the machine where it gives none.
fn roots(config: &Value) -> Result<Roots, String> {
    let bundle = match config.get("caBundle") {
        Some(bundle) => match (bundle.as_bytes(), bundle.as_str()) {
            (Some(bytes), _) => bytes.to_vec(),
            (None, Some(text)) => {
                STANDARD.decode(text).map_err(|error| format!("illegal base64 data: {error}"))?
            }
            (None, None) => Vec::new(),
        },
        None => Vec::new(),
    };
    Ok(match bundle.trim_ascii().is_empty() {
        true => Roots::System,
        false => Roots::Bundle(Material::Text(bundle)),
    })
}

#[async_trait]
impl Converter for Webhook {
    async fn convert(&self, mut objects: Vec<Value>, to: &str) -> Result<Vec<Value>, Failure> {
        // What says nothing but its kind is the same everywhere.
        let is_empty = |object: &Value| {
            let fields = object.as_object();
            fields.is_some_and(|fields| {
                fields.len() == 2 && fields.contains("kind") && fields.contains("apiVersion")
            })
        };
        if objects.iter().all(is_empty) {
            objects.iter_mut().for_each(|object| rename(object, to));
            return Ok(objects);
        }
        let wanted = GroupVersion::parse(to).map_err(Failure::refused)?;
        let kind = objects.first().map(Value::group_version_kind).unwrap_or_default();
        let uid = names::uuid((u128::from(rand::random::<u64>()) << 64) | u128::from(rand::random::<u64>()));
        let request = self.review.request(&uid, to, &objects).map_err(Failure::refused)?;
        let answer = self.webhook.post(request, |_| {}).await.map_err(|error| {
            let refused = is_about_size(&error);
            Failure { message: format!("conversion webhook for {kind} failed: {error}"), refused }
        })?;
        let converted = self
            .review
            .converted(&uid, &answer)
            .map_err(|reason| Failure::refused(format!("conversion webhook for {kind} failed: {reason}")))?;
        if converted.len() != objects.len() {
            return Err(Failure::refused(format!(
                "conversion webhook for {kind} returned {} objects, expected {}",
                converted.len(),
                objects.len()
            )));
        }
        let pairs = objects.iter().zip(&converted).enumerate();
        let checked = pairs.map(|(place, (original, raw))| {
            answer::check(&kind, &wanted, place, original, raw).map_err(Failure::refused)
        });
        checked.collect()
    }
}

fn is_about_size(error: &webhook::Error) -> bool {
    matches!(error, webhook::Error::Transport(error)
        if matches!(error.failure, pintle_outbound::Failure::TooLarge { .. }))
}

impl Review {
    /// Of objects that shall be converted.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn target(config: &str) -> Result<Target, String> {
        Target::of(&json::decode_any(config.as_bytes()).unwrap().value)
    }

    #[test]
    fn services_are_called_by_their_names() {
        let found = target(r#"{"service":{"name":"hook","namespace":"ns","path":"/convert","port":8443}}"#);
        let found = found.unwrap();
        assert_eq!(found.url.to_string(), "https://hook.ns.svc:8443/convert");
        assert_eq!(found.server_name.as_deref(), Some("hook.ns.svc"));
        let found = target(r#"{"service":{"name":"hook","namespace":"ns"}}"#).unwrap();
        assert_eq!(found.url.with_query("a").to_string(), "https://hook.ns.svc:443/?a");
        assert_eq!(target(r#"{"url":"https://h/p"}"#).unwrap().url.to_string(), "https://h/p");
        assert_eq!(target("{}").unwrap_err(), "webhook configuration must have either service or URL");
    }
}
