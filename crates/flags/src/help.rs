//! `--help`, laid out as pflag does.

use crate::golang::quote;
use crate::kind::Kind;
use crate::table::{Flag, SECTIONS};

/// The whole help text, wrapped to a width; 0 does not wrap.
pub(crate) fn text(program: &str, columns: usize) -> String {
    let mut out = format!(
        "A Kubernetes API server in one process: without any flag it keeps its data in an embedded store, makes its own\n\
         certificates and prints how to connect; with --etcd-servers it takes the place of kube-apiserver.\n\
         \n\
         Usage:\n  {program} [flags]\n"
    );
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
        let padding = " ".repeat(widest - head.len() + 3);
        out.push_str(&format!("{head}{padding}{}\n", wrap(widest + 3, columns, &usage(flag))));
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
