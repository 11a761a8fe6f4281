//! Defaults of network policies and ingresses.

use pintle_meta::Value;

use crate::framework::defaults::Fill::Text;
use crate::framework::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(&["networking/v1.NetworkPolicy", "extensions/v1beta1.NetworkPolicy"], policy_types),
    // Not in extensions/v1beta1, where it is forgotten.
    Rule::table(&["networking/v1.NetworkPolicyPort"], &[("protocol", Text("TCP"))]),
    Rule::code(&["networking/v1.IngressClass"], |class| {
        class.within("spec", |spec| {
            spec.within("parameters", |parameters| parameters.default("scope", "Cluster"));
        });
    }),
    Rule::table(
        &["networking/v1beta1.HTTPIngressPath", "extensions/v1beta1.HTTPIngressPath"],
        &[("pathType", Text("ImplementationSpecific"))],
    ),
];

/// A policy is about what comes in, and about what goes out if it has rules for that.
fn policy_types(policy: &mut Place<'_>) {
    policy.within("spec", |spec| {
        if spec.items("policyTypes").is_empty() {
            let mut types = vec![Value::literal("Ingress")];
            if !spec.items("egress").is_empty() {
                types.push(Value::literal("Egress"));
            }
            spec.set("policyTypes", types);
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    #[test]
    fn a_policy_is_about_what_it_has_rules_for() {
        for (rules, types) in [
            ("", r#"["Ingress"]"#),
            (r#""ingress":[{}],"#, r#"["Ingress"]"#),
            (r#""egress":[{}],"#, r#"["Ingress","Egress"]"#),
        ] {
            for kind in ["networking/v1.NetworkPolicy", "extensions/v1beta1.NetworkPolicy"] {
                check(
                    kind,
                    &format!(r#"{{"spec":{{{rules}"podSelector":{{}}}}}}"#),
                    &format!(
                        r#"{{"metadata":{{}},"spec":{{{rules}"podSelector":{{}},"policyTypes":{types}}}}}"#
                    ),
                );
            }
        }
        let own = r#"{"metadata":{},"spec":{"podSelector":{},"egress":[{}],"policyTypes":["Egress"]}}"#;
        check("networking/v1.NetworkPolicy", own, own);
    }

    #[test]
    fn ports_of_policies_are_of_tcp() {
        let spec = |protocol: &str| {
            let ports = format!(r#""ports":[{{"port":80{protocol}}},{{"protocol":"UDP"}}]"#);
            format!(
                r#"{{"podSelector":{{}},"ingress":[{{{ports}}}],"egress":[{{{ports}}}],"policyTypes":["Ingress","Egress"]}}"#
            )
        };
        let policy = |spec: String| format!(r#"{{"metadata":{{}},"spec":{spec}}}"#);
        check("networking/v1.NetworkPolicy", &policy(spec("")), &policy(spec(r#","protocol":"TCP""#)));
        check("extensions/v1beta1.NetworkPolicy", &policy(spec("")), &policy(spec("")));
    }

    #[test]
    fn parameters_of_ingress_classes_are_of_the_cluster() {
        let class = |scope: &str| {
            format!(r#"{{"metadata":{{}},"spec":{{"parameters":{{"kind":"k","name":"n"{scope}}}}}}}"#)
        };
        check("networking/v1.IngressClass", &class(""), &class(r#","scope":"Cluster""#));
        let own = class(r#","scope":"Namespace","namespace":"n""#);
        check("networking/v1.IngressClass", &own, &own);
        check("networking/v1.IngressClass", "{}", r#"{"metadata":{},"spec":{}}"#);
    }

    #[test]
    fn paths_of_ingresses_were_once_left_to_the_controller() {
        let backend = r#""backend":{"serviceName":"s","servicePort":1}"#;
        let rules = |more: &str| {
            format!(
                r#"{{"metadata":{{}},"spec":{{"rules":[{{"http":{{"paths":[{{"path":"/",{backend}{more}}}]}}}}]}},"status":{{"loadBalancer":{{}}}}}}"#
            )
        };
        for kind in ["networking/v1beta1.Ingress", "extensions/v1beta1.Ingress"] {
            check(kind, &rules(""), &rules(r#","pathType":"ImplementationSpecific""#));
        }
        let path = r#"{"path":"/","pathType":null,"backend":{}}"#;
        check("networking/v1.HTTPIngressPath", path, path);
    }
}
