//! A webhook that an object of the cluster names in its `clientConfig`: by URL, or by a service.

use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pintle_meta::{Value, quote};

use crate::egress::{Network, Selector};
use crate::services::{Resolver, Service};
use crate::{ClientOptions, Material, Roots, TlsOptions, Url};

/// The URL of a webhook and the options of its client. Timeouts and sizes are set by the caller.
#[derive(Clone)]
pub struct WebhookClientConfig {
    pub url: Url,
    pub options: ClientOptions,
}

impl WebhookClientConfig {
    /// Returns host and port of the webhook, by which credentials are found.
    pub fn server(&self) -> String {
        match self.url.host().contains(':') {
            true => format!("[{}]:{}", self.url.host(), self.url.port()),
            false => format!("{}:{}", self.url.host(), self.url.port()),
        }
    }

    /// Reads a `clientConfig`. The error is for the caller of the webhook; `name` is what it is called there. Services
    /// are in the cluster, URLs are somewhere in the control plane; `egress_selector` has the proxies to both.
    pub fn parse(
        name: &str,
        config: &Value,
        services: &Arc<dyn Resolver>,
        egress_selector: Option<&Selector>,
    ) -> Result<WebhookClientConfig, String> {
        let failed = |reason: String| format!("failed calling webhook {}: {reason}", quote(name));
        let roots = roots(config)?;
        if let Some(service) = config.get("service").filter(|service| !service.is_null()) {
            let port = match service.get("port").and_then(Value::as_i64) {
                None | Some(0) => 443,
                Some(port) => u16::try_from(port).map_err(|_| failed(format!("invalid port {port}")))?,
            };
            let named = |key: &str| service.text_at(&[key]).to_owned();
            let (resolver, namespace, name) = (services.clone(), named("namespace"), named("name"));
            let service_there = Service { resolver, namespace, name, port };
            let server_name = service_there.server_name();
            let path = cleaned(service.text_at(&["path"]));
            let url = Url::parse(&format!("https://{server_name}:{port}{path}"));
            let url = url.map_err(|error| failed(format!("Unparsable URL: {error}")))?;
            let tls = TlsOptions {
                roots,
                server_name: Some(server_name),
                http1_only: true,
                ..TlsOptions::default()
            };
            // Of which one is this server itself.
            let is_own = (service_there.namespace.as_str(), service_there.name.as_str(), port)
                == ("default", "kubernetes", 443);
            let egress =
                egress_selector.filter(|_| !is_own).and_then(|selector| selector.lookup(Network::Cluster));
            let options =
                ClientOptions { tls, service: Some(service_there), egress, ..ClientOptions::default() };
            return Ok(WebhookClientConfig { url, options });
        }
        let url = match config.text_at(&["url"]) {
            "" => return Err(failed("webhook configuration must have either service or URL".into())),
            url => Url::parse(url).map_err(|error| failed(format!("Unparsable URL: {error}")))?,
        };
        let url = url.with_path(&cleaned(url.path()));
        // Somewhere else, there may be many of them behind one name.
        let tls = TlsOptions { roots, http1_only: !is_local(url.host()), ..TlsOptions::default() };
        let egress = egress_selector.and_then(|selector| selector.lookup(Network::ControlPlane));
        Ok(WebhookClientConfig { url, options: ClientOptions { tls, egress, ..ClientOptions::default() } })
    }
}

fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Without empty parts, dots, and slashes at the end, as Go joins paths.
fn cleaned(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns the roots that the configuration names, or those of the machine.
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
    Ok(if bundle.trim_ascii().is_empty() { Roots::System } else { Roots::Bundle(Material::Text(bundle)) })
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use pintle_codec::json;

    use super::*;
    use crate::services::Address;

    struct Nowhere;

    #[async_trait]
    impl Resolver for Nowhere {
        async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<Address, String> {
            Err(format!("service {} not found", quote(name)))
        }
    }

    fn hook(config: &str) -> Result<WebhookClientConfig, String> {
        let services: Arc<dyn Resolver> = Arc::new(Nowhere);
        WebhookClientConfig::parse(
            "boats",
            &json::decode_any(config.as_bytes()).unwrap().value,
            &services,
            None,
        )
    }

    #[test]
    fn services_keep_their_names_and_are_looked_up() {
        let found = hook(r#"{"service":{"name":"hook","namespace":"ns","path":"/convert/","port":8443}}"#);
        let found = found.unwrap();
        assert_eq!(found.url.to_string(), "https://hook.ns.svc:8443/convert");
        assert_eq!(found.options.tls.server_name.as_deref(), Some("hook.ns.svc"));
        assert!(found.options.tls.http1_only);
        let service = found.options.service.unwrap();
        assert_eq!((service.namespace.as_str(), service.name.as_str(), service.port), ("ns", "hook", 8443));
        let found = hook(r#"{"service":{"name":"hook","namespace":"ns"}}"#).unwrap();
        assert_eq!(found.url.with_query("a").to_string(), "https://hook.ns.svc:443/?a");
        assert!(hook(r#"{"service":{"name":"hook","namespace":"ns","port":65536}}"#).is_err());
    }

    #[test]
    fn urls_are_called_as_they_are() {
        let found = |url: &str| {
            let hook = hook(&format!(r#"{{"url":"{url}"}}"#)).unwrap();
            assert!(hook.options.service.is_none() && hook.options.tls.server_name.is_none());
            (hook.url.to_string(), hook.options.tls.http1_only)
        };
        assert_eq!(found("https://h/p"), ("https://h/p".into(), true));
        assert_eq!(found("https://h/p/./q//../r/"), ("https://h/p/r".into(), true));
        assert_eq!(found("https://127.0.0.1:8443/p"), ("https://127.0.0.1:8443/p".into(), false));
        assert_eq!(found("https://localhost"), ("https://localhost".into(), false));
        assert_eq!(
            hook("{}").err().unwrap(),
            "failed calling webhook \"boats\": webhook configuration must have either service or URL"
        );
        assert!(hook(r#"{"url":"https://h","caBundle":"?"}"#).is_err());
    }
}
