//! One mutation of a policy: an apply configuration or a JSON patch, evaluated and applied to an object.

use std::sync::Arc;

use pintle_cel::{Foreign, Map, Step, Unconvertible, Val};
use pintle_codec::json;
use pintle_meta::{Status, Value};
use pintle_patch::configuration::{self, Error};
use pintle_patch::fieldset::Element;
use pintle_patch::json_patch::{self, NewOperation, Patch};
use pintle_patch::typed::TypeRef;

use super::policy::MutatingPolicy;
use crate::expressions::{Expression, PolicyCompiler, Wanted};
use crate::expressions::{Inputs, OutOfBudget, Scope};

/// A compiled mutation.
#[derive(Debug)]
pub(crate) struct Mutation {
    patch_type: PatchType,
    expression: Arc<Expression>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchType {
    ApplyConfiguration,
    JsonPatch,
}

/// Reason why a mutation has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Denies the request unless failures of the policy are ignored.
    Policy(String),
    /// The answer of the request, whatever the failure policy.
    Request(Box<Status>),
}

/// The object that a mutation changes, in the version that the policy matched.
pub(crate) struct MutatedObject<'o> {
    pub(crate) object: &'o Value,
    /// The type by which configurations are merged.
    pub(crate) of: TypeRef<'o>,
    /// Reads the JSON of a patched object strictly.
    pub(crate) parse: &'o (dyn Fn(&[u8]) -> Result<Value, String> + Sync),
}

impl Mutation {
    /// Compiles a mutation; `None` if it is of an unknown type, which validation refuses.
    pub(super) fn compile(mutation: &Value, compiler: &mut PolicyCompiler<'_>) -> Option<Mutation> {
        let (patch_type, wanted, field) = match mutation.text_at(&["patchType"]) {
            "ApplyConfiguration" => {
                (PatchType::ApplyConfiguration, Wanted::ApplyConfiguration, "applyConfiguration")
            }
            "JSONPatch" => (PatchType::JsonPatch, Wanted::JsonPatch, "jsonPatch"),
            _ => return None,
        };
        let expression = mutation.at(&[field])?.text_at(&["expression"]);
        Some(Mutation { patch_type, expression: compiler.expression(expression, wanted, true) })
    }

    /// Evaluates the mutation and applies it. The result is the object without new defaults; `None` if it is unchanged since a
    /// test operation failed. Variables are evaluated anew for each mutation, since those before it have changed the object.
    pub(crate) fn apply(
        &self,
        policy: &MutatingPolicy,
        inputs: &Inputs<'_>,
        mutated: &MutatedObject<'_>,
        mut budget: u64,
    ) -> Result<Option<Value>, Failure> {
        if let Err(detail) = &self.expression.program {
            return Err(Failure::Policy(detail.clone()));
        }
        let scope = Scope::new(&policy.variables, inputs);
        let result = match scope.evaluate(&self.expression, &mut budget) {
            Ok(result) => result.map_err(Failure::Policy)?,
            Err(OutOfBudget) => return Err(Failure::Policy(OutOfBudget::MESSAGE.to_owned())),
        };
        match self.patch_type {
            PatchType::ApplyConfiguration => configure(&result, mutated).map(Some),
            PatchType::JsonPatch => {
                let patch = patch(&result).map_err(Failure::Policy)?;
                patched(&patch, mutated)
            }
        }
    }
}

/// Merges an apply configuration into the object.
fn configure(result: &Val<'_>, mutated: &MutatedObject<'_>) -> Result<Value, Failure> {
    let Val::Map(Map::Fields { .. }) = result else {
        let of = result.type_of();
        let name = of.runtime_name();
        return Err(Failure::Policy(format!(
            "unsupported return type from ApplyConfiguration expression: {name}"
        )));
    };
    result.check_type_names().map_err(|why| Failure::Policy(format!("type mismatch: {why}")))?;
    let refused = |error: Error| match error {
        Error::Refused(why) => Failure::Policy(format!("error applying patch: {why}")),
        Error::Unconvertible(why) => Failure::Policy(why),
    };
    let mut config = match result.to_configuration() {
        Ok(config) => config,
        Err(Unconvertible::Foreign(foreign)) => return Err(refused(refuse(mutated.of, &foreign))),
        Err(Unconvertible::Key) => {
            return Err(Failure::Policy("invalid return type: *dynamic.ObjectVal".to_owned()));
        }
        Err(Unconvertible::TooLarge) => {
            return Err(Failure::Policy("the ApplyConfiguration is too large".to_owned()));
        }
    };
    if let Some(fields) = config.as_object_mut() {
        fields.insert("kind", mutated.object.kind());
        fields.insert("apiVersion", mutated.object.api_version());
    }
    configuration::merge(mutated.of, mutated.object, &config).map_err(refused)
}

fn refuse(of: TypeRef<'_>, foreign: &Foreign) -> Error {
    let element = |step: &Step| match step {
        Step::Field(name) => Element::field(name.as_str()),
        Step::Index(index) => Element::Index(*index as i64),
    };
    let path: Vec<Element> = foreign.path.iter().map(element).collect();
    let Foreign { go_type, source, display, .. } = foreign;
    configuration::refuse(of, &configuration::Foreign { path: &path, go_type, source, display })
}

/// Returns the patch that an expression evaluated to.
fn patch(result: &Val<'_>) -> Result<Patch, String> {
    let Val::List(list) = result else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut operations = Vec::with_capacity(list.len());
    for index in 0..list.len() {
        let item = list.get(index).map_err(|error| error.to_string())?;
        let Val::Map(Map::Fields { fields, .. }) = &item else {
            return Err(
                "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch".to_owned()
            );
        };
        let text = |name: &str| fields.get(name).and_then(Val::as_str).unwrap_or_default().to_owned();
        let value = match fields.get("value") {
            None => Value::NULL,
            Some(value) => {
                value.check_type_names().map_err(|why| format!("type mismatch: {why}"))?;
                value.to_patch_value().map_err(|why| {
                    format!(
                        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
                    )
                })?
            }
        };
        operations.push(NewOperation { op: text("op"), path: text("path"), from: text("from"), value });
    }
    Ok(Patch::new(operations))
}

/// Applies a patch to the object; `None` if a test operation of it failed.
fn patched(patch: &Patch, mutated: &MutatedObject<'_>) -> Result<Option<Value>, Failure> {
    let document = match patch.apply(mutated.object.clone()) {
        Ok(document) => document,
        Err(json_patch::Error::Test(_)) => return Ok(None),
        Err(error) => return Err(Failure::Policy(format!("JSON Patch: {error}"))),
    };
    let mut text = Vec::new();
    json::encode(&document, &mut text);
    let read = (mutated.parse)(&text);
    read.map(Some).map_err(|why| Failure::Request(Box::new(Status::internal(why))))
}

#[cfg(test)]
#[path = "properties.rs"]
mod properties;
