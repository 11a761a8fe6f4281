//! The binary: flags to options, options to a completed configuration, and that to a running server.

mod access;
mod addresses;
mod admin;
mod admission;
mod audit;
mod authentication;
mod banner;
mod certificates;
mod client;
mod config;
mod egress;
mod encryption;
mod envtest;
mod external_signer;
mod files;
mod listeners;
mod log_check;
mod manifests;
mod options;
mod pki;
mod port_file;
mod run;
mod service_accounts;
mod signals;
mod signing;
mod snapshot;
mod storage;
mod wait;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use pintle_flags::{CommandLine, REFERENCE};

/// Objects are trees of many small parts: with the C library's allocator, a sixth to a fourth of a write's time is spent in it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let program = args.next().unwrap_or_else(|| "pintle".into());
    let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let args: Vec<OsString> = args.collect();
    let words: Vec<&str> = args.iter().map_while(|word| word.to_str()).collect();
    let result = match &words[..] {
        ["snapshot", ..] => snapshot::command(&args[1..]),
        ["wait", ..] if program != REFERENCE => wait::command(&args[1..]),
        ["envtest", ..] if program != REFERENCE => envtest::command(&args[1..]),
        // The reference takes no such words.
        ["help" | "version", ..] if program == REFERENCE => serve(&program, args),
        ["help", "snapshot"] => snapshot::command(&["--help".into()]),
        ["help", "wait"] => wait::command(&["--help".into()]),
        ["help", "envtest"] => envtest::command(&["--help".into()]),
        ["help"] => serve(&program, vec!["--help".into()]),
        ["version"] => serve(&program, vec!["--version".into()]),
        ["help" | "version", word, ..] => {
            Err(anyhow!("{program} {} does not take {word:?}; see {program} help", words[0]))
        }
        _ => serve(&program, args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::FAILURE
        }
    }
}

fn serve(program: &str, args: Vec<OsString>) -> anyhow::Result<()> {
    match pintle_flags::command_line(program, args, terminal_width())? {
        CommandLine::Print(text) => print(&text),
        CommandLine::Run(flags) => run::run(&flags)?,
    }
    Ok(())
}

/// Prints the error that ends the process.
#[expect(clippy::print_stderr, reason = "the command line's own output")]
fn report(error: &anyhow::Error) {
    eprintln!("Error: {}", sentence(error));
}

/// Returns an error with its causes in one sentence, without repeating a cause that an error already names.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |mut sentence, cause| {
        let cause = cause.to_string();
        if !sentence.contains(&cause) {
            sentence = if sentence.is_empty() { cause } else { format!("{sentence}: {cause}") };
        }
        sentence
    })
}

/// Prints to standard output. A reader that has gone, as with `| head`, is no error.
fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn terminal_width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 120,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_cause_is_named_once() {
        let error = anyhow!("no such file").context("a: no such file").context("--flag");
        assert_eq!(sentence(&error), "--flag: a: no such file");
    }
}
