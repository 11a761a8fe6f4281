//! The release of Kubernetes that this server says it is.

use pintle_server::handlers::Version;

/// Returns the answer of `/version` for a release such as `v1.36.0`. Clients read the minor version to decide what they may
/// ask for.
pub fn kubernetes(git_version: &str) -> Version {
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

/// Go's name of this machine's architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
