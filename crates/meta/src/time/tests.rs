use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::{MicroTime, Time, civil, human_duration, short_human_duration};

fn message(text: &str) -> String {
    match Time::parse(text) {
        Ok(time) => format!("{time} ({text})"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn times_print_in_utc_and_without_fractions() {
    let cases = [
        ("2006-01-02T15:04:05Z", "2006-01-02T15:04:05Z"),
        ("2006-01-02T15:04:05.999999999Z", "2006-01-02T15:04:05Z"),
        ("2006-01-02T15:04:05.9999999999999Z", "2006-01-02T15:04:05Z"),
        ("2006-01-02T15:04:05,5Z", "2006-01-02T15:04:05Z"),
        ("2006-01-02T15:04:05+07:00", "2006-01-02T08:04:05Z"),
        ("2006-01-02T23:04:05-07:30", "2006-01-03T06:34:05Z"),
        ("2006-01-02T15:04:05-00:00", "2006-01-02T15:04:05Z"),
        ("2006-01-02T5:04:05Z", "2006-01-02T05:04:05Z"),
        ("2006-01-02T15:04:05+24:60", "2006-01-01T14:04:05Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"),
        ("9999-12-31T23:59:59.5-01:00", "10000-01-01T00:59:59Z"),
    ];
    for (text, printed) in cases {
        assert_eq!(Time::parse(text).map(|time| time.to_string()), Ok(printed.to_owned()), "{text}");
    }
}

#[test]
fn invalid_times_have_gos_messages() {
    let layout = "2006-01-02T15:04:05Z07:00";
    let syntax = [
        ("", "", "2006"),
        ("x", "x", "2006"),
        ("200", "200", "2006"),
        ("20a6-01-02", "20a6-01-02", "2006"),
        ("2006", "", "-"),
        ("2006/01", "/01", "-"),
        ("2006-1-02T15:04:05Z", "1-02T15:04:05Z", "01"),
        ("2006-01-2T15:04:05Z", "2T15:04:05Z", "02"),
        ("2006-01-02 15:04:05Z", " 15:04:05Z", "T"),
        ("2006-01-02t15:04:05Z", "t15:04:05Z", "T"),
        ("2006-01-02Tx:04:05Z", "x:04:05Z", "15"),
        ("2006-01-02T15:4:05Z", "4:05Z", "04"),
        ("2006-01-02T15:04Z", "Z", ":"),
        ("2006-01-02T15:04:5Z", "5Z", "05"),
        ("2006-01-02T15:04:05", "", "Z07:00"),
        ("2006-01-02T15:04:05.Z", ".Z", "Z07:00"),
        ("2006-01-02T15:04:05z", "z", "Z07:00"),
        ("2006-01-02T15:04:05+0700", "+0700", "Z07:00"),
        ("2006-01-02T15:04:05+07-00", "+07-00", "Z07:00"),
        ("2006-01-02T15:04:05*07:00", "*07:00", "Z07:00"),
        ("2006-01-02T15:04:05+0x:00", "+0x:00", "Z07:00"),
    ];
    for (text, part, element) in syntax {
        let expected =
            format!(r#"parsing time "{text}" as "{layout}": cannot parse "{part}" as "{element}""#);
        assert_eq!(message(text), expected);
    }
    let others = [
        ("2006-13-02T15:04:05Z", ": month out of range"),
        ("2006-00-02T15:04:05Z", ": month out of range"),
        ("2006-01-32T15:04:05Z", ": day out of range"),
        ("2006-01-00T15:04:05Z", ": day out of range"),
        ("2023-02-29T15:04:05Z", ": day out of range"),
        ("1900-02-29T15:04:05Z", ": day out of range"),
        ("2006-01-02T24:04:05Z", ": hour out of range"),
        ("2006-01-02T15:60:05Z", ": minute out of range"),
        ("2006-01-02T15:04:60Z", ": second out of range"),
        ("2006-01-02T15:04:05+25:00", ": time zone offset hour out of range"),
        ("2006-01-02T15:04:05+00:61", ": time zone offset minute out of range"),
        ("2006-01-02T15:04:05*25:00", ": time zone offset hour out of range"),
        ("2006-01-02T15:04:05Z07:00", r#": extra text: "07:00""#),
    ];
    for (text, rest) in others {
        assert_eq!(message(text), format!(r#"parsing time "{text}"{rest}"#));
    }
    assert_eq!(
        message("\"é\\\n"),
        r#"parsing time "\"\xc3\xa9\\\x0a" as "2006-01-02T15:04:05Z07:00": cannot parse "\"\xc3\xa9\\\x0a" as "2006""#
    );
}

#[test]
fn micro_times_have_exactly_six_digits() {
    let cases = [
        ("2006-01-02T15:04:05.000000Z", Ok("2006-01-02T15:04:05.000000Z")),
        ("2006-01-02T15:04:05.123456+01:00", Ok("2006-01-02T14:04:05.123456Z")),
        ("2006-01-02T15:04:05.+12345Z", Ok("2006-01-02T15:04:05.012345Z")),
        ("2006-01-02T15:04:05Z", Err(r#"cannot parse "Z" as ".000000""#)),
        ("2006-01-02T15:04:05+07:00", Err(r#"cannot parse "+07:00" as ".000000""#)),
        ("2006-01-02T15:04:05Z123456", Err(r#"cannot parse "Z123456" as ".000000""#)),
        ("2006-01-02T15:04:05.123Z", Err(r#"cannot parse ".123Z" as ".000000""#)),
        ("2006-01-02T15:04:05.12345éZ", Err(r#"cannot parse ".12345\xc3\xa9Z" as ".000000""#)),
        ("2006-01-02T15:04:05.1234567Z", Err(r#"cannot parse "7Z" as "Z07:00""#)),
    ];
    for (text, expected) in cases {
        let got = MicroTime::parse(text).map(|time| time.to_string()).map_err(|error| error.to_string());
        match expected {
            Ok(printed) => assert_eq!(got, Ok(printed.to_owned())),
            Err(tail) => {
                let text = text.replace('é', r"\xc3\xa9");
                let layout = "2006-01-02T15:04:05.000000Z07:00";
                assert_eq!(got, Err(format!(r#"parsing time "{text}" as "{layout}": {tail}"#)));
            }
        }
    }
    assert_eq!(
        MicroTime::parse("2006-01-02T15:04:05.-12345Z").map_err(|error| error.to_string()),
        Err(r#"parsing time "2006-01-02T15:04:05.-12345Z": fractional second out of range"#.to_owned())
    );
    let time = MicroTime::from_unix(1, 999_999_999);
    assert_eq!(time.to_string(), "1970-01-01T00:00:01.999999Z");
    assert_eq!(time.subsecond_nanos(), 999_999_000);
    assert_eq!(time.truncated(), MicroTime::from_unix(1, 999_999_000));
}

#[test]
fn the_zero_time_is_null() {
    assert!(Time::default().is_zero());
    assert!(Time::parse("0001-01-01T00:00:00Z").is_ok_and(|time| time.is_zero()));
    assert!(Time::parse("0001-01-01T00:00:00.1Z").is_ok_and(|time| !time.is_zero()));
    assert_eq!(Time::default().to_string(), "0001-01-01T00:00:00Z");
    assert_eq!(serde_json::to_string(&(Time::default(), MicroTime::default())).unwrap(), "[null,null]");
    assert!(serde_json::from_str::<MicroTime>("null").unwrap().is_zero());
    assert_eq!(Time::default().to_query(), "");
    for text in ["", "null"] {
        assert_eq!(Time::from_query(text), Ok(Time::default()));
    }
}

#[test]
fn json_must_be_a_string() {
    let text = "\"2006-01-02T15:04:05Z\"";
    let time: Time = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&time).unwrap(), text);
    for (literal, kind) in
        [("1", "number"), ("-1.5", "number"), ("true", "bool"), ("[1]", "array"), ("{}", "object")]
    {
        let error = serde_json::from_str::<Time>(literal).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("json: cannot unmarshal {kind} into Go value of type string")),
            "{error}"
        );
    }
    let error = serde_json::from_str::<MicroTime>(text).unwrap_err().to_string();
    assert!(error.contains(r#"cannot parse "Z" as ".000000""#), "{error}");
}

#[test]
fn times_are_built_from_unix_time_and_subtracted() {
    let time = Time::from(SystemTime::UNIX_EPOCH + Duration::from_millis(1500));
    assert_eq!(time, Time::from_unix(1, 500_000_000));
    assert_eq!(time.truncated(), Time::from_unix(1, 0));
    let before = Time::from(SystemTime::UNIX_EPOCH - Duration::from_millis(1500));
    assert_eq!(before, Time::from_unix(-2, 500_000_000));
    assert_eq!(time.nanos_since(&before), 3_000_000_000);
    assert_eq!(Time::default().nanos_since(&time), i64::MIN);
    assert_eq!(Time::from_unix(i64::MAX, i64::MAX).nanos_since(&time), i64::MAX);
    assert!(Time::from_unix(i64::MIN, i64::MIN).to_string().starts_with('-'));
    assert!(MicroTime::from(time) > MicroTime::from(before));
}

#[test]
fn ages_have_two_or_three_figures() {
    let cases = [
        ("-2s", "<invalid>", "<invalid>"),
        ("-1.9s", "0s", "0s"),
        ("0s", "0s", "0s"),
        ("59.9s", "59s", "59s"),
        ("1m10s", "70s", "1m"),
        ("1m59s", "119s", "1m"),
        ("2m", "2m", "2m"),
        ("5m30s", "5m30s", "5m"),
        ("10m59s", "10m", "10m"),
        ("2h59m", "179m", "2h"),
        ("3h", "3h", "3h"),
        ("7h59m59s", "7h59m", "7h"),
        ("8h59m", "8h", "8h"),
        ("47h59m", "47h", "1d"),
        ("48h", "2d", "2d"),
        ("53h", "2d5h", "2d"),
        ("191h", "7d23h", "7d"),
        ("192h", "8d", "8d"),
        ("8760h", "365d", "1y"),
        ("17519h", "729d", "1y"),
        ("17520h", "2y", "2y"),
        ("17544h", "2y1d", "2y"),
        ("70079h", "7y364d", "7y"),
        ("70080h", "8y", "8y"),
        ("100000h", "11y", "11y"),
    ];
    for (duration, long, short) in cases {
        let nanos = crate::parse_duration(duration).unwrap();
        assert_eq!(human_duration(nanos), long, "{duration}");
        assert_eq!(short_human_duration(nanos), short, "{duration}");
    }
    assert_eq!(human_duration(i64::MAX), "292y");
    assert_eq!(human_duration(i64::MIN), "<invalid>");
}

#[test]
fn the_calendar_counts_days_without_gaps() {
    let mut expected = civil::days_since_epoch(-1, 1, 1);
    for year in -1..=2401 {
        for month in 1..=12 {
            for day in 1..=civil::days_in_month(year, month) {
                assert_eq!(civil::days_since_epoch(year, month, day), expected);
                assert_eq!(civil::date(expected), (year, month, day));
                expected += 1;
            }
        }
    }
    assert_eq!(civil::days_since_epoch(1970, 1, 1), 0);
}

proptest! {
    #[test]
    fn printed_times_parse_the_same(seconds in -62_167_219_200i64..253_402_300_800, nanos in 0i64..1_000_000_000) {
        let time = Time::from_unix(seconds, nanos);
        prop_assert_eq!(Time::parse(&time.to_string()), Ok(time.truncated()));
        let micro = MicroTime::from_unix(seconds, nanos);
        prop_assert_eq!(MicroTime::parse(&micro.to_string()), Ok(micro.truncated()));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}", lookalike in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9:]{8}[-+.,Zé0-9:]{0,12}") {
        for text in [text, lookalike] {
            let _ = (Time::parse(&text).map(|time| time.to_string()), MicroTime::parse(&text));
        }
    }
}

#[test]
fn to_ascii_agrees_with_display() {
    for seconds in (-70_000_000_000i64..260_000_000_000).step_by(77_777_777).chain([
        0,
        -1,
        253_402_300_799,
        253_402_300_800,
    ]) {
        let (time, micro) =
            (Time::from_unix(seconds, 0), MicroTime::from_unix(seconds, seconds % 1_000_000_000));
        let four_digits = time.to_string().len() == 20;
        assert_eq!(time.to_ascii().is_some(), four_digits, "{time}");
        if let Some(text) = time.to_ascii() {
            assert_eq!(text.as_slice(), time.to_string().as_bytes());
        }
        if let Some(text) = micro.to_ascii() {
            assert_eq!(text.as_slice(), micro.to_string().as_bytes());
        }
    }
}
