use proptest::prelude::*;

use super::parse;

proptest! {
    #[test]
    fn parsing_any_text_terminates_with_a_result(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn tokens_in_any_order_are_parsed_or_rejected(
        words in proptest::collection::vec(
            prop_oneof![
                Just("("), Just(")"), Just("["), Just("]"), Just("{"), Just("}"), Just("."), Just(","), Just(":"), Just("?"),
                Just("-"), Just("!"), Just("+"), Just("=="), Just("in"), Just("&&"), Just("||"), Just("a"), Just("b"),
                Just("has"), Just("all"), Just("map"), Just("1"), Just("1u"), Just("1.5"), Just("'s'"), Just("true"),
                Just("null"), Just("`x`"), Just("optMap"),
            ],
            0..40,
        )
    ) {
        let _ = parse(&words.join(" "));
        let _ = parse(&words.concat());
    }
}
