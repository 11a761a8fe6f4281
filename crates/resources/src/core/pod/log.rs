//! `pods/log`: the options of a request, and the container that it is about. The log itself is a kubelet's.

use std::borrow::Cow;

use pintle_meta::field_path::{Error, Path};
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};

use super::containers;
use super::validation::tolerations::parse_int64;
use crate::framework::conversion::build;
use crate::framework::validation::{Cursor, Errors};

/// Reads and validates PodLogOptions for a pod of this name. `split_streams`: whether standard output and error can be read alone
/// (`PodLogsQuerySplitStreams`).
pub fn options(
    query: &[(Cow<'_, str>, Cow<'_, str>)],
    name: &str,
    split_streams: bool,
) -> Result<Value, Box<Status>> {
    let options = read(query, split_streams).map_err(Status::bad_request)?;
    let errors = Errors::default();
    validate(&Cursor::root(&options, None, &errors), split_streams);
    let errors = errors.into_vec();
    if errors.is_empty() {
        Ok(options)
    } else {
        Err(Box::new(Status::invalid("", "PodLogOptions", name, &errors)))
    }
}

/// Reads PodLogOptions from the parameters of a query. Of several with a name, the first counts.
fn read(query: &[(Cow<'_, str>, Cow<'_, str>)], split_streams: bool) -> Result<Value, String> {
    let text = |name: &str| query.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
    // As Go's conversion of query parameters reads them.
    let flag = |name: &str| {
        text(name).map(|value| !matches!(&*value.to_lowercase(), "false" | "0")).filter(|is_on| *is_on)
    };
    let number = |name: &str| text(name).map(parse_int64).transpose().map(|found| found.map(Value::from));
    // In the order in which the reference reads them, since the first error is answered.
    let since_seconds = number("sinceSeconds")?;
    let since_time =
        text("sinceTime").map(Time::from_query).transpose().map_err(|error| error.to_string())?;
    let (tail_lines, limit_bytes) = (number("tailLines")?, number("limitBytes")?);
    let stream = text("stream").or(split_streams.then_some("All"));
    Ok(build(
        "core/v1.PodLogOptions",
        [
            ("container", text("container").map(Value::from)),
            ("follow", flag("follow").map(Value::from)),
            ("previous", flag("previous").map(Value::from)),
            ("sinceSeconds", since_seconds),
            ("sinceTime", since_time.map(|time| time.to_string().into())),
            ("timestamps", flag("timestamps").map(Value::from)),
            ("tailLines", tail_lines),
            ("limitBytes", limit_bytes),
            ("insecureSkipTLSVerifyBackend", flag("insecureSkipTLSVerifyBackend").map(Value::from)),
            ("stream", stream.map(Value::from)),
        ],
    ))
}

fn validate(options: &Cursor<'_, '_>, split_streams: bool) {
    let whole = |why: &str| options.report([Error::forbidden(&Path::new(""), why)]);
    let lines = options.field("tailLines");
    if lines.is_set() {
        lines.non_negative();
    }
    above_zero(&options.field("limitBytes"));
    let since = options.field("sinceSeconds");
    if since.is_set() && options.field("sinceTime").is_set() {
        whole("at most one of `sinceTime` or `sinceSeconds` may be specified");
    } else {
        above_zero(&since);
    }
    let stream = options.field("stream");
    if !stream.is_set() {
        return;
    }
    if !split_streams {
        return stream.forbidden("may not be specified");
    }
    if !matches!(stream.text(), "All" | "Stderr" | "Stdout") {
        stream.not_supported(stream.text(), &["All", "Stderr", "Stdout"]);
    }
    if stream.text() != "All" && lines.is_set() {
        whole("`tailLines` and specific `stream` are mutually exclusive for now");
    }
}

fn above_zero(number: &Cursor<'_, '_>) {
    if let Some(value) = number.optional_integer().filter(|value| *value < 1) {
        number.invalid(value, "must be greater than 0");
    }
}

/// Returns the container of a pod that a request is about: the one it names, which must be there, or the only one. An error is the
/// message of a bad request.
pub fn container<'a>(pod: &'a Value, container: &'a str) -> Result<&'a str, String> {
    let spec = pod.get("spec").unwrap_or(&Value::NULL);
    let names = || containers(spec).map(|container| container.text_at(&["name"]));
    let name = pod.name();
    if !container.is_empty() {
        let is_there = names().any(|known| known == container);
        return if is_there {
            Ok(container)
        } else {
            Err(format!("container {container} is not valid for pod {name}"))
        };
    }
    match spec.items_at(&["containers"]) {
        [only] => Ok(only.text_at(&["name"])),
        [] => Err(format!("a container name must be specified for pod {name}")),
        _ => {
            let names: Vec<&str> = names().collect();
            Err(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                names.join(" ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use pintle_codec::json;
    use pintle_meta::field_path::aggregate;

    use super::*;

    fn check(query: &[(&'static str, &'static str)], split_streams: bool) -> Result<String, String> {
        let query: Vec<_> = query.iter().map(|(name, value)| (Cow::from(*name), Cow::from(*value))).collect();
        let (options, errors) = (read(&query, split_streams)?, Errors::default());
        validate(&Cursor::root(&options, None, &errors), split_streams);
        Ok(aggregate(&errors.into_vec()))
    }

    #[test]
    fn options_have_limits() {
        for (query, split, expected) in [
            (
                &[("tailLines", "-1")][..],
                false,
                "tailLines: Invalid value: -1: must be greater than or equal to 0",
            ),
            (&[("limitBytes", "0")], false, "limitBytes: Invalid value: 0: must be greater than 0"),
            (&[("sinceSeconds", "0")], false, "sinceSeconds: Invalid value: 0: must be greater than 0"),
            (
                &[("sinceSeconds", "0"), ("sinceTime", "2026-01-01T00:00:00Z")],
                false,
                "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
            ),
            (&[("stream", "All")], false, "stream: Forbidden: may not be specified"),
            (
                &[("stream", "x")],
                true,
                r#"stream: Unsupported value: "x": supported values: "All", "Stderr", "Stdout""#,
            ),
            (
                &[("stream", "Stdout"), ("tailLines", "1")],
                true,
                "[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
            ),
            (
                &[("tailLines", "0"), ("tailLines", "-1"), ("limitBytes", "1"), ("sinceSeconds", "1")],
                false,
                "",
            ),
            (&[("tailLines", "1"), ("follow", "true")], true, ""),
        ] {
            assert_eq!(check(query, split).as_deref(), Ok(expected), "{query:?}");
        }
    }

    #[test]
    fn options_that_cannot_be_read_are_bad_requests() {
        let parse = |name: &'static str| check(&[(name, "x")], false).unwrap_err();
        for name in ["tailLines", "limitBytes", "sinceSeconds"] {
            assert_eq!(parse(name), r#"strconv.ParseInt: parsing "x": invalid syntax"#);
        }
        assert_eq!(
            parse("sinceTime"),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
    }

    #[test]
    fn a_container_must_be_named_if_there_are_several() {
        let pod = |spec: &str| {
            let text = format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec}}}"#);
            json::decode(pintle_schema::find("core/v1.Pod").unwrap(), text.as_bytes()).unwrap().value
        };
        let one = pod(r#"{"containers":[{"name":"c"}],"initContainers":[{"name":"i"}]}"#);
        let two = pod(r#"{"containers":[{"name":"c"},{"name":"d"}],"ephemeralContainers":[{"name":"e"}]}"#);
        assert_eq!(container(&one, ""), Ok("c"));
        assert_eq!(container(&one, "i"), Ok("i"));
        assert_eq!(container(&one, "x"), Err("container x is not valid for pod p".into()));
        let several = "a container name must be specified for pod p, choose one of: [c d e]";
        assert_eq!(container(&two, ""), Err(several.into()));
        assert_eq!(container(&pod("{}"), ""), Err("a container name must be specified for pod p".into()));
    }
}
