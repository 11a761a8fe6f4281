//! The columns of `PodDisruptionBudget`.

use pintle_meta::{Node, Value};

use crate::framework::columns::{AGE, Columns, NAME, cell, integer, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    (kind == "PodDisruptionBudget").then_some(&POD_DISRUPTION_BUDGET)
}

static POD_DISRUPTION_BUDGET: Columns = Columns::new(
    "policy/v1.PodDisruptionBudget",
    &[
        NAME,
        text("Min Available", "The minimum number of pods that must be available."),
        text("Max Unavailable", "The maximum number of pods that may be unavailable."),
        integer("Allowed Disruptions", "Calculated number of pods that may be disrupted at this time."),
        AGE,
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            number_or_share(object.at(&["spec", "minAvailable"])),
            number_or_share(object.at(&["spec", "maxUnavailable"])),
            cell::int(object, &["status", "disruptionsAllowed"]).into(),
            context.age(object),
        ]);
    },
);

fn number_or_share(value: Option<&Value>) -> Value {
    match value.map(Value::node) {
        Some(Node::Int(number)) => number.to_string().into(),
        Some(Node::String(share)) => share.into(),
        _ => Value::literal("N/A"),
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn a_budget_shows_its_bounds_as_numbers_or_shares() {
        let kind = "policy/v1.PodDisruptionBudget";
        let object =
            r#"{"metadata":{"name":"b"},"spec":{"minAvailable":2},"status":{"disruptionsAllowed":1}}"#;
        check(kind, object, r#"["b","2","N/A",1,"<unknown>"]"#);
        let object = r#"{"metadata":{"name":"b"},"spec":{"maxUnavailable":"50%"}}"#;
        check(kind, object, r#"["b","N/A","50%",0,"<unknown>"]"#);
    }
}
