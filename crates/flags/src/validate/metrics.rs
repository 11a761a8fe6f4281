//! Names of metrics and labels.

use super::Problems;
use crate::Parsed;
use crate::golang::quote;
use crate::version::KUBERNETES_RELEASE;

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    let (major, minor) = KUBERNETES_RELEASE;
    let previous = format!("{major}.{}", minor - 1);
    let hidden = flags.string("show-hidden-metrics-for-version");
    if !hidden.is_empty() && hidden != previous {
        problems.push(format!(
            "--show-hidden-metrics-for-version {} must be omitted or have the value '{previous}'; only the previous \
             minor version is allowed",
            quote(hidden)
        ));
    }
    if let Some(name) = flags.strings("disabled-metrics").iter().find(|name| !is_name(name, ":")) {
        problems.push(format!(
            "--disabled-metrics must be fully qualified metric names matching \"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got {}",
            quote(name)
        ));
    }
    let key = |key: &&String| !key.split_once(',').is_some_and(|(m, l)| is_name(m, ":") && is_name(l, ""));
    if let Some(key) = flags.pairs("allow-metric-labels").keys().find(key) {
        problems.push(format!(
            "--allow-metric-labels must have keys with format `metricName,labelName`, got {}",
            quote(key)
        ));
    }
    if flags.changed("allow-metric-labels") && flags.non_empty("allow-metric-labels-manifest").is_some() {
        problems.push("cannot specify both --allow-metric-labels and --allow-metric-labels-manifest".into());
    }
}

/// Letters, digits, underscores and what else is allowed, not beginning with a digit.
fn is_name(text: &str, also: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || also.contains(c);
    text.chars().all(allowed) && text.starts_with(|c: char| !c.is_ascii_digit())
}
