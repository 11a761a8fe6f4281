use super::Regex;

#[track_caller]
fn check(pattern: &str, text: &str, expect: bool) {
    match Regex::new(pattern) {
        Ok(regex) => assert_eq!(regex.is_match(text), expect, "{pattern} on {text}"),
        Err(error) => panic!("{pattern}: {error}"),
    }
}

#[track_caller]
fn refused(pattern: &str, expect: &str) {
    match Regex::new(pattern) {
        Ok(_) => panic!("{pattern} is a pattern"),
        Err(error) => assert_eq!(error.to_string(), format!("error parsing regexp: {expect}")),
    }
}

#[test]
fn classes_are_about_ascii() {
    check(r"^\d+$", "123", true);
    check(r"^\d+$", "١٢٣", false);
    check(r"^\w+$", "größe", false);
    check(r"^[\w-]+$", "a-b_c", true);
    check(r"^[^\d]$", "x", true);
    check(r"^[\D]$", "1", false);
    check(r"^\s$", "\u{a0}", false);
    check(r"^\pL+$", "größe", true);
    check(r"^\p{Greek}$", "λ", true);
    check(r"^\P{Greek}$", "λ", false);
    check(r"^\p{^Greek}$", "λ", false);
    check(r"^[[:alpha:]]+$", "abc", true);
    check(r"^[[:^alpha:]]+$", "123", true);
}

#[test]
fn what_means_something_else_elsewhere_is_itself() {
    check(r"^a{,2}$", "a{,2}", true);
    check(r"^{$", "{", true);
    check(r"^x{a}$", "x{a}", true);
    check(r"^[a&&b]$", "&", true);
    check(r"^[[a]$", "[", true);
    check(r"^[]a]$", "]", true);
    check(r"^[[:]$", ":", true);
    check(r"^[a-]$", "-", true);
    check(r"^\<b\>$", "<b>", true);
    check(r"^\Qa.b\E.$", "a.bx", true);
    check(r"^\Qa.b\E.$", "axbx", false);
    check(r"^\101\x42\x{43}$", "ABC", true);
    check(r"^(?P<1st>a)(?<b>b)$", "ab", true);
    check(r"(?i)^straße$", "STRAßE", true);
    check(r"^a~b#c @d$", "a~b#c @d", true);
    check("^(?:ab){2,3}?$", "abab", true);
    check("^$", "", true);
    check("a$", "a\n", false);
    check("(?m)a$", "a\nb", true);
    check("a.b", "a\nb", false);
    check("(?s)a.b", "a\nb", true);
}

#[test]
fn bad_patterns_are_refused_as_go_does() {
    refused("[", "missing closing ]: `[`");
    refused("a(b", "missing closing ): `a(b`");
    refused("a)b", "unexpected ): `a)b`");
    refused("*", "missing argument to repetition operator: `*`");
    refused("a**", "invalid nested repetition operator: `**`");
    refused("a{1001}", "invalid repeat count: `{1001}`");
    refused("a{3,2}", "invalid repeat count: `{3,2}`");
    refused("(?=a)", "invalid or unsupported Perl syntax: `(?=`");
    refused(r"\1", r"invalid escape sequence: `\1`");
    refused(r"\Z", r"invalid escape sequence: `\Z`");
    refused(r"\", "trailing backslash at end of expression: ``");
    refused("[z-a]", "invalid character class range: `z-a`");
    refused(r"\pX", r"invalid character class range: `\pX`");
    refused("[[:", "missing closing ]: `[[:`");
    refused("[[:nope:]]", "invalid character class range: `[:nope:]`");
    refused("((a{1000}){1000}){1000}", "invalid repeat count: `{1000}`");
}

#[test]
fn a_pattern_that_would_take_ages_elsewhere_does_not() {
    check("^(a+)+$", &format!("{}b", "a".repeat(10_000)), false);
}

#[test]
fn an_empty_match_directly_behind_another_is_none() {
    let regex = Regex::new("a*").unwrap();
    assert_eq!(regex.find_all("baac").collect::<Vec<_>>(), ["", "aa", ""]);
    assert_eq!(regex.find("baac"), Some(""));
}
