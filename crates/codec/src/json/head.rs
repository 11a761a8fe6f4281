//! Finds the kind and apiVersion of a JSON object, as the reference does before decoding it.

use std::borrow::Cow;

use super::read::Reader;
use super::typed::json_type;
use crate::Error;

/// Kind and apiVersion as written; empty if absent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
}

/// Go type that the reference decodes both into, for messages.
const GO_TYPE: &str = concat!(
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\"""#,
    r#"; Kind string "json:\"kind,omitempty\"" }"#
);

/// Reads the whole text, so that any syntax error is found. These two fields, unlike others, match
/// case-insensitively; the last occurrence wins.
pub(crate) fn head(text: &[u8]) -> Result<Head<'_>, Error> {
    let mut reader = Reader::new(text);
    let mut head = Head::default();
    let mut wrong = None;
    match reader.begin()? {
        b'{' => {
            let mut more = reader.enter_object()?;
            while more {
                let key = reader.key()?;
                let first = reader.begin()?;
                let field = ["apiVersion", "kind"].into_iter().find(|name| folds_to(&key, name));
                match (field, first) {
                    (Some(name), b'"') => {
                        let text = reader.string()?;
                        if name == "kind" {
                            head.kind = text;
                        } else {
                            head.api_version = text;
                        }
                    }
                    (Some(name), first) => {
                        if first != b'n' {
                            wrong.get_or_insert_with(|| {
                                let found = json_type(first);
                                format!("{found} into Go struct field .{name} of type string")
                            });
                        }
                        reader.skip()?;
                    }
                    (None, _) => reader.skip()?,
                }
                more = reader.next_field()?;
            }
        }
        first => {
            if first != b'n' {
                wrong = Some(format!("{} into Go value of type {GO_TYPE}", json_type(first)));
            }
            reader.skip()?;
        }
    }
    reader.end()?;
    match wrong {
        None => Ok(head),
        Some(wrong) => Err(Error::new(format!("json: cannot unmarshal {wrong}"))),
    }
}

/// Like [`head`] for ordinary objects; reads no further than the second of the two fields.
pub(crate) fn peek(text: &[u8]) -> Option<Head<'_>> {
    let mut reader = Reader::new(text);
    let mut head = Head::default();
    let (mut has_version, mut has_kind) = (false, false);
    if reader.begin().ok()? != b'{' {
        return None;
    }
    let mut more = reader.enter_object().ok()?;
    while more {
        let key = reader.key().ok()?;
        match (&*key, reader.begin().ok()?) {
            ("apiVersion", b'"') => {
                head.api_version = reader.string().ok()?;
                has_version = true;
            }
            ("kind", b'"') => {
                head.kind = reader.string().ok()?;
                has_kind = true;
            }
            _ => reader.skip().ok()?,
        }
        if has_version && has_kind {
            break;
        }
        more = reader.next_field().ok()?;
    }
    Some(head)
}

/// Compares names case-insensitively as Go folds them: the Kelvin sign and the long s count as letters.
fn folds_to(key: &str, name: &str) -> bool {
    let fold = |c: char| match c {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        c => c.to_ascii_lowercase(),
    };
    key == name || key.len() >= name.len() && key.chars().map(fold).eq(name.chars().map(fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<(String, String), String> {
        let head = head(text.as_bytes()).map_err(|error| error.to_string())?;
        Ok((head.api_version.into_owned(), head.kind.into_owned()))
    }

    #[test]
    fn kind_and_api_version_are_found_anywhere_and_in_any_case() {
        let cases = [
            (r#"{"kind":"Pod","apiVersion":"v1"}"#, "v1", "Pod"),
            (
                r#"{"spec":{"kind":"No"},"apiVersion":"apps/v1","list":[{}],"kind":"Deployment"}"#,
                "apps/v1",
                "Deployment",
            ),
            (r#"{"KIND":"Pod","ApiVersion":"v1"}"#, "v1", "Pod"),
            ("{\"\u{212a}ind\":\"Pod\",\"apiVer\u{17f}ion\":\"v1\"}", "v1", "Pod"),
            (r#"{"kind":"A","Kind":"B"}"#, "", "B"),
            (r#"{"kind":"A","kind":null}"#, "", "A"),
            (r#"{"\u006bind":"\u0041"}"#, "", "A"),
            ("{}", "", ""),
            ("null", "", ""),
        ];
        for (text, version, kind) in cases {
            assert_eq!(found(text), Ok((version.into(), kind.into())), "{text}");
        }
    }

    #[test]
    fn wrong_types_have_gos_messages() {
        let cases = [
            ("[]", format!("json: cannot unmarshal array into Go value of type {GO_TYPE}")),
            ("5", format!("json: cannot unmarshal number into Go value of type {GO_TYPE}")),
            (
                r#"{"kind":5}"#,
                "json: cannot unmarshal number into Go struct field .kind of type string".into(),
            ),
            (
                r#"{"APIVERSION":{},"kind":5}"#,
                "json: cannot unmarshal object into Go struct field .apiVersion of type string".into(),
            ),
            (r#"{"kind":5,"#, "unexpected end of JSON input".into()),
            ("[] x", "invalid character 'x' after top-level value".into()),
        ];
        for (text, want) in cases {
            assert_eq!(found(text), Err(want), "{text}");
        }
    }

    #[test]
    fn a_peek_stops_at_the_second_field() {
        let head = peek(br#"{"metadata":{"a":[]},"kind":"Pod","apiVersion":"v1",!"#).unwrap();
        assert_eq!((&*head.api_version, &*head.kind), ("v1", "Pod"));
        assert_eq!(peek(b"{\"kind\":").map(|head| head.kind), None);
        assert_eq!(peek(b"[]").map(|head| head.kind), None);
    }
}
