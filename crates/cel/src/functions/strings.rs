//! String functions: version 2 of cel-go's extension, and Kubernetes' regular expression library. Indexes count
//! characters.

use pintle_regex::Regex;

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{Error, Text, Val};

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared { name: "charAt", overloads: &[("string_char_at_int", ".string, int -> string")], run: char_at },
    Declared {
        name: "lowerAscii",
        overloads: &[("string_lower_ascii", ".string -> string")],
        run: |call, args| map(call, args, |text| text.to_ascii_lowercase()),
    },
    Declared {
        name: "upperAscii",
        overloads: &[("string_upper_ascii", ".string -> string")],
        run: |call, args| map(call, args, |text| text.to_ascii_uppercase()),
    },
    Declared {
        name: "trim",
        overloads: &[("string_trim", ".string -> string")],
        run: |call, args| map(call, args, |text| text.trim().to_owned()),
    },
    Declared {
        name: "strings.quote",
        overloads: &[("strings_quote", "string -> string")],
        run: |call, args| map(call, args, quote),
    },
    Declared {
        name: "jsonpatch.escapeKey",
        overloads: &[("string_jsonpatch_escapeKey_string", "string -> string")],
        run: |call, args| map(call, args, |key| key.replace('~', "~0").replace('/', "~1")),
    },
    Declared {
        name: "replace",
        overloads: &[
            ("string_replace_string_string", ".string, string, string -> string"),
            ("string_replace_string_string_int", ".string, string, string, int -> string"),
        ],
        run: replace,
    },
    Declared {
        name: "split",
        overloads: &[
            ("string_split_string", ".string, string -> list(string)"),
            ("string_split_string_int", ".string, string, int -> list(string)"),
        ],
        run: split,
    },
    Declared {
        name: "substring",
        overloads: &[
            ("string_substring_int", ".string, int -> string"),
            ("string_substring_int_int", ".string, int, int -> string"),
        ],
        run: substring,
    },
    Declared {
        name: "join",
        overloads: &[
            ("list_join", ".list(string) -> string"),
            ("list_join_string", ".list(string), string -> string"),
        ],
        run: join,
    },
    Declared { name: "find", overloads: &[("string_find_string", ".string, string -> string")], run: find },
    Declared {
        name: "findAll",
        overloads: &[
            ("string_find_all_string", ".string, string -> list(string)"),
            ("string_find_all_string_int", ".string, string, int -> list(string)"),
        ],
        run: find_all,
    },
];

fn out_of_range<'v>(index: i64) -> Outcome<'v> {
    Failure::error(format!("index out of range: {index}"))
}

fn map<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>], change: fn(&str) -> String) -> Outcome<'v> {
    match args {
        [Val::String(text)] => {
            call.meter.work(text.len())?;
            Ok(Val::string(change(text)))
        }
        _ => call.no_such_overload(args),
    }
}

/// Returns the byte offset of a character index; `None` if it is past the end.
fn byte_offset(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

/// Returns a substring, borrowed if the string is.
fn part<'v>(text: &Text<'v>, start: usize, end: usize) -> Val<'v> {
    match text {
        Text::Borrowed(text) => Val::String(Text::Borrowed(&text[start..end])),
        Text::Shared(text) => Val::string(text[start..end].to_owned()),
    }
}

fn char_at<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::String(text), Val::Int(index)] = args else { return call.no_such_overload(args) };
    match byte_offset(text, *index) {
        Some(start) => {
            let length = text[start..].chars().next().map_or(0, char::len_utf8);
            Ok(part(text, start, start + length))
        }
        None => out_of_range(*index),
    }
}

fn substring<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (text, start, end) = match args {
        [Val::String(text), Val::Int(start)] => (text, *start, None),
        [Val::String(text), Val::Int(start), Val::Int(end)] => (text, *start, Some(*end)),
        _ => return call.no_such_overload(args),
    };
    if let Some(end) = end.filter(|end| start > *end) {
        return Failure::error(format!("invalid substring range. start: {start}, end: {end}"));
    }
    let Some(first) = byte_offset(text, start) else { return out_of_range(start) };
    let last = match end {
        None => text.len(),
        Some(end) => match byte_offset(text, end) {
            Some(last) => last,
            None => return out_of_range(end),
        },
    };
    Ok(part(text, first, last))
}

/// Converts a byte offset to a character index.
fn characters(text: &str, at: Option<usize>) -> Val<'static> {
    Val::Int(at.map_or(-1, |at| text[..at].chars().count() as i64))
}

pub(super) fn index_of<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (text, wanted, offset) = match args {
        [Val::String(text), Val::String(wanted)] => (text, wanted, 0),
        [Val::String(text), Val::String(wanted), Val::Int(offset)] => (text, wanted, *offset),
        _ => return call.no_such_overload(args),
    };
    if wanted.is_empty() {
        return Ok(Val::Int(offset));
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    let found = byte_offset(text, offset).and_then(|from| text[from..].find(&**wanted).map(|at| from + at));
    Ok(characters(text, found))
}

pub(super) fn last_index_of<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (text, wanted, offset) = match args {
        [Val::String(text), Val::String(wanted)] => (text, wanted, None),
        [Val::String(text), Val::String(wanted), Val::Int(offset)] => (text, wanted, Some(*offset)),
        _ => return call.no_such_overload(args),
    };
    if wanted.is_empty() {
        return Ok(Val::Int(offset.unwrap_or_else(|| text.chars().count() as i64)));
    }
    let Some(offset) = offset else { return Ok(characters(text, text.rfind(&**wanted))) };
    if offset < 0 {
        return out_of_range(offset);
    }
    // The match must start at this index or before.
    let found = byte_offset(text, offset).filter(|from| *from < text.len()).and_then(|from| {
        let mut end = (from + wanted.len()).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        text[..end].rmatch_indices(&**wanted).map(|(at, _)| at).find(|at| *at <= from)
    });
    Ok(characters(text, found))
}

fn replace<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (text, old, new, count) = match args {
        [Val::String(text), Val::String(old), Val::String(new)] => (text, old, new, -1),
        [Val::String(text), Val::String(old), Val::String(new), Val::Int(count)] => (text, old, new, *count),
        _ => return call.no_such_overload(args),
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let most = if old.is_empty() { text.chars().count() + 1 } else { text.matches(&**old).count() };
    let replaced = most.min(count);
    call.meter.work(text.len().saturating_add(replaced.saturating_mul(new.len())))?;
    Ok(Val::string(text.replacen(&**old, new, replaced)))
}

fn split<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (text, separator, count) = match args {
        [Val::String(text), Val::String(separator)] => (text, separator, -1),
        [Val::String(text), Val::String(separator), Val::Int(count)] => (text, separator, *count),
        _ => return call.no_such_overload(args),
    };
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let pieces = if separator.is_empty() { text.len() } else { text.matches(&**separator).count() };
    call.meter.items(pieces.min(most))?;
    let mut bounds = Vec::new();
    if separator.is_empty() {
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).take(most).collect();
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or_else(|| {
                if index + 1 == most {
                    text.len()
                } else {
                    start + text[*start..].chars().next().map_or(0, char::len_utf8)
                }
            });
            bounds.push((*start, end));
        }
    } else if most > 0 {
        let mut start = 0;
        for (at, _) in text.match_indices(&**separator).take(most.saturating_sub(1)) {
            bounds.push((start, at));
            start = at + separator.len();
        }
        bounds.push((start, text.len()));
    }
    Ok(Val::list(bounds.into_iter().map(|(start, end)| part(text, start, end)).collect()))
}

fn join<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (list, separator) = match args {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, &**separator),
        _ => return call.no_such_overload(args),
    };
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        let item = item?;
        let Val::String(text) = &item else {
            if index == 0 {
                return call.no_such_overload(args);
            }
            return Failure::error(format!("join: invalid input: {item}"));
        };
        call.meter.work(separator.len() + text.len() + 1)?;
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text);
    }
    Ok(Val::string(joined))
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn pattern<T>(
    call: &Call<'_, '_>,
    text: &str,
    then: impl FnOnce(&Regex) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match call.regex {
        Some(regex) => then(regex),
        None => match Regex::new(text) {
            Ok(regex) => then(&regex),
            Err(error) => Err(Error::new(format!("Illegal regex: {error}")).into()),
        },
    }
}

fn find<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::String(text), Val::String(wanted)] = args else { return call.no_such_overload(args) };
    pattern(call, wanted, |regex| Ok(Val::string(regex.find(text).unwrap_or_default().to_owned())))
}

fn find_all<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let (text, wanted, count) = match args {
        [Val::String(text), Val::String(wanted)] => (text, wanted, -1),
        [Val::String(text), Val::String(wanted), Val::Int(count)] => (text, wanted, *count),
        _ => return call.no_such_overload(args),
    };
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    call.meter.items(text.len().min(most))?;
    pattern(call, wanted, |regex| {
        Ok(Val::list(
            regex.find_all(text, most).into_iter().map(|found| Val::string(found.to_owned())).collect(),
        ))
    })
}
