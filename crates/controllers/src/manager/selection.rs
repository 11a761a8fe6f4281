//! Names of controllers, and the ones that `--controllers` selects.

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

const fn without_alias(name: &'static str) -> ControllerName {
    ControllerName { name, alias: None, on_by_default: true }
}

/// All controllers of this kind, by name.
pub const MANAGED: &[ControllerName] = &[
    on("endpointslice-controller", "endpointslice"),
    on("namespace-controller", "namespace"),
    on("persistentvolume-protection-controller", "pv-protection"),
    on("persistentvolumeclaim-protection-controller", "pvc-protection"),
    without_alias("podgroup-protection-controller"),
    on("resourcequota-controller", "resourcequota"),
    without_alias("service-cidr-controller"),
    on("storage-version-migrator-controller", "svm"),
    on("storageversion-garbage-collector-controller", "storage-version-gc"),
    on("ttl-after-finished-controller", "ttl-after-finished"),
    without_alias("volumeattributesclass-protection-controller"),
];

/// The controllers that are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    entries: Vec<String>,
}

impl Selection {
    /// Reads the entries of `--controllers`: `*` selects those that are on by default, `name` selects one, `-name` excludes one; the
    /// first entry that names a controller decides.
    ///
    /// Errors: names that no controller has.
    pub fn parse(entries: &[String]) -> Result<Selection, Vec<String>> {
        let (mut canonical, mut unknown) = (Vec::new(), Vec::new());
        for entry in entries {
            let (sign, name) = entry.strip_prefix('-').map_or(("", entry.as_str()), |name| ("-", name));
            if entry == "*" {
                canonical.push(entry.clone());
                continue;
            }
            match find(name) {
                Some(found) => canonical.push(format!("{sign}{}", found.name)),
                None => unknown.push(name.to_owned()),
            }
        }
        if unknown.is_empty() { Ok(Selection { entries: canonical }) } else { Err(unknown) }
    }

    /// Selects no controller.
    pub fn none() -> Selection {
        Selection { entries: Vec::new() }
    }

    /// Selects the controllers that are on by default.
    pub fn defaults() -> Selection {
        Selection { entries: vec!["*".into()] }
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
        let entries = ["*", "-nowhere", "what"].map(String::from);
        assert_eq!(Selection::parse(&entries), Err(vec!["nowhere".into(), "what".into()]));
    }
}
