//! `--version`: what it may be set to and what it prints.

use crate::golang::{parse_bool, quote};

/// The Kubernetes release this server behaves like.
pub const KUBERNETES_VERSION: &str = "v1.36.4";

/// Major and minor of [`KUBERNETES_VERSION`].
pub(crate) const KUBERNETES_RELEASE: (u32, u32) = (1, 36);

/// The reference's name. A program that is called by it behaves as the reference where the two differ.
pub const REFERENCE: &str = "kube-apiserver";

/// Version of this program.
const PINTLE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The versions that the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionRequest {
    /// Nothing.
    None,
    /// Print it in one line.
    Short,
    /// Print all that is known.
    Raw,
    /// Serve, and report this one; same release, another suffix (`v1.36.4-vendor.1`).
    Report(String),
}

impl VersionRequest {
    pub(crate) fn parse(input: &str) -> Result<VersionRequest, String> {
        if input == "raw" {
            return Ok(VersionRequest::Raw);
        }
        if input.starts_with('v') {
            return report(input);
        }
        parse_bool(input).map(|print| if print { VersionRequest::Short } else { VersionRequest::None })
    }
}

fn report(input: &str) -> Result<VersionRequest, String> {
    let core = input[1..].split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    let numeric = |n: &&str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    if numbers.len() != 3 || !numbers.iter().all(numeric) {
        return Err(format!("could not parse {} as version", quote(input)));
    }
    if core != &KUBERNETES_VERSION[1..] {
        return Err(format!(
            "version {} must match major/minor/patch of default version {}",
            quote(input),
            quote(KUBERNETES_VERSION)
        ));
    }
    Ok(VersionRequest::Report(input.to_owned()))
}

/// The line of a plain `--version`. Tools run `kube-apiserver --version` and parse the answer, so under that name it is
/// the reference's.
pub(crate) fn short(program: &str) -> String {
    if program == REFERENCE {
        format!("Kubernetes {KUBERNETES_VERSION}\n")
    } else {
        format!("Pintle {PINTLE_VERSION} (Kubernetes {KUBERNETES_VERSION})\n")
    }
}

/// The line of `--version=raw`: a Go struct printed with `%#v`, which is what the reference prints.
pub(crate) fn raw() -> String {
    let (major, minor) = KUBERNETES_RELEASE;
    let os = std::env::consts::OS;
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!(
        "version.Info{{Major:\"{major}\", Minor:\"{minor}\", EmulationMajor:\"\", EmulationMinor:\"\", \
         MinCompatibilityMajor:\"\", MinCompatibilityMinor:\"\", GitVersion:\"{KUBERNETES_VERSION}\", \
         GitCommit:\"\", GitTreeState:\"\", BuildDate:\"\", GoVersion:\"\", Compiler:\"pintle {PINTLE_VERSION}\", \
         Platform:\"{os}/{arch}\"}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_suffix_of_the_reported_version_may_differ() {
        let cases = [
            ("true", VersionRequest::Short),
            ("0", VersionRequest::None),
            ("raw", VersionRequest::Raw),
            ("v1.36.4-vendor.1", VersionRequest::Report("v1.36.4-vendor.1".into())),
        ];
        for (input, want) in cases {
            assert_eq!(VersionRequest::parse(input), Ok(want), "{input}");
        }
        assert_eq!(
            VersionRequest::parse("v1.36.5").unwrap_err(),
            r#"version "v1.36.5" must match major/minor/patch of default version "v1.36.4""#
        );
        assert_eq!(VersionRequest::parse("v1.x").unwrap_err(), r#"could not parse "v1.x" as version"#);
        assert_eq!(
            VersionRequest::parse("maybe").unwrap_err(),
            r#"strconv.ParseBool: parsing "maybe": invalid syntax"#
        );
    }

    #[test]
    fn tools_that_run_kube_apiserver_get_the_line_they_parse() {
        assert_eq!(short("kube-apiserver"), "Kubernetes v1.36.4\n");
        assert!(short("pintle").starts_with("Pintle "));
        assert!(short("pintle").ends_with(" (Kubernetes v1.36.4)\n"));
        assert!(raw().starts_with("version.Info{Major:\"1\", Minor:\"36\", "));
    }
}
