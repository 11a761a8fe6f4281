//! Cases of schedules.

use super::check;

#[test]
fn valid_schedules() {
    for schedule in [
        "* * * * *",
        "*/5 0-6,22 ? jan-MAR mon",
        "0 0 1 1 0",
        "59 23 31 12 6",
        "1-10/3 5/2 * * Sun,sat",
        "  0\t0 * *  * ",
        ", * * * *",
        "*-5 * * * *",
        "+5 * * * *",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        "@every 1h30m",
        "@every -5s",
        "TZ=Asia/Tokyo 0 6 * * *",
        "CRON_TZ=UTC @daily",
        "TZ= * * * * *",
        "TZ=Local * * * * *",
    ] {
        assert_eq!(check(schedule), Ok(()), "{schedule}");
    }
}

#[test]
fn invalid_schedules() {
    let atoi = |text: &str| {
        format!(r#"failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax"#)
    };
    for (schedule, why) in [
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        (" ", "expected exactly 5 fields, found 0: []"),
        ("0 0 0 * * *", "expected exactly 5 fields, found 6: [0 0 0 * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("*/+-1 * * * *", &atoi("+-1")),
        ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
        ("x * * * *", &atoi("x")),
        ("1-x * * * *", &atoi("x")),
        ("-5 * * * *", &atoi("")),
        ("*/x * * * *", &atoi("x")),
        ("mon * * * *", &atoi("mon")),
        ("* * * foo *", &atoi("foo")),
        (
            "99999999999999999999 * * * *",
            "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": value out of range",
        ),
        ("@often", "unrecognized descriptor: @often"),
        ("@every", "unrecognized descriptor: @every"),
        ("@every x", r#"failed to parse duration @every x: time: invalid duration "x""#),
        ("TZ=0", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        ("TZ=Mars/Olympus * * * * *", "provided bad location Mars/Olympus: unknown time zone Mars/Olympus"),
        ("TZ=../x * * * * *", "provided bad location ../x: time: invalid location name"),
        ("TZ=/x * * * * *", "provided bad location /x: time: invalid location name"),
    ] {
        assert_eq!(check(schedule), Err(why.to_owned()), "{schedule}");
    }
}
