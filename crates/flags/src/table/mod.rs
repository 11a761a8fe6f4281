//! The flags the server knows, as data. One file per help section (small sections share one); adding a flag, or making
//! one take effect, is a change of one line here.

mod admission;
mod auditing;
mod authentication;
mod authorization;
mod controllers;
mod etcd;
mod generic;
mod hidden;
mod misc;
mod observability;
mod pintle;
mod serving;

use crate::kind::Kind;

/// The effect of setting a flag in this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The server acts on it.
    Active,
    /// Recognised and validated, but nothing reads it yet; setting it earns a warning at start.
    NotYet,
    /// Recognised and validated, but there is nothing here that it could change, and why. Setting it to something that
    /// would matter to the reference earns a warning that says so.
    Moot(&'static str),
}

/// One flag.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Name without the dashes.
    pub name: &'static str,
    /// One-letter form.
    pub shorthand: Option<char>,
    /// How its value is read.
    pub kind: Kind,
    /// Default in the spelling of the command line; empty is the zero value of the kind.
    pub default: &'static str,
    /// Our own help text.
    pub help: &'static str,
    /// Whether anything reads it.
    pub effect: Effect,
    /// Kept out of the help text.
    pub hidden: bool,
    /// Why not to use it any more, in the words pflag appends to "has been deprecated, ".
    pub deprecated: Option<&'static str>,
}

/// A help section.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Title as in the help text, without " flags:".
    pub title: &'static str,
    /// Its flags, sorted by name.
    pub flags: &'static [Flag],
}

/// Every section in the order of the help text. The hidden flags of earlier releases come last and print nothing.
pub static SECTIONS: &[Section] = &[
    Section { title: "Pintle", flags: pintle::FLAGS },
    Section { title: "In-process controllers", flags: controllers::FLAGS },
    Section { title: "Generic", flags: generic::FLAGS },
    Section { title: "Etcd", flags: etcd::FLAGS },
    Section { title: "Secure serving", flags: serving::FLAGS },
    Section { title: "Auditing", flags: auditing::FLAGS },
    Section { title: "Features", flags: observability::FEATURES },
    Section { title: "Authentication", flags: authentication::FLAGS },
    Section { title: "Authorization", flags: authorization::FLAGS },
    Section { title: "API enablement", flags: admission::API_ENABLEMENT },
    Section { title: "Egress selector", flags: admission::EGRESS_SELECTOR },
    Section { title: "Admission", flags: admission::FLAGS },
    Section { title: "Metrics", flags: observability::METRICS },
    Section { title: "Logs", flags: observability::LOGS },
    Section { title: "Traces", flags: observability::TRACES },
    Section { title: "Misc", flags: misc::FLAGS },
    Section { title: "Global", flags: observability::GLOBAL },
    Section { title: "Earlier releases", flags: hidden::FLAGS },
];

/// Every flag, section by section. Positions in this order index the values of a parsed command line.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    SECTIONS.iter().flat_map(|section| section.flags)
}

/// The position of a flag in [`all`] and the flag, by its name with dashes.
pub(crate) fn find(name: &str) -> Option<(usize, &'static Flag)> {
    all().enumerate().find(|(_, flag)| flag.name == name)
}

/// The flag of a one-letter form.
pub(crate) fn find_shorthand(letter: char) -> Option<(usize, &'static Flag)> {
    all().enumerate().find(|(_, flag)| flag.shorthand == Some(letter))
}

const fn flag(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
    Flag {
        name,
        shorthand: None,
        kind,
        default,
        help,
        effect: Effect::NotYet,
        hidden: false,
        deprecated: None,
    }
}

impl Flag {
    const fn active(mut self) -> Self {
        self.effect = Effect::Active;
        self
    }

    const fn moot(mut self, why: &'static str) -> Self {
        self.effect = Effect::Moot(why);
        self
    }

    const fn short(mut self, letter: char) -> Self {
        self.shorthand = Some(letter);
        self
    }

    const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    const fn deprecated(mut self, text: &'static str) -> Self {
        self.deprecated = Some(text);
        self
    }

    /// The value a lone `--name` stands for; a flag that has one never takes the next word.
    pub fn lone_value(&self) -> Option<&'static str> {
        matches!(self.kind, Kind::Bool | Kind::Version).then_some("true")
    }
}

#[cfg(test)]
mod tests;
