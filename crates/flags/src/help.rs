//! `--help`, laid out as pflag does.

use crate::golang::quote;
use crate::kind::Kind;
use crate::table::{Effect, Flag, SECTIONS};
use crate::version::REFERENCE;

const INTRODUCTION: &str = "A Kubernetes API server in one process. Without any flag it keeps its data in an embedded \
    store, makes its own certificates and says how to connect; with --etcd-servers it takes the place of \
    kube-apiserver.";

/// Words in place of flags, and what they are for. The binary knows what to do with them.
const COMMANDS: [(&str, &str); 6] = [
    ("snapshot save FILE", "save the embedded store, also of a running server"),
    ("snapshot restore FILE", "make a store from a saved one"),
    ("wait --ready", "wait until the server on a data directory is ready"),
    ("envtest", "stand for the programs that controller-runtime's envtest starts"),
    ("version", "print the version, as --version does"),
    ("help [snapshot|wait|envtest]", "print this text, or that of a command"),
];

/// The whole help text, wrapped to a width; 0 does not wrap.
pub(crate) fn text(program: &str, columns: usize) -> String {
    let mut out = wrap(0, columns, INTRODUCTION);
    out.push_str(&format!("\n\nUsage:\n  {program} [flags]\n"));
    // Under the reference's name it has no commands, as there.
    if program != REFERENCE {
        out.push_str("\nCommands:\n");
        for (command, what) in COMMANDS {
            out.push_str(&format!("  {:<38}{what}\n", format!("{program} {command}")));
        }
    }
    for section in SECTIONS {
        let shown: Vec<&Flag> = section.flags.iter().filter(|flag| !flag.hidden).collect();
        if !shown.is_empty() {
            out.push_str(&format!("\n{} flags:\n\n", section.title));
            push_flags(&mut out, &shown, columns);
        }
    }
    out
}

fn push_flags(out: &mut String, flags: &[&Flag], columns: usize) {
    let heads: Vec<String> = flags.iter().map(|flag| head(flag)).collect();
    let widest = heads.iter().map(String::len).max().unwrap_or(0);
    for (flag, head) in flags.iter().zip(&heads) {
        let usage = wrap(widest + 3, columns, &usage(flag));
        let padding = if usage.starts_with('\n') { 0 } else { widest - head.len() + 3 };
        out.push_str(&format!("{head}{}{usage}\n", " ".repeat(padding)));
    }
}

/// `  -v, --v Level`: everything before the text.
fn head(flag: &Flag) -> String {
    let mut head = match flag.shorthand {
        Some(letter) => format!("  -{letter}, --{}", flag.name),
        None => format!("      --{}", flag.name),
    };
    match flag.kind {
        Kind::Bool => {}
        Kind::Version => head.push_str(" version[=true]"),
        kind => head.push_str(&format!(" {}", kind.name())),
    }
    head
}

fn usage(flag: &Flag) -> String {
    let mut text = flag.help.to_owned();
    if let Some(default) = shown_default(flag) {
        text.push_str(&format!(" (default {default})"));
    }
    match flag.effect {
        Effect::Active => {}
        Effect::NotYet => text.push_str(" (no effect yet)"),
        Effect::Moot(why) => text.push_str(&format!(" (no effect: {why})")),
    }
    if let Some(reason) = flag.deprecated {
        text.push_str(&format!(" (DEPRECATED: {reason})"));
    }
    text
}

/// The default as help prints it; `None` where it is the kind's zero value. The reference prints `[]` for some empty
/// lists.
pub(crate) fn shown_default(flag: &Flag) -> Option<String> {
    match (flag.kind, flag.default) {
        (Kind::NamedCertKey | Kind::Int32Slice | Kind::QuotedPairs, "") => Some("[]".into()),
        (_, "" | "0") => None,
        (Kind::String, text) => Some(quote(text)),
        (Kind::Strings | Kind::StringArray, list) => Some(format!("[{list}]")),
        (_, text) => Some(text.to_owned()),
    }
}

/// Breaks a text that starts at column `indent` so that no line passes `columns`.
fn wrap(indent: usize, columns: usize, text: &str) -> String {
    const NARROWEST: usize = 40;
    if columns == 0 {
        return text.to_owned();
    }
    // Too little room beside the names: a block of its own below them.
    let (indent, lead) = match columns.saturating_sub(indent) {
        room if room < NARROWEST => (16, "\n                "),
        _ => (indent, ""),
    };
    let room = columns.saturating_sub(indent);
    if room < NARROWEST {
        return text.to_owned();
    }
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    format!("{lead}{}", lines.join(&format!("\n{}", " ".repeat(indent))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_laid_out_as_pflag_does() {
        let help = text("kube-apiserver", 0);
        for line in [
            "Usage:\n  kube-apiserver [flags]\n",
            "\nPintle flags:\n\n      --data-dir string",
            "\nGeneric flags:\n\n      --advertise-address ip",
            "\nAPI enablement flags:\n\n      --runtime-config mapStringString   ",
            "  -v, --v Level                              How much to log",
            "      --version version[=true]   Print the version",
            "  -h, --help                     Print this text.\n",
            " Where all keys in the store begin. (default \"/registry\")\n",
            " (default [Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP])\n",
            " Serve the log directory under /logs. (no effect yet) (DEPRECATED: Log handler functionality is deprecated)\n",
        ] {
            assert!(help.contains(line), "{line}\n{help}");
        }
    }

    #[test]
    fn commands_are_shown_but_not_under_the_reference_s_name() {
        let help = text("pintle", 0);
        assert!(help.contains("  pintle snapshot save FILE             save the embedded store"), "{help}");
        assert!(help.contains("  pintle help [snapshot|wait|envtest]"), "{help}");
        assert!(!text("kube-apiserver", 0).contains("snapshot"));
    }

    #[test]
    fn flags_of_earlier_releases_are_not_shown() {
        // envtest searches the help text for this one and, when it is there, passes it.
        assert!(!text("kube-apiserver", 80).contains("insecure-port"));
        assert!(!text("kube-apiserver", 80).contains("Earlier releases"));
    }

    #[test]
    fn texts_are_wrapped_to_the_terminal() {
        for columns in [80, 100, 140, 200] {
            let help = text("pintle", columns);
            let body = help.split_once("Usage:").map(|(_, body)| body).unwrap_or_default();
            // A name and its type are never broken; texts are, unless one word is all there is.
            let long = |line: &&str| {
                line.chars().count() > columns && line.starts_with("        ") && line.trim().contains(' ')
            };
            assert_eq!(body.lines().find(long), None, "{columns} columns");
        }
        assert_eq!(wrap(16, 60, "one two three"), "one two three");
        let long = "aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj";
        assert_eq!(
            wrap(20, 62, long),
            format!("aaaa bbbb cccc dddd eeee ffff gggg hhhh\n{}iiii jjjj", " ".repeat(20))
        );
        assert!(wrap(50, 62, long).starts_with("\n                aaaa"));
    }
}
