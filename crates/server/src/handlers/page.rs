//! Pages about the server itself: a text for people, which is not to be parsed, and an object for clients that ask for its kind.

use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, WARNING};
use http::{Response as HttpResponse, StatusCode};
use pintle_codec::negotiate::{self, Accepted, Encoding, Page};
use pintle_meta::gvk::GroupVersionKind;
use pintle_meta::value::Layout;
use pintle_meta::{Object, Status, Value};
use pintle_runtime::Random;

use crate::metrics::{EndpointLabels, EndpointMetrics, Metrics, ResponseMetrics, page_request_kind};
use crate::rest::{Representation, wants_pretty};
use crate::{Body, Request, Response, respond};

/// The component's name on the pages.
const COMPONENT: &str = "apiserver";
const GROUP: &str = "config.k8s.io";
const VERSIONS: [&str; 2] = ["v1alpha1", "v1beta1"];
/// Still served, with a warning.
const DEPRECATED: &str = "v1alpha1";

/// The fields of all pages, in the order of their declaration.
static LAYOUT: Layout = Layout {
    names: &[
        "kind",
        "apiVersion",
        "metadata",
        "flags",
        "startTime",
        "uptimeSeconds",
        "goVersion",
        "binaryVersion",
        "emulationVersion",
        "paths",
    ],
};

/// A page in both forms.
pub(super) struct Pages {
    /// `flagz`.
    name: &'static str,
    /// `Flagz`.
    kind: &'static str,
    /// Encodings of the object. Protobuf is not among them: these kinds have no such form.
    encodings: Vec<Encoding>,
    /// Chooses the delimiter of texts.
    random: Random,
    metrics: Metrics,
    /// The metrics of the text, and of each version of the object.
    endpoints: [EndpointMetrics; 3],
}

impl Pages {
    pub(super) fn new(
        name: &'static str,
        kind: &'static str,
        encodings: &[Encoding],
        metrics: &Metrics,
        random: &Random,
    ) -> Pages {
        let encodings =
            encodings.iter().copied().filter(|encoding| *encoding != Encoding::Protobuf).collect();
        Pages {
            name,
            kind,
            encodings,
            random: random.clone(),
            metrics: metrics.clone(),
            endpoints: Default::default(),
        }
    }

    /// Returns the first lines of every text, which warn against parsing it.
    pub(super) fn heading(&self) -> String {
        let name = self.name;
        format!(
            "\n{COMPONENT} {name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting \
             compatibility guarantees and is for debugging purposes only.\n"
        )
    }

    /// Returns the delimiter between a name and its value in a text, chosen at random so that clients do not parse it.
    pub(super) fn delimiter(&self) -> &'static str {
        match self.random.number() % 4 {
            0 => ":",
            1 => ": ",
            2 => "=",
            _ => " ",
        }
    }

    /// Answers with the text or the object. `fields` are those of the object, after its metadata.
    pub(super) fn answer(
        &self,
        request: &Request,
        text: impl FnOnce() -> String,
        fields: impl FnOnce() -> Object,
    ) -> Response {
        let accept = request.header(&ACCEPT).unwrap_or_default();
        let is_kind = |kind: &GroupVersionKind| {
            kind.group == GROUP && VERSIONS.contains(&kind.version.as_str()) && kind.kind == self.kind
        };
        match negotiate::page(accept, &self.encodings, is_kind) {
            Some(Page::Text) => {
                let mut response = HttpResponse::new(Body::from(text().into_bytes()));
                let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
                response.headers_mut().insert(CONTENT_TYPE, content_type);
                self.measured(response, request, "")
            }
            Some(Page::Object(accepted)) => self.object(request, &accepted, fields()),
            None => {
                let mut known: Vec<&str> =
                    self.encodings.iter().map(|encoding| encoding.media_type()).collect();
                known.insert(known.len().min(2), "text/plain");
                self.measured(respond::status(&Status::not_acceptable(&known)), request, "")
            }
        }
    }

    fn object(&self, request: &Request, accepted: &Accepted, fields: Object) -> Response {
        let version = accepted.convert.as_ref().map(|kind| kind.version.to_string()).unwrap_or_default();
        let mut object = Object::of(&LAYOUT);
        object.insert("kind", self.kind);
        object.insert("apiVersion", format!("{GROUP}/{version}"));
        object.insert("metadata", Object::from_iter([("name", COMPONENT)]));
        for (name, value) in fields.iter() {
            object.insert(name, value.clone());
        }
        let object = Value::object(object);
        let pretty = accepted.pretty || wants_pretty(&request.parts.uri, &request.user_agent());
        let representation = Representation::plain(accepted.encoding, pretty);
        let mut response = match representation.tree(&object) {
            Ok(body) => representation.respond(StatusCode::OK, body),
            Err(status) => return self.measured(respond::status(&status), request, &version),
        };
        let media_type = format!("{};g={GROUP};v={version};as={}", accepted.encoding.media_type(), self.kind);
        if let Ok(media_type) = HeaderValue::try_from(media_type) {
            response.headers_mut().insert(CONTENT_TYPE, media_type);
        }
        if version == DEPRECATED {
            let name = self.name;
            let warning = format!(
                "299 - \"This version of the {name} endpoint is deprecated. Please use a newer version.\""
            );
            if let Ok(warning) = HeaderValue::try_from(warning) {
                response.headers_mut().insert(WARNING, warning);
            }
        }
        self.measured(response, request, &version)
    }

    /// Marks an answer to be counted under a version of the object; empty for the text.
    fn measured(&self, mut response: Response, request: &Request, version: &str) -> Response {
        let at = VERSIONS.iter().position(|known| *known == version).map_or(0, |at| at + 1);
        let group = if version.is_empty() { "" } else { GROUP };
        let labels = EndpointLabels { group, version, resource: self.name, subresource: "" };
        let deprecated = (version == DEPRECATED).then_some("");
        let metrics =
            self.endpoints[at].for_kind(&self.metrics, labels, page_request_kind(request), deprecated);
        response.extensions_mut().insert(ResponseMetrics(metrics));
        response
    }
}
