//! SelfSubjectRulesReview: lists the caller's permissions in a namespace.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_auth::Authorizer;
use pintle_auth::authorizer::Rules;
use pintle_meta::field_path::aggregate;
use pintle_meta::{Status, Value};
use pintle_registry::{Admission, Context, Result, Subresource, WriteOptions};
use serde_json::{Value as Json, json};
use smol_str::SmolStr;

use crate::framework::review::{decoded, requesting_user};

pub struct RulesReview {
    pub authorizer: Arc<dyn Authorizer>,
}

#[async_trait]
impl Subresource for RulesReview {
    async fn create(
        &self,
        context: &mut Context,
        _: &str,
        object: Value,
        admission: &dyn Admission,
        _: WriteOptions,
    ) -> Result<Option<Value>> {
        let namespace = object.text_at(&["spec", "namespace"]);
        if namespace.is_empty() {
            return Err(Box::new(Status::bad_request("no namespace on request")));
        }
        admission.create(&object).await?;
        let mut rules = Rules::default();
        self.authorizer.add_rules(&requesting_user(context), namespace, &mut rules).await;
        let answer = json!({
            "kind": object.kind(),
            "apiVersion": object.api_version(),
            "status": status(&rules),
        });
        decoded("authorization/v1.SelfSubjectRulesReview", &answer).map(Some)
    }
}

fn status(rules: &Rules) -> Json {
    let resources = rules.resources.iter().map(|rule| {
        let mut shown = json!({ "verbs": texts(&rule.verbs) });
        add(&mut shown, "apiGroups", &rule.groups);
        add(&mut shown, "resources", &rule.resources);
        add(&mut shown, "resourceNames", &rule.names);
        shown
    });
    let paths = rules.paths.iter().map(|rule| {
        let mut shown = json!({ "verbs": texts(&rule.verbs) });
        add(&mut shown, "nonResourceURLs", &rule.paths);
        shown
    });
    json!({
        "resourceRules": resources.collect::<Vec<Json>>(),
        "nonResourceRules": paths.collect::<Vec<Json>>(),
        "incomplete": rules.incomplete,
        "evaluationError": aggregate(&rules.errors),
    })
}

fn add(shown: &mut Json, name: &str, values: &[SmolStr]) {
    if !values.is_empty() {
        shown[name] = json!(texts(values));
    }
}

fn texts(values: &[SmolStr]) -> Vec<&str> {
    values.iter().map(SmolStr::as_str).collect()
}
