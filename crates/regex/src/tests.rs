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
fn perl_classes_are_ascii() {
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
fn syntax_only_the_regex_crate_knows_is_literal() {
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
fn patterns_with_catastrophic_backtracking_match_in_linear_time() {
    check("^(a+)+$", &format!("{}b", "a".repeat(10_000)), false);
}

#[test]
fn an_empty_match_adjacent_to_another_is_skipped() {
    let regex = Regex::new("a*").unwrap();
    assert_eq!(regex.find_all("baac", 9), ["", "aa", ""]);
    assert_eq!(regex.find("baac"), Some(""));
}

/// Texts that every pattern of the table is matched against.
const TEXTS: &[&str] = &["", "a", "a-b", "A.9_", "λ", "aéb", " ", "\n", "k", "\u{212a}", "z{,2}"];

/// Patterns that Go accepts, with the indexes of the texts they match, from Go's own parser and matcher.
#[test]
fn patterns_match_what_go_matches() {
    let all: Vec<usize> = (0..TEXTS.len()).collect();
    let none: &[usize] = &[];
    let table: &[(&str, &[usize])] = &[
        // A hyphen that forms no range is literal in any position.
        ("^[0-9a-zA-Z-.]+$", &[1, 2, 8]),
        ("^[a-zA-Z0-9-_]+$", &[1, 2, 8]),
        (r"^[\w-.]+$", &[1, 2, 3, 8]),
        (r"^[\w\-.]+$", &[1, 2, 3, 8]),
        ("^[--z]+$", &[1, 2, 3, 8]),
        ("^[a-b-]+$", &[1, 2]),
        (r"^[[:alpha:]-z]+$", &[1, 2, 8]),
        // Escaped punctuation.
        (r"^\ $", &[6]),
        (r"\-", &[2]),
        (r"\_", &[3]),
        ("\\\n", &[7]),
        // Boundaries are about ASCII.
        (r"\B", &[0, 3, 4, 6, 7, 9, 10]),
        (r"a\b.\bb", &[2, 5]),
        (r"a\B", none),
        (r"^\B.\B$", &[4, 6, 9]),
        // Unicode classes.
        (r"\p{Greek}", &[4]),
        (r"\p{greek}", &[4]),
        (r"\p{^Greek}a?$", &[1, 2, 3, 5, 6, 7, 8, 9, 10]),
        (r"^\p{uppercase letter}", &[3, 9]),
        (r"^\p{Uppercase_Letter}", &[3, 9]),
        (r"^\p{lc}$", &[1, 4, 8, 9]),
        (r"^\p{punct}", none),
        (r"\p{Cs}", none),
        (r"^\P{ASCII}$", &[4, 9]),
        (r"(?i)^\p{ascii}$", &[1, 6, 7, 8, 9]),
        // Surrogates, which occur in no text.
        (r"\x{D800}", none),
        (r"^[\x{D800}-\x{DFFF}]$", none),
        (r"^[^\x{D800}]$", &[1, 4, 6, 7, 8, 9]),
        // Case.
        ("(?i)^K$", &[8, 9]),
        (r"(?i)^\w$", &[1, 8, 9]),
        ("(?ii-s)^a$", &[1]),
        ("(?i-i)^A", &[3]),
        ("()(?)^a$", &[1]),
        // Repetition operators apply across flags and empty quotes.
        ("^a(?i)*$", &[0, 1]),
        (r"^a\Q\E*$", &[0, 1]),
        ("^(?:a*(?i)*)$", &[0, 1]),
        ("^z{,2}$", &[10]),
        ("(?U)^a+?$", &[1]),
    ];
    for (pattern, expect) in table {
        let regex = Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        let found: Vec<usize> = all.iter().copied().filter(|text| regex.is_match(TEXTS[*text])).collect();
        assert_eq!(found, *expect, "{pattern}");
    }
}

#[test]
fn every_error_of_gos_parser_has_its_message() {
    let table = [
        ("(", "missing closing ): `(`"),
        (")", "unexpected ): `)`"),
        ("|*", "missing argument to repetition operator: `*`"),
        ("(+?)", "missing argument to repetition operator: `+?`"),
        ("(?i)*", "missing argument to repetition operator: `*`"),
        ("{2}", "missing argument to repetition operator: `{2}`"),
        ("a*?*", "invalid nested repetition operator: `*?*`"),
        ("a{2}{3}?", "invalid nested repetition operator: `{2}{3}?`"),
        ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
        ("(?:a{501}){2}", "invalid repeat count: `{2}`"),
        ("((a{2,}){501}){1,}", "invalid repeat count: `{501}`"),
        ("((a{1000}){0,}){2}?", "invalid repeat count: `{2}?`"),
        ("(?", "invalid or unsupported Perl syntax: `(?`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?i-)", "invalid or unsupported Perl syntax: `(?i-)`"),
        ("(?-)", "invalid or unsupported Perl syntax: `(?-)`"),
        ("(?i--s)", "invalid or unsupported Perl syntax: `(?i--`"),
        ("(?x)", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?#a)", "invalid or unsupported Perl syntax: `(?#`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?P<", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?<", "invalid or unsupported Perl syntax: `(?<`"),
        ("(?<!a)", "invalid named capture: `(?<!a)`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?P<>a)", "invalid named capture: `(?P<>`"),
        ("(?<é>a)", "invalid named capture: `(?<é>`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\q", r"invalid escape sequence: `\q`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\é", r"invalid escape sequence: `\é`"),
        (r"\x", r"invalid escape sequence: `\x`"),
        (r"\xz1", r"invalid escape sequence: `\xz1`"),
        (r"\x{}", r"invalid escape sequence: `\x{}`"),
        (r"\x{1z}", r"invalid escape sequence: `\x{1z`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"[\", "trailing backslash at end of expression: ``"),
        (r"[\b]", r"invalid escape sequence: `\b`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        (r"[a-\pL]", r"invalid escape sequence: `\p`"),
        ("[a-", "missing closing ]: `[a-`"),
        ("x[]a", "missing closing ]: `[]a`"),
        ("[[:^^alpha:]]", "invalid character class range: `[:^^alpha:]`"),
        ("[[:Alpha:]]", "invalid character class range: `[:Alpha:]`"),
        (r"\p", r"invalid character class range: `\p`"),
        (r"\p{Greek", r"invalid character class range: `\p{Greek`"),
        (r"\p{}", r"invalid character class range: `\p{}`"),
        (r"\p{IsGreek}", r"invalid character class range: `\p{IsGreek}`"),
        (r"\p{Grek}", r"invalid character class range: `\p{Grek}`"),
        (r"\p{Alphabetic}", r"invalid character class range: `\p{Alphabetic}`"),
        (r"[\p{Script=Greek}]", r"invalid character class range: `\p{Script=Greek}`"),
        (r"\p{^^Greek}", r"invalid character class range: `\p{^^Greek}`"),
    ];
    for (pattern, expect) in table {
        refused(pattern, expect);
    }
}

/// Run on a thread with a stack as small as a request's.
#[test]
fn depth_is_bounded_as_in_go() {
    let nested = |open: &str, count: usize| format!("{}a{}", open.repeat(count), ")".repeat(count));
    let test = move || {
        check(&nested("(", 998), "a", true);
        check(&nested("(x|", 333), "a", true);
        let deep = nested("(", 1001);
        refused(&deep, &format!("expression nests too deeply: `{deep}`"));
        let deep = format!("{}a{}", "(".repeat(501), ")*".repeat(501));
        refused(&deep, &format!("expression nests too deeply: `{deep}`"));
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(test).unwrap().join().unwrap();
}

/// With captures, each state of the matcher would have two slots for each of 6,000 groups.
#[test]
fn thousands_of_groups_need_no_memory_for_captures() {
    let pattern = format!("^(?:{})*$", "(a)?".repeat(6_000));
    let regex = Regex::new(&pattern).unwrap();
    let started = std::time::Instant::now();
    for _ in 0..3 {
        assert!(regex.is_match(&"a".repeat(200)));
        assert!(!regex.is_match(&"b".repeat(200)));
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(regex.engine.captures_len(), 1, "the whole match alone");
}

#[test]
fn matches_split_no_character() {
    let regex = Regex::new(r"\B").unwrap();
    assert_eq!(regex.find("aéb"), None);
    assert_eq!(regex.find_all("éé", 9), ["", "", ""]);
    assert_eq!(Regex::new(r"\B.").unwrap().find_all("éaλ-", 9), ["é", "-"]);
}

/// One class as often as Go repeats, which is a program of many megabytes here and of a thousand instructions there.
#[test]
fn a_large_class_can_be_repeated_as_often_as_go_repeats() {
    let regex = Regex::new(r"^[\w\pL]{1,1000}$").unwrap();
    assert!(regex.is_match(&"é9".repeat(500)));
    assert!(!regex.is_match(&"é9".repeat(501)) && !regex.is_match("a b"));
    let several = r"\pL{1000}".repeat(3);
    refused(&several, &format!("expression too large: `{several}`"));
}

/// The states that a match has built are reused by the next one.
#[test]
fn a_pattern_is_faster_with_every_match() {
    let regex = Regex::new(&format!("^{}$", "(a)?".repeat(3_000))).unwrap();
    let text = "a".repeat(1_000);
    let timed = || {
        let started = std::time::Instant::now();
        assert!(regex.is_match(&text));
        started.elapsed()
    };
    let first = timed();
    let later = (0..20).map(|_| timed()).min().unwrap();
    assert!(later < first / 5, "{first:?}, then {later:?}");
}

/// Each of these fills all the memory that a lazy DFA may have.
#[test]
fn the_memory_of_many_patterns_is_bounded() {
    let text: String =
        (0..20_000_u32).map(|n| if n.wrapping_mul(0x9e37_79b9) >> 31 == 0 { 'a' } else { 'b' }).collect();
    let patterns: Vec<Regex> = (0..100).map(|n| Regex::new(&format!("a(?:a|b){{20}}{n}")).unwrap()).collect();
    let mut most = 0;
    for pattern in &patterns {
        assert!(!pattern.is_match(&text));
        most = most.max(super::memory::kept_bytes());
    }
    // Other tests run at the same time.
    assert!(most > 40 << 20 && most < super::memory::MOST_BYTES + (32 << 20), "{most}");
    drop(patterns);
    assert!(super::memory::kept_bytes() < most - (30 << 20), "{most}, then {}", super::memory::kept_bytes());
}
