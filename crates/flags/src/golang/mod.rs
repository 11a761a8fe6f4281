//! Go's grammars for the values on a command line, with Go's error texts: people paste both into search boxes, and
//! tools compare them.

mod csv;
mod number;
mod quantity;

pub(crate) use csv::read_record;
pub(crate) use number::{atoi, parse_bool, parse_float, parse_int, parse_uint, parse_uint_decimal};
pub(crate) use pintle_meta::{format_duration, parse_duration, quote, quote_all, quote_char};
pub(crate) use quantity::parse_quantity;
