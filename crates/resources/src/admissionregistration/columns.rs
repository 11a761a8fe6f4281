//! The columns of webhook configurations and admission policies.

use pintle_meta::Value;

use crate::framework::columns::{AGE, Columns, Context, NAME, cell, integer, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "MutatingAdmissionPolicy" => &MUTATING_POLICY,
        "MutatingAdmissionPolicyBinding" => &MUTATING_POLICY_BINDING,
        "MutatingWebhookConfiguration" => &MUTATING_WEBHOOKS,
        "ValidatingAdmissionPolicy" => &VALIDATING_POLICY,
        "ValidatingAdmissionPolicyBinding" => &VALIDATING_POLICY_BINDING,
        "ValidatingWebhookConfiguration" => &VALIDATING_WEBHOOKS,
        _ => return None,
    })
}

static MUTATING_WEBHOOKS: Columns = Columns::new(
    "admissionregistration/v1.MutatingWebhookConfiguration",
    &[
        NAME,
        integer("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"),
        AGE,
    ],
    webhooks,
);

static VALIDATING_WEBHOOKS: Columns = Columns::new(
    "admissionregistration/v1.ValidatingWebhookConfiguration",
    &[
        NAME,
        integer("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"),
        AGE,
    ],
    webhooks,
);

static VALIDATING_POLICY: Columns = Columns::new(
    "admissionregistration/v1.ValidatingAdmissionPolicy",
    &[
        NAME,
        integer(
            "Validations",
            "Validations indicates the number of validation rules defined in this configuration",
        ),
        text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy"),
        AGE,
    ],
    |object, context, cells| policy(object, "validations", context, cells),
);

static MUTATING_POLICY: Columns = Columns::new(
    "admissionregistration/v1beta1.MutatingAdmissionPolicy",
    &[
        NAME,
        integer(
            "Mutations",
            "Mutation indicates the number of mutations rules defined in this configuration",
        ),
        text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy"),
        AGE,
    ],
    |object, context, cells| policy(object, "mutations", context, cells),
);

static VALIDATING_POLICY_BINDING: Columns = Columns::new(
    "admissionregistration/v1.ValidatingAdmissionPolicyBinding",
    &[
        NAME,
        text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to"),
        text("ParamRef", "ParamRef indicates the param resource which sets the configuration param"),
        AGE,
    ],
    binding,
);

static MUTATING_POLICY_BINDING: Columns = Columns::new(
    "admissionregistration/v1beta1.MutatingAdmissionPolicyBinding",
    &[
        NAME,
        text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to"),
        text("ParamRef", "ParamRef indicates the param resource which sets the configuration param"),
        AGE,
    ],
    binding,
);

fn webhooks(object: &Value, context: &Context, cells: &mut Vec<Value>) {
    cells.extend([cell::name(object), cell::count(object, &["webhooks"]).into(), context.age(object)]);
}

fn policy(object: &Value, rules: &str, context: &Context, cells: &mut Vec<Value>) {
    let parameters = match object.at(&["spec", "paramKind"]).filter(|kind| !kind.is_null()) {
        None => cell::UNSET.into(),
        Some(kind) => format!("{}/{}", kind.api_version(), kind.kind()),
    };
    cells.extend([
        cell::name(object),
        cell::count(object, &["spec", rules]).into(),
        parameters.into(),
        context.age(object),
    ]);
}

fn binding(object: &Value, context: &Context, cells: &mut Vec<Value>) {
    cells.extend([
        cell::name(object),
        cell::text(object, &["spec", "policyName"]),
        parameters(object).into(),
        context.age(object),
    ]);
}

fn parameters(object: &Value) -> String {
    let of = |field| object.text_at(&["spec", "paramRef", field]);
    match (of("namespace"), of("name")) {
        (_, "") => match cell::label_selector(object, &["spec", "paramRef", "selector"]) {
            None => cell::UNSET.into(),
            Some(_) => go_selector(object),
        },
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// As Go prints a `LabelSelector` for its developers, which is what the reference shows here.
fn go_selector(object: &Value) -> String {
    use std::fmt::Write as _;

    let selector = cell::label_selector(object, &["spec", "paramRef", "selector"]).unwrap_or_default();
    let mut out = String::from("&LabelSelector{MatchLabels:map[string]string{");
    for (key, value) in &selector.match_labels {
        let _ = write!(out, "{key}: {value},");
    }
    out.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for expression in &selector.match_expressions {
        let (key, operator) = (&expression.key, &expression.operator);
        let values = expression.values.join(" ");
        let _ = write!(out, "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},");
    }
    out.push_str("},}");
    out
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn webhook_configurations_count_their_webhooks() {
        let object = r#"{"metadata":{"name":"a"},"webhooks":[{"name":"x"},{"name":"y"}]}"#;
        check("admissionregistration/v1.MutatingWebhookConfiguration", object, r#"["a",2,"<unknown>"]"#);
        check("admissionregistration/v1.ValidatingWebhookConfiguration", object, r#"["a",2,"<unknown>"]"#);
    }

    #[test]
    fn policies_count_their_rules_and_name_the_kind_of_their_parameters() {
        let validating = "admissionregistration/v1.ValidatingAdmissionPolicy";
        check(validating, r#"{"metadata":{"name":"a"}}"#, r#"["a",0,"<unset>","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"a"},"spec":{"paramKind":{"apiVersion":"x/v1","kind":"K"},
            "validations":[{"expression":"true"}]}}"#;
        check(validating, object, r#"["a",1,"x/v1/K","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"a"},"spec":{"mutations":[{"patchType":"JSONPatch"}]}}"#;
        let mutating = "admissionregistration/v1beta1.MutatingAdmissionPolicy";
        check(mutating, object, r#"["a",1,"<unset>","<unknown>"]"#);
    }

    #[test]
    fn bindings_name_their_parameters_or_select_them() {
        let kinds = [
            "admissionregistration/v1.ValidatingAdmissionPolicyBinding",
            "admissionregistration/v1beta1.MutatingAdmissionPolicyBinding",
        ];
        for kind in kinds {
            for (parameters, shown) in [
                ("null", "<unset>"),
                (r#"{"name":"p"}"#, "*/p"),
                (r#"{"name":"p","namespace":"n"}"#, "n/p"),
                (r#"{"namespace":"n"}"#, "<unset>"),
                (
                    r#"{"selector":{"matchLabels":{"b":"2","a":"1"},
                        "matchExpressions":[{"key":"k","operator":"In","values":["x","y"]}]}}"#,
                    "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]\
                     LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}",
                ),
            ] {
                let object = format!(
                    r#"{{"metadata":{{"name":"b"}},"spec":{{"policyName":"a","paramRef":{parameters}}}}}"#
                );
                check(kind, &object, &format!(r#"["b","a",{shown:?},"<unknown>"]"#));
            }
        }
    }
}
