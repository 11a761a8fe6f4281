//! Guards: permissions that depend on the object.

use std::sync::Mutex;

use pintle_registry::Guard;

use super::*;

/// Refuses what is larger than it was, and remembers what it was asked.
#[derive(Default)]
struct NoGrowth(Mutex<Vec<String>>);

fn size(object: &Value) -> i64 {
    object.at(&["spec", "size"]).and_then(Value::as_i64).unwrap_or_default()
}

#[async_trait]
impl Guard for NoGrowth {
    async fn check(&self, context: &Context, name: &str, new: &Value, old: Option<&Value>) -> Result<()> {
        let before = old.map(size);
        self.0.lock().unwrap().push(format!("{}:{name}:{}:{before:?}", context.user, size(new)));
        if size(new) > before.unwrap_or(1) {
            Err(Box::new(Status::forbidden("example.com", "things", new.name(), "too much")))
        } else {
            Ok(())
        }
    }
}

#[tokio::test]
async fn a_guard_is_asked_before_anything_is_written() {
    let mut fixture =
        fixture(Things { create_on_update: true, unconditional: true, ..Things::default() }).await;
    let guard = Arc::new(NoGrowth::default());
    let open = fixture.things.with_guard(guard.clone());
    let open = std::mem::replace(&mut fixture.things, open);
    let refused = |outcome: Result<Value>| {
        let status = outcome.unwrap_err();
        assert_eq!(
            (status.code, status.message.ends_with("is forbidden: too much")),
            (403, true),
            "{}",
            status.message
        );
    };
    let named = |size: i64| format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"size":{size}}}}}"#);
    // A creation, with a name to come, by update, and a change.
    refused(fixture.create(&named(2)).await);
    refused(fixture.create(r#"{"metadata":{"generateName":"g-"},"spec":{"size":2}}"#).await);
    refused(fixture.put("a", &named(2)).await);
    assert!(open.get(&context(), "a").await.is_err(), "nothing was written");
    fixture.create(&named(1)).await.unwrap();
    refused(fixture.put("a", &named(5)).await);
    fixture.put("a", &named(0)).await.unwrap();
    assert_eq!(size(&open.get(&context(), "a").await.unwrap()), 0);
    let asked = guard.0.lock().unwrap().clone();
    assert_eq!(asked[..3], ["::2:None", "::2:None", ":a:2:None"]);
    // The server's own writes pass no guard.
    let mut put = Put(thing(&named(9)));
    open.update(&mut context(), "a", &mut put, &AdmitAll, false, WriteOptions::default()).await.unwrap();
}
