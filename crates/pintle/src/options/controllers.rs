//! Options of the controllers that run in this process.

use anyhow::bail;
use pintle_control_plane::ControllerSelection;
use pintle_flags::Parsed;

/// Which controllers run in this process, and how.
pub(crate) struct ControllerOptions {
    pub(crate) selection: ControllerSelection,
}

impl ControllerOptions {
    /// Errors: a name that no controller has.
    pub(crate) fn from_flags(flags: &Parsed) -> anyhow::Result<ControllerOptions> {
        Ok(ControllerOptions { selection: selection(flags)? })
    }
}

/// Returns the selected controllers. On etcd a kube-controller-manager runs them, unless the flag says otherwise.
fn selection(flags: &Parsed) -> anyhow::Result<ControllerSelection> {
    if !flags.changed("controllers") {
        return Ok(match flags.strings("etcd-servers") {
            [] => ControllerSelection::defaults(),
            _ => ControllerSelection::none(),
        });
    }
    ControllerSelection::parse(flags.strings("controllers")).or_else(|unknown| {
        let unknown: Vec<_> = unknown.iter().map(|name| format!("{name:?}")).collect();
        bail!("--controllers: {} is not in the list of known controllers", unknown.join(", "))
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
}
