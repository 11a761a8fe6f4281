//! Security controls of the reference that are not built yet. A server that was asked for one refuses to start: running without
//! it would leave the administrator believing in a protection that is not there.

use crate::Parsed;
use crate::plugins::{self, ADMISSION_PLUGINS, AdmissionPlugin};
use crate::table::{self, Effect};

/// Flags that name admission plugins to switch on.
const PLUGIN_LISTS: [&str; 2] = ["admission-control", "enable-admission-plugins"];

impl Parsed {
    /// One sentence that names each control that the command line asks for and this version does not have, and what to do;
    /// `None` when there is none. Values are validated first, so that the reference's own messages come before this one.
    pub fn missing_controls(&self) -> Option<String> {
        let flags = table::all().filter_map(|flag| match flag.effect {
            Effect::Control(what) if self.differs_from_default(flag.name) => {
                Some(format!("{what} (--{})", flag.name))
            }
            _ => None,
        });
        let plugins = PLUGIN_LISTS.into_iter().flat_map(|flag| {
            let missing = self.strings(flag).iter().filter_map(|name| plugins::find(name)).filter(is_missing);
            missing.map(move |plugin| format!("the admission plugin {} (--{flag})", plugin.name))
        });
        let mut missing: Vec<String> = flags.chain(plugins).collect();
        missing.dedup();
        if missing.is_empty() {
            return None;
        }
        let missing = missing.join(", ");
        Some(format!(
            "this version of Pintle does not have {missing}; remove it from the flags to start without it"
        ))
    }

    /// The plugins that the reference runs by default, that were not switched off, and that this version does not have.
    pub fn missing_plugins(&self) -> Vec<&'static str> {
        let on: Vec<&str> = self.admission_plugins().collect();
        let missing = ADMISSION_PLUGINS.iter().filter(is_missing).filter(|plugin| on.contains(&plugin.name));
        missing.map(|plugin| plugin.name).collect()
    }
}

fn is_missing(plugin: &&AdmissionPlugin) -> bool {
    plugin.effect != Effect::Active
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::{CommandLine, Error, Parsed, command_line};

    fn run(args: &[&str]) -> Result<Parsed, Error> {
        match command_line("pintle", args.iter().map(OsString::from), 0)? {
            CommandLine::Run(parsed) => Ok(*parsed),
            CommandLine::Print(text) => panic!("{args:?} printed {text}"),
        }
    }

    fn missing(args: &[&str]) -> Option<String> {
        run(args).expect("valid flags").missing_controls()
    }

    #[test]
    fn a_control_that_was_asked_for_and_is_not_there_is_named() {
        for (flag, what) in [
            ("--encryption-provider-config=/e.yaml", "encryption at rest (--encryption-provider-config)"),
            ("--audit-policy-file=/p.yaml", "auditing (--audit-policy-file)"),
            ("--audit-log-path=-", "auditing (--audit-log-path)"),
            ("--audit-webhook-config-file=/w.yaml", "auditing (--audit-webhook-config-file)"),
            (
                "--admission-control-config-file=/a.yaml",
                "configuration of admission plugins (--admission-control-config-file)",
            ),
            (
                "--enable-admission-plugins=NodeRestriction,AlwaysPullImages",
                "the admission plugin AlwaysPullImages (--enable-admission-plugins)",
            ),
            // On by default, and asked for by name all the same.
            (
                "--enable-admission-plugins=PodSecurity",
                "the admission plugin PodSecurity (--enable-admission-plugins)",
            ),
            ("--admission-control=ResourceQuota", "the admission plugin ResourceQuota (--admission-control)"),
        ] {
            let sentence = format!(
                "this version of Pintle does not have {what}; remove it from the flags to start without it"
            );
            assert_eq!(missing(&[flag]), Some(sentence), "{flag}");
            // It is refused, not warned about as well.
            assert_eq!(run(&[flag]).unwrap().warnings(), Vec::<String>::new(), "{flag}");
        }
        let both = missing(&["--audit-log-path=/a", "--enable-admission-plugins=ResourceQuota,LimitRanger"]);
        let both = both.expect("two flags");
        for part in ["auditing (--audit-log-path), ", "plugin ResourceQuota (", "plugin LimitRanger ("] {
            assert!(both.contains(part), "{both}");
        }
    }

    #[test]
    fn flags_that_ask_for_no_control_are_not_refused() {
        assert_eq!(
            missing(&[
                // Settings of a backend that is off.
                "--audit-log-maxage=30",
                "--audit-webhook-mode=blocking",
                "--audit-log-path=",
                "--audit-policy-file=",
                "--encryption-provider-config=",
                "--admission-control-config-file=",
                "--tracing-config-file=/t.yaml",
                "--allow-privileged=true",
                "--kubelet-certificate-authority=/ca.crt",
                "--enable-admission-plugins=NodeRestriction,NamespaceLifecycle",
                "--disable-admission-plugins=PodSecurity,ImagePolicyWebhook",
            ]),
            None
        );
        assert_eq!(missing(&[]), None);
    }

    #[test]
    fn unknown_plugins_are_refused_in_the_reference_s_words() {
        let error = run(&["--enable-admission-plugins=PodSecurity,Nope"]).unwrap_err().to_string();
        assert_eq!(error, "enable-admission-plugins plugin \"Nope\" is unknown");
    }

    #[test]
    fn default_plugins_that_are_not_there_are_known_by_name() {
        let default = run(&[]).unwrap().missing_plugins();
        assert!(default.contains(&"PodSecurity") && default.contains(&"ResourceQuota"), "{default:?}");
        assert!(
            !default.contains(&"NamespaceLifecycle") && !default.contains(&"AlwaysPullImages"),
            "{default:?}"
        );
        let fewer = run(&["--disable-admission-plugins=PodSecurity"]).unwrap().missing_plugins();
        assert_eq!(fewer.len(), default.len() - 1);
        assert_eq!(run(&["--admission-control=Priority"]).unwrap().missing_plugins(), Vec::<&str>::new());
    }
}
