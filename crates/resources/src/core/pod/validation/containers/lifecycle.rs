//! Lifecycle hooks and stop signals.

use super::super::Facts;
use super::probes;
use crate::framework::validation::Cursor;

const WINDOWS_SIGNALS: &[&str] = &["SIGKILL", "SIGTERM"];

/// Signals of Linux, sorted as an error lists them.
const LINUX_SIGNALS: &[&str] = &[
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGRTMAX",
    "SIGRTMAX-1",
    "SIGRTMAX-10",
    "SIGRTMAX-11",
    "SIGRTMAX-12",
    "SIGRTMAX-13",
    "SIGRTMAX-14",
    "SIGRTMAX-2",
    "SIGRTMAX-3",
    "SIGRTMAX-4",
    "SIGRTMAX-5",
    "SIGRTMAX-6",
    "SIGRTMAX-7",
    "SIGRTMAX-8",
    "SIGRTMAX-9",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+10",
    "SIGRTMIN+11",
    "SIGRTMIN+12",
    "SIGRTMIN+13",
    "SIGRTMIN+14",
    "SIGRTMIN+15",
    "SIGRTMIN+2",
    "SIGRTMIN+3",
    "SIGRTMIN+4",
    "SIGRTMIN+5",
    "SIGRTMIN+6",
    "SIGRTMIN+7",
    "SIGRTMIN+8",
    "SIGRTMIN+9",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];

/// Checks hooks and the stop signal of a container.
pub(super) fn lifecycle(lifecycle: &Cursor<'_, '_>, facts: &Facts<'_>) {
    if !lifecycle.is_set() {
        return;
    }
    for hook in ["postStart", "preStop"] {
        if lifecycle.field(hook).is_set() {
            probes::handler(&lifecycle.field(hook), facts);
        }
    }
    let signal = lifecycle.field("stopSignal");
    if signal.is_set() {
        match facts.os {
            _ if !facts.has_os => signal.forbidden("may not be set for containers with empty `spec.os.name`"),
            "windows" => signal.one_of(WINDOWS_SIGNALS),
            "linux" => signal.one_of(LINUX_SIGNALS),
            // The operating system is reported itself.
            _ => {}
        }
    }
}
