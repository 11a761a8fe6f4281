//! The configuration of the plugin, which has no kind: the field `imagePolicy` of JSON or YAML.

use std::path::PathBuf;
use std::time::Duration;

use pintle_codec::yaml;
use pintle_meta::format_duration;
use serde_json::Value;

const SECOND: i64 = 1_000_000_000;
const MILLISECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Configuration {
    pub(super) kubeconfig: PathBuf,
    /// Zero: verdicts are not kept.
    pub(super) allow_ttl: Duration,
    pub(super) deny_ttl: Duration,
    /// Before the second attempt.
    pub(super) retry_backoff: Duration,
    /// Whether pods are admitted while the webhook cannot be asked.
    pub(super) default_allow: bool,
}

/// The unit and the bounds of a duration, in nanoseconds.
struct Bounds {
    unit: i64,
    least: i64,
    most: i64,
    default: i64,
}

const BACKOFF: Bounds = Bounds { unit: MILLISECOND, least: 1, most: 5 * MINUTE, default: 500 * MILLISECOND };
const ALLOW: Bounds = Bounds { unit: SECOND, least: SECOND, most: 30 * MINUTE, default: 5 * MINUTE };
const DENY: Bounds = Bounds { default: 30 * SECOND, ..ALLOW };

impl Configuration {
    pub(super) fn read(text: &[u8]) -> Result<Configuration, String> {
        if text.trim_ascii().is_empty() {
            return Err("EOF".into());
        }
        let json = yaml::to_json(text).map_err(|error| error.to_string())?;
        let read: Value = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
        let policy = field(&read, "imagePolicy");
        let of = |name: &str| policy.and_then(|policy| field(policy, name));
        let retry_backoff = BACKOFF.duration("retryBackoff", of("retryBackoff"))?;
        Ok(Configuration {
            retry_backoff,
            allow_ttl: ALLOW.duration("allowTTL", of("allowTTL"))?,
            deny_ttl: DENY.duration("denyTTL", of("denyTTL"))?,
            default_allow: match of("defaultAllow") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(allows)) => *allows,
                Some(other) => return Err(wrong_type(other, "defaultAllow", "bool")),
            },
            kubeconfig: match of("kubeConfigFile") {
                None | Some(Value::Null) => PathBuf::new(),
                Some(Value::String(path)) => path.into(),
                Some(other) => return Err(wrong_type(other, "kubeConfigFile", "string")),
            },
        })
    }
}

impl Bounds {
    /// Returns a duration: the default for 0 and none for -1, else the number of units, which must be within the bounds.
    fn duration(&self, name: &str, value: Option<&Value>) -> Result<Duration, String> {
        let number = match value {
            None | Some(Value::Null) => 0,
            Some(value) => value.as_i64().ok_or_else(|| wrong_type(value, name, "time.Duration"))?,
        };
        let nanos = match number {
            -1 => 0,
            0 => self.default,
            number => {
                let nanos = number.wrapping_mul(self.unit);
                if nanos < self.least || nanos > self.most {
                    let shown = [self.least, self.most, nanos].map(format_duration);
                    let [least, most, nanos] = shown;
                    return Err(format!("valid value is between {least} and {most}, got {nanos}"));
                }
                nanos
            }
        };
        Ok(Duration::from_nanos(u64::try_from(nanos).unwrap_or_default()))
    }
}

/// Returns a field, whose name may be written in any case.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = value.as_object()?;
    let any_case =
        || fields.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    fields.get(name).or_else(any_case)
}

fn wrong_type(value: &Value, name: &str, expected: &str) -> String {
    let given = match value {
        Value::Null | Value::Bool(_) => "bool".into(),
        Value::Number(number) => format!("number {number}"),
        Value::String(_) => "string".into(),
        Value::Array(_) => "array".into(),
        Value::Object(_) => "object".into(),
    };
    format!(
        "json: cannot unmarshal {given} into Go struct field imagePolicyWebhookConfig.imagePolicy.{name} of type {expected}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Result<[u64; 3], String> {
        let text = format!(r#"{{"imagePolicy":{{"kubeConfigFile":"/k",{fields}}}}}"#);
        let read = Configuration::read(text.as_bytes())?;
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap();
        Ok([nanos(read.retry_backoff), nanos(read.allow_ttl), nanos(read.deny_ttl)])
    }

    #[test]
    fn durations_have_units_defaults_and_bounds() {
        const MS: u64 = 1_000_000;
        let durations = |backoff: i64, allow: i64, deny: i64| {
            read(&format!(r#""retryBackoff":{backoff},"allowTTL":{allow},"denyTTL":{deny}"#))
        };
        assert_eq!(durations(0, 0, 0), Ok([500 * MS, 300_000 * MS, 30_000 * MS]));
        assert_eq!(durations(-1, -1, -1), Ok([0, 0, 0]));
        assert_eq!(durations(1, 1, 1), Ok([MS, 1000 * MS, 1000 * MS]));
        assert_eq!(durations(300_000, 1800, 1800), Ok([300_000 * MS, 1_800_000 * MS, 1_800_000 * MS]));
        let wrong = |bounds: &str, got: &str| Err(format!("valid value is between {bounds}, got {got}"));
        assert_eq!(durations(300_001, 0, 0), wrong("1ns and 5m0s", "5m0.001s"));
        assert_eq!(durations(-2, 0, 0), wrong("1ns and 5m0s", "-2ms"));
        assert_eq!(durations(0, 1801, 0), wrong("1s and 30m0s", "30m1s"));
        assert_eq!(durations(0, -2, 0), wrong("1s and 30m0s", "-2s"));
        assert_eq!(durations(0, 0, 1801), wrong("1s and 30m0s", "30m1s"));
    }

    #[test]
    fn json_and_yaml_are_read_and_unknown_fields_are_ignored() {
        let yaml =
            "imagePolicy:\n  kubeConfigFile: /k\n  allowttl: 7\n  defaultAllow: true\n  other: x\nmore: y\n";
        let read = Configuration::read(yaml.as_bytes()).unwrap();
        assert_eq!(
            (read.kubeconfig, read.allow_ttl, read.default_allow),
            ("/k".into(), Duration::from_secs(7), true)
        );
        let empty = Configuration::read(b"{}").unwrap();
        assert_eq!((empty.kubeconfig, empty.default_allow), (PathBuf::new(), false));
        assert_eq!(Configuration::read(b" "), Err("EOF".into()));
        assert!(Configuration::read(b"{").is_err());
        let wrong = Configuration::read(br#"{"imagePolicy":{"allowTTL":"5s"}}"#);
        assert_eq!(
            wrong,
            Err("json: cannot unmarshal string into Go struct field imagePolicyWebhookConfig.imagePolicy.allowTTL of type \
                 time.Duration"
                .into())
        );
    }
}
