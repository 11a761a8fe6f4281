//! The command line: every flag of kube-apiserver 1.36 with its name, type and default, and a few of our own.
//!
//! The flags are data ([`table`]); parsing follows pflag to the letter, since scripts and people depend on it; checks of
//! values and combinations follow the reference's. Nothing here reads files, prints or exits: [`command_line`] returns
//! what to do and the caller does it.
//!
//! ```
//! use pintle_flags::{CommandLine, command_line};
//!
//! let args = ["--secure-port=7443", "--v", "2"].map(Into::into);
//! match command_line("pintle", args, 120)? {
//!     CommandLine::Print(text) => print!("{text}"),
//!     CommandLine::Run(flags) => assert_eq!(flags.int("secure-port"), 7443),
//! }
//! # Ok::<(), pintle_flags::Error>(())
//! ```

mod error;
mod gates;
mod golang;
mod help;
mod kind;
mod parse;
mod parsed;
mod plugins;
pub mod table;
mod validate;
mod value;
mod value_text;
mod version;

use std::ffi::OsString;

pub use error::Error;
pub use kind::Kind;
pub use parsed::{DataDir, Parsed};
pub use plugins::{ADMISSION_PLUGINS, AdmissionPlugin};
pub use value::{NamedCertKey, PortRange, VModule};
pub use version::{KUBERNETES_VERSION, REFERENCE, VersionRequest};

/// The action that a command line asks for.
#[derive(Clone, Debug)]
pub enum CommandLine {
    /// Print this to standard output and exit with success.
    Print(String),
    /// Run with these flags, which are valid.
    Run(Box<Parsed>),
}

/// Reads and checks a command line.
///
/// `program` is the name it was called by, without its directory; `args` are the words after it; `columns` is the width
/// of the terminal for the help text, 0 to leave its lines unbroken.
pub fn command_line(
    program: &str,
    args: impl IntoIterator<Item = OsString>,
    columns: usize,
) -> Result<CommandLine, Error> {
    let mut parsed = parse::parse(program, args)?;
    if parsed.bool("help") {
        return Ok(CommandLine::Print(help::text(program, columns)));
    }
    match parsed.version("version") {
        VersionRequest::Short => return Ok(CommandLine::Print(version::short(program))),
        VersionRequest::Raw => return Ok(CommandLine::Print(version::raw())),
        VersionRequest::None | VersionRequest::Report(_) => {}
    }
    validate::validate(&mut parsed)?;
    Ok(CommandLine::Run(Box::new(parsed)))
}
