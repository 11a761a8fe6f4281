//! Functions of the standard library.

use super::check_all;

#[test]
fn values_convert_between_types() {
    check_all(&[
        ("int('42')", "42"),
        ("int('-42')", "-42"),
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("['x'].map(v, int(v))", "error: type conversion error from 'string' to 'int'"),
        ("int(4.9)", "4"),
        ("int(-4.9)", "-4"),
        ("int(dyn(1e19))", "integer overflow"),
        ("int(7u)", "7"),
        ("int(timestamp('1970-01-01T00:01:00Z'))", "60"),
        ("int(duration('1s'))", "1000000000"),
        ("uint(7)", "7u"),
        ("uint(dyn(-7))", "unsigned integer overflow"),
        ("uint('7')", "7u"),
        ("uint(7.9)", "7u"),
        ("double(1)", "1.0"),
        ("double('1.5')", "1.5"),
        ("double(1u)", "1.0"),
        ("double(dyn('1e999'))", "type conversion error from 'string' to 'double'"),
        ("bool('true')", "true"),
        ("bool('F')", "false"),
        ("bool(dyn('yes'))", "type conversion error from 'string' to 'bool'"),
        ("bytes('a')", "b'a'"),
        ("string(b'abc')", "'abc'"),
        ("string(dyn(b'\\xff'))", "invalid UTF-8 in bytes, cannot convert to string"),
        ("string(1)", "'1'"),
        ("string(1u)", "'1'"),
        ("string(1.5)", "'1.5'"),
        ("string(1e6)", "'1e+06'"),
        ("string(123456.0)", "'123456'"),
        ("string(0.00001)", "'1e-05'"),
        ("string(true)", "'true'"),
        ("string(duration('1m1ms'))", "'60.001s'"),
        ("string(timestamp('2023-01-01T02:00:00.5+02:00'))", "'2023-01-01T02:00:00.5+02:00'"),
        ("string(dyn([1]))", "no such overload: string(list)"),
        ("timestamp(0)", "timestamp('1970-01-01T00:00:00Z')"),
        ("timestamp(dyn('x'))", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("duration(dyn('x'))", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("type('a')", "string"),
        ("dyn(1)", "1"),
    ]);
}

#[test]
fn sizes_are_in_characters_and_items() {
    check_all(&[
        ("size('größe')", "5"),
        ("'größe'.size()", "5"),
        ("size(b'\\u00e4')", "ERROR: <input>:1:6: unable to unescape string\n | size(b'\\u00e4')\n | .....^"),
        ("b'abc'.size()", "3"),
        ("[1, 2].size()", "2"),
        ("size({'a': 1})", "1"),
    ]);
}

#[test]
fn strings_support_substring_tests() {
    check_all(&[
        ("'hello'.contains('ell')", "true"),
        ("'hello'.startsWith('he')", "true"),
        ("'hello'.endsWith('lo')", "true"),
        ("'hello'.matches('^h.*o$')", "true"),
        ("matches('hello', 'l{2}')", "true"),
        ("'hello'.matches(dyn('['))", "error parsing regexp: missing closing ]: `[`"),
    ]);
}

#[test]
fn timestamps_have_components() {
    check_all(&[
        ("timestamp('2023-07-14T10:30:45.123Z').getFullYear()", "2023"),
        ("timestamp('2023-07-14T10:30:45.123Z').getMonth()", "6"),
        ("timestamp('2023-07-14T10:30:45.123Z').getDate()", "14"),
        ("timestamp('2023-07-14T10:30:45.123Z').getDayOfMonth()", "13"),
        ("timestamp('2023-07-14T10:30:45.123Z').getDayOfWeek()", "5"),
        ("timestamp('2023-01-02T00:00:00Z').getDayOfYear()", "1"),
        ("timestamp('2023-07-14T10:30:45.123Z').getHours()", "10"),
        ("timestamp('2023-07-14T10:30:45.123Z').getMinutes()", "30"),
        ("timestamp('2023-07-14T10:30:45.123Z').getSeconds()", "45"),
        ("timestamp('2023-07-14T10:30:45.123Z').getMilliseconds()", "123"),
        ("timestamp('2023-01-01T05:30:00Z').getFullYear('-08:00')", "2022"),
        ("timestamp('2023-01-01T05:30:00Z').getMonth('-08:00')", "11"),
        ("timestamp('2023-01-01T05:30:00Z').getHours('+02:30')", "8"),
        ("timestamp('2023-01-01T05:30:00Z').getHours('UTC')", "5"),
        (
            "timestamp('2023-01-01T05:30:00Z').getHours('Nowhere/At_All')",
            "error: unknown time zone Nowhere/At_All",
        ),
        ("timestamp('0001-01-01T00:00:00Z').getFullYear()", "1"),
        ("timestamp('2024-02-29T00:00:00Z').getDayOfYear()", "59"),
        ("duration('3723.456s').getHours()", "1"),
        ("duration('3723.456s').getMinutes()", "62"),
        ("duration('3723.456s').getSeconds()", "3723"),
        ("duration('3723.456s').getMilliseconds()", "3723456"),
    ]);
}
