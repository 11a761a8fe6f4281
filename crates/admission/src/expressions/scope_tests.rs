use pintle_cel::{Check, Decision};
use pintle_registry::testing::object;

use super::super::compiled::{Compiler, PolicyCompiler, Wanted};
use super::*;
use crate::policies::VALIDATION_BUDGET;

/// Evaluates expressions one after the other with variables, and returns their results and what is left of the budget.
fn evaluated(variables: &[(&str, &str)], expressions: &[&str], budget: u64) -> (Vec<String>, Option<u64>) {
    let compiler = Compiler::default();
    let mut policy = PolicyCompiler::new(&compiler, true);
    for (name, text) in variables {
        policy.variable(name, text);
    }
    let expressions: Vec<_> =
        expressions.iter().map(|text| policy.expression(text, Wanted::Anything, true)).collect();
    let (variables, _) = policy.finish();
    let (new, old) = (object(r#"{"a":1,"list":["x","y"],"text":"abc"}"#), object(r#"{"a":0}"#));
    let namespace = object(
        r#"{"metadata":{"name":"n","creationTimestamp":"2024-01-01T00:00:00Z","uid":"u"},"status":{"phase":"Active"}}"#,
    );
    let request = object(r#"{"operation":"CREATE","namespace":"n"}"#);
    let inputs = Inputs {
        object: Some(&new),
        old_object: Some(&old),
        params: None,
        request: &request,
        namespace: Some(&namespace),
        authorizer: None,
    };
    let scope = Scope::new(&variables, &inputs);
    let (mut left, mut results) = (budget, Vec::new());
    for expression in &expressions {
        match scope.evaluate(expression, &mut left) {
            Ok(Ok(value)) => results.push(value.to_string()),
            Ok(Err(error)) => results.push(error),
            Err(OutOfBudget) => return (results, None),
        }
    }
    (results, Some(left))
}

fn one(variables: &[(&str, &str)], expression: &str) -> String {
    evaluated(variables, &[expression], VALIDATION_BUDGET).0.remove(0)
}

#[test]
fn variables_read_inputs_and_earlier_variables() {
    let variables = [("a", "object.a"), ("b", "variables.a + 1"), ("c", "object.list.size() + variables.b")];
    assert_eq!(one(&variables, "variables.c + oldObject.a"), "4");
    assert_eq!(one(&variables, "variables.b > variables.a ? request.operation : ''"), "CREATE");
    assert_eq!(one(&variables, "has(variables.a)"), "true");
    assert_eq!(one(&[], "params == null"), "true");
    assert_eq!(one(&[], "namespaceObject.metadata.name"), "n");
}

#[test]
fn errors_of_variables_reach_the_expressions_that_read_them() {
    let variables =
        [("bad", "object.nope"), ("worse", "variables.bad + 1"), ("late", "variables.later"), ("later", "1")];
    assert_eq!(
        one(&variables, "variables.worse == 1"),
        "expression 'variables.worse == 1' resulted in error: composited variable \"worse\" fails to evaluate: composited \
         variable \"bad\" fails to evaluate: no such key: nope"
    );
    assert_eq!(one(&variables, "true || variables.worse == 1"), "true");
    let late = one(&variables, "variables.late == 1");
    let start = "expression 'variables.late == 1' resulted in error: composited variable \"late\" fails to compile: compilation \
                 failed: ERROR: <input>:1:10: undefined field 'later'";
    assert!(late.starts_with(start), "{late}");
    let compile = one(&[], "object.a +");
    assert!(compile.starts_with("compilation error: compilation failed: ERROR: "), "{compile}");
    assert_eq!(
        one(&[], "authorizer.path('/').check('get').allowed()"),
        "expression 'authorizer.path('/').check('get').allowed()' resulted in error: no such attribute(s): authorizer"
    );
}

#[test]
fn declared_types_of_inputs_do_not_change_their_values() {
    assert_eq!(one(&[], "type(namespaceObject.metadata.creationTimestamp) == string"), "true");
    let absent = one(&[], "namespaceObject.metadata.UID");
    assert!(absent.ends_with("no such key: UID"), "{absent}");
}

#[test]
fn a_variable_is_charged_once_to_the_expression_that_reads_it_first() {
    let cost = |variables: &[(&str, &str)], expressions: &[&str]| {
        let (results, left) = evaluated(variables, expressions, VALIDATION_BUDGET);
        assert_eq!(results.len(), expressions.len());
        VALIDATION_BUDGET - left.expect("a budget that is large enough")
    };
    let variable = [("sorted", "object.list.map(x, x + 'a')")];
    let alone = cost(&[], &[variable[0].1]);
    let reading = cost(&variable, &["variables.sorted.size() > 0"]) - alone;
    assert!(alone > 5 && reading < 5, "{alone} and {reading}");
    assert_eq!(cost(&variable, &["variables.sorted.size() > 0"; 3]), alone + 3 * reading);
    assert_eq!(cost(&variable, &["true"]), 0, "lazy");
    // One that fails is evaluated and charged once, too.
    let failing = [("bad", "object.list.all(x, x.nope == 1)")];
    let (first, second) = (cost(&failing, &["variables.bad"]), cost(&failing, &["variables.bad"; 2]));
    assert_eq!(second - first, 2);
}

#[test]
fn the_budget_of_several_expressions_is_bounded() {
    let (results, left) = evaluated(&[], &["object.a == 1", "object.a == 1"], 5);
    assert_eq!((results, left), (vec!["true".to_owned()], None));
    // The variable alone is over the budget.
    let (results, left) = evaluated(&[("v", "object.list.map(x, x + x)")], &["variables.v.size() > 1"], 9);
    assert_eq!((results.len(), left), (0, None));
    let loops = "[0,1,2,3,4,5,6,7,8,9]";
    let nested = format!(
        "{loops}.all(a, {loops}.all(b, {loops}.all(c, {loops}.all(d, {loops}.all(e, {loops}.all(f, true))))))"
    );
    assert_eq!(
        one(&[], &nested),
        format!("expression '{nested}' resulted in error: operation cancelled: actual cost limit exceeded")
    );
}

#[test]
fn an_authorizer_is_asked_for_the_resource_of_the_request() {
    #[derive(Debug)]
    struct Named;

    impl Authorizer for Named {
        fn check(&self, check: &Check) -> Decision {
            Decision { allowed: check.verb == "get", reason: format!("{:?}", check.what), error: None }
        }
    }

    let compiler = Compiler::default();
    let mut policy = PolicyCompiler::new(&compiler, false);
    let expression = policy.expression(
        "authorizer.requestResource.check('get').allowed() && !authorizer.path('/x').check('put').allowed()",
        Wanted::Bool,
        true,
    );
    assert!(expression.uses.authorizer);
    let resource =
        ResourceCheck { resource: "pods".into(), namespace: "n".into(), ..ResourceCheck::default() };
    let checks = RequestAuthorizer { authorizer: Arc::new(Named), resource };
    let request = object("{}");
    let inputs = Inputs {
        object: None,
        old_object: None,
        params: None,
        request: &request,
        namespace: None,
        authorizer: Some(&checks),
    };
    let scope = Scope::new(&[], &inputs);
    let mut budget = VALIDATION_BUDGET;
    let value = scope.evaluate(&expression, &mut budget).unwrap().unwrap();
    assert_eq!(value.as_bool(), Some(true));
    assert!(VALIDATION_BUDGET - budget > 700_000, "a check costs 350,000");
}

#[test]
fn the_deepest_variables_fit_a_small_stack() {
    let around = |before: &str, inside: &str, after: &str, depth: usize| {
        format!("{}{inside}{}", before.repeat(depth), after.repeat(depth))
    };
    // As many variables as can read each other, and few that are deep.
    let mut chain = vec![("v0".to_owned(), "1".to_owned())];
    chain.extend(
        (1..36).map(|number| (format!("v{number}"), format!("[variables.v{}].map(x, x + 1)[0]", number - 1))),
    );
    let deep = vec![
        ("v0".to_owned(), around("[", "1", "]", 100)),
        ("v1".to_owned(), around("[1].map(x, ", "variables.v0", ")", 30)),
    ];
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for variables in [chain, deep] {
            let mut evaluated_ones = 0;
            for (last, _) in &variables {
                let variables: Vec<(&str, &str)> =
                    variables.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                let result = one(&variables, &format!("[variables.{last}].size()"));
                evaluated_ones += usize::from(result == "1");
            }
            assert!(evaluated_ones >= 2, "{evaluated_ones}");
        }
    });
    worker.unwrap().join().unwrap();
}

#[test]
fn a_variable_is_found_by_its_place_and_not_by_a_search() {
    let compiler = Compiler::default();
    let mut policy = PolicyCompiler::new(&compiler, false);
    policy.variable("a", "1");
    policy.variable("b", "variables.a + 1");
    policy.variable("a", "'declared once'");
    policy.variable("c", "variables.b + 1");
    let (variables, _) = policy.finish();
    let request = object("{}");
    let inputs = Inputs {
        object: None,
        old_object: None,
        params: None,
        request: &request,
        namespace: None,
        authorizer: None,
    };
    let scope = Scope::new(&variables, &inputs);
    let read = |place: Option<usize>| Some(scope.field("any name", place)?.unwrap().to_string());
    assert_eq!(read(Some(2)).as_deref(), Some("3"));
    assert_eq!(read(Some(0)).as_deref(), Some("1"));
    assert_eq!((read(Some(3)), read(None)), (None, None));
}
