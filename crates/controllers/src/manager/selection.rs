//! Names of controllers, and the ones that `--controllers` selects.

use super::names::{self, ALWAYS_RUNNING};

/// A controller that can be switched on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerName {
    /// The name in `--controllers`, which is kube-controller-manager's.
    pub name: &'static str,
    /// An older name, if it has one.
    pub alias: Option<&'static str>,
    /// Whether `*` selects it.
    pub on_by_default: bool,
}

const fn on(name: &'static str, alias: &'static str) -> ControllerName {
    ControllerName { name, alias: Some(alias), on_by_default: true }
}

const fn off(name: &'static str, alias: &'static str) -> ControllerName {
    ControllerName { name, alias: Some(alias), on_by_default: false }
}

/// One that never had another name.
const fn new(name: &'static str) -> ControllerName {
    ControllerName { name, alias: None, on_by_default: true }
}

/// All controllers of this kind, by name.
pub const MANAGED: &[ControllerName] = &[
    off("bootstrap-signer-controller", "bootstrapsigner"),
    on("certificatesigningrequest-approving-controller", "csrapproving"),
    on("certificatesigningrequest-cleaner-controller", "csrcleaner"),
    on("certificatesigningrequest-signing-controller", "csrsigning"),
    on("endpointslice-controller", "endpointslice"),
    on("garbage-collector-controller", "garbagecollector"),
    new("kube-apiserver-serving-clustertrustbundle-publisher-controller"),
    on("legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner"),
    on("namespace-controller", "namespace"),
    on("persistentvolume-protection-controller", "pv-protection"),
    on("persistentvolumeclaim-protection-controller", "pvc-protection"),
    new("podcertificaterequest-cleaner-controller"),
    new("podgroup-protection-controller"),
    on("resourcequota-controller", "resourcequota"),
    on("root-ca-certificate-publisher-controller", "root-ca-cert-publisher"),
    new("service-cidr-controller"),
    on("serviceaccount-token-controller", "serviceaccount-token"),
    on("storage-version-migrator-controller", "svm"),
    on("storageversion-garbage-collector-controller", "storage-version-gc"),
    off("token-cleaner-controller", "tokencleaner"),
    on("ttl-after-finished-controller", "ttl-after-finished"),
    new("volumeattributesclass-protection-controller"),
];

/// Why a name cannot be selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("{0:?} is not in the list of known controllers")]
    Unknown(String),
    #[error(
        "{0} is the work of kube-controller-manager and is not in this process; run kube-controller-manager beside this server \
         for it"
    )]
    NotHere(&'static str),
}

/// The controllers that are selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    entries: Vec<String>,
    without_effect: Vec<String>,
}

impl Selection {
    /// Reads the entries of `--controllers`: `*` selects those that are on by default, `name` selects one, `-name` excludes one; the
    /// first entry that names a controller decides.
    ///
    /// Errors: names that no controller has, and those of controllers that this process does not have.
    pub fn parse(entries: &[String]) -> Result<Selection, Vec<NameError>> {
        let (mut selection, mut errors) = (Selection::default(), Vec::new());
        for entry in entries {
            if let Err(error) = selection.add(entry) {
                errors.push(error);
            }
        }
        if errors.is_empty() { Ok(selection) } else { Err(errors) }
    }

    fn add(&mut self, entry: &str) -> Result<(), NameError> {
        if entry == "*" {
            self.entries.push(entry.to_owned());
            return Ok(());
        }
        let (sign, name) = entry.strip_prefix('-').map_or(("", entry), |name| ("-", name));
        if let Some(found) = find(name) {
            self.entries.push(format!("{sign}{}", found.name));
            return Ok(());
        }
        let Some(known) = names::find(name) else { return Err(NameError::Unknown(name.to_owned())) };
        self.without_effect.push(match (ALWAYS_RUNNING.contains(&known), sign) {
            (true, "-") => format!("{known} cannot be left out: this server always does its work"),
            (true, _) => format!("{known} need not be named: this server always does its work"),
            (false, "-") => format!("{known} need not be left out: it is not in this process"),
            (false, _) => return Err(NameError::NotHere(known)),
        });
        Ok(())
    }

    /// Returns what is to be said of entries that change nothing.
    pub fn without_effect(&self) -> &[String] {
        &self.without_effect
    }

    /// Selects no controller.
    pub fn none() -> Selection {
        Selection::default()
    }

    /// Selects the controllers that are on by default.
    pub fn defaults() -> Selection {
        Selection { entries: vec!["*".into()], ..Selection::default() }
    }

    /// Returns whether a controller of [`MANAGED`] is selected.
    pub fn contains(&self, name: &str) -> bool {
        for entry in &self.entries {
            if entry == name {
                return true;
            }
            if entry.strip_prefix('-') == Some(name) {
                return false;
            }
        }
        self.entries.iter().any(|entry| entry == "*") && find(name).is_some_and(|found| found.on_by_default)
    }

    /// Returns the names of the selected controllers.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        MANAGED.iter().map(|known| known.name).filter(|name| self.contains(name))
    }
}

fn find(name: &str) -> Option<&'static ControllerName> {
    MANAGED.iter().find(|known| known.name == name || known.alias == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(entries: &[&str]) -> Vec<&'static str> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).into()).collect();
        Selection::parse(&entries).expect("known names").names().collect()
    }

    #[test]
    fn names_are_in_order_and_each_is_there_once() {
        assert!(MANAGED.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn a_star_selects_those_that_are_on_by_default() {
        let on: Vec<_> = MANAGED.iter().filter(|known| known.on_by_default).map(|known| known.name).collect();
        assert_eq!(selected(&["*"]), on);
        assert_eq!(Selection::defaults().names().collect::<Vec<_>>(), on);
        assert_eq!(selected(&[]), [""; 0]);
        assert_eq!(Selection::none().names().count(), 0);
    }

    #[test]
    fn the_first_entry_that_names_a_controller_decides() {
        assert_eq!(selected(&["namespace"]), ["namespace-controller"]);
        assert!(!selected(&["*", "-namespace-controller"]).contains(&"namespace-controller"));
        assert!(!selected(&["-namespace", "namespace", "*"]).contains(&"namespace-controller"));
        assert!(selected(&["namespace", "-namespace-controller"]).contains(&"namespace-controller"));
    }

    #[test]
    fn unknown_names_are_reported() {
        let entries = ["*", "-nowhere", "deployment", "what"].map(String::from);
        let errors = Selection::parse(&entries).expect_err("errors");
        let unknown = |name: &str| NameError::Unknown(name.into());
        assert_eq!(
            errors,
            [unknown("nowhere"), NameError::NotHere("deployment-controller"), unknown("what")]
        );
        assert_eq!(
            errors[1].to_string(),
            "deployment-controller is the work of kube-controller-manager and is not in this process; run \
             kube-controller-manager beside this server for it"
        );
    }

    #[test]
    fn entries_without_effect_say_so() {
        let entries = ["*", "-deployment", "serviceaccount", "-clusterrole-aggregation"].map(String::from);
        let selection = Selection::parse(&entries).expect("a selection");
        assert_eq!(selection.names().collect::<Vec<_>>(), Selection::defaults().names().collect::<Vec<_>>());
        let said: Vec<_> = selection
            .without_effect()
            .iter()
            .filter_map(|text| text.split_once(": "))
            .map(|(what, _)| what)
            .collect();
        let expected = [
            "deployment-controller need not be left out",
            "serviceaccount-controller need not be named",
            "clusterrole-aggregation-controller cannot be left out",
        ];
        assert_eq!(said, expected);
        assert!(Selection::defaults().without_effect().is_empty());
    }

    #[test]
    fn controllers_of_joining_nodes_are_off_by_default() {
        assert!(!selected(&["*"]).contains(&"token-cleaner-controller"));
        assert!(selected(&["*", "tokencleaner"]).contains(&"token-cleaner-controller"));
    }
}
