//! Objects that are kept and do nothing, because the admission plugin that acts on them is not built: clients that write them are
//! told so. A plugin that arrives takes its lines out of [`TABLE`].

/// One resource that a missing admission plugin would act on. Bindings are left out: the policy's write has the warning.
struct Effect {
    plugin: &'static str,
    resource: &'static str,
    /// The action that is missing: completes "this server does not ...".
    what: &'static str,
}

const TABLE: &[Effect] = &[
    line("LimitRanger", "limitranges", "enforce LimitRanges"),
    line("MutatingAdmissionPolicy", "mutatingadmissionpolicies", "apply MutatingAdmissionPolicies"),
    line("ResourceQuota", "resourcequotas", "enforce ResourceQuotas"),
];

const fn line(plugin: &'static str, resource: &'static str, what: &'static str) -> Effect {
    Effect { plugin, resource, what }
}

/// The lines of [`TABLE`] whose plugin is on and not built, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unenforced(u32);

impl Unenforced {
    /// Of these admission plugins. Names that have nothing to do with objects are passed over.
    pub fn plugins(names: &[&str]) -> Unenforced {
        let lines = TABLE.iter().enumerate().filter(|(_, line)| names.contains(&line.plugin));
        Unenforced(lines.fold(0, |bits, (place, _)| bits | 1 << place))
    }

    fn lines(self) -> impl Iterator<Item = &'static Effect> {
        TABLE.iter().enumerate().filter(move |(place, _)| self.0 >> place & 1 == 1).map(|(_, line)| line)
    }

    /// Names in one sentence the kinds of objects that are stored and not enforced; `None` if there are none.
    pub fn sentence(self) -> Option<String> {
        let mut what: Vec<&str> = self.lines().map(|line| line.what).collect();
        what.dedup();
        (!what.is_empty()).then(|| format!("This server does not yet: {}", what.join(", ")))
    }

    /// Returns the warning for a client that writes an object of a resource.
    pub(crate) fn warning(self, resource: &str) -> Option<String> {
        let line = self.lines().find(|line| line.resource == resource)?;
        Some(format!("this server does not {} yet", line.what))
    }

    /// Whether the resource has a line.
    pub(crate) fn concerns(self, resource: &str) -> bool {
        self.lines().any(|line| line.resource == resource)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_told_about_while_its_plugin_is_missing() {
        let missing = Unenforced::plugins(&["LimitRanger", "DefaultStorageClass"]);
        assert_eq!(
            missing.warning("limitranges").as_deref(),
            Some("this server does not enforce LimitRanges yet")
        );
        assert_eq!(missing.warning("resourcequotas"), None);
        assert_eq!(missing.warning("pods"), None);
        assert_eq!(Unenforced::default().warning("limitranges"), None);
        assert_eq!(missing.sentence().as_deref(), Some("This server does not yet: enforce LimitRanges"));
        assert_eq!(Unenforced::plugins(&["DefaultStorageClass"]).sentence(), None);
    }
}
