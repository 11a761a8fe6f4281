//! Evaluation of expressions about requests: match conditions of webhooks, and everything that admission policies evaluate.
//!
//! An evaluation is synchronous, authorizers are not. So an evaluation that asks for checks whose decisions are not known yet is
//! repeated once they are: the first run collects them, the next finds them. Nearly every expression that asks does so once.

mod authorizer;

use std::sync::Arc;

use pintle_auth::Authorizer;
use pintle_cel::{
    Activation, AdmissionVariables, Budget, Environment, Program, ResourceCheck, Type, Val, admission,
};
use pintle_meta::gvk::{GroupVersionKind, GroupVersionResource};
use pintle_meta::{Object, Value};

pub(crate) use self::authorizer::Checks;
use crate::attributes::{Attributes, Versioned};

/// The reference's budget of all match conditions of one webhook or policy, in units of cost.
pub(crate) const MATCH_CONDITIONS_BUDGET: u64 = 2_500_000;

/// Runs of one evaluation. Each finds at least one new check, and the budget allows only for a few.
const MOST_RUNS: usize = 64;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// An expression with its text; the error is for requests that need it.
#[derive(Debug)]
pub(crate) struct Expression {
    text: String,
    program: Result<Program, String>,
}

impl Expression {
    /// Compiles an expression that must be of a type.
    pub(crate) fn compile(text: &str, has: AdmissionVariables, wanted: &Type) -> Expression {
        Expression { text: text.to_owned(), program: compiled(text, has, wanted) }
    }
}

fn compiled(text: &str, has: AdmissionVariables, wanted: &Type) -> Result<Program, String> {
    let environment = Environment::new(admission(has, None));
    let expression = environment.check(text).map_err(|error| format!("compilation failed: {error}"))?;
    let of = expression.result_type();
    if of != *wanted {
        let (wanted, got) = (wanted.declared_name(), of.declared_name());
        return Err(format!("must evaluate to {wanted} but got {got}"));
    }
    expression.program().map_err(|error| format!("program instantiation failed: {error}"))
}

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
        let authorizer: Arc<dyn pintle_cel::Authorizer> = self.checks.clone();
        let activation = Activation::new()
            .bind("object", &self.object)
            .bind("oldObject", &self.old_object)
            .bind("request", &self.request)
            .bind("namespaceObject", &self.namespace)
            .bind_val("authorizer", pintle_cel::authorizer(authorizer.clone()))
            .bind_val(
                "authorizer.requestResource",
                pintle_cel::resource_check(authorizer, self.request_resource.clone()),
            );
        let mut results = Vec::with_capacity(expressions.len());
        for expression in expressions {
            let program = match &expression.program {
                Ok(program) => program,
                Err(why) => {
                    results.push(Err(format!("compilation error: {why}")));
                    continue;
                }
            };
            let evaluation = program.evaluate(&activation, Budget::PER_CALL);
            budget = budget.checked_sub(evaluation.cost).ok_or(OUT_OF_BUDGET)?;
            results.push(match evaluation.value {
                Ok(value) => Ok(matches!(value, Val::Bool(true))),
                Err(error) => Err(format!("expression '{}' resulted in error: {error}", expression.text)),
            });
        }
        Ok(results)
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
