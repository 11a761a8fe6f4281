//! Defaults of CustomResourceDefinitions.

use pintle_meta::Value;

use crate::framework::defaults::Fill::Int;
use crate::framework::defaults::{Place, Rule};

pub(crate) const RULES: &[Rule] = &[
    Rule::code(&["apiextensions/v1.CustomResourceDefinition"], |definition| {
        definition.within("spec", |spec| {
            names(spec);
            conversion(spec);
        });
        stored_versions(definition);
    }),
    Rule::code(&["apiextensions/v1beta1.CustomResourceDefinition"], |definition| {
        definition.within("spec", |spec| {
            spec.default("scope", "Namespaced");
            names(spec);
            versions(spec);
            conversion(spec);
            spec.within("conversion", |conversion| {
                if conversion.text("strategy") == "Webhook"
                    && conversion.items("conversionReviewVersions").is_empty()
                {
                    conversion.set("conversionReviewVersions", vec![Value::literal("v1beta1")]);
                }
            });
            spec.default("preserveUnknownFields", true);
        });
        stored_versions(definition);
    }),
    Rule::table(
        &["apiextensions/v1.ServiceReference", "apiextensions/v1beta1.ServiceReference"],
        &[("port", Int(443))],
    ),
];

fn names(spec: &mut Place<'_>) {
    spec.within("names", |names| {
        if names.unset("singular") {
            // One character for one, as Go has it.
            let singular: String =
                names.text("kind").chars().filter_map(|letter| letter.to_lowercase().next()).collect();
            names.set("singular", singular);
        }
        if names.unset("listKind") && !names.text("kind").is_empty() {
            let list = format!("{}List", names.text("kind"));
            names.set("listKind", list);
        }
    });
}

/// The first version of the kind had a single version of the resource, which is the first of several.
fn versions(spec: &mut Place<'_>) {
    if spec.items("versions").is_empty() && !spec.text("version").is_empty() {
        let name = Value::string(spec.text("version"));
        let fields = [("name", name), ("served", true.into()), ("storage", true.into())];
        let version = spec.build("versions", fields);
        spec.set("versions", vec![version]);
    }
    if spec.unset("version")
        && let Some(first) = spec.items("versions").first()
    {
        let name = Value::string(first.text_at(&["name"]));
        spec.set("version", name);
    }
}

fn conversion(spec: &mut Place<'_>) {
    if spec.unset("conversion") {
        spec.make("conversion", |conversion| conversion.set("strategy", "None"));
    }
}

/// What is stored first is what is stored at all.
fn stored_versions(definition: &mut Place<'_>) {
    let versions = definition.get("spec").map(|spec| spec.items_at(&["versions"])).unwrap_or_default();
    let stored =
        versions.iter().find(|version| version.get("storage").and_then(Value::as_bool) == Some(true));
    let Some(name) = stored.map(|version| Value::string(version.text_at(&["name"]))) else { return };
    definition.within("status", |status| {
        if status.items("storedVersions").is_empty() {
            status.set("storedVersions", vec![name.clone()]);
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::framework::defaults::tests::check;

    /// What the status of a definition prints in any case.
    fn status(stored: &str) -> String {
        format!(
            r#"{{"conditions":null,"acceptedNames":{{"plural":"","kind":""}},"storedVersions":{stored}}}"#
        )
    }

    #[track_caller]
    fn check_v1(input: &str, expected: &str, stored: &str) {
        check(
            "apiextensions/v1.CustomResourceDefinition",
            &format!(r#"{{"spec":{{{input}}}}}"#),
            &format!(
                r#"{{"metadata":{{}},"spec":{{"group":"","scope":"",{expected}}},"status":{}}}"#,
                status(stored)
            ),
        );
    }

    const NONE: &str = r#""conversion":{"strategy":"None"}"#;

    #[test]
    fn names_follow_from_the_kind() {
        check_v1(
            r#""names":{"plural":"foos","kind":"FooBar"}"#,
            &format!(
                r#"{NONE},"names":{{"plural":"foos","singular":"foobar","kind":"FooBar","listKind":"FooBarList"}},"versions":null"#
            ),
            "null",
        );
        check_v1("", &format!(r#"{NONE},"names":{{"plural":"","kind":""}},"versions":null"#), "null");
        check_v1(
            r#""names":{"plural":"p","singular":"s","kind":"K","listKind":"L"}"#,
            &format!(
                r#"{NONE},"names":{{"plural":"p","singular":"s","kind":"K","listKind":"L"}},"versions":null"#
            ),
            "null",
        );
    }

    #[test]
    fn the_first_version_to_be_stored_counts_as_stored() {
        let versions = r#""versions":[{"name":"a","served":true,"storage":false},
            {"name":"b","served":true,"storage":true},{"name":"c","served":true,"storage":true}]"#;
        check_v1(versions, &format!(r#"{NONE},"names":{{"plural":"","kind":""}},{versions}"#), r#"["b"]"#);
    }

    #[test]
    fn webhooks_listen_on_the_usual_port() {
        check_v1(
            r#""conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"namespace":"n","name":"s"}},
                "conversionReviewVersions":["v1"]}}"#,
            r#""conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":
                {"namespace":"n","name":"s","port":443}},"conversionReviewVersions":["v1"]}},
                "names":{"plural":"","kind":""},"versions":null"#,
            "null",
        );
    }

    #[track_caller]
    fn check_v1beta1(input: &str, expected: &str, stored: &str) {
        check(
            "apiextensions/v1beta1.CustomResourceDefinition",
            &format!(r#"{{"spec":{{{input}}}}}"#),
            &format!(
                r#"{{"metadata":{{}},"spec":{{"group":"","names":{{"plural":"","kind":""}},{expected}}},"status":{}}}"#,
                status(stored)
            ),
        );
    }

    #[test]
    fn one_version_and_several_are_kept_alike() {
        let rest = format!(r#""scope":"Namespaced",{NONE},"preserveUnknownFields":true"#);
        check_v1beta1("", &rest, "null");
        check_v1beta1(
            r#""version":"v1""#,
            &format!(r#""version":"v1","versions":[{{"name":"v1","served":true,"storage":true}}],{rest}"#),
            r#"["v1"]"#,
        );
        let versions = r#""versions":[{"name":"v2","served":true,"storage":false},{"name":"v1","served":true,"storage":true}]"#;
        check_v1beta1(versions, &format!(r#""version":"v2",{versions},{rest}"#), r#"["v1"]"#);
    }

    #[test]
    fn the_first_version_of_webhooks_talks_v1beta1() {
        check_v1beta1(
            r#""scope":"Cluster","preserveUnknownFields":false,
                "conversion":{"strategy":"Webhook","webhookClientConfig":{"service":{"namespace":"n","name":"s"}}}"#,
            r#""scope":"Cluster","preserveUnknownFields":false,"conversion":{"strategy":"Webhook",
                "webhookClientConfig":{"service":{"namespace":"n","name":"s","port":443}},
                "conversionReviewVersions":["v1beta1"]}"#,
            "null",
        );
    }
}
