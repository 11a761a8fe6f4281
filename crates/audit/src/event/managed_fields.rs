//! Takes `metadata.managedFields` out of encoded objects, lists and tables, without a tree.

use bytes::Bytes;

/// The parts of a document in which managed fields can be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// An object, a list or a table.
    Document,
    Metadata,
    /// The items of a list, or the rows of a table.
    Items,
    Rows,
    Row,
    /// An object in a list or table, which is no list itself.
    Object,
}

impl At {
    fn below(self, field: &[u8]) -> Option<At> {
        match (self, field) {
            (At::Document | At::Object, b"metadata") => Some(At::Metadata),
            (At::Document, b"items") => Some(At::Items),
            (At::Document, b"rows") => Some(At::Rows),
            (At::Row, b"object") => Some(At::Object),
            _ => None,
        }
    }

    fn of_item(self) -> Option<At> {
        match self {
            At::Items => Some(At::Object),
            At::Rows => Some(At::Row),
            _ => None,
        }
    }
}

/// Returns compact JSON without managed fields. Text that is no JSON stays as it is.
pub fn without_managed_fields(json: &Bytes) -> Bytes {
    const NAME: &[u8] = b"\"managedFields\"";
    if !json.windows(NAME.len()).any(|window| window == NAME) {
        return json.clone();
    }
    let mut copy = Copy { json, at: 0, out: Vec::with_capacity(json.len()) };
    match copy.value(At::Document) {
        Some(()) if copy.at == json.len() => copy.out.into(),
        _ => json.clone(),
    }
}

struct Copy<'a> {
    json: &'a [u8],
    at: usize,
    out: Vec<u8>,
}

impl Copy<'_> {
    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    /// Copies a value. Calls itself no deeper than [`At`] leads.
    fn value(&mut self, at: At) -> Option<()> {
        match self.peek()? {
            b'{' => self.object(at),
            b'[' if at.of_item().is_some() => self.list(at),
            _ => self.whole(),
        }
    }

    fn object(&mut self, at: At) -> Option<()> {
        self.at += 1;
        self.out.push(b'{');
        let mut is_first = true;
        while self.peek()? != b'}' {
            if self.peek()? == b',' {
                self.at += 1;
            }
            let start = self.at;
            self.at = text_end(self.json, self.at)?;
            let name = self.json.get(start + 1..self.at - 1)?;
            (self.peek()? == b':').then_some(())?;
            self.at += 1;
            if at == At::Metadata && name == b"managedFields" {
                self.at = value_end(self.json, self.at)?;
                continue;
            }
            if !std::mem::take(&mut is_first) {
                self.out.push(b',');
            }
            self.out.extend_from_slice(self.json.get(start..self.at)?);
            match at.below(name) {
                Some(below) => self.value(below)?,
                None => self.whole()?,
            }
        }
        self.at += 1;
        self.out.push(b'}');
        Some(())
    }

    fn list(&mut self, at: At) -> Option<()> {
        self.at += 1;
        self.out.push(b'[');
        while self.peek()? != b']' {
            if self.peek()? == b',' {
                self.at += 1;
                self.out.push(b',');
            }
            self.value(at.of_item()?)?;
        }
        self.at += 1;
        self.out.push(b']');
        Some(())
    }

    fn whole(&mut self) -> Option<()> {
        let end = value_end(self.json, self.at)?;
        self.out.extend_from_slice(self.json.get(self.at..end)?);
        self.at = end;
        Some(())
    }
}

/// Returns the end of a string that begins at `at`.
fn text_end(json: &[u8], at: usize) -> Option<usize> {
    (json.get(at) == Some(&b'"')).then_some(())?;
    let mut at = at + 1;
    loop {
        match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the end of the value that begins at `at`, however deep it is nested.
fn value_end(json: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match json.get(at)? {
            b'"' => at = text_end(json, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' | b':' if depth > 0 => at += 1,
            b',' | b':' => return None,
            _ => {
                while json.get(at).is_some_and(|byte| !matches!(byte, b',' | b'}' | b']' | b':' | b'"')) {
                    at += 1;
                }
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, to: &str) {
        let cut = without_managed_fields(&Bytes::copy_from_slice(from.as_bytes()));
        assert_eq!(String::from_utf8_lossy(&cut), to);
    }

    #[test]
    fn objects_lists_and_tables_lose_their_managed_fields() {
        check(
            r#"{"kind":"A","metadata":{"name":"a","managedFields":[{"a":"}]\""},{}],"uid":"u"},"x":[1,{"y":"z"}]}"#,
            r#"{"kind":"A","metadata":{"name":"a","uid":"u"},"x":[1,{"y":"z"}]}"#,
        );
        check(r#"{"metadata":{"managedFields":[]}}"#, r#"{"metadata":{}}"#);
        check(
            r#"{"items":[{"metadata":{"managedFields":null,"name":"a"}},{"metadata":{"name":"b","managedFields":[1]},"n":-1.5e3}]}"#,
            r#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"n":-1.5e3}]}"#,
        );
        check(
            r#"{"kind":"Table","rows":[{"cells":[1,"a"],"object":{"metadata":{"managedFields":[],"name":"a"}}}]}"#,
            r#"{"kind":"Table","rows":[{"cells":[1,"a"],"object":{"metadata":{"name":"a"}}}]}"#,
        );
    }

    #[test]
    fn managed_fields_elsewhere_and_broken_text_stay() {
        for same in [
            r#"{"spec":{"template":{"metadata":{"managedFields":[1]}}}}"#,
            r#"{"managedFields":[1]}"#,
            r#"{"metadata":["managedFields"]}"#,
            r#"{"metadata":{"managedFields":[}}"#,
            r#"{"metadata":{"managedFields":["#,
            r#""managedFields"#,
            r#"{"metadata":{"managedFields":1}}trailing"#,
        ] {
            check(same, same);
        }
    }
}
