//! Plays one case: its steps in order, in a namespace of its own, with variables that earlier answers give.
//!
//! A step is an object:
//!
//! | field | meaning |
//! |---|---|
//! | `m`, `p` | method and path with query |
//! | `b`, `ct` | body (an object, or text sent as it is) and its content type, `application/json` unless given |
//! | `h`, `as` | further headers; the user, `admin` unless given |
//! | `cap` | variables, each with the dotted path in the answer that gives its value: `${name}` in later steps |
//! | `wait` | repeats the step until the answer has a value (`eq`) at a path (`path`), for at most `secs` seconds |
//! | `watch` | collects events for so many seconds |
//! | `ignore` | dotted paths of the answer that are not compared |
//! | `quiet` | nothing of the answer is compared |
//! | `sleep` | alone in its step: seconds to wait |

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::client::{Answer, Call, Client};
use crate::json::Json;
use crate::normalise::{normalise, normalise_text, remove, remove_descriptions};

const JSON: &str = "application/json";
const OWN_NAMESPACE: &str = "${ns}";
/// Between two tries of a step that waits.
const PAUSE: Duration = Duration::from_millis(100);
/// Prefix of the name of a case's namespace.
const LONGEST: usize = 40;

/// Requests, and the name that their answers are found by.
#[derive(Clone, Debug)]
pub struct Case {
    pub id: String,
    pub steps: Vec<Json>,
}

impl Case {
    /// Reads an object with `id` and `steps`.
    pub fn new(case: &Json) -> Option<Case> {
        Some(Case { id: case.get("id")?.text()?.to_owned(), steps: case.get("steps")?.items().to_vec() })
    }

    /// Plays the steps and returns the answers that are compared, normalised. `stamp` makes names of this run its own.
    pub async fn play(&self, client: &mut Client, stamp: &str) -> Json {
        let namespace = namespace(stamp, &self.id);
        let needs_namespace = self.steps.iter().any(|step| step.to_string().contains(OWN_NAMESPACE));
        if needs_namespace {
            prepare(client, &namespace).await;
        }
        let mut variables = vec![("ns".to_owned(), namespace.clone())];
        let mut answers = Vec::new();
        for step in &self.steps {
            if let Some(seconds) = step.get("sleep").and_then(Json::number) {
                tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
                continue;
            }
            let step = substitute(step, &variables);
            let (answer, body) = ask(client, &step).await;
            for (name, path) in step.get("cap").map(Json::fields).unwrap_or_default() {
                let value = captured(body.at(path.text().unwrap_or_default()));
                match variables.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => *known = value,
                    None => variables.push((name.clone(), value)),
                }
            }
            if !matches!(step.get("quiet"), Some(Json::Bool(true))) {
                answers.push(recorded(answer.as_ref(), body, &step, &namespace));
            }
        }
        if needs_namespace {
            let path = format!("/api/v1/namespaces/{namespace}");
            let _ =
                client.call(&Call { method: "DELETE", path: &path, user: "admin", ..Call::default() }).await;
        }
        Json::List(answers)
    }
}

/// Distinguishes the names of this run from those of earlier ones.
pub fn stamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{:x}", seconds % 0xff_ffff)
}

fn namespace(stamp: &str, id: &str) -> String {
    let mut name = String::new();
    for character in format!("p{stamp}-{}", id.to_lowercase()).chars() {
        match character {
            'a'..='z' | '0'..='9' => name.push(character),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(LONGEST);
    name.trim_matches('-').to_owned()
}

/// Makes the namespace and its default service account, which pods need where no controller makes it.
async fn prepare(client: &mut Client, namespace: &str) {
    let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    for (path, kind, name) in
        [("/api/v1/namespaces", "Namespace", namespace), (&*accounts, "ServiceAccount", "default")]
    {
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
        let _ = client
            .call(&Call {
                method: "POST",
                path,
                body: Some(object.to_string()),
                headers: vec![("Content-Type", JSON)],
                user: "admin",
                watch: None,
            })
            .await;
    }
}

/// Sends a step, again while it waits for something. The answer is an error's text where there was none.
async fn ask(client: &mut Client, step: &Json) -> (Result<Answer, String>, Json) {
    let text = |field: &str| step.get(field).and_then(Json::text);
    let body = match step.get("b") {
        None | Some(Json::Null) => None,
        Some(Json::Text(text)) => Some(text.clone()),
        Some(object) => Some(object.to_string()),
    };
    let headers = step.get("h").map(Json::fields).unwrap_or_default().iter();
    let mut headers: Vec<(&str, &str)> =
        headers.map(|(name, value)| (name.as_str(), value.text().unwrap_or_default())).collect();
    if body.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("Content-Type", text("ct").unwrap_or(JSON)));
    }
    let call = Call {
        method: text("m").unwrap_or_default(),
        path: text("p").unwrap_or_default(),
        body,
        headers,
        user: text("as").unwrap_or("admin"),
        watch: step.get("watch").and_then(Json::number).map(Duration::from_secs_f64),
    };
    let wait = step.get("wait");
    let seconds = wait.map_or(0.0, |wait| wait.at("secs").number().unwrap_or_default());
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    loop {
        let answer = client.call(&call).await.map_err(|error| error.to_string());
        let body = match &answer {
            Ok(answer) => parsed(&answer.body, call.watch.is_some()),
            Err(error) => parsed(error.as_bytes(), call.watch.is_some()),
        };
        let is_done = wait.is_none_or(|wait| {
            body.at(wait.at("path").text().unwrap_or_default()) == wait.at("eq") || Instant::now() > end
        });
        if is_done {
            return (answer, body);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// JSON, a list of it for a watch, or text.
fn parsed(body: &[u8], watch: bool) -> Json {
    let value = |bytes: &[u8]| {
        let parsed = serde_json::from_slice(bytes);
        parsed.unwrap_or_else(|_| Json::Text(String::from_utf8_lossy(bytes).into_owned()))
    };
    if !watch {
        return value(body);
    }
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    Json::List(lines.map(value).collect())
}

/// The value of a variable. What is not there is `None`, as in the recordings.
fn captured(value: &Json) -> String {
    match value {
        Json::Text(text) => text.clone(),
        Json::Null => "None".into(),
        other => other.to_string(),
    }
}

/// The compared parts of an answer.
fn recorded(answer: Result<&Answer, &String>, body: Json, step: &Json, namespace: &str) -> Json {
    let mut body = normalise(body, namespace);
    if step.get("p").and_then(Json::text).is_some_and(|path| path.starts_with("/openapi")) {
        remove_descriptions(&mut body);
    }
    for path in step.get("ignore").map(Json::items).unwrap_or_default() {
        remove(&mut body, path.text().unwrap_or_default());
    }
    let status = answer.map_or(-1, |answer| i64::from(answer.status));
    let content_type = answer.map(Answer::content_type).unwrap_or_default().replace(' ', "");
    let warnings = answer.map(Answer::warnings).unwrap_or_default().into_iter();
    let warnings = warnings.map(|warning| Json::Text(normalise_text(&warning, namespace))).collect();
    Json::Object(vec![
        ("status".into(), Json::Number(status.into())),
        ("ct".into(), Json::Text(content_type)),
        ("warn".into(), Json::List(warnings)),
        ("body".into(), body),
    ])
}

/// Puts variables in place, also into the names of fields.
fn substitute(value: &Json, variables: &[(String, String)]) -> Json {
    let text = |text: &str| {
        let put =
            |text: String, (name, value): &(String, String)| text.replace(&format!("${{{name}}}"), value);
        variables.iter().fold(text.to_owned(), put)
    };
    match value {
        Json::Text(value) => Json::Text(text(value)),
        Json::List(items) => Json::List(items.iter().map(|item| substitute(item, variables)).collect()),
        Json::Object(fields) => {
            let field = |(name, value): &(String, Json)| (text(name), substitute(value, variables));
            Json::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_names() {
        assert_eq!(namespace("ab", "Create_a.Pod!"), "pab-create-a-pod");
        assert_eq!(namespace("ab", &"x-".repeat(40)).len(), 39);
    }

    #[test]
    fn variables_are_put_into_names_and_values() {
        let step: Json =
            serde_json::from_str(r#"{"p":"/a/${ns}/${uid}","b":{"${ns}":["${ns}",7]}}"#).expect("JSON");
        let variables = [("ns".to_owned(), "n".to_owned()), ("uid".to_owned(), "u".to_owned())];
        assert_eq!(substitute(&step, &variables).to_string(), r#"{"p": "/a/n/u", "b": {"n": ["n", 7]}}"#);
    }

    #[test]
    fn bodies_are_json_or_text() {
        assert_eq!(parsed(b"", false), Json::from(""));
        assert_eq!(parsed(b"{\"a\":1}", false).to_string(), r#"{"a": 1}"#);
        assert_eq!(parsed(b"k8s\0\xff", false), Json::from("k8s\0\u{fffd}"));
        assert_eq!(parsed(b"{}\n\n[1]\nno", true).to_string(), r#"[{}, [1], "no"]"#);
    }
}
