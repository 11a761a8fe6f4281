use pintle_meta::{Reason, Value};
use pintle_registry::testing::object;

use super::*;
use crate::expressions::Compiler;
use crate::expressions::Inputs;
use crate::policies::VALIDATION_BUDGET;
use crate::policies::source::Compiled;

/// A policy of JSON with single quotes for double ones, and the inputs of its evaluation.
struct Case {
    policy: Value,
    params: Option<Value>,
    budget: u64,
}

fn case(spec: &str) -> Case {
    let policy = object(&format!("{{\"metadata\":{{\"name\":\"p\"}},\"spec\":{}}}", spec.replace('`', "\"")));
    Case { policy, params: None, budget: VALIDATION_BUDGET }
}

impl Case {
    fn params(mut self, json: &str) -> Case {
        self.params = Some(object(json));
        self
    }

    fn run(self) -> Evaluated {
        let compiled = ValidatingPolicy::compile(&self.policy, &Compiler::default());
        let new = object(r#"{"a":1,"name":"x","long":["a","b","c","d"]}"#);
        let request = object(r#"{"operation":"CREATE"}"#);
        let inputs = Inputs {
            object: Some(&new),
            old_object: None,
            params: self.params.as_ref(),
            request: &request,
            namespace: None,
            authorizer: None,
        };
        compiled.evaluate(&inputs, &inputs, self.budget)
    }

    /// Runs the policy, and returns its verdicts with their messages.
    fn decisions(self) -> Vec<(Verdict, String)> {
        self.run().decisions.into_iter().map(|decision| (decision.verdict, decision.message)).collect()
    }
}

fn decided(spec: &str) -> Vec<(Verdict, String)> {
    case(spec).decisions()
}

fn admitted() -> (Verdict, String) {
    (Verdict::Admit, String::new())
}

fn denied(message: &str) -> (Verdict, String) {
    (Verdict::Deny, message.to_owned())
}

#[test]
fn each_validation_has_a_decision() {
    let spec = "{`validations`:[{`expression`:`object.a == 1`},{`expression`:` object.a == 2 `},{`expression`:`oldObject == \
                null`}]}";
    assert_eq!(decided(spec), [admitted(), denied("failed expression: object.a == 2"), admitted()]);
    assert_eq!(decided("{}"), []);
    let reasons = |reason: &str| {
        let spec = format!("{{`validations`:[{{`expression`:`false`,`reason`:`{reason}`}}]}}");
        case(&spec).run().decisions[0].reason
    };
    for reason in ["Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"] {
        assert_eq!(format!("{:?}", reasons(reason)), reason);
    }
    assert_eq!(case("{`validations`:[{`expression`:`false`}]}").run().decisions[0].reason, Reason::Invalid);
}

#[test]
fn a_message_is_the_expression_s_then_the_fixed_one_then_the_expression() {
    let message = |rest: &str| {
        let spec = format!("{{`validations`:[{{`expression`:`object.a == 2`{rest}}}]}}");
        decided(&spec).remove(0).1
    };
    assert_eq!(message(",`message`:` fixed `"), "fixed");
    let with = |expression: &str| message(&format!(",`message`:`fixed`,`messageExpression`:`{expression}`"));
    assert_eq!(with("'a is ' + string(object.a)"), "a is 1");
    assert_eq!(with("'  spaces\\\\t'"), "spaces");
    for unusable in [
        "'  '",
        "''",
        "'two\\\\nlines'",
        "object.nope",
        "string(object.nope)",
        "1 + 1",
        "authorizer.path('/').check('get').reason()",
    ] {
        assert_eq!(with(unusable), "fixed", "{unusable}");
    }
    let long = |length: usize| with(&format!("'{}'", "x".repeat(length)));
    assert_eq!((long(5120).len(), long(5121).as_str()), (5120, "fixed"));
    assert_eq!(message(",`messageExpression`:`object.nope`"), "failed expression: object.a == 2");
    // Line breaks around a message are no reason.
    assert_eq!(with("'\\\\nx\\\\n'"), "x");
}

#[test]
fn failures_deny_or_are_ignored() {
    let spec = |policy: &str| {
        format!(
            "{{`failurePolicy`:`{policy}`,`validations`:[{{`expression`:`object.nope == 1`}},{{`expression`:`object.a`}},{{`expression`:`object.a == 2`}}]}}"
        )
    };
    let nope = "expression 'object.nope == 1' resulted in error: no such key: nope".to_owned();
    let of_dyn = "compilation error: must evaluate to bool but got dyn".to_owned();
    let third = denied("failed expression: object.a == 2");
    assert_eq!(
        decided(&spec("Fail")),
        [(Verdict::Error, nope.clone()), (Verdict::Error, of_dyn.clone()), third.clone()]
    );
    assert_eq!(
        decided(&spec("Ignore")),
        [(Verdict::IgnoredError, nope), (Verdict::IgnoredError, of_dyn), third]
    );
    let types: Vec<_> = case(&spec("Fail")).run().decisions.iter().map(Decision::error_type).collect();
    assert_eq!(types, ["invalid_error", "compile_error", "invalid_error"]);
}

#[test]
fn all_match_conditions_must_be_true() {
    let run = |policy: &str, conditions: &[&str]| {
        let conditions: Vec<_> =
            conditions.iter().map(|text| format!("{{`name`:`c`,`expression`:`{text}`}}")).collect();
        let conditions = conditions.join(",");
        case(&format!(
            "{{`failurePolicy`:`{policy}`,`matchConditions`:[{conditions}],`variables`:[{{`name`:`v`,`expression`:`object.a`}}],`validations`:[{{`expression`:`false`}}]}}"
        ))
        .run()
    };
    let decisions = |evaluated: Evaluated| -> Vec<(Verdict, String)> {
        evaluated.decisions.into_iter().map(|decision| (decision.verdict, decision.message)).collect()
    };
    let reached = [denied("failed expression: false")];
    assert_eq!(decisions(run("Fail", &["object.a == 1", "request.operation == 'CREATE'"])), reached);
    assert_eq!(decisions(run("Fail", &["variables.v == 1"])), reached, "they see variables");
    assert_eq!(decisions(run("Fail", &["true", "false"])), []);
    assert_eq!(decisions(run("Fail", &["object.nope", "object.nope == 1", "false"])), [], "false decides");
    let failing = run("Fail", &["object.nope == 1", "true", "object.nope == 1", "object.no == 2"]);
    assert_eq!(failing.conditions.unwrap().failures, 3);
    let message = "[expression 'object.nope == 1' resulted in error: no such key: nope, expression 'object.no == 2' resulted in \
                   error: no such key: no]";
    assert_eq!(decisions(failing), [(Verdict::Error, message.to_owned())]);
    let ignored = run("Ignore", &["object.nope == 1"]);
    assert!(ignored.conditions.unwrap().not_matched_after.is_some());
    assert_eq!(decisions(ignored), []);
    assert_eq!(run("Fail", &["true"]).conditions.unwrap().not_matched_after, None);
    let loops = "[0,1,2,3,4,5,6,7,8,9]";
    let costly =
        format!("{loops}.all(a, {loops}.all(b, {loops}.all(c, {loops}.all(d, {loops}.all(e, true)))))");
    let spent = run("Fail", &[costly.as_str(); 12]);
    assert_eq!(decisions(spent), [(Verdict::Error, OUT_OF_BUDGET.to_owned())]);
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

#[test]
fn the_budget_is_of_all_validations_and_then_of_messages() {
    let mut all = case(
        "{`validations`:[{`expression`:`object.a == 1`},{`expression`:`object.a == 1`}],`auditAnnotations`:[{`key`:`k`,`valueExpression`:`'v'`}]}",
    );
    all.budget = 3;
    let run = all.run();
    assert_eq!(run.decisions.len(), 1);
    assert_eq!(run.decisions[0].error_type(), "out_of_budget");
    assert_eq!((run.decisions[0].message.as_str(), run.annotations.len()), (OUT_OF_BUDGET, 0));
    // The message of a validation that is true.
    let mut message = case(
        "{`validations`:[{`expression`:`object.a == 1`,`messageExpression`:`string(object.name) + 'x'`}]}",
    );
    message.budget = 4;
    let text = format!("failed messageExpression: {OUT_OF_BUDGET}");
    assert_eq!(message.decisions(), [(Verdict::Error, text)]);
    // Audit annotations have the whole budget again.
    let mut annotated = case(
        "{`validations`:[{`expression`:`object.a == 1`}],`auditAnnotations`:[{`key`:`k`,`valueExpression`:`string(object.name)`}]}",
    );
    annotated.budget = 3;
    let run = annotated.run();
    assert_eq!(run.annotations, [Annotation::Publish { key: "k".into(), value: "x".into() }]);
    let mut spent = case(
        "{`validations`:[{`expression`:`true`}],`auditAnnotations`:[{`key`:`k`,`valueExpression`:`string(object.name) + 'x'`}]}",
    );
    spent.budget = 2;
    assert_eq!(spent.decisions(), [(Verdict::Error, OUT_OF_BUDGET.to_owned())]);
}

#[test]
fn audit_annotations_are_texts_or_null() {
    let annotation = |policy: &str, expression: &str| {
        let spec = format!(
            "{{`failurePolicy`:`{policy}`,`auditAnnotations`:[{{`key`:`k`,`valueExpression`:`{expression}`}}]}}"
        );
        let mut run = case(&spec).run();
        assert_eq!(run.decisions, []);
        run.annotations.remove(0)
    };
    let publish = |value: &str| Annotation::Publish { key: "k".into(), value: value.into() };
    assert_eq!(annotation("Fail", "' v '"), publish("v"));
    assert_eq!(annotation("Fail", "object.a > 0 ? 'many' : 'none'"), publish("many"));
    for excluded in ["null", "''", "'  '"] {
        assert_eq!(annotation("Fail", excluded), Annotation::Exclude, "{excluded}");
    }
    let Annotation::Error { message, .. } = annotation("Fail", "'x' + object.nope") else {
        panic!("an error")
    };
    assert_eq!(message, "expression ''x' + object.nope' resulted in error: no such key: nope");
    assert_eq!(annotation("Ignore", "'x' + object.nope"), Annotation::Exclude);
    let Annotation::Error { message, .. } = annotation("Fail", "1") else { panic!("an error") };
    assert_eq!(message, "compilation error: must evaluate to one of [string null_type] but got int");
}

#[test]
fn params_are_null_where_a_binding_has_none() {
    let spec = "{`paramKind`:{`apiVersion`:`v1`,`kind`:`ConfigMap`},`validations`:[{`expression`:`params == null || params.data.most == \
                '1'`}]}";
    assert_eq!(decided(spec), [admitted()]);
    assert_eq!(case(spec).params(r#"{"data":{"most":"1"}}"#).decisions(), [admitted()]);
    assert_eq!(case(spec).params(r#"{"data":{"most":"2"}}"#).decisions()[0].0, Verdict::Deny);
    let without_kind = decided("{`validations`:[{`expression`:`params == null`}]}");
    assert!(without_kind[0].1.contains("undeclared reference to 'params'"), "{without_kind:?}");
}
