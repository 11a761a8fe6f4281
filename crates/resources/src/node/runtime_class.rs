//! RuntimeClasses: handlers of container runtimes, their overhead and where they run.

use std::collections::HashSet;

use pintle_meta::validation::dns1123_label;
use pintle_meta::{Object, Value};

use crate::core::pod::validation::tolerations::tolerations;
use crate::core::resource_names;
use crate::framework::strategy::{MetadataRecheck, Rules, labels};
use crate::framework::validation::Cursor;

const COMMON: Rules = Rules {
    standard_finalizers: false,
    create_on_update: true,
    recheck: MetadataRecheck::None,
    warnings: |_, class, _| warnings(class),
    ..Rules::CLUSTER
};

pub(super) const RUNTIME_CLASSES: Rules = Rules {
    validate: |_, class| validate(class),
    validate_update: |_, class| {
        COMMON.check_metadata(class);
        validate(class);
        COMMON.check_metadata_update(class);
        class.field("handler").immutable("string");
    },
    ..COMMON
};

fn validate(class: &Cursor<'_, '_>) {
    let handler = class.field("handler");
    if handler.is_empty() {
        handler.required("");
    } else {
        handler.text_format(dns1123_label);
    }
    validate_overhead(&class.field("overhead"));
    let scheduling = class.field("scheduling");
    scheduling.field("nodeSelector").labels();
    let list = scheduling.field("tolerations");
    tolerations(&list, false);
    let mut seen = HashSet::new();
    for toleration in list.items() {
        let key = ["key", "operator", "value", "effect"].map(|field| toleration.field(field).text());
        if !seen.insert(key) {
            toleration.duplicate(toleration.printed_as("core.Toleration"));
        }
    }
}

/// Checks the overhead as the reference does, as limits of a container.
fn validate_overhead(overhead: &Cursor<'_, '_>) {
    let limits = overhead.at_as(&["podFixed"], "limits");
    let (mut has_huge_pages, mut has_cpu_or_memory) = (false, false);
    for (name, amount) in limits.entries() {
        resource_names::check_container_name(&amount, name);
        resource_names::check_amount(&amount, name);
        if resource_names::is_huge_page(name) {
            has_huge_pages = true;
            if let Some(quantity) =
                amount.quantity().filter(|quantity| !resource_names::is_multiple_of_page_size(name, quantity))
            {
                let why = format!("{quantity} is not positive integer multiple of {name}");
                amount.invalid(quantity.to_string(), why);
            }
        }
        has_cpu_or_memory |= ["cpu", "memory"].contains(&name);
    }
    if has_huge_pages && !has_cpu_or_memory {
        overhead.forbidden("HugePages require cpu or memory");
    }
}

/// Warns of labels of nodes that have newer names.
fn warnings(class: &Value) -> Vec<String> {
    let selector = class.at(&["scheduling", "nodeSelector"]).and_then(Value::as_object);
    let deprecated = selector.into_iter().flat_map(Object::keys).filter_map(labels::deprecated);
    deprecated.map(|why| format!("scheduling.nodeSelector: {why}")).collect()
}

#[cfg(test)]
mod tests {
    use crate::framework::strategy::testing::{of, warnings};
    use crate::framework::validation::testing::Base;

    const GROUP: &str = "node.k8s.io";
    const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

    fn base() -> Base {
        let class = r#"{"metadata":{"name":"a"},"handler":"h","overhead":{"podFixed":{"cpu":"1","memory":"1Mi"}},
            "scheduling":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"k","operator":"Exists"}]}}"#;
        Base::new(GROUP, "runtimeclasses", class)
    }

    #[test]
    fn labels_of_nodes_with_newer_names_are_warned_of() {
        let classes = of(GROUP, "runtimeclasses");
        let class = r#"{"metadata":{"name":"a"},"handler":"h","scheduling":{"nodeSelector":{"beta.kubernetes.io/os":"linux","x":"y"}}}"#;
        let expected = r#"scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead"#;
        assert_eq!(warnings(&classes, class, None), [expected]);
        assert_eq!(warnings(&classes, class, Some(class)), [expected]);
    }

    #[test]
    fn a_handler_is_a_label_and_immutable() {
        base().refuses(&[
            (&[("/handler", r#""""#)], &["handler: Required value"]),
            (&[("/handler", r#""A""#)], &[&format!(r#"handler: Invalid value: "A": {LABEL}"#)]),
        ]);
        base().accepts_update(&[&[("/overhead", "")], &[("/scheduling", "")]]);
        base().refuses_update(&[
            (&[("/handler", r#""i""#)], &[r#"handler: Invalid value: "i": field is immutable"#]),
            (
                &[("/handler", r#""""#)],
                &["handler: Required value", r#"handler: Invalid value: "": field is immutable"#],
            ),
        ]);
    }

    #[test]
    fn an_overhead_is_of_resources_of_containers() {
        const FIXED: &str = "/overhead/podFixed";
        base().accepts(&[&[(FIXED, r#"{"cpu":"1","hugepages-2Mi":"4Mi","a.b/c":"1"}"#)]]);
        base().refuses(&[
            (
                &[(FIXED, r#"{"cpu":"-1","a.b/c":"1500m"}"#)],
                &[
                    r#"overhead.limits[a.b/c]: Invalid value: "1500m": must be an integer"#,
                    r#"overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0"#,
                ],
            ),
            (
                &[(FIXED, r#"{"pods":"1"}"#)],
                &[r#"overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers"#],
            ),
            (
                &[(FIXED, r#"{"hugepages-2Mi":"3Mi"}"#)],
                &[
                    r#"overhead.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi"#,
                    "overhead: Forbidden: HugePages require cpu or memory",
                ],
            ),
        ]);
    }

    #[test]
    fn scheduling_is_by_labels_and_tolerations() {
        base().refuses(&[
            (
                &[("/scheduling/nodeSelector", r#"{"a":"b c"}"#)],
                &[
                    r#"scheduling.nodeSelector: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"#,
                ],
            ),
            (
                &[("/scheduling/tolerations/-", r#"{"key":"k","operator":"Exists","tolerationSeconds":5,"effect":""}"#)],
                &[
                    r#"scheduling.tolerations[1].effect: Invalid value: "": effect must be 'NoExecute' when `tolerationSeconds` is set"#,
                    r#"scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":5}"#,
                ],
            ),
            (
                &[("/scheduling/tolerations/0/operator", r#""Gt""#)],
                &[
                    r#"scheduling.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt""#,
                ],
            ),
        ]);
    }
}
