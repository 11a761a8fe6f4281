//! Options of the controllers that run in this process.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use pintle_control_plane::ControllerSelection;
use pintle_flags::Parsed;

/// Which controllers run in this process, and how.
pub(crate) struct ControllerOptions {
    pub(crate) selection: ControllerSelection,
    pub(crate) signing: SigningOptions,
    /// The certificate authorities by which pods verify this server.
    pub(crate) root_ca: Option<PathBuf>,
    pub(crate) legacy_token_period: Duration,
}

/// Where the authorities are that sign requests for certificates.
pub(crate) struct SigningOptions {
    /// By the name of the signer; empty where no file is given.
    pub(crate) authorities: Vec<(&'static str, AuthorityFiles)>,
    /// The longest life of a certificate.
    pub(crate) duration: Duration,
}

/// A certificate authority and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthorityFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Signers by the name that they have in flags.
const SIGNERS: [(&str, &str); 4] = [
    ("kube-apiserver-client", "kubernetes.io/kube-apiserver-client"),
    ("kubelet-client", "kubernetes.io/kube-apiserver-client-kubelet"),
    ("kubelet-serving", "kubernetes.io/kubelet-serving"),
    ("legacy-unknown", "kubernetes.io/legacy-unknown"),
];

impl ControllerOptions {
    /// Errors: a name that no controller here has.
    pub(crate) fn from_flags(flags: &Parsed) -> anyhow::Result<ControllerOptions> {
        let selection = selection(flags)?;
        for said in selection.without_effect() {
            tracing::warn!("--controllers: {said}");
        }
        Ok(ControllerOptions {
            selection,
            signing: SigningOptions {
                authorities: authorities(flags),
                duration: flags.duration("cluster-signing-duration"),
            },
            root_ca: flags.non_empty("root-ca-file").map(PathBuf::from),
            legacy_token_period: flags.duration("legacy-service-account-token-clean-up-period"),
        })
    }
}

/// Returns the files of each signer; the files of all signers are those of each. One flag of a pair is never given alone.
fn authorities(flags: &Parsed) -> Vec<(&'static str, AuthorityFiles)> {
    let pair = |prefix: &str| {
        let file = |kind: &str| flags.non_empty(&format!("{prefix}-{kind}-file")).map(PathBuf::from);
        Some(AuthorityFiles { certificate: file("cert")?, key: file("key")? })
    };
    let of_all = pair("cluster-signing");
    let of_signer = |flag: &str| of_all.clone().or_else(|| pair(&format!("cluster-signing-{flag}")));
    SIGNERS.iter().filter_map(|(flag, signer)| Some((*signer, of_signer(flag)?))).collect()
}

/// Returns the selected controllers. On etcd a kube-controller-manager runs them, unless the flag says otherwise.
fn selection(flags: &Parsed) -> anyhow::Result<ControllerSelection> {
    if !flags.changed("controllers") {
        return Ok(match flags.strings("etcd-servers") {
            [] => ControllerSelection::defaults(),
            _ => ControllerSelection::none(),
        });
    }
    ControllerSelection::parse(flags.strings("controllers")).or_else(|errors| {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        bail!("--controllers: {}", errors.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(arguments: &[&str]) -> anyhow::Result<Vec<&'static str>> {
        let flags = crate::options::tests::parsed(arguments);
        Ok(ControllerOptions::from_flags(&flags)?.selection.names().collect())
    }

    #[test]
    fn controllers_run_on_the_embedded_store_by_default() {
        assert!(selected(&[]).expect("a selection").contains(&"namespace-controller"));
        assert_eq!(selected(&["--controllers="]).expect("a selection"), [""; 0]);
        assert_eq!(selected(&["--etcd-servers=http://a:1"]).expect("a selection"), [""; 0]);
        let named = selected(&["--etcd-servers=http://a:1", "--controllers=namespace"]);
        assert_eq!(named.expect("a selection"), ["namespace-controller"]);
    }

    #[test]
    fn unknown_controllers_are_refused_by_name() {
        let error = selected(&["--controllers=*,-nope"]).expect_err("an error").to_string();
        assert_eq!(error, "--controllers: \"nope\" is not in the list of known controllers");
    }

    #[test]
    fn controllers_of_other_processes_are_refused_in_words() {
        let error = selected(&["--controllers=deployment"]).expect_err("an error").to_string();
        assert_eq!(
            error,
            "--controllers: deployment-controller is the work of kube-controller-manager and is not in this process; run \
             kube-controller-manager beside this server for it"
        );
    }

    #[test]
    fn authorities_are_of_all_signers_or_of_single_ones() {
        let signers = |arguments: &[&str]| {
            let flags = crate::options::tests::parsed(arguments);
            let authorities = authorities(&flags);
            authorities.into_iter().map(|(signer, _)| signer).collect::<Vec<_>>()
        };
        assert_eq!(signers(&[]), [""; 0]);
        assert_eq!(signers(&["--cluster-signing-cert-file=a", "--cluster-signing-key-file=b"]).len(), 4);
        let own =
            ["--cluster-signing-kubelet-client-cert-file=a", "--cluster-signing-kubelet-client-key-file=b"];
        assert_eq!(signers(&own), ["kubernetes.io/kube-apiserver-client-kubelet"]);
    }
}
