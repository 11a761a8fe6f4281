//! Logging of a whole process, with its real standard error. The test starts itself again as that process.

use std::io::Read;
use std::process::{Command, Stdio};

use pintle_logging::{Config, Error, Format, init};

const CHILD: &str = "PINTLE_LOGGING_TEST_CHILD";

/// Runs the child's part of this file.
fn child() -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its own path"));
    command.args(["--exact", "the_child", "--nocapture"]).env(CHILD, "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn the_child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let guard = init(Config { format: Format::Json, ..Config::default() }).expect("first subscriber");
    assert!(matches!(init(Config::default()), Err(Error::AlreadyInstalled)));
    for number in 0..1000 {
        tracing::info!(target: "pintle_logging", number, "line");
    }
    guard.flush();
    #[allow(clippy::print_stdout)] // the parent reads it
    {
        println!("survived");
    }
}

#[test]
fn lines_go_to_standard_error() {
    let output = child().output().expect("the child runs");
    let lines = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{lines}");
    assert_eq!(lines.lines().filter(|line| line.starts_with("{\"ts\":")).count(), 1000);
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_process() {
    let mut child = child().spawn().expect("the child starts");
    drop(child.stderr.take());
    let mut text = String::new();
    child.stdout.take().expect("stdout is a pipe").read_to_string(&mut text).expect("the child prints text");
    assert!(child.wait().expect("the child ends").success());
    assert!(text.contains("survived"), "{text}");
}
