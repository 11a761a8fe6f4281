//! Paths into a schema, as `fieldPath` of rules and selectable fields spell them: `.spec.replicas`, `.labels['a.b']`.

use std::fmt;

use pintle_schema::structural::Structural;

/// A path that a schema knows.
pub struct FieldPath<'s> {
    steps: Vec<(String, bool)>,
    /// The schema at the path; `None` where any value is allowed.
    pub schema: Option<&'s Structural>,
}

impl<'s> FieldPath<'s> {
    /// Follows a path. Subscripts may be refused.
    pub fn resolve(text: &str, schema: &'s Structural, subscripts: bool) -> Result<FieldPath<'s>, String> {
        let mut path = FieldPath { steps: Vec::new(), schema: Some(schema) };
        let mut tokens = Tokens(text);
        const END: &str = "unexpected end of JSON path";
        while let Some(token) = tokens.next() {
            match token {
                "[" if !subscripts => return Err("array notation is not allowed".into()),
                "[" => {
                    let name = tokens.next().ok_or(END)?;
                    let quoted = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
                    let Some(name) = quoted else {
                        return Err(format!("expected single quoted string but got {name}"));
                    };
                    path.step(unescape(name)?)?;
                    match tokens.next().ok_or(END)? {
                        "]" => {}
                        other => return Err(format!("expected ] but got {other}")),
                    }
                }
                "." => path.step(tokens.next().ok_or(END)?.to_owned())?,
                other => return Err(format!("expected [ or . but got: {other}")),
            }
        }
        Ok(path)
    }

    /// The first name in it.
    pub fn root(&self) -> &str {
        self.steps.first().map_or("", |(name, _)| name)
    }

    fn step(&mut self, name: String) -> Result<(), String> {
        const UNKNOWN: &str = "does not refer to a valid field";
        let schema = self.schema.ok_or(UNKNOWN)?;
        let named = !schema.properties.is_empty();
        if named {
            self.schema = Some(schema.property(&name).ok_or(UNKNOWN)?);
        } else if schema.additional.is_some() {
            self.schema = schema.additional_schema();
        } else {
            return Err(UNKNOWN.into());
        }
        self.steps.push((name, named));
        Ok(())
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, named)) in self.steps.iter().enumerate() {
            match (index, *named && !name.is_empty()) {
                (0, true) => f.write_str(name)?,
                (_, true) => write!(f, ".{name}")?,
                (_, false) => write!(f, "[{name}]")?,
            }
        }
        Ok(())
    }
}

/// `.`, `[`, `]` and what is between them; quotes keep their content together.
struct Tokens<'t>(&'t str);

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let bytes = self.0.as_bytes();
        let length = match bytes.first()? {
            b'\'' => {
                let closes = |&at: &usize| bytes[at] == b'\'' && bytes[at - 1] != b'\\';
                (1..bytes.len()).find(closes).map_or(bytes.len(), |at| at + 1)
            }
            b'.' | b'[' | b']' => 1,
            _ => bytes.iter().position(|byte| b".[]".contains(byte)).unwrap_or(bytes.len()),
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut problem = None;
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        let Some(escaped) = chars.next_if(|next| *next != '\n') else {
            plain.push(c);
            continue;
        };
        plain.push(match escaped {
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            '\'' | '\\' => escaped,
            _ => {
                problem = Some(format!("invalid string literal: invalid escape char \\{escaped}"));
                continue;
            }
        });
    }
    problem.map_or(Ok(plain), Err)
}
