//! Calls into the engine on bytes that may be damaged.
//!
//! The engine checks its pages after a crash and trusts them otherwise: a file that was closed cleanly and damaged later leads it
//! to places where it panics. A panic there says that the file is damaged, and nothing about the program, so it becomes an error.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `call`. A panic inside comes back as its message and place, and is not printed.
///
/// The state that `call` had in hands is not used after a panic: callers drop or replace it.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    // The hook is the process' only means to keep a panic off standard error. All other threads, and this one outside of such
    // a call, go on to whichever hook there was.
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDED.get() { PANIC.set(Some(description(info))) } else { previous(info) }
        }));
    });
    let outer = GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(call));
    GUARDED.set(outer);
    result.map_err(|_| PANIC.take().unwrap_or_default())
}

/// The message of a panic and the file and line that it came from, on one line.
fn description(info: &panic::PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
    match info.location() {
        Some(place) => {
            let file = place.file().rsplit('/').next().unwrap_or_default();
            format!("{message} ({file}:{})", place.line())
        }
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_comes_back_as_an_error() {
        assert_eq!(guarded(|| 1), Ok(1));
        let nested =
            guarded(|| guarded(|| panic!("inner {}", 1)).map_err(|inner| panic!("outer\nof {inner}")));
        let message = nested.map(drop).unwrap_err();
        assert!(message.contains("outer of ") && message.contains("inner 1"), "{message}");
        assert!(message.contains("guard.rs") && !message.contains('\n'), "{message}");
        assert!(!GUARDED.get());
    }
}
