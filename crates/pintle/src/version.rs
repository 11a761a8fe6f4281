//! Which Kubernetes this server is, and which Pintle.

use pintle_flags::Parsed;
use pintle_server::handlers::Version;

/// The version that `/version` shows. Clients read the minor version to decide what they may ask for.
pub(crate) fn kubernetes(flags: &Parsed) -> Version {
    let git_version = flags.reported_version();
    let mut numbers = git_version.trim_start_matches('v').split('.');
    let mut number = || numbers.next().unwrap_or_default().to_owned();
    let (major, minor) = (number(), number());
    let previous =
        minor.parse::<u32>().map_or_else(|_| minor.clone(), |minor| minor.saturating_sub(1).to_string());
    Version {
        emulation_major: major.clone(),
        emulation_minor: minor.clone(),
        min_compatibility_major: major.clone(),
        min_compatibility_minor: previous,
        major,
        minor,
        git_version: git_version.to_owned(),
        git_commit: option_env!("PINTLE_GIT_COMMIT").unwrap_or("unknown").to_owned(),
        git_tree_state: "clean".to_owned(),
        build_date: option_env!("PINTLE_BUILD_DATE").unwrap_or("1970-01-01T00:00:00Z").to_owned(),
        go_version: "none".to_owned(),
        compiler: "rustc".to_owned(),
        platform: format!("{}/{}", std::env::consts::OS, architecture()),
    }
}

/// Major and minor of what `/version` shows: `1.36`.
pub(crate) fn minor(flags: &Parsed) -> String {
    flags.reported_version().trim_start_matches('v').split('.').take(2).collect::<Vec<_>>().join(".")
}

/// What Go calls this machine.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
