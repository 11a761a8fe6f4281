//! The store.

use super::Problems;
use crate::Parsed;
use crate::golang::{atoi, quote};

/// Encodings of stored objects.
const MEDIA_TYPES: [&str; 3] =
    ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];

pub(super) fn check(flags: &Parsed, problems: &mut Problems) {
    check_which_store(flags, problems);
    if !matches!(flags.string("storage-backend"), "" | "etcd3") {
        problems.push(
            "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"
                .into(),
        );
    }
    if !flags.strings("etcd-servers-overrides").iter().all(|text| is_override(text)) {
        problems.push(
            "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, \
             semicolon separated"
                .into(),
        );
    }
    let reload = flags.bool("encryption-provider-config-automatic-reload");
    if reload && flags.non_empty("encryption-provider-config").is_none() {
        problems.push(
            "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"
                .into(),
        );
    }
    let media_type = flags.string("storage-media-type");
    if !media_type.is_empty() && !MEDIA_TYPES.contains(&media_type) {
        let allowed = MEDIA_TYPES.join(", ");
        problems
            .push(format!("--storage-media-type {} invalid, allowed values: {allowed}", quote(media_type)));
    }
    if flags.bool("watch-cache") {
        problems
            .extend(flags.strings("watch-cache-sizes").iter().filter_map(|text| cache_size_problem(text)));
    }
}

/// Embedded or etcd, not both.
fn check_which_store(flags: &Parsed, problems: &mut Problems) {
    if flags.strings("etcd-servers").is_empty() && !flags.strings("etcd-servers-overrides").is_empty() {
        problems.push("--etcd-servers-overrides needs --etcd-servers".into());
    }
    if !flags.strings("etcd-servers").is_empty() {
        let embedded = [
            ("data-dir", flags.non_empty("data-dir").is_some()),
            ("unsafe-no-fsync", flags.bool("unsafe-no-fsync")),
        ];
        for (flag, used) in embedded {
            if used {
                problems.push(format!("--{flag} is for the embedded store and excludes --etcd-servers"));
            }
        }
    }
    if flags.strings("etcd-servers").iter().any(|server| server.trim().is_empty()) {
        problems.push("empty value in --etcd-servers".into());
    }
    if flags.non_empty("etcd-certfile").is_some() != flags.non_empty("etcd-keyfile").is_some() {
        problems.push("--etcd-certfile and --etcd-keyfile must be specified together".into());
    }
}

fn is_override(text: &str) -> bool {
    let Some((resource, servers)) = text.split_once('#') else { return false };
    resource.split('/').count() == 2
        && !servers.contains('#')
        && servers.split(';').all(|server| !server.is_empty())
}

fn cache_size_problem(text: &str) -> Option<String> {
    let flag = "--watch-cache-sizes";
    let size = match text.split('#').collect::<Vec<_>>()[..] {
        [_, size] => atoi(size),
        _ => return Some(format!("{flag}: invalid value of watch cache size: {text}")),
    };
    match size {
        Ok(0..) => None,
        Ok(_) => Some(format!("{flag}: watch cache size cannot be negative: {text}")),
        Err(_) => Some(format!("{flag}: invalid size of watch cache size: {text}")),
    }
}
