//! `encoding/csv`: the one record that pflag reads from the value of a list flag.

/// The fields of the first record. An empty value has none.
///
/// `a,"b,c"` is `[a] [b,c]`; a doubled quote inside quotes stands for one.
pub(crate) fn read_record(input: &str) -> Result<Vec<String>, String> {
    if input.is_empty() {
        return Ok(Vec::new());
    }
    // Empty lines are skipped; what follows the first record is not read at all.
    let record = input.trim_start_matches(['\n', '\r']);
    if record.is_empty() {
        return Err("EOF".into());
    }
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, after) = if let Some(quoted) = rest.strip_prefix('"') {
            read_quoted(record, quoted)?
        } else {
            read_bare(record, rest)?
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(after) => rest = after,
            None => return Ok(fields),
        }
    }
}

/// One-based position, in bytes, of a suffix of the record.
fn column(record: &str, suffix: &str) -> usize {
    record.len() - suffix.len() + 1
}

fn error(record: &str, at: usize, what: &str) -> String {
    let line = 1 + record.as_bytes()[..at - 1].iter().filter(|b| **b == b'\n').count();
    format!("parse error on line {line}, column {at}: {what}")
}

fn read_bare<'a>(record: &str, text: &'a str) -> Result<(String, &'a str), String> {
    let end = text.find([',', '\n']).unwrap_or(text.len());
    let (field, after) = text.split_at(end);
    if let Some(at) = field.find('"') {
        return Err(error(record, column(record, &text[at..]), "bare \" in non-quoted-field"));
    }
    Ok((field.trim_end_matches('\r').to_owned(), after))
}

fn read_quoted<'a>(record: &str, mut text: &'a str) -> Result<(String, &'a str), String> {
    const STRAY: &str = "extraneous or missing \" in quoted-field";
    let mut field = String::new();
    loop {
        let Some(at) = text.find('"') else {
            return Err(error(record, record.len() + 1, STRAY));
        };
        field.push_str(&text[..at]);
        let after = &text[at + 1..];
        if let Some(more) = after.strip_prefix('"') {
            field.push('"');
            text = more;
        } else if after.is_empty() || after.starts_with([',', '\n']) || after.starts_with("\r\n") {
            return Ok((field, after));
        } else {
            return Err(error(record, column(record, &text[at..]), STRAY));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_split_at_commas_outside_quotes() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            ("a,,b,", &["a", "", "b", ""]),
            (",", &["", ""]),
            (r#""a,b",c"#, &["a,b", "c"]),
            (r#""say ""hi""""#, &[r#"say "hi""#]),
            ("a b, c", &["a b", " c"]),
            ("first\nsecond", &["first"]),
        ];
        for (input, want) in cases {
            assert_eq!(read_record(input).unwrap(), *want, "{input}");
        }
    }

    #[test]
    fn stray_quotes_get_gos_messages() {
        let cases = [
            ("a\"b", r#"parse error on line 1, column 2: bare " in non-quoted-field"#),
            ("x,\"a\"b", r#"parse error on line 1, column 5: extraneous or missing " in quoted-field"#),
            ("\"abc", r#"parse error on line 1, column 5: extraneous or missing " in quoted-field"#),
            ("\n", "EOF"),
        ];
        for (input, want) in cases {
            assert_eq!(read_record(input), Err(want.into()), "{input}");
        }
    }
}
