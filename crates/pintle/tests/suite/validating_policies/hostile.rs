//! Policies that would cost too much.

use serde_json::json;

use super::{REGISTRATION, bind, constraints, create, denial, made};
use crate::support::shared::ready;
use crate::support::{Launch, Server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn server() -> Server {
    let server = Launch::new().start().await;
    ready(&server).await;
    server
}

/// Loops within loops, over ten items each.
fn loops(depth: usize) -> String {
    let items = "[0,1,2,3,4,5,6,7,8,9]";
    let open: String = (0..depth).map(|number| format!("{items}.all(x{number}, ")).collect();
    format!("{open}true{}", ")".repeat(depth))
}

#[tokio::test]
async fn evaluations_end_at_their_cost() {
    let server = server().await;
    let spec = json!({
        "matchConstraints": constraints(&["/v1/configmaps"]), "validations": [{"expression": loops(9)}],
    });
    bind(&server, "one", spec, json!({})).await;
    let started = std::time::Instant::now();
    let denied = create(&server, MAPS, &json!({"metadata": {"name": "m"}})).await;
    assert!(
        denial(&denied).ends_with("resulted in error: operation cancelled: actual cost limit exceeded"),
        "{denied:?}"
    );
    assert!(started.elapsed().as_secs() < 20);
}

#[tokio::test]
async fn the_costs_of_a_policy_add_up() {
    let server = server().await;
    let variables: Vec<_> =
        (0..40).map(|number| json!({"name": format!("v{number}"), "expression": loops(5)})).collect();
    let all: Vec<String> = (0..40).map(|number| format!("variables.v{number}")).collect();
    let spec = json!({
        "matchConstraints": constraints(&["/v1/configmaps"]), "variables": variables,
        "validations": [{"expression": all.join(" && ")}],
    });
    bind(&server, "all", spec, json!({})).await;
    let denied = create(&server, MAPS, &json!({"metadata": {"name": "m"}})).await;
    assert_eq!(
        denial(&denied),
        "validation failed due to running out of cost budget, no further validation rules will be run"
    );
}

#[tokio::test]
async fn messages_and_variables_cannot_run_away() {
    let server = server().await;
    // Each variable doubles the one before.
    let mut variables = vec![json!({"name": "v0", "expression": "'xxxxxxxxxx'"})];
    variables.extend((1..40).map(|number| {
        let before = number - 1;
        json!({"name": format!("v{number}"), "expression": format!("variables.v{before} + variables.v{before}")})
    }));
    let spec = json!({
        "matchConstraints": constraints(&["/v1/configmaps"]), "variables": variables,
        "validations": [{"expression": "object.metadata.name != 'm'", "messageExpression": "variables.v39", "message": "named m"}],
    });
    bind(&server, "doubled", spec, json!({})).await;
    let denied = create(&server, MAPS, &json!({"metadata": {"name": "m"}})).await;
    let why = denial(&denied);
    assert!(
        why == "named m" || why.starts_with("failed messageExpression: validation failed due to running out"),
        "{why}"
    );
    made(&server, MAPS, &json!({"metadata": {"name": "other"}})).await;
}

#[tokio::test]
async fn expressions_that_cannot_be_compiled_are_refused() {
    let server = server().await;
    let path = format!("{REGISTRATION}/validatingadmissionpolicies");
    let policy = |expression: &str| {
        json!({"metadata": {"name": "p"}, "spec": {
            "matchConstraints": constraints(&["/v1/configmaps"]), "validations": [{"expression": expression}],
        }})
    };
    let deep = format!("{}true{}", "(".repeat(5000), ")".repeat(5000));
    for (expression, why) in [
        (deep.as_str(), "expression recursion limit exceeded"),
        ("object.a +", "Syntax error"),
        ("variables.a", "undeclared reference to 'variables'"),
        ("'a'.matches('[')", "invalid matches argument"),
    ] {
        let refused = create(&server, &path, &policy(expression)).await;
        refused.code_is(422);
        let message = refused.json()["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(why), "{message}");
    }
}

#[tokio::test]
async fn large_parameters_and_many_policies_are_served() {
    let server = server().await;
    let big = "x".repeat(900_000);
    made(&server, MAPS, &json!({"metadata": {"name": "big"}, "data": {"big": big}})).await;
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "matchConstraints": constraints(&["/v1/configmaps"]),
        "validations": [{"expression": "params.data.big.contains('y') || params.data.big.matches('(x+x+)+y')"}],
    });
    bind(&server, "big", spec, json!({"paramRef": {"name": "big", "parameterNotFoundAction": "Deny"}})).await;
    let started = std::time::Instant::now();
    create(&server, MAPS, &json!({"metadata": {"name": "m"}})).await.code_is(422);
    assert!(started.elapsed().as_secs() < 20);
    for number in 0..100 {
        let spec = json!({
            "matchConstraints": constraints(&["/v1/secrets"]),
            "validations": [{"expression": format!("object.metadata.name != 's{number}'")}],
        });
        bind(&server, &format!("p{number}"), spec, json!({})).await;
        let named = json!({"metadata": {"name": format!("s{number}")}});
        create(&server, "/api/v1/namespaces/default/secrets", &named).await.code_is(422);
    }
    made(&server, "/api/v1/namespaces/default/secrets", &json!({"metadata": {"name": "s"}})).await;
}
