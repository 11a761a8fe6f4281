//! The attributes that admission plugins get of requests.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pintle_admission::{Attributes, Operation, Plugin, Result, Target};
use pintle_codec::json;
use pintle_meta::{Status, Value};

use super::connection::{self, Connector};
use super::endpoint::Implementation;
use super::testing::{BOATS, Boats, BoatsConfig, JSON, boat};

/// Records the operations that it validates, with their options and, of connections, the object.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn record(&self, half: &str, attributes: &Attributes<'_>) {
        let operation = attributes.operation;
        let shown = match operation {
            Operation::Connect => text(attributes.object()),
            _ => text(attributes.options().as_ref()),
        };
        self.0.lock().unwrap().push(format!("{half} {} {shown}", operation.as_str()));
    }
}

fn text(value: Option<&Value>) -> String {
    let mut out = Vec::new();
    value.inspect(|value| json::encode(value, &mut out));
    String::from_utf8(out).unwrap()
}

#[async_trait]
impl Plugin for Recorder {
    fn name(&self) -> &'static str {
        "Recorder"
    }

    fn admits(&self, _: Operation, _: &Target) -> bool {
        true
    }

    async fn admit(&self, attributes: &mut Attributes<'_>) -> Result<()> {
        self.record("admit", attributes);
        Ok(())
    }

    fn validates(&self, _: Operation, _: &Target) -> bool {
        true
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<()> {
        self.record("validate", attributes);
        Ok(())
    }
}

async fn recorded(implementation: Option<Implementation>) -> (Boats, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let plugins: Vec<Arc<dyn Plugin>> = vec![recorder.clone()];
    let boats = Boats::start(BoatsConfig { plugins, implementation, ..BoatsConfig::default() }).await;
    (boats, recorder)
}

#[tokio::test]
async fn plugins_see_the_options_of_the_operation() {
    let (boats, recorder) = recorded(None).await;
    let meta = r#""apiVersion":"meta.k8s.io/v1""#;
    let check = async |line: String, headers: &[(&str, &str)], body: &str, code: u16, expect: String| {
        let response = boats.request(&line, headers, body).await;
        assert_eq!(response.status(), code, "{line}");
        let both = ["admit", "validate"].map(|half| format!("{half} {expect}"));
        assert_eq!(recorder.take(), both, "{line}");
    };
    let create = |fields: &str| format!(r#"CREATE {{{meta}{fields},"kind":"CreateOptions"}}"#);
    let update = |fields: &str| format!(r#"UPDATE {{{meta}{fields},"kind":"UpdateOptions"}}"#);
    let delete =
        |fields: &str, rest: &str| format!(r#"DELETE {{{meta}{fields},"kind":"DeleteOptions"{rest}}}"#);

    check(format!("POST {BOATS}"), &[JSON], &boat("a"), 201, create("")).await;
    let query = "fieldManager=m&fieldValidation=Strict&dryRun=All";
    let given = r#","dryRun":["All"],"fieldManager":"m","fieldValidation":"Strict""#;
    check(format!("POST {BOATS}?{query}"), &[JSON], &boat("b"), 201, create(given)).await;

    check(format!("PUT {BOATS}/a?{query}"), &[JSON], &boat("a"), 200, update(given)).await;
    check(format!("PUT {BOATS}/b?{query}"), &[JSON], &boat("b"), 201, create(given)).await;

    let merge = [("content-type", "application/merge-patch+json")];
    let patch = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    check(format!("PATCH {BOATS}/a?{query}"), &merge, patch, 200, update(given)).await;
    let apply = [("content-type", "application/apply-patch+yaml")];
    let manager = r#","fieldManager":"m""#;
    let query = "fieldManager=m&force=true";
    check(format!("PATCH {BOATS}/c?{query}"), &apply, &boat("c"), 201, create(manager)).await;

    let query = "gracePeriodSeconds=5&propagationPolicy=Background&dryRun=All";
    let (given, rest) =
        (r#","dryRun":["All"],"gracePeriodSeconds":5"#, r#","propagationPolicy":"Background""#);
    check(format!("DELETE {BOATS}/a?{query}"), &[], "", 200, delete(given, rest)).await;
    let body =
        r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x"},"orphanDependents":true}"#;
    let response = boats.request(&format!("DELETE {BOATS}/a"), &[JSON], body).await;
    assert_eq!(response.status(), 409, "another UID");
    recorder.take();
    let body = r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan"}"#;
    let policy = r#","propagationPolicy":"Orphan""#;
    check(format!("DELETE {BOATS}/a"), &[JSON], body, 200, delete("", policy)).await;

    let response = boats.request(&format!("DELETE {BOATS}?gracePeriodSeconds=0"), &[], "").await;
    assert_eq!(response.status(), 200);
    let of_each = recorder.take();
    let expect = delete(r#","gracePeriodSeconds":0"#, "");
    assert!(!of_each.is_empty() && of_each.iter().all(|seen| seen.ends_with(&expect)), "{of_each:?}");
}

/// Leads nowhere.
struct Refusing;

#[async_trait]
impl Connector for Refusing {
    async fn connect(
        &self,
        _: connection::Target<'_>,
        _: &mut crate::Request,
    ) -> std::result::Result<crate::Response, Box<Status>> {
        Err(Box::new(Status::not_implemented("nowhere")))
    }
}

#[tokio::test]
async fn connections_are_admitted_whatever_the_method_and_content_type() {
    let connection = Implementation::Connection { connector: Arc::new(Refusing), requires_create: true };
    let (boats, recorder) = recorded(Some(connection)).await;
    for (line, headers) in [
        (format!("GET {BOATS}/a?container=c&stdin=1"), &[("accept", "text/html")][..]),
        (format!("PATCH {BOATS}/a?container=c&stdin=1"), &[("content-type", "text/plain")][..]),
    ] {
        let response = boats.request(&line, headers, "").await;
        assert_eq!(response.status(), 501, "{line}");
        let options = r#"{"apiVersion":"example.com/v1","container":"c","kind":"Boat","stdin":true}"#;
        let both = ["admit", "validate"].map(|half| format!("{half} CONNECT {options}"));
        assert_eq!(recorder.take(), both, "{line}");
    }
    let response = boats.request(&format!("GET {BOATS}/a?dryRun=All"), &[], "").await;
    assert_eq!((response.status().as_u16(), recorder.take().len()), (400, 0));
}
