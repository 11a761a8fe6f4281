//! Values of flags as text, as pflag and the reference's own types print them.

use crate::golang::format_duration;
use crate::kind::Kind;
use crate::value::{NamedCertKey, Value};
use crate::version::VersionRequest;

impl Value {
    pub(crate) fn text(&self, kind: Kind) -> String {
        match self {
            Value::Bool(value) => value.to_string(),
            Value::String(value) => value.clone(),
            Value::Strings(values) => format!("[{}]", record(values)),
            Value::Int(value) => value.to_string(),
            Value::Uint(value) => value.to_string(),
            Value::Float(value) if kind == Kind::Float32 => (*value as f32).to_string(),
            Value::Float(value) => value.to_string(),
            Value::Duration(nanos) => format_duration(*nanos),
            Value::Ip(value) => value.map_or_else(|| "<nil>".to_owned(), |ip| ip.to_string()),
            Value::Pairs(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
                match kind {
                    Kind::QuotedPairs => format!("[{}]", record(&pairs)),
                    _ => sorted(pairs).join(","),
                }
            }
            Value::Multimap(map) => {
                let of_key = |(key, values): (&String, &Vec<String>)| {
                    values.iter().map(|value| format!("{key}:{value}")).collect::<Vec<_>>()
                };
                map.iter().flat_map(of_key).collect::<Vec<_>>().join(",")
            }
            Value::CertKeys(values) => {
                format!("[{}]", values.iter().map(cert_key).collect::<Vec<_>>().join(";"))
            }
            Value::Int32s(values) => {
                format!("[{}]", values.iter().map(i32::to_string).collect::<Vec<_>>().join(","))
            }
            Value::Quantity(_, spelling) => spelling.clone(),
            Value::Level(value) => value.to_string(),
            Value::VModule(values) => {
                let each = values.iter().map(|module| format!("{}={}", module.pattern, module.level));
                each.collect::<Vec<_>>().join(",")
            }
            Value::Version(request) => match request {
                VersionRequest::None => "false".to_owned(),
                VersionRequest::Short => "true".to_owned(),
                VersionRequest::Raw => "raw".to_owned(),
                VersionRequest::Report(version) => version.clone(),
            },
            Value::PortRange(range) => {
                range.map_or_else(String::new, |range| format!("{}-{}", range.first, range.last))
            }
        }
    }
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_unstable();
    texts
}

fn cert_key(value: &NamedCertKey) -> String {
    let names = if value.names.is_empty() { String::new() } else { format!(":{}", value.names.join(",")) };
    format!("{},{}{names}", value.cert_file, value.key_file)
}

/// One record of `encoding/csv`.
fn record(fields: &[String]) -> String {
    fields.iter().map(|field| quoted_if_needed(field)).collect::<Vec<_>>().join(",")
}

fn quoted_if_needed(field: &str) -> String {
    let needed =
        field == r"\." || field.contains([',', '"', '\r', '\n']) || field.starts_with(char::is_whitespace);
    if needed { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}
