//! The JSON of events, in the reference's order of fields and with its escapes.

use bytes::Bytes;
use pintle_auth::User;
use pintle_codec::json::{validate, write as json};
use pintle_codec::yaml;
use pintle_meta::Status;
use pintle_meta::time::MicroTime;

use super::{Event, ObjectReference, RequestPart, ResponseStatus};

/// Begins an event that stands alone; in a list, its kind is the list's.
pub(crate) const LINE_START: &[u8] = br#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","#;
const LIST_START: &[u8] = br#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#;

/// Writes the fields of one JSON object; those that are empty are left out where Go's `omitempty` does.
struct Fields<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
}

impl<'a> Fields<'a> {
    /// Fields after others, whose object is open.
    fn further(out: &'a mut Vec<u8>) -> Fields<'a> {
        Fields { out, is_first: false }
    }

    fn begin(out: &'a mut Vec<u8>) -> Fields<'a> {
        out.push(b'{');
        Fields { out, is_first: true }
    }

    fn end(self) {
        self.out.push(b'}');
    }

    /// Writes a name that is known to need no escapes, and returns where its value goes.
    fn value(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn text(&mut self, name: &str, value: &str) {
        json::string(value, self.value(name));
    }

    fn optional(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
    }

    fn texts(&mut self, name: &str, values: &[String]) {
        if !values.is_empty() {
            list(values, self.value(name));
        }
    }

    fn raw(&mut self, name: &str, value: Option<&Bytes>) {
        if let Some(value) = value {
            self.value(name).extend_from_slice(value);
        }
    }

    fn time(&mut self, name: &str, time: &MicroTime) {
        let out = self.value(name);
        match time.to_ascii() {
            Some(text) => {
                out.push(b'"');
                out.extend_from_slice(&text);
                out.push(b'"');
            }
            None => out.extend_from_slice(b"null"),
        }
    }
}

fn list(values: &[String], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        json::string(value, out);
    }
    out.push(b']');
}

fn user(user: Option<&User>, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    if let Some(user) = user {
        fields.optional("username", &user.name);
        fields.optional("uid", &user.uid);
        fields.texts("groups", &user.groups);
        if !user.extra.is_empty() {
            let out = fields.value("extra");
            out.push(b'{');
            for (index, (key, values)) in user.extra.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                json::string(key, out);
                out.push(b':');
                list(values, out);
            }
            out.push(b'}');
        }
    }
    fields.end();
}

fn object(object: &ObjectReference, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.optional("resource", &object.resource);
    fields.optional("namespace", &object.namespace);
    fields.optional("name", &object.name);
    fields.optional("uid", &object.uid);
    fields.optional("apiGroup", &object.group);
    fields.optional("apiVersion", &object.version);
    fields.optional("resourceVersion", &object.resource_version);
    fields.optional("subresource", &object.subresource);
    fields.end();
}

fn response_status(response: &ResponseStatus, out: &mut Vec<u8>) {
    let Some(status) = &response.status else {
        out.extend_from_slice(br#"{"metadata":{},"code":"#);
        json::int(response.code.into(), out);
        out.push(b'}');
        return;
    };
    // The bounded fields only: no kind and no metadata.
    let shown = Status { code: response.code, metadata: Default::default(), ..Status::clone(status) };
    let text = shown.to_json();
    const KIND: &[u8] = br#"{"kind":"Status","apiVersion":"v1","#;
    out.push(b'{');
    out.extend_from_slice(text.trim_ascii_end().strip_prefix(KIND).unwrap_or(b"}"));
}

impl RequestPart {
    fn json(&self) -> &[u8] {
        self.json.get_or_init(|| {
            let mut out = Vec::with_capacity(256 + self.uri.len() + self.user_agent.len());
            let mut fields = Fields { out: &mut out, is_first: true };
            fields.text("requestURI", &self.uri);
            fields.text("verb", &self.verb);
            user(self.user.as_deref(), fields.value("user"));
            out
        })
    }
}

impl Event {
    /// Returns the JSON of the event from `level` on, with the brace that ends it. Encoded on first use.
    pub(crate) fn json(&self) -> &Bytes {
        self.json.get_or_init(|| {
            let mut out = Vec::with_capacity(self.weight() + 1024);
            self.encode(&mut out);
            out.into()
        })
    }

    /// Returns the size of the event as a line of a log.
    pub fn size(&self) -> usize {
        LINE_START.len() + self.json().len() + 1
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let request = &*self.request;
        let mut fields = Fields { out, is_first: true };
        fields.value("level").extend_from_slice(format!("\"{}\"", request.level.as_str()).as_bytes());
        fields.text("auditID", &request.audit_id);
        fields.value("stage").extend_from_slice(format!("\"{}\"", self.stage.as_str()).as_bytes());
        fields.out.push(b',');
        fields.out.extend_from_slice(request.json());
        let mut fields = Fields::further(fields.out);
        if let Some(impersonated) = &self.impersonated_user {
            user(Some(impersonated), fields.value("impersonatedUser"));
        }
        if !self.impersonation_constraint.is_empty() {
            let out = fields.value("authenticationMetadata");
            let mut metadata = Fields::begin(out);
            metadata.text("impersonationConstraint", self.impersonation_constraint);
            metadata.end();
        }
        fields.texts("sourceIPs", &request.source_ips);
        fields.optional("userAgent", &request.user_agent);
        if let Some(of) = &self.object {
            object(of, fields.value("objectRef"));
        }
        if let Some(status) = &self.response_status {
            response_status(status, fields.value("responseStatus"));
        }
        fields.raw("requestObject", self.request_object.as_ref());
        fields.raw("responseObject", self.response_object.as_ref());
        fields.time("requestReceivedTimestamp", &request.received);
        fields.time("stageTimestamp", &self.stage_time);
        if !self.annotations.is_empty() {
            let out = fields.value("annotations");
            out.push(b'{');
            for (index, (key, value)) in self.annotations.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                json::string(key, out);
                out.push(b':');
                json::string(value, out);
            }
            out.push(b'}');
        }
        fields.end();
    }
}

/// Returns an `EventList`, as webhooks get it.
pub(crate) fn list_of<'a>(events: impl ExactSizeIterator<Item = &'a Event> + Clone) -> Bytes {
    let size: usize = events.clone().map(|event| event.json().len() + 2).sum();
    let mut out = Vec::with_capacity(LIST_START.len() + size + 3);
    out.extend_from_slice(LIST_START);
    for (index, event) in events.enumerate() {
        out.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        out.extend_from_slice(event.json());
    }
    out.extend_from_slice(b"]}\n");
    out.into()
}

/// Returns a document that a client sent as JSON for an event: compact, with Go's escapes. YAML is converted. What is neither
/// is shown as a text: the reference loses the whole event then.
pub fn json_of(document: &[u8]) -> Bytes {
    if validate(document).is_ok() {
        let mut out = Vec::with_capacity(document.len());
        json::raw(document, &mut out);
        return out.into();
    }
    let mut out = Vec::new();
    match yaml::to_json(document) {
        Ok(converted) if validate(&converted).is_ok() => json::raw(&converted, &mut out),
        _ => json::string(&String::from_utf8_lossy(document), &mut out),
    }
    out.into()
}
