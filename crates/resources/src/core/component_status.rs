//! `componentstatuses`: the health of the other components, probed on each request.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use pintle_meta::{Status, Value};
use pintle_registry::{Computed, Context, Result};

use crate::framework::conversion::build;

/// A program that can be asked how it is.
#[async_trait]
pub trait Component: Send + Sync + 'static {
    /// Answers within a bounded time.
    async fn health(&self) -> Health;
}

/// The result of a probe of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// `None` where the answer does not say.
    pub is_healthy: Option<bool>,
    /// The answer, or the error.
    pub message: String,
    /// Why it could not be asked.
    pub error: String,
}

/// The programs by their names.
pub struct ComponentStatuses {
    components: BTreeMap<String, Arc<dyn Component>>,
}

impl ComponentStatuses {
    pub fn new(components: impl IntoIterator<Item = (String, Arc<dyn Component>)>) -> ComponentStatuses {
        ComponentStatuses { components: components.into_iter().collect() }
    }
}

#[async_trait]
impl Computed for ComponentStatuses {
    async fn get(&self, _: &Context, name: &str) -> Result<Value> {
        match self.components.get(name) {
            Some(component) => Ok(component_status(name, component.health().await)),
            // In the singular, as the reference has it.
            None => Err(Box::new(Status::not_found("", "componentstatus", name))),
        }
    }

    /// All are asked at once, so that the slowest decides how long it takes.
    async fn list(&self, _: &Context) -> Result<Vec<Value>> {
        let asked = self
            .components
            .iter()
            .map(async |(name, component)| component_status(name, component.health().await));
        Ok(join_all(asked).await)
    }
}

fn component_status(name: &str, health: Health) -> Value {
    let status = match health.is_healthy {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let text = |text: String| (!text.is_empty()).then(|| Value::string(text));
    let condition = build(
        "core/v1.ComponentCondition",
        [
            ("type", Some("Healthy".into())),
            ("status", Some(status.into())),
            ("message", text(health.message)),
            ("error", text(health.error)),
        ],
    );
    let metadata = build("meta/v1.ObjectMeta", [("name", Some(Value::string(name)))]);
    build(
        "core/v1.ComponentStatus",
        [
            ("kind", Some("ComponentStatus".into())),
            ("apiVersion", Some("v1".into())),
            ("metadata", Some(metadata)),
            ("conditions", Some(vec![condition].into())),
        ],
    )
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;

    use super::*;

    struct Fixed(Health);

    #[async_trait]
    impl Component for Fixed {
        async fn health(&self) -> Health {
            self.0.clone()
        }
    }

    fn component(is_healthy: Option<bool>, message: &str, error: &str) -> Arc<dyn Component> {
        Arc::new(Fixed(Health { is_healthy, message: message.into(), error: error.into() }))
    }

    fn text(object: &Value) -> String {
        let mut out = Vec::new();
        json::encode(object, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[tokio::test]
    async fn every_component_has_one_condition() {
        let statuses = ComponentStatuses::new([
            ("scheduler".to_owned(), component(Some(false), "refused", "")),
            ("etcd-0".to_owned(), component(Some(true), "ok", "")),
            ("odd".to_owned(), component(None, "", "why")),
        ]);
        let context = Context::default();
        let all: Vec<String> = statuses.list(&context).await.unwrap().iter().map(text).collect();
        assert_eq!(
            all,
            [
                r#"{"kind":"ComponentStatus","apiVersion":"v1","metadata":{"name":"etcd-0"},"conditions":[{"type":"Healthy","status":"True","message":"ok"}]}"#,
                r#"{"kind":"ComponentStatus","apiVersion":"v1","metadata":{"name":"odd"},"conditions":[{"type":"Healthy","status":"Unknown","error":"why"}]}"#,
                r#"{"kind":"ComponentStatus","apiVersion":"v1","metadata":{"name":"scheduler"},"conditions":[{"type":"Healthy","status":"False","message":"refused"}]}"#,
            ]
        );
        assert_eq!(text(&statuses.get(&context, "odd").await.unwrap()), all[1]);
        let missing = statuses.get(&context, "nope").await.unwrap_err();
        assert_eq!(missing.message, r#"componentstatus "nope" not found"#);
    }
}
