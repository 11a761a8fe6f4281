//! The `Warning` headers of an answer: each text once, and all together no more than most clients read. Handlers and
//! filters add texts to the answer; this filter writes the headers.

use std::collections::HashSet;

use async_trait::async_trait;
use http::HeaderValue;
use http::header::WARNING;
use pintle_meta::warnings::{MOST, cut, is_sendable};

use crate::filter::{Filter, Next};
use crate::{Request, Response};

pub struct WarningHeaders;

/// The texts that go with an answer, in order.
#[derive(Clone, Default)]
struct Warnings(Vec<String>);

#[async_trait]
impl Filter for WarningHeaders {
    async fn handle(&self, request: Box<Request>, next: Next<'_>) -> Response {
        let mut response = next.run(request).await;
        if let Some(Warnings(texts)) = response.extensions_mut().remove() {
            for value in headers(&texts) {
                response.headers_mut().append(WARNING, value);
            }
        }
        response
    }
}

/// Adds warnings before those that the answer has already: filters get to it after handlers.
pub fn warn(response: &mut Response, mut texts: Vec<String>) {
    if texts.is_empty() {
        return;
    }
    let warnings = response.extensions_mut().get_or_insert_default::<Warnings>();
    texts.append(&mut warnings.0);
    warnings.0 = texts;
}

/// Returns the headers' values, in the order of the texts. A text with control characters is left out.
fn headers(warnings: &[String]) -> Vec<HeaderValue> {
    let mut seen = HashSet::new();
    let (mut cuts, mut written, mut headers) = (false, 0, Vec::new());
    let mut distinct: Vec<&str> = Vec::new();
    for text in warnings.iter().map(String::as_str).filter(|text| !text.is_empty()) {
        if cuts && written >= MOST {
            break;
        }
        if !seen.insert(text) {
            continue;
        }
        distinct.push(text);
        let shown = if cuts { cut(text) } else { text };
        let Some(value) = header(shown) else { continue };
        let length = shown.chars().count();
        if cuts || written + length <= MOST {
            written += length;
            headers.push(value);
            continue;
        }
        // It does not fit whole: begin anew, with less of each.
        cuts = true;
        let shown: Vec<&str> = distinct.iter().map(|text| cut(text)).collect();
        headers = shown.iter().filter_map(|text| header(text)).collect();
        let shown = shown.iter().filter(|text| is_sendable(text));
        written = shown.map(|text| text.chars().count()).sum();
    }
    headers
}

fn header(text: &str) -> Option<HeaderValue> {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok().filter(|_| is_sendable(text))
}

#[cfg(test)]
mod tests {
    use pintle_meta::warnings::MOST_OF_EACH;

    use super::*;

    fn sent(warnings: &[String]) -> Vec<String> {
        let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
        headers(warnings).iter().map(text).collect()
    }

    fn texts(warnings: &[&str]) -> Vec<String> {
        sent(&warnings.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn each_warning_is_sent_once_in_quotes_and_in_order() {
        let expect = [r#"299 - "b \"x\" \\ y""#, r#"299 - "a ü""#];
        assert_eq!(texts(&[r#"b "x" \ y"#, "", "a ü", r#"b "x" \ y"#]), expect);
    }

    #[test]
    fn texts_that_a_header_cannot_hold_are_left_out() {
        assert_eq!(texts(&["a\nb", "a\tb", "a\u{7f}", "a\u{85}b", "c"]), [r#"299 - "c""#]);
    }

    #[test]
    fn long_warnings_are_whole_up_to_the_limit() {
        assert_eq!(sent(&["x".repeat(MOST)]), [format!("299 - \"{}\"", "x".repeat(MOST))]);
        assert_eq!(sent(&["x".repeat(MOST + 1)]), [format!("299 - \"{}\"", "x".repeat(MOST_OF_EACH))]);
        // In characters, not in bytes.
        assert_eq!(sent(&["ü".repeat(MOST)])[0].chars().count(), MOST + 8);
        assert_eq!(sent(&["ü".repeat(MOST + 1)])[0].chars().count(), MOST_OF_EACH + 8);
    }

    #[test]
    fn beyond_the_limit_all_are_shortened_and_the_last_left_out() {
        let long = |number: usize| format!("{number:03}{}", "x".repeat(400));
        let whole: Vec<String> = (0..10).map(long).collect();
        assert!(sent(&whole).iter().all(|text| text.len() == 403 + 8));
        let many: Vec<String> = (0..100).map(long).collect();
        let sent = sent(&many);
        assert_eq!(sent.len(), 16, "of 256 characters each");
        for (number, text) in sent.iter().enumerate() {
            assert_eq!(text, &format!("299 - \"{}\"", &long(number)[..MOST_OF_EACH]));
        }
        let short: Vec<String> = (0..5000).map(|number| format!("{number:04}")).collect();
        assert_eq!(self::sent(&short).len(), 1025, "the one that did not fit is sent when all are shortened");
    }
}
