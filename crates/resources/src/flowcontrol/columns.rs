//! The columns of flow schemas and priority levels.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, cell, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "FlowSchema" => &FLOW_SCHEMA,
        "PriorityLevelConfiguration" => &PRIORITY_LEVEL,
        _ => return None,
    })
}

/// Listed in the order in which requests are matched.
static FLOW_SCHEMA: Columns = Columns::new(
    "flowcontrol/v1.FlowSchema",
    &[
        NAME,
        text("PriorityLevel", doc::PRIORITY_LEVEL_CONFIGURATION_REFERENCE_NAME),
        text("MatchingPrecedence", doc::FLOW_SCHEMA_SPEC_MATCHING_PRECEDENCE),
        text("DistinguisherMethod", doc::FLOW_SCHEMA_SPEC_DISTINGUISHER_METHOD),
        AGE,
        text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration"),
    ],
    |object, context, cells| {
        let mut conditions = object.items_at(&["status", "conditions"]).iter();
        let dangling = conditions.find(|condition| condition.text_at(&["type"]) == "Dangling");
        cells.extend([
            cell::name(object),
            cell::text(object, &["spec", "priorityLevelConfiguration", "name"]),
            precedence(object).into(),
            cell::text_or(object, &["spec", "distinguisherMethod", "type"], cell::NONE),
            context.age(object),
            dangling.map_or(Value::literal("?"), |condition| cell::text(condition, &["status"])),
        ]);
    },
)
.ordered(|a, b| precedence(a).cmp(&precedence(b)).then_with(|| a.name().cmp(b.name())));

static PRIORITY_LEVEL: Columns = Columns::new(
    "flowcontrol/v1.PriorityLevelConfiguration",
    &[
        NAME,
        text("Type", doc::PRIORITY_LEVEL_CONFIGURATION_SPEC_TYPE),
        text(
            "NominalConcurrencyShares",
            doc::LIMITED_PRIORITY_LEVEL_CONFIGURATION_NOMINAL_CONCURRENCY_SHARES,
        ),
        text("Queues", doc::QUEUING_CONFIGURATION_QUEUES),
        text("HandSize", doc::QUEUING_CONFIGURATION_HAND_SIZE),
        text("QueueLengthLimit", doc::QUEUING_CONFIGURATION_QUEUE_LENGTH_LIMIT),
        AGE,
    ],
    |object, context, cells| {
        const LIMITED: &[&str] = &["spec", "limited"];
        const QUEUING: &[&str] = &["spec", "limited", "limitResponse", "queuing"];
        let number = |within: &[&str], field| match object.at(within).filter(|part| !part.is_null()) {
            None => Value::literal(cell::NONE),
            Some(part) => cell::int(part, &[field]).into(),
        };
        cells.extend([
            cell::name(object),
            cell::text(object, &["spec", "type"]),
            number(LIMITED, "nominalConcurrencyShares"),
            number(QUEUING, "queues"),
            number(QUEUING, "handSize"),
            number(QUEUING, "queueLengthLimit"),
            context.age(object),
        ]);
    },
);

fn precedence(object: &Value) -> i64 {
    cell::int(object, &["spec", "matchingPrecedence"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::columns::testing::{check, object};

    const FLOW: &str = "flowcontrol/v1.FlowSchema";

    #[test]
    fn a_flow_schema_says_whether_its_priority_level_is_missing() {
        let cells = r#"["f","","0","<none>","<unknown>","?"]"#.replace("\"0\"", "0");
        check(FLOW, r#"{"metadata":{"name":"f"}}"#, &cells);
        let object = r#"{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"p"},
            "matchingPrecedence":7,"distinguisherMethod":{"type":"ByUser"}},
            "status":{"conditions":[{"type":"Other","status":"X"},{"type":"Dangling","status":"False"}]}}"#;
        check(FLOW, object, r#"["f","p",7,"ByUser","<unknown>","False"]"#);
    }

    #[test]
    fn flow_schemas_are_listed_by_precedence_and_name() {
        let make = |name: &str, precedence: i64| {
            object(
                FLOW,
                &format!(
                    r#"{{"metadata":{{"name":"{name}"}},"spec":{{"matchingPrecedence":{precedence}}}}}"#
                ),
            )
        };
        let mut list = [make("c", 1), make("b", 2), make("a", 2), make("d", 0)];
        list.sort_by(FLOW_SCHEMA.order().unwrap());
        assert_eq!(list.iter().map(Value::name).collect::<Vec<_>>(), ["d", "c", "a", "b"]);
    }

    #[test]
    fn a_priority_level_shows_its_limits_and_queues() {
        let kind = "flowcontrol/v1.PriorityLevelConfiguration";
        let object = r#"{"metadata":{"name":"p"},"spec":{"type":"Exempt"}}"#;
        check(kind, object, r#"["p","Exempt","<none>","<none>","<none>","<none>","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"p"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":47,
            "limitResponse":{"type":"Reject"}}}}"#;
        check(kind, object, r#"["p","Limited",47,"<none>","<none>","<none>","<unknown>"]"#);
        let object = r#"{"metadata":{"name":"p"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":47,
            "limitResponse":{"type":"Queue","queuing":{"queues":10,"handSize":5,"queueLengthLimit":50}}}}}"#;
        check(kind, object, r#"["p","Limited",47,10,5,50,"<unknown>"]"#);
    }
}
