//! Components of timestamps, in UTC or a given time zone, and lengths of durations.

use super::Declared;
use crate::evaluate::Call;
use crate::meter::{Failure, Outcome};
use crate::value::{Timestamp, Val};

/// Function of a timestamp that duration may have too.
macro_rules! part {
    ($name:literal, $id:literal, $run:expr) => {
        Declared {
            name: $name,
            overloads: &[($id, ".timestamp -> int"), (concat!($id, "_with_tz"), ".timestamp, string -> int")],
            run: |call, args| part(call, args, $run, None),
        }
    };
    ($name:literal, $id:literal, $run:expr, $duration:literal, $nanos:expr) => {
        Declared {
            name: $name,
            overloads: &[
                ($id, ".timestamp -> int"),
                (concat!($id, "_with_tz"), ".timestamp, string -> int"),
                ($duration, ".duration -> int"),
            ],
            run: |call, args| part(call, args, $run, Some($nanos)),
        }
    };
}

pub(super) const FUNCTIONS: &[Declared] = &[
    part!("getFullYear", "timestamp_to_year", |at, offset| at.civil(offset).year),
    part!("getMonth", "timestamp_to_month", |at, offset| at.civil(offset).month - 1),
    part!("getDayOfYear", "timestamp_to_day_of_year", |at, offset| at.civil(offset).day_of_year),
    part!("getDayOfMonth", "timestamp_to_day_of_month", |at, offset| at.civil(offset).day - 1),
    part!("getDate", "timestamp_to_day_of_month_1_based", |at, offset| at.civil(offset).day),
    part!("getDayOfWeek", "timestamp_to_day_of_week", |at, offset| at.civil(offset).weekday),
    part!(
        "getHours",
        "timestamp_to_hours",
        |at, offset| at.civil(offset).second / 3600,
        "duration_to_hours",
        |nanos| nanos / 3_600_000_000_000
    ),
    part!(
        "getMinutes",
        "timestamp_to_minutes",
        |at, offset| at.civil(offset).second / 60 % 60,
        "duration_to_minutes",
        |nanos| nanos / 60_000_000_000
    ),
    part!(
        "getSeconds",
        "timestamp_to_seconds",
        |at, offset| at.civil(offset).second % 60,
        "duration_to_seconds",
        |nanos| nanos / 1_000_000_000
    ),
    part!(
        "getMilliseconds",
        "timestamp_to_milliseconds",
        |at, _| i64::from(at.nanos) / 1_000_000,
        "duration_to_milliseconds",
        |nanos| nanos / 1_000_000
    ),
];

fn part<'v>(
    call: &mut Call<'_, '_>,
    args: &[Val<'v>],
    of_time: fn(Timestamp, i64) -> i64,
    of_duration: Option<fn(i64) -> i64>,
) -> Outcome<'v> {
    match (args, of_duration) {
        ([Val::Timestamp(at)], _) => Ok(Val::Int(of_time(*at, 0))),
        ([Val::Timestamp(at), Val::String(zone)], _) => match offset(zone, *at) {
            Ok(offset) => Ok(Val::Int(of_time(*at, offset))),
            Err(message) => Failure::error(message),
        },
        ([Val::Duration(nanos)], Some(of_duration)) => Ok(Val::Int(of_duration(*nanos))),
        _ => call.no_such_overload(args),
    }
}

/// Returns the offset from UTC in seconds of a time zone at a time: `+02:00`, or a name of the time zone database.
fn offset(zone: &str, at: Timestamp) -> Result<i64, String> {
    if let Some((hours, minutes)) = zone.split_once(':') {
        let number = |text: &str| {
            let invalid = format!("strconv.Atoi: parsing {}: invalid syntax", pintle_meta::quote(text));
            text.parse::<i32>().map(i64::from).map_err(|_| invalid)
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let minutes = if zone.starts_with('-') { hours * 60 - minutes } else { hours * 60 + minutes };
        return Ok(minutes * 60);
    }
    if matches!(zone, "" | "UTC") {
        return Ok(0);
    }
    let unknown = || format!("unknown time zone {zone}");
    // The name is looked up as a file and must not leave the database's directory.
    if zone.contains("..") || zone.starts_with('/') || zone.contains('\\') {
        return Err("time: invalid location name".to_owned());
    }
    let zone = jiff::tz::TimeZone::get(zone).map_err(|_| unknown())?;
    let at = jiff::Timestamp::new(at.seconds, at.nanos as i32).map_err(|_| unknown())?;
    Ok(i64::from(zone.to_offset(at).seconds()))
}
