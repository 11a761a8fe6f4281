//! The columns of priority classes, workloads and groups of pods.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{AGE, Columns, NAME, boolean, cell, integer, text};

pub(crate) fn of(kind: &str) -> Option<&'static Columns> {
    Some(match kind {
        "PodGroup" => &POD_GROUP,
        "PriorityClass" => &PRIORITY_CLASS,
        "Workload" => &WORKLOAD,
        _ => return None,
    })
}

static PRIORITY_CLASS: Columns = Columns::new(
    "scheduling/v1.PriorityClass",
    &[
        NAME,
        integer("Value", doc::PRIORITY_CLASS_VALUE),
        boolean("Global-Default", doc::PRIORITY_CLASS_GLOBAL_DEFAULT),
        AGE,
        text("PreemptionPolicy", doc::PRIORITY_CLASS_PREEMPTION_POLICY),
    ],
    |object, context, cells| {
        cells.extend([
            cell::name(object),
            cell::int(object, &["value"]).into(),
            cell::flag(object, &["globalDefault"], false).into(),
            context.age(object),
            cell::text(object, &["preemptionPolicy"]),
        ]);
    },
);

static WORKLOAD: Columns = Columns::new("scheduling/v1alpha2.Workload", &[NAME, AGE], cell::name_and_age);

static POD_GROUP: Columns = Columns::new(
    "scheduling/v1alpha2.PodGroup",
    &[
        NAME,
        text("Policy", doc::POD_GROUP_SPEC_SCHEDULING_POLICY),
        text("Workload", "Name of the referenced Workload object"),
        text("Status", "Status of the PodGroup"),
        AGE,
    ],
    |object, context, cells| {
        let gang = cell::has(object, &["spec", "schedulingPolicy", "gang"]);
        let workload = match cell::has(object, &["spec", "podGroupTemplateRef"]) {
            true => cell::text(object, &["spec", "podGroupTemplateRef", "workload", "workloadName"]),
            false => Value::literal(cell::NONE),
        };
        cells.extend([
            cell::name(object),
            Value::literal(if gang { "Gang" } else { "Basic" }),
            workload,
            status(object),
            context.age(object),
        ]);
    },
);

/// Should there be several conditions of a type, the last one counts.
fn status(object: &Value) -> Value {
    let conditions = object.items_at(&["status", "conditions"]);
    let last = |kind: &str| conditions.iter().rev().find(|condition| condition.text_at(&["type"]) == kind);
    if let Some(disrupted) = last("DisruptionTarget") {
        return cell::text(disrupted, &["reason"]);
    }
    Value::literal(match last("PodGroupScheduled").map(|condition| condition.text_at(&["status"])) {
        None => "Pending",
        Some("True") => "Scheduled",
        Some(_) => "Unschedulable",
    })
}

#[cfg(test)]
mod tests {
    use crate::framework::columns::testing::check;

    #[test]
    fn priority_classes() {
        let kind = "scheduling/v1.PriorityClass";
        let object =
            r#"{"metadata":{"name":"p"},"value":-5,"globalDefault":true,"preemptionPolicy":"Never"}"#;
        check(kind, object, r#"["p",-5,true,"<unknown>","Never"]"#);
        check(kind, r#"{"metadata":{"name":"p"}}"#, r#"["p",0,false,"<unknown>",""]"#);
    }

    #[test]
    fn a_pod_group_shows_its_policy_and_how_it_is() {
        let kind = "scheduling/v1alpha2.PodGroup";
        check(kind, r#"{"metadata":{"name":"g"}}"#, r#"["g","Basic","<none>","Pending","<unknown>"]"#);
        for (conditions, shown) in [
            (r#"{"type":"PodGroupScheduled","status":"True"}"#, "Scheduled"),
            (r#"{"type":"PodGroupScheduled","status":"False"}"#, "Unschedulable"),
            (
                r#"{"type":"DisruptionTarget","status":"True","reason":"Preempted"},
                    {"type":"PodGroupScheduled","status":"True"}"#,
                "Preempted",
            ),
        ] {
            let object = format!(
                r#"{{"metadata":{{"name":"g"}},"spec":{{"schedulingPolicy":{{"gang":{{"minCount":2}}}},
                    "podGroupTemplateRef":{{"workload":{{"workloadName":"w"}}}}}},
                    "status":{{"conditions":[{conditions}]}}}}"#
            );
            check(kind, &object, &format!(r#"["g","Gang","w",{shown:?},"<unknown>"]"#));
        }
    }

    #[test]
    fn workloads_have_a_name_and_an_age() {
        check("scheduling/v1alpha2.Workload", r#"{"metadata":{"name":"w"}}"#, r#"["w","<unknown>"]"#);
    }
}
