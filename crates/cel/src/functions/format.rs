//! `"%s has %d".format([name, count])`.

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{Error, List, Map, Val, seconds, shortest};

pub(super) const FUNCTIONS: &[Declared] = &[Declared {
    name: "format",
    overloads: &[("string_format", ".string, list(dyn) -> string")],
    run: format,
}];

/// Default number of digits after the decimal point.
const PRECISION: usize = 6;

/// Upper bound of the digits of a number.
const MOST_DIGITS: usize = 400;

/// Conversion of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific,
    Binary,
    Hexadecimal { upper: bool },
    Octal,
}

/// Part of a format string: literal text or a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'f> {
    Literal(&'f str),
    Clause(Clause),
}

/// Parses a format string; an error is yielded at the position where it is reached.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = Result<Part<'_>, String>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if !rest.starts_with('%') {
            let (literal, after) = rest.split_at(rest.find('%').unwrap_or(rest.len()));
            rest = after;
            return Some(Ok(Part::Literal(literal)));
        }
        if let Some(after) = rest.strip_prefix("%%") {
            rest = after;
            return Some(Ok(Part::Literal("%")));
        }
        let clause = &rest[1..];
        rest = "";
        Some(match clause.chars().next() {
            None => Err("unexpected end of string".to_owned()),
            Some(_) => match read(clause) {
                Ok((clause, after)) => {
                    rest = after;
                    Ok(Part::Clause(clause))
                }
                Err(problem) => Err(format!("could not parse formatting clause: {problem}")),
            },
        })
    })
}

fn read(text: &str) -> Result<(Clause, &str), String> {
    let mut precision = PRECISION;
    let mut rest = text;
    if let Some(after) = text.strip_prefix('.') {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == after.len() {
            return Err("error while parsing precision: could not find end of precision specifier".to_owned());
        }
        precision = after[..digits].parse().map_err(|_| {
            let why = if digits == 0 { "invalid syntax" } else { "value out of range" };
            let digits = pintle_meta::quote(&after[..digits]);
            format!(
                "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing {digits}: {why}"
            )
        })?;
        rest = &after[digits..];
    }
    let Some(letter) = rest.chars().next() else { return Err("unexpected end of string".to_owned()) };
    let clause = match letter {
        's' => Clause::Text,
        'd' => Clause::Decimal,
        'f' => Clause::Fixed(precision.min(MOST_DIGITS)),
        'e' => Clause::Scientific,
        'b' => Clause::Binary,
        'x' | 'X' => Clause::Hexadecimal { upper: letter == 'X' },
        'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{other}\"")),
    };
    Ok((clause, &rest[letter.len_utf8()..]))
}

impl Clause {
    /// Returns the message for a value of a type that the clause cannot format.
    pub(crate) fn refuses(self, of: &str) -> String {
        let what = match self {
            Clause::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Clause::Decimal => "decimal clause can only be used on integers",
            Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
            Clause::Scientific => "scientific clause can only be used on doubles",
            Clause::Binary => "only integers and bools can be formatted as binary",
            Clause::Hexadecimal { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Clause::Octal => "octal clause can only be used on integers",
        };
        format!("{what}, was given {of}")
    }
}

fn format<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let [Val::String(text), Val::List(values)] = args else { return call.no_such_overload(args) };
    let mut out = String::new();
    let mut next = 0;
    for part in parts(text) {
        let missing = || Failure::error(format!("index {next} out of range"));
        match part {
            Ok(Part::Literal(literal)) => {
                call.meter.work(literal.len())?;
                out.push_str(literal);
            }
            Ok(Part::Clause(clause)) => {
                if next >= values.len() {
                    return missing();
                }
                let value = values.get(next)?;
                match show(call, &value, clause) {
                    Ok(shown) => out.push_str(&shown),
                    Err(Failure::Error(problem)) => {
                        return Failure::error(format!("error during formatting: {problem}"));
                    }
                    Err(end) => return Err(end),
                }
                next += 1;
            }
            Err(_) if next >= values.len() => return missing(),
            Err(problem) => return Failure::error(problem),
        }
    }
    Ok(Val::string(out))
}

fn show(call: &mut Call<'_, '_>, value: &Val<'_>, clause: Clause) -> Result<String, Failure> {
    call.meter.items(1)?;
    let refused = || Err(Error::new(clause.refuses(value.type_of().runtime_name())).into());
    Ok(match (clause, value) {
        (Clause::Text, _) => return text(call, value),
        (Clause::Decimal, Val::Int(value)) => value.to_string(),
        (Clause::Decimal, Val::Uint(value)) => value.to_string(),
        (Clause::Binary, Val::Int(value)) => signed(*value, |value| format!("{value:b}")),
        (Clause::Binary, Val::Uint(value)) => format!("{value:b}"),
        (Clause::Binary, Val::Bool(value)) => u8::from(*value).to_string(),
        (Clause::Octal, Val::Int(value)) => signed(*value, |value| format!("{value:o}")),
        (Clause::Octal, Val::Uint(value)) => format!("{value:o}"),
        (Clause::Hexadecimal { upper }, value) => {
            let shown = match value {
                Val::Int(value) => signed(*value, |value| format!("{value:x}")),
                Val::Uint(value) => format!("{value:x}"),
                Val::String(text) => hexadecimal(call, text.as_bytes())?,
                Val::Bytes(bytes) => hexadecimal(call, bytes)?,
                _ => return refused(),
            };
            if upper { shown.to_uppercase() } else { shown }
        }
        (Clause::Fixed(precision), value) => match number(value) {
            Some(number) => fixed(number, precision),
            None => return refused(),
        },
        (Clause::Scientific, value) => match number(value) {
            Some(number) => scientific(number),
            None => return refused(),
        },
        _ => return refused(),
    })
}

fn signed(value: i64, digits: fn(u64) -> String) -> String {
    format!("{}{}", if value < 0 { "-" } else { "" }, digits(value.unsigned_abs()))
}

fn hexadecimal(call: &mut Call<'_, '_>, bytes: &[u8]) -> Result<String, Failure> {
    call.meter.work(bytes.len() * 2)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn number(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(value) => Some(*value),
        Val::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// Formats NaN and infinities as American English does.
fn special(value: f64) -> Option<String> {
    if value.is_nan() {
        Some("NaN".to_owned())
    } else if value.is_infinite() {
        Some(if value > 0.0 { "∞" } else { "-∞" }.to_owned())
    } else {
        None
    }
}

/// Formats with commas between thousands.
fn fixed(value: f64, precision: usize) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let text = format!("{:.precision$}", value.abs());
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text.as_str(), None),
    };
    let mut out = String::new();
    if value.is_sign_negative() {
        out.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Formats as a product with a power of ten.
fn scientific(value: f64) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let text = format!("{value:.PRECISION$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let raised: String = format!("{:02}", exponent.abs())
        .chars()
        .map(|digit| {
            "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10).unwrap_or_default() as usize).unwrap_or(digit)
        })
        .collect();
    let sign = if exponent < 0 { "⁻" } else { "" };
    format!("{digits}×10{sign}{raised}")
}

/// `%s`.
fn text(call: &mut Call<'_, '_>, value: &Val<'_>) -> Result<String, Failure> {
    let text = match value {
        Val::Null => "null".to_owned(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Double(value) => shortest(*value),
        Val::String(text) => text.to_string(),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Duration(nanos) => seconds(*nanos),
        Val::Timestamp(at) => at.to_string(),
        Val::Type(of) => of.runtime_name().to_owned(),
        Val::List(list) => return self::list(call, list),
        Val::Map(map) if !matches!(map, Map::Fields { .. }) => {
            let mut entries = Vec::new();
            for key in map.keys() {
                let value = map.find(&key)?.unwrap_or(Val::Null);
                let shown = match &key {
                    Val::String(_) | Val::Bool(_) | Val::Int(_) | Val::Uint(_) => inside(call, &key)?,
                    other => {
                        let of = other.type_of();
                        let of = of.runtime_name();
                        return Failure::error(format!("no formatting function for map key of type {of}"));
                    }
                };
                entries.push((shown, inside(call, &value)?));
            }
            entries.sort();
            let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => return Failure::error(Clause::Text.refuses(other.type_of().runtime_name())),
    };
    call.meter.work(text.len())?;
    Ok(text)
}

fn list(call: &mut Call<'_, '_>, list: &List<'_>) -> Result<String, Failure> {
    let mut out = "[".to_owned();
    for (index, item) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&inside(call, &item?)?);
    }
    out.push(']');
    call.meter.work(out.len())?;
    Ok(out)
}

/// Formats an element of a list or map as a literal.
fn inside(call: &mut Call<'_, '_>, value: &Val<'_>) -> Result<String, Failure> {
    call.meter.items(1)?;
    Ok(match value {
        Val::String(text) => pintle_meta::quote(text),
        Val::Bytes(bytes) => format!("b{}", pintle_meta::quote(&String::from_utf8_lossy(bytes))),
        Val::Double(value) if value.is_finite() => format!("{value:.PRECISION$}"),
        Val::Double(value) => pintle_meta::quote(&shortest(*value)),
        Val::Timestamp(at) => format!("timestamp({})", pintle_meta::quote(&at.to_string())),
        Val::Duration(nanos) => format!("duration({})", pintle_meta::quote(&seconds(*nanos))),
        Val::Optional(_) | Val::Other(_) => {
            let of = value.type_of();
            return Failure::error(format!("no formatting function for {}", of.runtime_name()));
        }
        value => text(call, value)?,
    })
}
