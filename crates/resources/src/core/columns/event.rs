//! The columns of `Event`, of the core group and of `events.k8s.io`.

use pintle_meta::Value;

use crate::framework::columns::descriptions as doc;
use crate::framework::columns::{Columns, Context, cell, named, text, wide};

pub(super) static EVENT: Columns = Columns::new(
    "core/v1.Event",
    &[
        text("Last Seen", doc::EVENT_LAST_TIMESTAMP),
        text("Type", doc::EVENT_TYPE),
        text("Reason", doc::EVENT_REASON),
        text("Object", doc::EVENT_INVOLVED_OBJECT),
        wide(text("Subobject", doc::OBJECT_REFERENCE_FIELD_PATH)),
        wide(text("Source", doc::EVENT_SOURCE)),
        text("Message", doc::EVENT_MESSAGE),
        wide(text("First Seen", doc::EVENT_FIRST_TIMESTAMP)),
        wide(text("Count", doc::EVENT_COUNT)),
        wide(named(text("Name", doc::NAME))),
    ],
    |object, context, cells| {
        let (first, last, count) = seen(object, context);
        cells.extend([
            last.into(),
            cell::text(object, &["type"]),
            cell::text(object, &["reason"]),
            target(object).into(),
            cell::text(object, &["involvedObject", "fieldPath"]),
            source(object).into(),
            object.text_at(&["message"]).trim().into(),
            first.into(),
            count.into(),
            cell::name(object),
        ]);
    },
);

/// When the event was seen first and last, and how often. There are two generations of events: the older have timestamps
/// and a count, the newer a time and perhaps a series.
fn seen(object: &Value, context: &Context) -> (String, String, i64) {
    let of = |path: &[&str]| cell::time(object.at(path));
    let first = match of(&["firstTimestamp"]) {
        time if time.is_zero() => context.since(object.get("eventTime")),
        time => context.since_time(&time),
    };
    if cell::has(object, &["series"]) {
        let last = context.since(object.at(&["series", "lastObservedTime"]));
        return (first, last, cell::int(object, &["series", "count"]));
    }
    let last = match of(&["lastTimestamp"]) {
        time if time.is_zero() => first.clone(),
        time => context.since_time(&time),
    };
    // The newer ones have no count unless they are a series.
    let count = match cell::int(object, &["count"]) {
        0 => 1,
        count => count,
    };
    (first, last, count)
}

fn target(object: &Value) -> String {
    let kind = cell::lower(object.text_at(&["involvedObject", "kind"]));
    match object.text_at(&["involvedObject", "name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(object: &Value) -> String {
    let first_of = |paths: [&[&str]; 2]| {
        let texts = paths.map(|path| object.text_at(path));
        if texts[0].is_empty() { texts[1] } else { texts[0] }
    };
    let component = first_of([&["source", "component"], &["reportingComponent"]]);
    match first_of([&["source", "host"], &["reportingInstance"]]) {
        "" => component.into(),
        instance => format!("{component}, {instance}"),
    }
}
