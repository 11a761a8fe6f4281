//! Whatever is on the command line, the answer is a value or a sentence, never a panic.

use std::ffi::OsString;

use pintle_flags::{command_line, table};
use proptest::prelude::*;

/// Words that look like flags often enough to get past the first check.
fn word() -> impl Strategy<Value = String> {
    let names: Vec<&str> = table::all().map(|flag| flag.name).collect();
    let value = prop_oneof![
        any::<String>(),
        "[-+0-9a-zA-Z_.,:=\"/@*#\\[\\] ]{0,24}",
        "-?[0-9]{0,22}(\\.[0-9]{0,22})?(ns|us|ms|s|m|h|Ki|e9|x)?",
    ];
    prop_oneof![
        4 => (prop::sample::select(names), value).prop_map(|(name, value)| format!("--{name}={value}")),
        1 => "-{0,3}[a-z_=]{0,6}",
        1 => any::<String>(),
    ]
}

proptest! {
    #[test]
    fn any_words_parse_or_fail_with_a_sentence(words in prop::collection::vec(word(), 0..6), columns in 0usize..200) {
        if let Err(error) = command_line("pintle", words.iter().map(OsString::from), columns) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
