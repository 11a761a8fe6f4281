//! Security controls of the reference that are not built yet. A server that was asked for one refuses to start: running without
//! it would leave the administrator believing in a protection that is not there.

use crate::Parsed;
use crate::table::{self, Effect};

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
        let missing: Vec<String> = flags.collect();
        if missing.is_empty() {
            return None;
        }
        let missing = missing.join(", ");
        Some(format!(
            "this version of Pintle does not have {missing}; remove it from the flags to start without it"
        ))
    }
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

    fn refusal(what: &str) -> String {
        format!("this version of Pintle does not have {what}; remove it from the flags to start without it")
    }

    #[test]
    fn a_control_that_was_asked_for_and_is_not_there_is_named() {
        let flag = "--encryption-provider-config=/e.yaml";
        let sentence = refusal("encryption at rest (--encryption-provider-config)");
        assert_eq!(missing(&[flag]), Some(sentence));
        // It is refused, not warned about as well.
        assert_eq!(run(&[flag]).unwrap().warnings(), Vec::<String>::new());
    }

    #[test]
    fn flags_that_ask_for_no_control_are_not_refused() {
        assert_eq!(
            missing(&[
                "--audit-log-path=-",
                "--audit-policy-file=/p.yaml",
                "--audit-webhook-config-file=/w.yaml",
                "--encryption-provider-config=",
                "--admission-control-config-file=/a.yaml",
                "--tracing-config-file=/t.yaml",
                "--allow-privileged=true",
                "--kubelet-certificate-authority=/ca.crt",
                "--enable-admission-plugins=NodeRestriction,NamespaceLifecycle",
                "--disable-admission-plugins=MutatingAdmissionPolicy,ImagePolicyWebhook",
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
}
