use proptest::prelude::*;

use super::parse;

proptest! {
    #[test]
    fn whatever_the_text_the_parser_answers(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn words_in_any_order_are_read_or_refused(
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
