//! Encodes trees as JSON.

use pintle_meta::{Node, Value};

use super::write;

/// Encodes compactly, without a newline at the end. [Hollow](Value::hollow) fields are left out.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value.node() {
        Node::Null => out.extend_from_slice(b"null"),
        Node::Bool(true) => out.extend_from_slice(b"true"),
        Node::Bool(false) => out.extend_from_slice(b"false"),
        Node::Int(value) => write::int(value, out),
        Node::Float(value) => write::float(value, out),
        Node::String(value) => write::string(value, out),
        Node::Bytes(value) => write::base64(value, out),
        // Only a field can be left out; elsewhere hollow bytes are an empty string.
        Node::Hollow => out.extend_from_slice(b"\"\""),
        Node::Raw(value) => write::raw(value, out),
        Node::List(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                encode(item, out);
            }
            out.push(b']');
        }
        Node::Object(object) => {
            let mut next = b'{';
            for (key, value) in object.iter() {
                if matches!(value.node(), Node::Hollow) {
                    continue;
                }
                out.push(next);
                next = b',';
                write::string(key, out);
                out.push(b':');
                encode(value, out);
            }
            if next == b'{' {
                out.push(next);
            }
            out.push(b'}');
        }
    }
}

/// Encodes with two spaces per level, as for `?pretty=true`; no newline at the end.
pub fn encode_pretty(value: &Value, out: &mut Vec<u8>) {
    let mut compact = Vec::new();
    encode(value, &mut compact);
    indent(&compact, out);
}

/// Indents compact JSON.
fn indent(compact: &[u8], out: &mut Vec<u8>) {
    out.reserve(compact.len() * 2);
    let mut depth = 0;
    let mut in_string = false;
    let mut bytes = compact.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if in_string {
            out.push(byte);
            match byte {
                b'\\' => out.extend(bytes.next()),
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => {
                in_string = true;
                out.push(byte);
            }
            b'{' | b'[' => {
                out.push(byte);
                match bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        newline(depth, out);
                    }
                }
            }
            b'}' | b']' => {
                depth -= 1;
                newline(depth, out);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                newline(depth, out);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }
}

fn newline(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + depth * 2, b' ');
}

#[cfg(test)]
mod tests {
    use pintle_meta::Object;

    use super::*;

    fn tree() -> Value {
        let object: Object = [
            ("raw", Value::raw(*br#"{"x": [ {}, "a:b,{" ]}"#)),
            ("bytes", Value::bytes(*b"hi")),
            ("hollow", Value::hollow()),
            (
                "list",
                Value::list(vec![Value::NULL, true.into(), 1i64.into(), 2.5.into(), Value::list(vec![])]),
            ),
            ("empty", Object::new().into()),
            ("text", "a\"b\\".into()),
        ]
        .into_iter()
        .collect();
        object.into()
    }

    #[test]
    fn trees_are_encoded_compactly() {
        let mut out = Vec::new();
        encode(&tree(), &mut out);
        let want = concat!(
            r#"{"bytes":"aGk=","empty":{},"list":[null,true,1,2.5,[]],"#,
            r#""raw":{"x":[{},"a:b,{"]},"text":"a\"b\\"}"#
        );
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }

    #[test]
    fn an_object_of_nothing_but_hollow_fields_is_empty() {
        let object: Object = [("a", Value::hollow())].into_iter().collect();
        let mut out = Vec::new();
        encode(&object.into(), &mut out);
        assert_eq!(out, b"{}");
    }

    #[test]
    fn pretty_trees_are_indented_by_two_spaces() {
        let mut out = Vec::new();
        encode_pretty(&tree(), &mut out);
        let want = r#"{
  "bytes": "aGk=",
  "empty": {},
  "list": [
    null,
    true,
    1,
    2.5,
    []
  ],
  "raw": {
    "x": [
      {},
      "a:b,{"
    ]
  },
  "text": "a\"b\\"
}"#;
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }
}
