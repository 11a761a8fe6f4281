//! Messages of invalid expressions, identical to cel-go's.

use super::compiled;
use crate::{Declarations, Type};

/// Compares the messages without the lines that display the location.
#[track_caller]
fn check(expression: &str, expect: &[&str]) {
    let declarations = Declarations::new()
        .variable("x", Type::Int)
        .variable("y", Type::Dyn)
        .variable("names", Type::list(Type::String))
        .variable("m", Type::map(Type::String, Type::Int));
    let actual = compiled(expression, declarations);
    let lines: Vec<&str> = actual
        .lines()
        .filter(|line| !line.starts_with(" | "))
        .map(|line| line.strip_prefix("ERROR: <input>:").unwrap_or(line))
        .collect();
    assert_eq!(lines, expect, "{expression}");
}

const START: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

#[test]
fn syntax_errors_are_those_of_the_generated_parser() {
    let mismatched = |location: &str, word: &str| {
        format!("{location}: Syntax error: mismatched input '{word}' expecting {START}")
    };
    let extraneous = |location: &str, word: &str| {
        format!("{location}: Syntax error: extraneous input '{word}' expecting {START}")
    };
    check("(", &[&mismatched("1:2", "<EOF>")]);
    check("x ==", &[&mismatched("1:5", "<EOF>")]);
    check("", &[&mismatched("1:0", "<EOF>")]);
    check("x ===", &["1:5: Syntax error: token recognition error at: '='", &mismatched("1:6", "<EOF>")]);
    check("x.", &["1:3: Syntax error: no viable alternative at input '.'"]);
    check("1 + $", &["1:5: Syntax error: token recognition error at: '$'", &mismatched("1:6", "<EOF>")]);
    check("1 + +", &[&mismatched("1:5", "+"), &mismatched("1:6", "<EOF>")]);
    check("in", &[&mismatched("1:1", "in"), &mismatched("1:3", "<EOF>")]);
    check("?", &[&mismatched("1:1", "?"), &mismatched("1:2", "<EOF>")]);
    check("--", &["1:3: Syntax error: no viable alternative at input '-'", &mismatched("1:3", "<EOF>")]);
    check(
        "*@a | b",
        &[
            &extraneous("1:1", "*"),
            "1:2: Syntax error: token recognition error at: '@'",
            "1:5: Syntax error: token recognition error at: '| '",
            "1:7: Syntax error: extraneous input 'b' expecting <EOF>",
        ],
    );
    check("1 + 2\n3 +", &["2:1: Syntax error: mismatched input '3' expecting <EOF>"]);
    check("T(){}", &["1:4: Syntax error: mismatched input '{' expecting <EOF>"]);
    check("T{}()", &["1:4: Syntax error: mismatched input '(' expecting <EOF>"]);
    check("{\"a\": 1}.\"a\"", &["1:10: Syntax error: no viable alternative at input '.\"a\"'"]);
    check("y.true", &["1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"]);
    check("y.in", &["1:3: Syntax error: no viable alternative at input '.in'", &mismatched("1:5", "<EOF>")]);
    check(
        "bad(",
        &[
            "1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', \
           NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
        ],
    );
    check(
        "{",
        &[
            "1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', \
           'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
        ],
    );
    check("Object{nosuch", &["1:14: Syntax error: mismatched input '<EOF>' expecting ':'"]);
    check(
        "func{{a}}",
        &[
            "1:6: Syntax error: extraneous input '{' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}",
            "1:8: Syntax error: mismatched input '}' expecting ':'",
            "1:9: Syntax error: extraneous input '}' expecting <EOF>",
        ],
    );
    check("{a}", &["1:3: Syntax error: mismatched input '}' expecting ':'"]);
    check("ind[a{b}]", &["1:8: Syntax error: mismatched input '}' expecting ':'"]);
    check("(1", &["1:3: Syntax error: missing ')' at '<EOF>'"]);
    check("f(1 2)", &["1:5: Syntax error: extraneous input '2' expecting ')'"]);
    check("'abc", &["1:1: Syntax error: token recognition error at: ''abc'", &mismatched("1:5", "<EOF>")]);
    check(
        r#""\xFh""#,
        &[
            r#"1:1: Syntax error: token recognition error at: '"\xFh'"#,
            r#"1:6: Syntax error: token recognition error at: '"'"#,
            &mismatched("1:7", "<EOF>"),
        ],
    );
}

#[test]
fn reserved_names_are_rejected() {
    check("if", &["1:1: reserved identifier: if"]);
    check("names.map(var, 1)", &["1:11: reserved identifier: var", "1:11: argument is not an identifier"]);
    check("while(1)", &["1:1: reserved identifier: while"]);
    check("y.`a`", &["1:3: unsupported syntax: '`'"]);
}

#[test]
fn literals_out_of_range_are_rejected() {
    check("9223372036854775808", &["1:1: invalid int literal"]);
    check("18446744073709551616u", &["1:1: invalid uint literal"]);
    check("1.99e90000009", &["1:1: invalid double literal"]);
    check("'\\U00110000'", &["1:1: invalid unicode code point"]);
}

#[test]
fn macro_variables_must_be_identifiers() {
    check("has(x)", &["1:5: invalid argument to has() macro"]);
    check("names.all(1, true)", &["1:11: argument must be a simple name"]);
    check("names.map(1, true)", &["1:11: argument is not an identifier"]);
    check("names.all(__result__, true)", &["1:11: iteration variable overwrites accumulator variable"]);
    check("names.all(i, i, true)", &["1:14: duplicate variable name: i"]);
    check("y.optMap(1, 1)", &["1:10: optMap() variable name must be a simple identifier"]);
}

#[test]
fn undeclared_references_are_named() {
    check("nope", &["1:1: undeclared reference to 'nope' (in container '')"]);
    check("nope.a.b", &["1:1: undeclared reference to 'nope' (in container '')"]);
    check("nope(x)", &["1:5: undeclared reference to 'nope' (in container '')"]);
    check("x.nope()", &["1:7: undeclared reference to 'nope' (in container '')"]);
    check(
        "a == b",
        &[
            "1:1: undeclared reference to 'a' (in container '')",
            "1:6: undeclared reference to 'b' (in container '')",
        ],
    );
    check("Nope{a: 1}", &["1:5: undeclared reference to 'Nope' (in container '')"]);
    check("int{a: 1}", &["1:4: 'int' is not a message type"]);
    check("x{a: 1}", &["1:2: 'int' is not a type"]);
    check(
        "cel.bind(a, 1, a)",
        &[
            "1:1: undeclared reference to 'cel' (in container '')",
            "1:9: undeclared reference to 'bind' (in container '')",
            "1:10: undeclared reference to 'a' (in container '')",
            "1:16: undeclared reference to 'a' (in container '')",
        ],
    );
}

#[test]
fn type_mismatches_name_both_types() {
    check("x + 'a'", &["1:3: found no matching overload for '_+_' applied to '(int, string)'"]);
    check("'a'.size(1)", &["1:9: found no matching overload for 'size' applied to 'string.(int)'"]);
    check("x == 'a'", &["1:3: found no matching overload for '_==_' applied to '(int, string)'"]);
    check("x == null", &["1:3: found no matching overload for '_==_' applied to '(int, null)'"]);
    check("x && true", &["1:1: expected type 'bool' but found 'int'"]);
    check("[1, 'a']", &["1:5: expected type 'int' but found 'string'"]);
    check(
        "{'a': 1, 2: 'b'}",
        &["1:10: expected type 'string' but found 'int'", "1:13: expected type 'int' but found 'string'"],
    );
    check("[x, y]", &["1:5: expected type 'int' but found 'dyn'"]);
    check("x.a", &["1:2: type 'int' does not support field selection"]);
    check(
        "x.all(a, true)",
        &["1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"],
    );
    check("names.all(n, n)", &["1:14: expected type 'bool' but found 'string'"]);
    check("x ? 1 : 2", &["1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'"]);
    check("!x", &["1:1: found no matching overload for '!_' applied to '(int)'"]);
    check("names[0] + m.a", &["1:10: found no matching overload for '_+_' applied to '(string, int)'"]);
    check("[?1]", &["1:3: expected type 'optional_type(int)' but found 'int'"]);
    check("timestamp('x')", &["1:11: invalid timestamp argument"]);
    check("timestamp(-62135596801)", &["1:11: invalid timestamp argument"]);
    check("duration(1)", &["1:10: invalid duration argument"]);
    check("duration('x')", &["1:10: invalid duration argument"]);
    check("'a'.matches('[')", &["1:13: invalid matches argument"]);
}

#[test]
fn types_of_expressions_are_inferred() {
    check("x", &["int"]);
    check("names", &["list(string)"]);
    check("names.map(n, n.size())", &["list(int)"]);
    check("names.filter(n, true)", &["list(string)"]);
    check("m.transformMap(k, v, string(v))", &["map(string, string)"]);
    check("m.?a", &["optional_type(int)"]);
    check("names[?0].orValue('')", &["string"]);
    check("y", &["dyn"]);
    check("y + 1", &["int"]);
    check("y + y", &["dyn"]);
    check("y.a.b", &["dyn"]);
    check("has(y.a)", &["bool"]);
    check("[]", &["list(dyn)"]);
    check("{}", &["map(dyn, dyn)"]);
    check("int", &["type(int)"]);
    check("type(x)", &["type(int)"]);
    check("true ? x : y", &["dyn"]);
    check("true ? x : 2", &["int"]);
    check("x > 1.5", &["bool"]);
    check("timestamp('2020-01-01T00:00:00Z') - timestamp('2020-01-01T00:00:00Z')", &["duration"]);
    check("optional.none()", &["optional_type(dyn)"]);
    check("[[1]].map(l, l[0])", &["list(int)"]);
}
