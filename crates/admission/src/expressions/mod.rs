//! Evaluation of expressions about requests: match conditions of webhooks, and everything that admission policies evaluate.
//!
//! An evaluation is synchronous, authorizers are not. So an evaluation that asks for checks whose decisions are not known yet is
//! repeated once they are: the first run collects them, the next finds them. Nearly every expression that asks does so once.
//!
//! ```text
//! compiled     compiles expressions, each once, and declares the variables of a policy
//! scope        evaluates them for one request: inputs, lazy variables, budgets
//! authorizer   the checks that they ask for
//! ```

mod authorizer;
mod compiled;
mod scope;

use std::sync::Arc;

use pintle_auth::Authorizer;
use pintle_cel::{ResourceCheck, Val};
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Object, Value};

pub(crate) use self::authorizer::Checks;
pub(crate) use self::compiled::{Compiler, Expression, PolicyCompiler, Uses, Variable, Wanted};
pub(crate) use self::scope::{Inputs, OutOfBudget, RequestAuthorizer, Scope};
use crate::attributes::{Attributes, Versioned};

/// The reference's budget of all match conditions of one webhook or policy, in units of cost.
pub(crate) const MATCH_CONDITIONS_BUDGET: u64 = 2_500_000;

/// Bytes of JSON whose processing takes as long as compiling a byte of an expression.
pub(crate) const COMPILED_BYTE: usize = 32;

/// Runs of one evaluation. Each finds at least one new check, and the budget allows only for a few.
const MOST_RUNS: usize = 64;

/// The variables of one evaluation.
pub(crate) struct Variables {
    object: Value,
    old_object: Value,
    request: Value,
    namespace: Value,
    request_resource: ResourceCheck,
    checks: Arc<Checks>,
}

impl Variables {
    /// Makes the variables of a request whose objects are seen as `versioned`, of `kind`. Without `namespace`,
    /// `namespaceObject` is null.
    pub(crate) fn new(
        attributes: &Attributes<'_>,
        versioned: &Versioned,
        kind: &GroupVersionKind,
        namespace: Option<Value>,
        authorizer: Arc<dyn Authorizer>,
    ) -> Variables {
        let resource = &attributes.target().resource;
        Variables {
            object: versioned.object().cloned().unwrap_or_default(),
            old_object: versioned.old_object().cloned().unwrap_or_default(),
            request: request(attributes, kind, resource),
            namespace: namespace.unwrap_or_default(),
            request_resource: request_resource(attributes),
            checks: Arc::new(Checks::new(attributes.request.user.clone(), authorizer)),
        }
    }

    /// Evaluates expressions one after the other within one budget. Each has a value or an error of its own; running out of the
    /// budget is an error of all.
    pub(crate) async fn evaluate(
        &self,
        expressions: &[&Expression],
        budget: u64,
    ) -> Result<Vec<Result<bool, String>>, String> {
        for _ in 0..MOST_RUNS {
            let results = pintle_work::run(|| self.evaluate_once(expressions, budget)).await;
            if !self.checks.decide_pending().await {
                return results;
            }
        }
        Err("too many authorization checks in one expression".into())
    }

    fn evaluate_once(
        &self,
        expressions: &[&Expression],
        mut budget: u64,
    ) -> Result<Vec<Result<bool, String>>, String> {
        let authorizer =
            RequestAuthorizer { authorizer: self.checks.clone(), resource: self.request_resource.clone() };
        let inputs = Inputs {
            object: Some(&self.object),
            old_object: Some(&self.old_object),
            params: None,
            request: &self.request,
            namespace: Some(&self.namespace),
            authorizer: Some(&authorizer),
        };
        let scope = Scope::new(&[], &inputs);
        let evaluate = |expression: &&Expression| match scope.evaluate(expression, &mut budget) {
            Ok(result) => Ok(result.map(|value| matches!(value, Val::Bool(true)))),
            Err(OutOfBudget) => Err(OutOfBudget::MESSAGE.to_owned()),
        };
        expressions.iter().map(evaluate).collect()
    }
}

/// Returns the resource of `authorizer.requestResource`.
pub(crate) fn request_resource(attributes: &Attributes<'_>) -> ResourceCheck {
    let target = attributes.target();
    ResourceCheck {
        group: target.resource.group.clone(),
        resource: target.resource.resource.clone(),
        subresource: target.subresource.clone(),
        namespace: attributes.namespace().to_owned(),
        name: attributes.name().to_owned(),
        ..ResourceCheck::default()
    }
}

/// Returns the variable `request`: an AdmissionRequest without UID and objects. As in JSON, what is empty is missing.
pub(crate) fn request(
    attributes: &Attributes<'_>,
    kind: &GroupVersionKind,
    resource: &GroupVersionResource,
) -> Value {
    let target = attributes.target();
    let of_kind = |kind: &GroupVersionKind| {
        Object::from_iter([
            ("group", kind.group.as_str()),
            ("version", kind.version.as_str()),
            ("kind", kind.kind.as_str()),
        ])
    };
    let of_resource = |resource: &GroupVersionResource| {
        Object::from_iter([
            ("group", resource.group.as_str()),
            ("version", resource.version.as_str()),
            ("resource", resource.resource.as_str()),
        ])
    };
    let mut request = Object::new();
    request.insert("kind", of_kind(kind));
    request.insert("resource", of_resource(resource));
    request.insert("requestKind", of_kind(&target.kind));
    request.insert("requestResource", of_resource(&target.resource));
    for (field, text) in [
        ("subResource", target.subresource.as_str()),
        ("requestSubResource", target.subresource.as_str()),
        ("name", attributes.name()),
        ("namespace", attributes.namespace()),
    ] {
        if !text.is_empty() {
            request.insert(field, text);
        }
    }
    request.insert("operation", attributes.operation.as_str());
    request.insert("userInfo", user_info(attributes));
    request.insert("dryRun", attributes.request.dry_run);
    request.insert("options", attributes.options().unwrap_or_default());
    request.into()
}

/// Returns the user of a request as an object. As in JSON, what is empty is missing.
pub(crate) fn user_info(attributes: &Attributes<'_>) -> Object {
    let user = &attributes.request.user;
    let list = |items: &[String]| items.iter().map(Value::string).collect::<Vec<_>>();
    let mut info = Object::new();
    for (field, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info.insert(field, text.as_str());
        }
    }
    if !user.groups.is_empty() {
        info.insert("groups", list(&user.groups));
    }
    if !user.extra.is_empty() {
        let extra = user.extra.iter().map(|(key, values)| (key.as_str(), Value::list(list(values))));
        info.insert("extra", extra.collect::<Object>());
    }
    info
}
