//! `pods/log`: the options of a request are checked here; the log itself is a kubelet's.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use pintle_features::Feature;
use pintle_meta::field_path::{Error, Path};
use pintle_meta::time::Time;
use pintle_meta::{Status, Value};
use pintle_registry::{Context, Result, Store, Subresource};

use super::containers;
use super::validation::tolerations::parse_int64;
use crate::framework::strategy::Settings;

/// Logs of pods of a store.
pub struct Log {
    pods: Arc<Store>,
    split_streams: bool,
}

impl Log {
    pub fn new(pods: Arc<Store>, settings: &Settings) -> Log {
        Log { pods, split_streams: settings.features.enabled(Feature::PodLogsQuerySplitStreams) }
    }
}

#[async_trait]
impl Subresource for Log {
    async fn get_with(
        &self,
        context: &Context,
        name: &str,
        query: &[(Cow<'_, str>, Cow<'_, str>)],
    ) -> Result<Value> {
        let options = Options::read(query, self.split_streams).map_err(Status::bad_request)?;
        let errors = options.validate(self.split_streams);
        if !errors.is_empty() {
            return Err(Box::new(Status::invalid("", "PodLogOptions", name, &errors)));
        }
        let pod = self.pods.get(context, name).await?;
        check_container(&pod, &options.container).map_err(Status::bad_request)?;
        Err(Box::new(Status::not_implemented("get of pods/log is not implemented by this server yet")))
    }
}

/// PodLogOptions, as far as they can be wrong.
#[derive(Debug, Default, PartialEq)]
struct Options {
    container: String,
    since_seconds: Option<i64>,
    since_time: Option<Time>,
    tail_lines: Option<i64>,
    limit_bytes: Option<i64>,
    stream: Option<String>,
}

impl Options {
    /// Reads the parameters of a query; of several with a name, the first counts.
    fn read(
        query: &[(Cow<'_, str>, Cow<'_, str>)],
        split_streams: bool,
    ) -> std::result::Result<Options, String> {
        let text = |name: &str| query.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        let number = |name: &str| text(name).map(parse_int64).transpose();
        let stream = text("stream").map(str::to_owned);
        // In the order in which the reference reads them, since the first error is answered.
        Ok(Options {
            container: text("container").unwrap_or_default().to_owned(),
            since_seconds: number("sinceSeconds")?,
            since_time: text("sinceTime")
                .map(Time::from_query)
                .transpose()
                .map_err(|error| error.to_string())?,
            tail_lines: number("tailLines")?,
            limit_bytes: number("limitBytes")?,
            stream: stream.or_else(|| split_streams.then(|| "All".to_owned())),
        })
    }

    fn validate(&self, split_streams: bool) -> Vec<Error> {
        let mut errors = Vec::new();
        let whole = Path::new("");
        if let Some(lines) = self.tail_lines.filter(|lines| *lines < 0) {
            errors.push(Error::invalid(&Path::new("tailLines"), lines, "must be greater than or equal to 0"));
        }
        if let Some(bytes) = self.limit_bytes.filter(|bytes| *bytes < 1) {
            errors.push(Error::invalid(&Path::new("limitBytes"), bytes, "must be greater than 0"));
        }
        if self.since_seconds.is_some() && self.since_time.is_some() {
            let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            errors.push(Error::forbidden(&whole, why));
        } else if let Some(seconds) = self.since_seconds.filter(|seconds| *seconds < 1) {
            errors.push(Error::invalid(&Path::new("sinceSeconds"), seconds, "must be greater than 0"));
        }
        let path = Path::new("stream");
        match self.stream.as_deref() {
            Some(_) if !split_streams => errors.push(Error::forbidden(&path, "may not be specified")),
            Some(stream) => {
                if !matches!(stream, "All" | "Stderr" | "Stdout") {
                    errors.push(Error::not_supported(&path, stream, &["All", "Stderr", "Stdout"]));
                }
                if stream != "All" && self.tail_lines.is_some() {
                    let why = "`tailLines` and specific `stream` are mutually exclusive for now";
                    errors.push(Error::forbidden(&whole, why));
                }
            }
            None => {}
        }
        errors
    }
}

/// Checks that a pod has the container; without a name, that it has one alone.
fn check_container(pod: &Value, container: &str) -> std::result::Result<(), String> {
    let spec = pod.get("spec").unwrap_or(&Value::NULL);
    let names = || containers(spec).map(|container| container.text_at(&["name"]));
    let name = pod.name();
    if !container.is_empty() {
        let is_there = names().any(|known| known == container);
        return if is_there {
            Ok(())
        } else {
            Err(format!("container {container} is not valid for pod {name}"))
        };
    }
    match spec.items_at(&["containers"]).len() {
        1 => Ok(()),
        0 => Err(format!("a container name must be specified for pod {name}")),
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

    fn read(query: &[(&'static str, &'static str)], split: bool) -> std::result::Result<Options, String> {
        let query: Vec<_> = query.iter().map(|(name, value)| (Cow::from(*name), Cow::from(*value))).collect();
        Options::read(&query, split)
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
            let found = read(query, split).unwrap().validate(split);
            assert_eq!(aggregate(&found), expected, "{query:?}");
        }
    }

    #[test]
    fn options_that_cannot_be_read_are_bad_requests() {
        let parse = |name: &'static str| read(&[(name, "x")], false).unwrap_err();
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
        assert_eq!(check_container(&one, ""), Ok(()));
        assert_eq!(check_container(&one, "i"), Ok(()));
        assert_eq!(check_container(&one, "x"), Err("container x is not valid for pod p".into()));
        let several = "a container name must be specified for pod p, choose one of: [c d e]";
        assert_eq!(check_container(&two, ""), Err(several.into()));
        assert_eq!(
            check_container(&pod("{}"), ""),
            Err("a container name must be specified for pod p".into())
        );
    }
}
