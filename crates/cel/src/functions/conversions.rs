//! Type conversions: `int("1")`, `string(b"abc")`, `type(1)`.

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{Blob, Text, Timestamp, Val, seconds, shortest};

pub(super) const FUNCTIONS: &[Declared] = &[
    Declared { name: "type", overloads: &[("type", "A -> type(A)")], run: type_of },
    Declared { name: "dyn", overloads: &[("to_dyn", "A -> dyn")], run: identity },
    Declared {
        name: "bool",
        overloads: &[("bool_to_bool", "bool -> bool"), ("string_to_bool", "string -> bool")],
        run: to_bool,
    },
    Declared {
        name: "bytes",
        overloads: &[("bytes_to_bytes", "bytes -> bytes"), ("string_to_bytes", "string -> bytes")],
        run: to_bytes,
    },
    Declared {
        name: "double",
        overloads: &[
            ("double_to_double", "double -> double"),
            ("int64_to_double", "int -> double"),
            ("string_to_double", "string -> double"),
            ("uint64_to_double", "uint -> double"),
        ],
        run: to_double,
    },
    Declared {
        name: "duration",
        overloads: &[
            ("duration_to_duration", "duration -> duration"),
            ("int64_to_duration", "int -> duration"),
            ("string_to_duration", "string -> duration"),
        ],
        run: to_duration,
    },
    Declared {
        name: "int",
        overloads: &[
            ("int64_to_int64", "int -> int"),
            ("double_to_int64", "double -> int"),
            ("duration_to_int64", "duration -> int"),
            ("string_to_int64", "string -> int"),
            ("timestamp_to_int64", "timestamp -> int"),
            ("uint64_to_int64", "uint -> int"),
        ],
        run: to_int,
    },
    Declared {
        name: "string",
        overloads: &[
            ("string_to_string", "string -> string"),
            ("bool_to_string", "bool -> string"),
            ("bytes_to_string", "bytes -> string"),
            ("double_to_string", "double -> string"),
            ("duration_to_string", "duration -> string"),
            ("int64_to_string", "int -> string"),
            ("timestamp_to_string", "timestamp -> string"),
            ("uint64_to_string", "uint -> string"),
            ("ip_to_string", "net.IP -> string"),
            ("cidr_to_string", "net.CIDR -> string"),
        ],
        run: to_string,
    },
    Declared {
        name: "timestamp",
        overloads: &[
            ("timestamp_to_timestamp", "timestamp -> timestamp"),
            ("int64_to_timestamp", "int -> timestamp"),
            ("string_to_timestamp", "string -> timestamp"),
        ],
        run: to_timestamp,
    },
    Declared {
        name: "uint",
        overloads: &[
            ("uint64_to_uint64", "uint -> uint"),
            ("double_to_uint64", "double -> uint"),
            ("int64_to_uint64", "int -> uint"),
            ("string_to_uint64", "string -> uint"),
        ],
        run: to_uint,
    },
];

fn cannot<'v>(from: &Val<'v>, to: &str) -> Outcome<'v> {
    Failure::error(format!("type conversion error from '{}' to '{to}'", from.type_of().runtime_name()))
}

fn type_of<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value] => Ok(Val::Type(value.type_of())),
        _ => call.no_such_overload(args),
    }
}

fn identity<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value] => Ok(value.clone()),
        _ => call.no_such_overload(args),
    }
}

fn to_bool<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value @ Val::Bool(_)] => Ok(value.clone()),
        [value @ Val::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => cannot(value, "bool"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_bytes<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value @ Val::Bytes(_)] => Ok(value.clone()),
        [Val::String(Text::Borrowed(text))] => Ok(Val::Bytes(Blob::Borrowed(text.as_bytes()))),
        [Val::String(text)] => Ok(Val::Bytes(text.as_bytes().to_vec().into())),
        _ => call.no_such_overload(args),
    }
}

fn to_double<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value @ Val::Double(_)] => Ok(value.clone()),
        [Val::Int(value)] => Ok(Val::Double(*value as f64)),
        [Val::Uint(value)] => Ok(Val::Double(*value as f64)),
        [value @ Val::String(text)] => match text.parse::<f64>() {
            // Rust parses numbers out of range as infinity; Go rejects them.
            Ok(number) if number.is_finite() || !text.contains(|c: char| c.is_ascii_digit()) => {
                Ok(Val::Double(number))
            }
            _ => cannot(value, "double"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_duration<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value @ Val::Duration(_)] => Ok(value.clone()),
        [value @ Val::String(text)] => match pintle_meta::parse_duration(text) {
            Ok(nanos) => Ok(Val::Duration(nanos)),
            Err(_) => cannot(value, "google.protobuf.Duration"),
        },
        [value @ Val::Int(_)] => cannot(value, "google.protobuf.Duration"),
        _ => call.no_such_overload(args),
    }
}

fn to_int<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value @ Val::Int(_)] => Ok(value.clone()),
        [Val::Double(value)] if *value > i64::MIN as f64 && *value < i64::MAX as f64 => {
            Ok(Val::Int(*value as i64))
        }
        [Val::Double(_)] => Failure::error("integer overflow"),
        [Val::Duration(nanos)] => Ok(Val::Int(*nanos)),
        [value @ Val::String(text)] => match text.parse() {
            Ok(number) => Ok(Val::Int(number)),
            Err(_) => cannot(value, "int"),
        },
        [Val::Timestamp(at)] => Ok(Val::Int(at.seconds)),
        [Val::Uint(value)] => match i64::try_from(*value) {
            Ok(value) => Ok(Val::Int(value)),
            Err(_) => Failure::error("integer overflow"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_string<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    let text = match args {
        [value @ Val::String(_)] => return Ok(value.clone()),
        [Val::Bool(value)] => value.to_string(),
        [Val::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Failure::error("invalid UTF-8 in bytes, cannot convert to string"),
        },
        [Val::Double(value)] => shortest(*value),
        [Val::Duration(nanos)] => seconds(*nanos),
        [Val::Int(value)] => value.to_string(),
        [Val::Timestamp(at)] => at.to_string(),
        [Val::Uint(value)] => value.to_string(),
        [Val::Other(other)] if matches!(other.type_of().runtime_name(), "net.IP" | "net.CIDR") => {
            other.to_string()
        }
        _ => return call.no_such_overload(args),
    };
    Ok(Val::string(text))
}

fn to_timestamp<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    match args {
        [value @ Val::Timestamp(_)] => Ok(value.clone()),
        [Val::Int(seconds)] => Ok(Val::Timestamp(Timestamp::new(*seconds, 0).in_range()?)),
        [value @ Val::String(text)] => match Timestamp::parse(text) {
            Some(at) => Ok(Val::Timestamp(at?)),
            None => cannot(value, "google.protobuf.Timestamp"),
        },
        _ => call.no_such_overload(args),
    }
}

fn to_uint<'v>(call: &mut Call<'_, '_>, args: &[Val<'v>]) -> Outcome<'v> {
    const OVERFLOW: &str = "unsigned integer overflow";
    match args {
        [value @ Val::Uint(_)] => Ok(value.clone()),
        [Val::Double(value)] if *value >= 0.0 && *value < u64::MAX as f64 => Ok(Val::Uint(*value as u64)),
        [Val::Double(_)] => Failure::error(OVERFLOW),
        [Val::Int(value)] => match u64::try_from(*value) {
            Ok(value) => Ok(Val::Uint(value)),
            Err(_) => Failure::error(OVERFLOW),
        },
        [value @ Val::String(text)] => match text.parse() {
            Ok(number) if !text.starts_with('+') => Ok(Val::Uint(number)),
            _ => cannot(value, "uint"),
        },
        _ => call.no_such_overload(args),
    }
}
