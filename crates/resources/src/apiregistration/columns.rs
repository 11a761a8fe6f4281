//! The columns of `APIService`.

use pintle_meta::Value;

use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    (kind == "APIService").then_some(&API_SERVICE)
}

static API_SERVICE: Columns = Columns::new(
    "apiregistration/v1.APIService",
    &[
        NAME,
        text("Service", "The reference to the service that hosts this API endpoint."),
        text("Available", "Whether this service is available."),
        AGE,
    ],
    |object, context, cells| {
        let service = match cell::has(object, &["spec", "service"]) {
            false => "Local".into(),
            true => {
                let of = |field| object.text_at(&["spec", "service", field]);
                format!("{}/{}", of("namespace"), of("name"))
            }
        };
        cells.extend([cell::name(object), service.into(), available(object).into(), context.age(object)]);
    },
)
.always_defined();

fn available(object: &Value) -> String {
    let mut conditions = object.items_at(&["status", "conditions"]).iter();
    let Some(condition) = conditions.find(|condition| condition.text_at(&["type"]) == "Available") else {
        return "Unknown".into();
    };
    match (condition.text_at(&["status"]), condition.text_at(&["reason"])) {
        (status @ "True", _) | (status, "") => status.into(),
        (status, reason) => format!("{status} ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_service_is_local_or_somewhere_and_available_or_not() {
        let kind = "apiregistration/v1.APIService";
        check(kind, r#"{"metadata":{"name":"v1."}}"#, r#"["v1.","Local","Unknown","<unknown>"]"#);
        for (condition, shown) in [
            (r#"{"type":"Available","status":"True","reason":"Passed"}"#, "True"),
            (r#"{"type":"Available","status":"False","reason":"Missing"}"#, "False (Missing)"),
            (r#"{"type":"Available","status":"False"}"#, "False"),
            (r#"{"type":"Other","status":"True"}"#, "Unknown"),
        ] {
            let object = format!(
                r#"{{"metadata":{{"name":"a"}},"spec":{{"service":{{"namespace":"n","name":"s"}}}},
                    "status":{{"conditions":[{condition}]}}}}"#
            );
            check(kind, &object, &format!(r#"["a","n/s",{shown:?},"<unknown>"]"#));
        }
    }
}
