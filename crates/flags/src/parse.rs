//! From words to values, by pflag's rules.

use std::ffi::OsString;

use crate::Error;
use crate::parsed::Parsed;
use crate::table::{self, Flag};

/// Reads the words after the program's name. Nothing is validated beyond the kind of each value.
pub(crate) fn parse(program: &str, args: impl IntoIterator<Item = OsString>) -> Result<Parsed, Error> {
    let mut args = args
        .into_iter()
        .map(|arg| arg.into_string().map_err(|arg| Error::NotText(arg.to_string_lossy().into_owned())));
    let mut parsed = Parsed::defaults();
    let mut words = Vec::new();
    while let Some(arg) = args.next().transpose()? {
        match arg.strip_prefix('-') {
            Some("-") => {
                // Everything after a bare `--` is a word, however it looks.
                for word in args.by_ref() {
                    words.push(word?);
                }
            }
            Some(long) if long.starts_with('-') => parse_long(&mut parsed, &arg, &mut args)?,
            Some(short) if !short.is_empty() => parse_short(&mut parsed, short, &mut args)?,
            _ => words.push(arg),
        }
    }
    // Scripts pass empty words where a variable is empty; those are fine.
    if words.iter().any(|word| !word.is_empty()) {
        return Err(Error::Arguments { program: program.to_owned(), words });
    }
    Ok(parsed)
}

type Rest<'a> = &'a mut dyn Iterator<Item = Result<String, Error>>;

/// `--name=value`, `--name value`, or `--name` alone where the kind allows it.
fn parse_long(parsed: &mut Parsed, arg: &str, rest: Rest<'_>) -> Result<(), Error> {
    let body = &arg[2..];
    if body.starts_with(['-', '=']) {
        return Err(Error::BadSyntax(arg.to_owned()));
    }
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (body, None),
    };
    let Some((at, flag)) = table::find(&name.replace('_', "-")) else {
        return Err(Error::UnknownFlag(name.to_owned()));
    };
    let value = match (value, flag.lone_value()) {
        (Some(value), _) => value,
        (None, Some(value)) => value.to_owned(),
        (None, None) => rest.next().transpose()?.ok_or_else(|| Error::NeedsArgument(name.to_owned()))?,
    };
    set(parsed, at, flag, value)
}

/// `-v=2`, `-v2`, `-v 2`, and several letters in one word as long as none but the last takes a value.
fn parse_short(parsed: &mut Parsed, word: &str, rest: Rest<'_>) -> Result<(), Error> {
    let mut word = word;
    while let Some(letter) = word.chars().next() {
        let Some((at, flag)) = table::find_shorthand(letter) else {
            return Err(Error::UnknownShorthand { letter, word: word.to_owned() });
        };
        let after = &word[letter.len_utf8()..];
        let (value, next) = match (after.strip_prefix('='), flag.lone_value()) {
            (Some(value), _) if !value.is_empty() => (value.to_owned(), ""),
            (_, Some(value)) => (value.to_owned(), after),
            _ if !after.is_empty() => (after.to_owned(), ""),
            _ => {
                let missing = || Error::ShorthandNeedsArgument { letter, word: word.to_owned() };
                (rest.next().transpose()?.ok_or_else(missing)?, "")
            }
        };
        set(parsed, at, flag, value)?;
        word = next;
    }
    Ok(())
}

fn set(parsed: &mut Parsed, at: usize, flag: &Flag, value: String) -> Result<(), Error> {
    parsed.set(at, flag, &value).map_err(|reason| {
        let name = match flag.shorthand {
            Some(letter) => format!("-{letter}, --{}", flag.name),
            None => format!("--{}", flag.name),
        };
        Error::InvalidArgument { value, flag: name, reason }
    })
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
