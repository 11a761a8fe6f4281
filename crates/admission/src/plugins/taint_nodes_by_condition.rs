//! `TaintNodesByCondition`: taints every new node as not ready, until the node controller has seen that it is.

use async_trait::async_trait;
use pintle_meta::Value;
use pintle_schema::{find, normal};

use crate::Result;
use crate::attributes::{Attributes, Operation, Target};
use crate::plugin::Plugin;

const KEY: &str = "node.kubernetes.io/not-ready";
const EFFECT: &str = "NoSchedule";

pub(crate) struct TaintNodesByCondition;

#[async_trait]
impl Plugin for TaintNodesByCondition {
    fn name(&self) -> &'static str {
        "TaintNodesByCondition"
    }

    fn admits(&self, operation: Operation, target: &Target) -> bool {
        operation == Operation::Create
            && target.subresource.is_empty()
            && target.resource.group.is_empty()
            && target.resource.resource == "nodes"
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        let Some(node) = attributes.object_mut() else { return Ok(()) };
        let is_there = |taint: &Value| (taint.text_at(&["key"]), taint.text_at(&["effect"])) == (KEY, EFFECT);
        if node.items_at(&["spec", "taints"]).iter().any(is_there) {
            return Ok(());
        }
        let Some(spec) = node.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
        let taints = spec.get_or_insert_with("taints", || Value::list(Vec::new()));
        if let Some(taints) = taints.as_list_mut() {
            taints.extend(not_ready());
        }
        Ok(())
    }
}

fn not_ready() -> Option<Value> {
    let mut taint = normal::zero_struct(find("core/v1.Taint")?.structure()?);
    let fields = taint.as_object_mut()?;
    fields.insert("key", KEY);
    fields.insert("effect", EFFECT);
    Some(taint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{create, text};

    async fn tainted(node: &str) -> String {
        let node = create("nodes").json(node).run(&TaintNodesByCondition).await.object();
        text(node.get("spec").expect("a spec"))
    }

    #[tokio::test]
    async fn a_new_node_is_tainted_once() {
        let not_ready = r#"{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}"#;
        assert_eq!(tainted("{}").await, format!(r#"{{"taints":[{not_ready}]}}"#));
        let other = r#"{"key":"a","value":"b","effect":"NoExecute"}"#;
        let spec = format!(r#"{{"taints":[{other}]}}"#);
        let expected = format!(r#"{{"taints":[{other},{not_ready}]}}"#);
        assert_eq!(tainted(&format!(r#"{{"spec":{spec}}}"#)).await, expected);
        assert_eq!(tainted(&format!(r#"{{"spec":{expected}}}"#)).await, expected);
    }
}
