//! Errors of a command line.

use crate::golang::{quote, quote_all, quote_char};

/// A command line that cannot be used; one sentence, in pflag's words where it has some.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No flag of that name.
    #[error("unknown flag: --{0}")]
    UnknownFlag(String),
    /// No flag of that letter.
    #[error("unknown shorthand flag: {} in -{word}", quote_char(*.letter))]
    UnknownShorthand {
        /// The letter.
        letter: char,
        /// The rest of the word from that letter on.
        word: String,
    },
    /// The command line ends where a value should be.
    #[error("flag needs an argument: --{0}")]
    NeedsArgument(String),
    /// The same after a one-letter flag.
    #[error("flag needs an argument: {} in -{word}", quote_char(*.letter))]
    ShorthandNeedsArgument {
        /// The letter.
        letter: char,
        /// The rest of the word from that letter on.
        word: String,
    },
    /// Dashes without a name.
    #[error("bad flag syntax: {0}")]
    BadSyntax(String),
    /// A value that is not of the flag's kind.
    #[error("invalid argument {} for {} flag: {reason}", quote(.value), quote(.flag))]
    InvalidArgument {
        /// The value.
        value: String,
        /// The flag as in the help text, `--name` or `-n, --name`.
        flag: String,
        /// The reason, in the reference's words.
        reason: String,
    },
    /// Words that are not flags.
    #[error("{} does not take any arguments, got {}", quote(.program), quote_all(.words))]
    Arguments {
        /// Name of the program.
        program: String,
        /// All such words.
        words: Vec<String>,
    },
    /// A word that is not text.
    #[error("argument {0} is not valid UTF-8")]
    NotText(String),
    /// Values that are fine by themselves but not allowed, or not together. All that were found.
    #[error("{}", aggregate(.0))]
    Invalid(Vec<String>),
}

/// Several messages as one, the way the reference prints them.
fn aggregate(problems: &[String]) -> String {
    let mut distinct: Vec<&str> = Vec::with_capacity(problems.len());
    for problem in problems {
        if !distinct.contains(&problem.as_str()) {
            distinct.push(problem);
        }
    }
    match distinct[..] {
        [only] => only.to_owned(),
        _ => format!("[{}]", distinct.join(", ")),
    }
}
