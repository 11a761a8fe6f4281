use pintle_codec::json;
use pintle_meta::Value;

use super::JsonPath;

fn untyped(text: &str) -> Value {
    json::decode_any(text.as_bytes()).unwrap().value
}

const STORE: &str = r#"{
    "name":"jsonpath","labels":{"web/html":15,"k8s-app":20,"a.b":{"c":1}},"empty":[],"null":null,
    "book":[{"category":"reference","author":"Nigel Rees","price":8.95},
            {"category":"fiction","author":"Evelyn Waugh","price":12.99},
            {"category":"fiction","author":"Herman Melville","price":8.99,"isbn":"x"}],
    "numbers":[1,2,3,4,5],"mixed":[1,2.5,"s",true,null],
    "nested":{"a":{"name":"in a"},"b":[{"name":"in b"}]}}"#;

/// Checks the output of a path, one line per part of the template.
#[track_caller]
fn found(path: &str, expected: &str) {
    let (path, object) = (JsonPath::parse(path).unwrap(), untyped(STORE));
    let lines = path.find(&object).unwrap();
    let line =
        |line: &Vec<super::Found<'_>>| line.iter().map(|found| found.print()).collect::<Vec<_>>().join(" ");
    assert_eq!(lines.iter().map(line).collect::<Vec<_>>().join("\n"), expected);
}

#[track_caller]
fn fails(path: &str, reason: &str) {
    let (path, object) = (JsonPath::parse(path).unwrap(), untyped(STORE));
    assert_eq!(path.find(&object).unwrap_err(), reason);
    assert!(path.first(&object).is_none());
}

#[track_caller]
fn refused(path: &str, reason: &str) {
    assert_eq!(JsonPath::parse(path).unwrap_err(), reason);
}

#[test]
fn names_are_followed() {
    found(".name", "jsonpath");
    found("$.name", "jsonpath");
    found(".nested.a", r#"{"name":"in a"}"#);
    found(".missing", "");
    found(".missing.deeper", "");
    found(".name.deeper", "");
    found(".null", "<no value>");
    found(".null.deeper", "");
    found(".", "");
    found(
        "",
        r#"{"book":[{"author":"Nigel Rees","category":"reference","price":8.95},{"author":"Evelyn Waugh","category":"fiction","price":12.99},{"author":"Herman Melville","category":"fiction","isbn":"x","price":8.99}],"empty":[],"labels":{"a.b":{"c":1},"k8s-app":20,"web/html":15},"mixed":[1,2.5,"s",true,null],"name":"jsonpath","nested":{"a":{"name":"in a"},"b":[{"name":"in b"}]},"null":null,"numbers":[1,2,3,4,5]}"#,
    );
}

#[test]
fn keys_may_be_quoted_and_dots_escaped() {
    found(".labels['web/html']", "15");
    found(".labels.k8s-app", "20");
    found(".labels.a\\.b.c", "1");
    found(".labels['a\\.b'].c", "1");
    found(".labels.['k8s-app']", "");
}

#[test]
fn lists_are_indexed_and_sliced() {
    found(".numbers[0]", "1");
    found(".numbers[]", "1");
    found(".numbers[-1]", "5");
    found(".numbers[-2]", "4");
    found(".numbers[1:3]", "2 3");
    found(".numbers[1:]", "2 3 4 5");
    found(".numbers[:-1]", "1 2 3 4");
    found(".numbers[::2]", "1 3 5");
    found(".numbers[-2:]", "4 5");
    found(".numbers[*]", "1 2 3 4 5");
    found(".numbers[2:2]", "");
    found(".numbers[0,-1]", "1 5");
    found(".null[0]", "");
    found(".missing[0]", "");
    found(".empty[*]", "");
    found(".book[0].price", "8.95");
    found(".book[*].author", "Nigel Rees Evelyn Waugh Herman Melville");
    found(".book[0]['author','category']", "Nigel Rees reference");
    fails(".numbers[5]", "array index out of bounds: index 5, length 5");
    fails(".numbers[-6]", "array index out of bounds: index -1, length 5");
    fails(".numbers[0:9]", "array index out of bounds: index 8, length 5");
    fails(".numbers[3:1]", "starting index 3 is greater than ending index 1");
    fails(".numbers[0:3:0]", "step must be > 0");
    fails(".name[0]", "string is not array or slice");
    fails(".nested[0]", "map[string]interface {} is not array or slice");
    fails(".numbers[9223372036854775807]", "array index out of bounds: index 9223372036854775807, length 5");
}

#[test]
fn wildcards_and_recursion_find_parts() {
    found(".labels.*", r#"{"c":1} 20 15"#);
    found(".nested.*.name", "in a");
    found("..name", "jsonpath in a in b");
    found(".book..price", "8.95 12.99 8.99");
    found("..isbn", "x");
    // A string has bytes for its parts.
    found(".book[2].isbn.*", "120");
}

#[test]
fn filters_compare_with_what_is_of_the_same_type() {
    found(r#".book[?(@.category=="fiction")].author"#, "Evelyn Waugh Herman Melville");
    found(".book[?(@.category=='reference')].price", "8.95");
    found(".book[?(@.price < 9.0)].author", "Nigel Rees Herman Melville");
    found(".book[?(@.price > 8.99)].author", "Evelyn Waugh");
    found(".book[?(@.price >= 8.99)].price", "12.99 8.99");
    found(".book[?(@.price != 8.95)].price", "12.99 8.99");
    found(".book[?(@.isbn)].author", "Herman Melville");
    found(".numbers[?(@ > 3)]", "4 5");
    found(".numbers[?(@ <= 2)]", "1 2");
    found(".book[?(@.isbn==\"x\")].price", "8.99");
    found(".book[?(@.missing==1)]", "");
    found(".book[?(@.author==\"a)b\")]", "");
    found(".empty[?(@.a==1)]", "");
    fails(".mixed[?(@ > 1)]", "incompatible types for comparison");
    fails(".book[?(@.price > 9)]", "incompatible types for comparison");
    fails(".book[?(@ == 1)]", "invalid type for comparison");
    fails(".name[?(@.a == 1)]", "jsonpath is not array or slice and cannot be filtered");
    fails(".numbers[?(@ =< 1)]", "unrecognized filter operator =<");
    fails(".numbers[?(true > false)]", "invalid type for comparison");
    // Values found before a failure stay.
    found(".numbers[?(@[0])]", "1 2 3 4 5");
}

#[test]
fn templates_have_texts_ranges_and_literals() {
    found(".name}, {.numbers[0]", "jsonpath\n, \n1");
    found("range .book[*]}{.price};{end", "8.95\n;\n12.99\n;\n8.99\n;");
    found("range .empty[*]}{.price}{end}{.name", "jsonpath");
    found("range .nested.b[*]}{.name}{range .none[*]}{.x}{end}!{end}{.name", "in b\n!\njsonpath");
    found(r#".name "text""#, "text");
    found(r#"'it\'s'"#, "it's");
    found(r#""\u0041\x42\103\n""#, "ABC\n");
    found(".numbers[*] 5", "5 5 5 5 5");
    found(".name -1.5", "-1.5");
    found(".name true", "true");
    fails(".name}{end", "not in range, nothing to end");
    fails(".name nonsense", "unrecognized identifier nonsense");
}

#[test]
fn invalid_templates_are_refused() {
    refused(".a[", "unterminated array");
    refused(".a[x]", "invalid array index x");
    refused(".a[1:2:3:4]", "invalid array index 1:2:3:4");
    refused(".a[-]", "array index - is not a number");
    refused(".a[99999999999999999999]", "array index 99999999999999999999 is not a number");
    refused(".a[?(@.b==1]", "unterminated filter");
    refused(".a[?(@.b==1)", "unclosed array expect ]");
    refused("....a", "invalid multiple recursive descent");
    refused("..*", "unrecognized character in action: U+002A '*'");
    refused("!", "unrecognized character in action: U+0021 '!'");
    refused("\t", "unrecognized character in action: U+0009");
    refused(".a\n", "unclosed action");
    refused("1.2.3", "cannot parse number 1.2.3");
    refused(r#""abc"#, "unterminated quoted string");
    refused(r#""\q""#, r#"unquote string "\q" error invalid syntax"#);
}

#[test]
fn hostile_paths_come_to_an_end() {
    let object = untyped(&format!(r#"{{"a":[{}]}}"#, vec!["[1,2,3]"; 2000].join(",")));
    let many = format!(".a{}", "[*,*]".repeat(30));
    assert!(JsonPath::parse(&many).unwrap().find(&object).is_err());
    let deep = "range @}{".repeat(100_000) + ".a";
    assert_eq!(JsonPath::parse(&deep).unwrap().find(&object).unwrap_err(), "too many ranges");
    let object = untyped(&format!("{}1{}", "[".repeat(300), "]".repeat(300)));
    let recursive = format!("@{}", "..[0]".repeat(20));
    assert!(JsonPath::parse(&recursive).unwrap().find(&object).is_err());
}
