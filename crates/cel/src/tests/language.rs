//! Literals, operators, macros and absorbed errors.

use super::{check, check_all, evaluated, object};
use pintle_meta::Value;

#[test]
fn literals_evaluate_to_their_values() {
    check_all(&[
        ("1", "1"),
        ("-1", "-1"),
        ("0x1F", "31"),
        ("-0x1F", "-31"),
        ("1u", "1u"),
        ("0xFFu", "255u"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("1e3", "1000.0"),
        ("-1.5e-3", "-0.0015"),
        ("true", "true"),
        ("null", "null"),
        ("'a'", "'a'"),
        (r#""a\tb\x41\u00e4\U0001F600\101\?\`""#, "'a\tbAä😀A?`'"),
        ("'''a'b\n'''", "'a'b\n'"),
        (r#""""""""#, "''"),
        (r"r'a\n'", "'a\\n'"),
        (r#"R"""a\""""#, "'a\\'"),
        (r"b'a\x00\377ä'", r"b'a\x00\xff\xc3\xa4'"),
        (r"br'\x'", r"b'\\x'"),
        ("[1, 2, ]", "[1, 2]"),
        ("[]", "[]"),
        ("{'a': 1, 'b': 2,}", "{'a': 1, 'b': 2}"),
        ("{}", "{}"),
        ("{1: 'a', 2: 'b'}", "{1: 'a', 2: 'b'}"),
        ("// why\n1 + // not\n2", "3"),
        ("[?optional.of(1), ?optional.none(), 3]", "[1, 3]"),
        ("{?'a': optional.of(1), ?'b': optional.none()}", "{'a': 1}"),
    ]);
}

#[test]
fn operators_compute() {
    check_all(&[
        ("1 + 2 * 3 - 4 / 2 % 3", "5"),
        ("(1 + 2) * 3", "9"),
        ("-(5)", "-5"),
        ("--5", "5"),
        ("!!true", "true"),
        ("!true", "false"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("7u / 2u", "3u"),
        ("1.0 / 0.0", "inf"),
        ("1.5 + 1.5", "3.0"),
        ("2u - 1u", "1u"),
        ("'a' + 'b'", "'ab'"),
        ("b'a' + b'b'", "b'ab'"),
        ("[1] + [2, 3]", "[1, 2, 3]"),
        ("true ? 1 : 2", "1"),
        ("false ? 1 : true ? 2 : 3", "2"),
        ("duration('1m') + duration('1s')", "duration('1m1s')"),
        ("duration('1m') - duration('1s')", "duration('59s')"),
        ("timestamp('2023-01-01T00:00:00Z') + duration('24h')", "timestamp('2023-01-02T00:00:00Z')"),
        ("duration('24h') + timestamp('2023-01-01T00:00:00Z')", "timestamp('2023-01-02T00:00:00Z')"),
        (
            "timestamp('2023-01-01T00:00:00Z') - duration('1ns')",
            "timestamp('2022-12-31T23:59:59.999999999Z')",
        ),
        ("timestamp('2023-01-02T00:00:00Z') - timestamp('2023-01-01T00:00:00Z')", "duration('24h0m0s')"),
    ]);
}

#[test]
fn number_overflow_is_an_error() {
    check_all(&[
        ("9223372036854775807 + 1", "error: integer overflow"),
        ("-9223372036854775808 - 1", "error: integer overflow"),
        ("9223372036854775807 * 2", "error: integer overflow"),
        ("-(-9223372036854775808)", "error: integer overflow"),
        ("-9223372036854775808 / -1", "error: integer overflow"),
        ("1u - 2u", "error: unsigned integer overflow"),
        ("18446744073709551615u + 1u", "error: unsigned integer overflow"),
        ("1 / 0", "error: division by zero"),
        ("1u % 0u", "error: modulus by zero"),
        ("1 % 0", "error: modulus by zero"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "error: timestamp overflow"),
        ("duration('2562047h') + duration('2562047h')", "error: duration overflow"),
    ]);
}

#[test]
fn values_compare_across_number_types() {
    check_all(&[
        ("1 == 1", "true"),
        ("dyn(1) == 1u", "true"),
        ("dyn(1) == 1.0", "true"),
        ("dyn(1) == 'a'", "false"),
        ("dyn(null) == 1", "false"),
        ("[1, 2] == [1, 2]", "true"),
        ("[1] == [1, 2]", "false"),
        ("dyn([1, 2]) == [1.0, 2.0]", "true"),
        ("{'a': 1} == {'a': 1}", "true"),
        ("{'a': 1} != {'a': 2}", "true"),
        ("dyn({1: 'a'}) == {1u: 'a'}", "true"),
        ("1 < 2", "true"),
        ("1 < 1.5", "true"),
        ("1u < -1", "false"),
        ("1.5 >= 1u", "true"),
        ("9223372036854775807 < 9223372036854775808u", "true"),
        ("'a' < 'b'", "true"),
        ("b'b' > b'a'", "true"),
        ("false < true", "true"),
        ("duration('1s') <= duration('1000ms')", "true"),
        ("timestamp('2020-01-01T00:00:00Z') < timestamp('2021-01-01T00:00:00Z')", "true"),
        ("timestamp('2020-01-01T02:00:00+02:00') == timestamp('2020-01-01T00:00:00Z')", "true"),
        ("double('NaN') == double('NaN')", "false"),
        ("double('NaN') < 1.0", "error: NaN values cannot be ordered"),
        ("type(1) == int", "true"),
        ("type([1]) == list", "true"),
        ("type(type(1)) == type", "true"),
        ("type(null) == null_type", "true"),
        ("optional.of(1) == optional.of(1)", "true"),
        ("optional.none() == optional.of(1)", "false"),
    ]);
}

#[test]
fn in_tests_membership_of_lists_and_maps() {
    check_all(&[
        ("1 in [1, 2]", "true"),
        ("3 in [1, 2]", "false"),
        ("dyn(1.0) in [1, 2]", "true"),
        ("1 in []", "false"),
        ("'a' in {'a': 1}", "true"),
        ("'b' in {'a': 1}", "false"),
        ("[1] in [[1], [2]]", "true"),
        ("dyn(1u) in {1: 'a'}", "true"),
    ]);
}

#[test]
fn fields_and_indexes_are_selected() {
    check_all(&[
        ("{'a': 1}.a", "1"),
        ("{'a': 1}['a']", "1"),
        ("{1: 'a'}[1]", "'a'"),
        ("dyn({1: 'a'})[1u]", "'a'"),
        ("[1, 2][1]", "2"),
        ("dyn([1, 2])[1.0]", "2"),
        ("[1, 2][2]", "error: index out of bounds: 2"),
        ("[1, 2][-1]", "error: index out of bounds: -1"),
        ("dyn([1, 2])['a']", "error: unsupported index type 'string' in list"),
        ("{'a': 1}.b", "error: no such key: b"),
        ("{'a': 1}['b']", "error: no such key: b"),
        ("dyn(1).a", "error: no such key: a"),
        ("has({'a': 1}.a)", "true"),
        ("has({'a': 1}.b)", "false"),
        ("has(dyn(1).b)", "false"),
        ("has({'a': {'b': 1}}.a.b)", "true"),
        ("has({'a': {'b': 1}}.c.b)", "error: no such key: c"),
    ]);
}

#[test]
fn optionals_represent_missing_values() {
    check_all(&[
        ("{'a': 1}.?a", "optional.of(1)"),
        ("{'a': 1}.?b", "optional.none()"),
        ("{'a': {'b': 1}}.?a.b", "optional.of(1)"),
        ("{'a': {'b': 1}}.?c.b", "optional.none()"),
        ("{'a': 1}[?'a'].orValue(2)", "1"),
        ("{'a': 1}[?'b'].orValue(2)", "2"),
        ("[1, 2][?1]", "optional.of(2)"),
        ("[1, 2][?2]", "optional.none()"),
        ("{'a': [1]}.?a[0]", "optional.of(1)"),
        ("has({'a': {'b': 1}}.?a.b)", "true"),
        ("has({'a': {'b': 1}}.?c.b)", "false"),
        ("optional.of(1).value()", "1"),
        ("optional.none().value()", "error: optional.none() dereference"),
        ("optional.of(1).hasValue()", "true"),
        ("optional.none().hasValue()", "false"),
        ("optional.ofNonZeroValue(0)", "optional.none()"),
        ("optional.ofNonZeroValue('')", "optional.none()"),
        ("optional.ofNonZeroValue([1])", "optional.of([1])"),
        ("optional.none().or(optional.of(2))", "optional.of(2)"),
        ("optional.of(1).or(optional.of(1 / 0))", "optional.of(1)"),
        ("optional.of(1).orValue(1 / 0)", "1"),
        ("optional.of(1).optMap(x, x + 1)", "optional.of(2)"),
        ("optional.none().optMap(x, x + 1)", "optional.none()"),
        ("optional.of({'a': 1}).optFlatMap(x, x.?a)", "optional.of(1)"),
        ("optional.of({'a': 1}).optFlatMap(x, x.?b)", "optional.none()"),
        ("[1, 2].first()", "optional.of(1)"),
        ("[1, 2].last()", "optional.of(2)"),
        ("[].first()", "optional.none()"),
        ("optional.unwrap([optional.of(1), optional.none()])", "[1]"),
        ("[optional.of(1), optional.none()].unwrapOpt()", "[1]"),
        ("[?dyn(1)]", "error: cannot initialize optional list element from non-optional value 1"),
        ("{?'a': dyn(1)}", "error: cannot initialize optional entry 'a' from non-optional value 1"),
    ]);
}

#[test]
fn macros_expand_to_loops() {
    check_all(&[
        ("[1, 2].all(x, x > 0)", "true"),
        ("[1, 2].all(x, x > 1)", "false"),
        ("[].all(x, x > 1)", "true"),
        ("[1, 2].exists(x, x > 1)", "true"),
        ("[].exists(x, x > 1)", "false"),
        ("[1, 2].exists_one(x, x > 1)", "true"),
        ("[2, 2].existsOne(x, x > 1)", "false"),
        ("[1, 2].map(x, x * 2)", "[2, 4]"),
        ("[1, 2, 3].map(x, x > 1, x * 2)", "[4, 6]"),
        ("[1, 2, 3].filter(x, x > 1)", "[2, 3]"),
        ("{'a': 1, 'b': 2}.all(k, k != 'c')", "true"),
        ("{'a': 1, 'b': 2}.map(k, k + k)", "['aa', 'bb']"),
        ("{'a': 1, 'b': 2}.filter(k, k > 'a')", "['b']"),
        ("[1, 2].map(x, [3, 4].map(y, x * y))", "[[3, 4], [6, 8]]"),
        ("[1, 2].map(x, [x].map(x, x + 1)[0] + x)", "[3, 5]"),
        ("[[1], [2]].map(x, x.exists(y, y == 1))", "[true, false]"),
        ("[1, 2].all(i, v, i < v)", "true"),
        ("{'a': 1}.all(k, v, k == 'a' && v == 1)", "true"),
        ("['a', 'b'].exists(i, v, i == 1 && v == 'b')", "true"),
        ("['a', 'b'].existsOne(i, v, i == 1 && v == 'b')", "true"),
        ("['a', 'b'].transformList(i, v, string(i) + v)", "['0a', '1b']"),
        ("['a', 'b'].transformList(i, v, i > 0, string(i) + v)", "['1b']"),
        ("['a', 'b'].transformMap(i, v, v + v)", "{0: 'aa', 1: 'bb'}"),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2)", "{'b': 4}"),
        ("{'a': 'x', 'b': 'y'}.transformMapEntry(k, v, {v: k})", "{'x': 'a', 'y': 'b'}"),
        ("['a', 'a'].transformMapEntry(k, v, {v: k})", "error: insert failed: key a already exists"),
        ("[3, 1, 2].sortBy(x, -x)", "[3, 2, 1]"),
        ("[1, 2].map(x, optional.of(x).optMap(y, y + x).value())", "[2, 4]"),
        ("[1].map(x, [2].filter(y, y > x) + [x])", "[[2, 1]]"),
    ]);
}

#[test]
fn a_decisive_side_absorbs_the_error_of_the_other() {
    check_all(&[
        ("1 / 0 == 1 || true", "true"),
        ("true || 1 / 0 == 1", "true"),
        ("1 / 0 == 1 && false", "false"),
        ("false && 1 / 0 == 1", "false"),
        ("1 / 0 == 1 || false", "error: division by zero"),
        ("1 / 0 == 1 && 1 % 0 == 1", "error: division by zero"),
        ("dyn(1) && false", "false"),
        ("dyn(1) && true", "error: no such overload"),
        ("[0, 1].exists(x, 1 / x == 1)", "true"),
        ("[0, 2].exists(x, 1 / x == 1)", "error: division by zero"),
        ("[0, 2].all(x, 1 / x == 1)", "false"),
        ("[0, 1].all(x, 1 / x == 1)", "error: division by zero"),
        ("[0, 1].exists_one(x, 1 / x == 1)", "error: division by zero"),
        ("[1, 0].map(x, 1 / x)", "error: division by zero"),
        ("1 / 0 > 0 ? 1 : 2", "error: division by zero"),
        ("dyn(1) ? 1 : 2", "error: no such overload"),
        ("true ? 1 : 1 / 0", "1"),
    ]);
}

#[test]
fn dynamic_operands_without_an_overload_are_an_error() {
    check_all(&[
        ("dyn(1) + 'a'", "error: no such overload"),
        ("dyn(true) + dyn(true)", "error: no such overload: _+_"),
        ("dyn('a') - dyn('b')", "error: no such overload"),
        ("dyn([1]) - dyn([1])", "error: no such overload: _-_"),
        ("dyn(1) < 'a'", "error: no such overload"),
        ("dyn([1]) < dyn([1])", "error: no such overload: _<_"),
        ("!dyn(1)", "error: no such overload"),
        ("-dyn('a')", "error: no such overload"),
        ("dyn(1) in dyn(1)", "error: no such overload"),
        ("size(dyn(1))", "error: no such overload: size"),
        ("dyn(1).contains('a')", "error: no such overload"),
        ("dyn(1).matches('a')", "error: no such overload: matches"),
        ("dyn(1).all(x, true)", "error: got 'int', expected iterable type"),
        ("int(dyn([1]))", "no such overload: int(list)"),
        ("[dyn([1])].map(x, int(x))", "error: no such overload: int(list)"),
        ("dyn(1).value()", "error: no such overload: value(int)"),
    ]);
}

#[test]
fn variables_are_read_from_the_activation() {
    let variables = [("a", object([("b", Value::from(vec![Value::from(1), Value::from("x")]))]))];
    assert_eq!(evaluated("a.b[0] + 1", &variables), "2");
    assert_eq!(evaluated("a.b[1]", &variables), "'x'");
    assert_eq!(evaluated("a.b.map(x, x)", &variables), "[1, 'x']");
    assert_eq!(evaluated("a", &variables), "{'b': [1, 'x']}");
    assert_eq!(evaluated(".a.b.size()", &variables), "2");
    assert_eq!(evaluated("[1].map(a, a + 1)", &variables), "[2]", "a loop's variable hides it");
}

#[test]
fn deep_and_long_expressions_are_refused_or_evaluated() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    check(&nested(200), "1");
    assert!(evaluated(&nested(300), &[]).contains("expression recursion limit exceeded: 250"));
    let sum = |terms: usize| vec!["1"; terms].join(" + ");
    check(&sum(200), "200");
    assert!(evaluated(&sum(300), &[]).contains("recursion limit exceeded: 250"));
    check(&vec!["true"; 10_000].join(" && "), "true");
    assert!(evaluated(&" ".repeat(100_001), &[]).contains("size: 100001, limit 100000"));
    check(&format!("[{}].size()", "1,".repeat(10_000)), "10000");
    // Each level doubles the previous one.
    let bomb = format!("optional.of(1){}", ".optMap(x, x)".repeat(40));
    assert!(evaluated(&bomb, &[]).contains("expression size exceeds limit"));
}

#[test]
fn cheap_expressions_with_growing_values_end_at_the_work_limit() {
    let doubled = |times: usize| format!("[[1]]{}", ".map(x, [x, x])".repeat(times));
    check(&format!("{}.size()", doubled(30)), "1");
    let compared = format!("{} == {}", doubled(40), doubled(40));
    check(&compared, "error: operation cancelled: actual cost limit exceeded");
    let added = format!("[[1, 2]]{}", ".map(x, x + x)".repeat(60));
    check(&added, "error: operation cancelled: actual cost limit exceeded");
    let text = format!("['ab']{}", ".map(x, x + x)".repeat(60));
    check(&text, "error: operation cancelled: actual cost limit exceeded");
    let many = format!("[{}]", vec!["1"; 100].join(", "));
    let loops = format!("{}true{}", format!("{many}.all(x, ").repeat(8), ")".repeat(8));
    check(&loops, "error: operation cancelled: actual cost limit exceeded");
    check(
        "lists.range(9223372036854775807).size()",
        "error: operation cancelled: actual cost limit exceeded",
    );
    let replaced = format!("'a'{}.size()", ".replace('a', 'aaaaaaaaaaaaaaaaaaaa')".repeat(20));
    check(&replaced, "error: operation cancelled: actual cost limit exceeded");
}

#[test]
fn the_deepest_expressions_fit_a_small_stack() {
    let around = |before: &str, inside: &str, after: &str, depth: usize| {
        format!("{}{inside}{}", before.repeat(depth), after.repeat(depth))
    };
    let expressions = [
        around("[", "1", "]", 249),
        around("dyn(", "1", ")", 249),
        around("{'a': ", "1", "}", 249),
        around("(true ? ", "1", " : 2)", 120),
        around("[1].map(x, ", "x", ")", 120),
        around("[1].all(x, ", "true", ")", 120),
        around("!(", "true", ")", 248),
        format!("{{}}{}", ".?a".repeat(240)),
        format!("'a'{}", ".trim()".repeat(240)),
        format!("optional.of(1){}", ".optMap(x, x)".repeat(12)),
    ];
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for expression in expressions {
            let result = evaluated(&expression, &[]);
            assert!(!result.contains("limit"), "{expression} is {result}");
        }
    });
    worker.unwrap().join().unwrap();
}
