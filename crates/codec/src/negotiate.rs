//! Content negotiation of responses and request bodies.
//!
//! `Accept` is a list of clauses in order of preference; parameters request another representation of the object:
//!
//! ```text
//! application/json;as=Table;v=v1;g=meta.k8s.io, application/vnd.kubernetes.protobuf;q=0.9, */*
//! ```
//!
//! A clause with parameters that the endpoint cannot satisfy is skipped: kubectl lists a Table first and plain JSON
//! last.

use pintle_meta::gvk::GroupVersionKind;

/// Encoding of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Json,
    Yaml,
    Protobuf,
    Cbor,
}

/// Supported encodings, in order of preference. CBOR is behind a feature gate and comes last.
pub const ENCODINGS: &[Encoding] = &[Encoding::Json, Encoding::Yaml, Encoding::Protobuf];
pub const ENCODINGS_WITH_CBOR: &[Encoding] =
    &[Encoding::Json, Encoding::Yaml, Encoding::Protobuf, Encoding::Cbor];

impl Encoding {
    pub fn media_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Yaml => "application/yaml",
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
            Encoding::Cbor => "application/cbor",
        }
    }

    /// Returns the media type of a watch; YAML has none, because its documents cannot be streamed.
    pub fn stream_media_type(self) -> Option<&'static str> {
        match self {
            Encoding::Json => Some("application/json;stream=watch"),
            Encoding::Yaml => None,
            Encoding::Protobuf => Some("application/vnd.kubernetes.protobuf;stream=watch"),
            Encoding::Cbor => Some("application/cbor-seq"),
        }
    }
}

/// Negotiated representation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub encoding: Encoding,
    /// `pretty=1`.
    pub pretty: bool,
    /// `as`, `g` and `v`: a kind other than the object's own.
    pub convert: Option<GroupVersionKind>,
    /// `stream=watch`.
    pub stream: bool,
    /// `profile` of discovery: `local` or empty.
    pub profile: String,
    /// `sv`: requested version of the server's own types.
    pub server_version: String,
}

impl Accepted {
    /// Returns the representation for a client without preferences.
    pub fn plain(encoding: Encoding) -> Accepted {
        Accepted {
            encoding,
            pretty: false,
            convert: None,
            stream: false,
            profile: String::new(),
            server_version: String::new(),
        }
    }

    /// Returns whether the object's own kind is requested, in no particular version: the rule of endpoints without
    /// transformations, and of errors.
    pub fn is_plain(&self) -> bool {
        self.convert.is_none() && self.server_version.is_empty()
    }
}

/// Returns the first combination of encoding and parameters that the client accepts and `allows` permits. `None`
/// means 406.
pub fn output(accept: &str, supported: &[Encoding], allows: impl Fn(&Accepted) -> bool) -> Option<Accepted> {
    if accept.is_empty() {
        return supported.first().copied().map(Accepted::plain);
    }
    clauses(accept).iter().find_map(|clause| {
        let mut matching = supported.iter().filter(|encoding| clause.matches(**encoding));
        matching.find_map(|encoding| clause.options(*encoding, &allows))
    })
}

/// Negotiated representation of a page that is also available as an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// `text/plain`.
    Text,
    /// Object of the requested kind.
    Object(Accepted),
}

/// Negotiates a page: text if no kind is requested, else one of its kinds. `None` means 406.
pub fn page(
    accept: &str,
    supported: &[Encoding],
    is_kind: impl Fn(&GroupVersionKind) -> bool,
) -> Option<Page> {
    if accept.trim().is_empty() {
        return Some(Page::Text);
    }
    let allows = |accepted: &Accepted| {
        accepted.server_version.is_empty() && accepted.convert.as_ref().is_some_and(&is_kind)
    };
    clauses(accept).iter().find_map(|clause| {
        let mut matching = supported.iter().filter(|encoding| clause.matches(**encoding));
        let object = matching.find_map(|encoding| clause.options(*encoding, allows));
        match object.filter(|accepted| !accepted.stream) {
            Some(accepted) => Some(Page::Object(accepted)),
            None => clause.is_for_text().then_some(Page::Text),
        }
    })
}

/// Returns type and subtype of each clause in order of preference, for endpoints with media types of their own.
pub fn media_ranges(accept: &str) -> impl Iterator<Item = (&str, &str)> {
    clauses(accept).into_iter().map(|clause| (clause.media, clause.sub))
}

/// Returns the encoding of a request's body; JSON without a content type. `None` means 415.
pub fn input(content_type: &str, supported: &[Encoding]) -> Option<Encoding> {
    if content_type.is_empty() {
        return supported.first().copied();
    }
    let media_type = media_type(content_type)?;
    supported.iter().copied().find(|encoding| encoding.media_type() == media_type)
}

/// Returns the message of a 406.
pub fn not_acceptable(supported: &[&str]) -> String {
    format!("only the following media types are accepted: {}", supported.join(", "))
}

/// Returns the message of a 415.
pub fn unsupported(supported: &[&str]) -> String {
    format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        supported.join(", ")
    )
}

#[derive(Debug)]
struct Clause<'a> {
    media: &'a str,
    sub: &'a str,
    quality: f32,
    parameters: Vec<(&'a str, &'a str)>,
}

impl Clause<'_> {
    fn matches(&self, encoding: Encoding) -> bool {
        self.matches_type(encoding.media_type())
    }

    /// Returns whether the clause accepts plain text without a transformation.
    fn is_for_text(&self) -> bool {
        self.matches_type("text/plain")
            && !self.parameters.iter().any(|(name, _)| matches!(*name, "as" | "g" | "v" | "stream" | "sv"))
    }

    fn matches_type(&self, media_type: &str) -> bool {
        let (media, sub) = media_type.split_once('/').unwrap_or_default();
        match (self.media, self.sub) {
            ("*", "*") => true,
            (asked, "*") => asked == media,
            (asked, asked_sub) => asked == media && asked_sub == sub,
        }
    }

    fn options(&self, encoding: Encoding, allows: impl Fn(&Accepted) -> bool) -> Option<Accepted> {
        let mut accepted = Accepted::plain(encoding);
        for (name, value) in &self.parameters {
            match *name {
                "as" => accepted.convert.get_or_insert_default().kind = (*value).into(),
                "g" => accepted.convert.get_or_insert_default().group = (*value).into(),
                "v" => accepted.convert.get_or_insert_default().version = (*value).into(),
                "stream" if !value.is_empty() => {
                    if *value != "watch" || encoding.stream_media_type().is_none() {
                        return None;
                    }
                    accepted.stream = true;
                }
                "sv" => accepted.server_version = (*value).into(),
                "pretty" => accepted.pretty = *value == "1",
                "profile" => accepted.profile = (*value).into(),
                _ => {}
            }
        }
        allows(&accepted).then_some(accepted)
    }

    /// Returns whether this clause is tried before another. The relation is not transitive, and the result then
    /// depends on the sorting algorithm; see [`sort`].
    fn is_before(&self, other: &Clause<'_>) -> bool {
        self.quality > other.quality
            || (self.media != "*" && other.media == "*")
            || (self.sub != "*" && other.sub == "*")
    }
}

fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(clause).collect();
    sort(&mut clauses);
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.trim_matches(' ').split(';');
    let mut names = parts.next()?.split('/');
    let media = names.next()?.trim_matches(' ');
    let sub = match (names.next().filter(|sub| !sub.is_empty()), names.next()) {
        (None, _) if media == "*" => "*",
        (None, _) => return None,
        // A trailing slash is not a third part.
        (Some(sub), None | Some("")) => sub.trim_matches(' '),
        (Some(_), Some(_)) => return None,
    };
    let mut clause = Clause { media, sub, quality: 1.0, parameters: Vec::new() };
    for part in parts {
        let Some((name, value)) = part.split_once('=') else { continue };
        let value = value.strip_suffix('=').unwrap_or(value);
        if value.is_empty() || value.contains('=') {
            continue;
        }
        match name.trim_matches(' ') {
            "q" => clause.quality = value.parse().unwrap_or(0.0),
            name => clause.parameters.push((name, value.trim_matches(' '))),
        }
    }
    Some(clause)
}

/// Go sorts up to twelve clauses by insertion, which decides between clauses without an order. Clients send no more;
/// longer lists use a sort that is not quadratic.
fn sort(clauses: &mut [Clause<'_>]) {
    if clauses.len() > 12 {
        clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        return;
    }
    for end in 1..clauses.len() {
        let mut index = end;
        while index > 0 && clauses[index].is_before(&clauses[index - 1]) {
            clauses.swap(index, index - 1);
            index -= 1;
        }
    }
}

/// Returns the media type without parameters, in lower case; `None` if either is malformed.
fn media_type(content_type: &str) -> Option<String> {
    let (media_type, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let media_type = media_type.trim().to_ascii_lowercase();
    let (media, sub) = media_type.split_once('/')?;
    let well_formed = is_token(media) && is_token(sub) && are_parameters(parameters);
    well_formed.then_some(media_type)
}

fn are_parameters(text: &str) -> bool {
    let mut rest = text.trim();
    let mut seen: Vec<String> = Vec::new();
    while !rest.is_empty() {
        let Some((name, value)) = rest.split_once('=') else { return false };
        let name = name.trim().to_ascii_lowercase();
        if !is_token(&name) || seen.len() > 16 || seen.contains(&name) {
            return false;
        }
        seen.push(name);
        let value = value.trim_start();
        let end = match value.strip_prefix('"') {
            Some(quoted) => match quoted_end(quoted) {
                Some(end) => end + 1,
                None => return false,
            },
            None => value.find([';', ' ', '\t']).unwrap_or(value.len()),
        };
        if end == 0 || (!value.starts_with('"') && !is_token(&value[..end])) {
            return false;
        }
        rest = value[end..].trim_start();
        match rest.strip_prefix(';') {
            Some(next) => rest = next.trim(),
            None if rest.is_empty() => {}
            None => return false,
        }
    }
    true
}

/// Returns the offset past the closing quote, counted from after the opening one.
fn quoted_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            b'\r' | b'\n' => return None,
            _ => {}
        }
    }
    None
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(accept: &str) -> Option<Encoding> {
        output(accept, ENCODINGS, Accepted::is_plain).map(|accepted| accepted.encoding)
    }

    #[test]
    fn the_most_preferred_supported_clause_wins() {
        for (accept, expect) in [
            ("", Some(Encoding::Json)),
            ("*/*", Some(Encoding::Json)),
            ("*", Some(Encoding::Json)),
            ("application/*", Some(Encoding::Json)),
            ("application/yaml", Some(Encoding::Yaml)),
            ("application/json;q=0.5, application/yaml;q=0.9", Some(Encoding::Yaml)),
            ("application/vnd.kubernetes.protobuf,application/json", Some(Encoding::Protobuf)),
            ("*/*;q=1, application/yaml;q=0.1", Some(Encoding::Yaml)),
            ("text/html, application/xml;q=0.9", None),
            ("application/json/x", None),
            ("application", None),
            ("application/cbor", None),
            ("application/json;stream=watch", Some(Encoding::Json)),
            ("application/yaml;stream=watch", None),
            ("application/json;stream=other", None),
            ("application/json;sv=1", None),
            ("application/json;pretty=1;unknown=2", Some(Encoding::Json)),
            ("application/json;q=bad, application/yaml", Some(Encoding::Yaml)),
        ] {
            assert_eq!(agreed(accept), expect, "{accept}");
        }
    }

    #[test]
    fn media_ranges_are_ordered_and_malformed_ones_skipped() {
        let ranges: Vec<(&str, &str)> = media_ranges("a/b;q=0.1, nonsense, c/*").collect();
        assert_eq!(ranges, [("c", "*"), ("a", "b")]);
        assert_eq!(media_ranges("").count(), 0);
    }

    #[test]
    fn a_table_clause_is_skipped_if_unsupported() {
        let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml";
        assert_eq!(agreed(accept), Some(Encoding::Yaml));
        let table = output(accept, ENCODINGS, |_| true).unwrap();
        assert_eq!(table.encoding, Encoding::Json);
        assert_eq!(table.convert, Some(GroupVersionKind::new("meta.k8s.io", "v1", "Table")));
    }

    #[test]
    fn a_page_is_text_unless_one_of_its_kinds_is_requested() {
        let kind = GroupVersionKind::new("g", "v1", "Kind");
        let agreed = |accept: &str| page(accept, ENCODINGS, |asked| *asked == kind);
        for accept in [
            "",
            " ",
            "*/*",
            "*",
            "text/*",
            "text/plain",
            "application/json, */*;q=0.1",
            "text/html,text/plain",
        ] {
            assert_eq!(agreed(accept), Some(Page::Text), "{accept}");
        }
        for (accept, encoding) in [
            ("application/json;g=g;v=v1;as=Kind", Encoding::Json),
            ("text/plain;q=0.1, application/yaml;as=Kind;v=v1;g=g", Encoding::Yaml),
            ("*/*;as=Kind;v=v1;g=g", Encoding::Json),
        ] {
            let expect = Accepted { convert: Some(kind.clone()), ..Accepted::plain(encoding) };
            assert_eq!(agreed(accept), Some(Page::Object(expect)), "{accept}");
        }
        for accept in [
            "application/json",
            "text/html",
            "application/json;as=Kind;v=v2;g=g",
            "text/plain;as=Kind;v=v1;g=g",
            "application/json;as=Kind;v=v1;g=g;stream=watch",
            "text/plain;sv=1",
        ] {
            assert_eq!(agreed(accept), None, "{accept}");
        }
    }

    #[test]
    fn thousands_of_clauses_are_fast() {
        let accept = "text/html,".repeat(100_000) + "application/yaml";
        assert_eq!(agreed(&accept), Some(Encoding::Yaml));
    }

    #[test]
    fn content_types_are_parsed_with_their_parameters() {
        for (content_type, expect) in [
            ("", Some(Encoding::Json)),
            ("application/json", Some(Encoding::Json)),
            ("Application/JSON; charset=utf-8", Some(Encoding::Json)),
            ("application/json; charset=\"a;b\\\"\"", Some(Encoding::Json)),
            ("application/json;", Some(Encoding::Json)),
            ("application/json; charset", None),
            ("application/json; a=1; a=2", None),
            ("application/yaml", Some(Encoding::Yaml)),
            ("application/vnd.kubernetes.protobuf", Some(Encoding::Protobuf)),
            ("text/plain", None),
            ("application/cbor", None),
            ("json", None),
            ("application/ json", None),
        ] {
            assert_eq!(input(content_type, ENCODINGS), expect, "{content_type}");
        }
        assert_eq!(input("application/cbor", ENCODINGS_WITH_CBOR), Some(Encoding::Cbor));
    }

    #[test]
    fn rejections_name_the_supported_media_types() {
        let types: Vec<&str> = ENCODINGS.iter().map(|encoding| encoding.media_type()).collect();
        let all = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
        assert_eq!(not_acceptable(&types), format!("only the following media types are accepted: {all}"));
        assert!(unsupported(&types).ends_with(&format!("accepted media types include: {all}")));
    }
}
