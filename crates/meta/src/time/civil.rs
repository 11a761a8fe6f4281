//! Proleptic Gregorian calendar in days from 1970-01-01. Years start in March, so that the leap day is their last.

/// Days in 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;
/// From 0000-03-01 to the epoch.
const EPOCH: i64 = 719_468;

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub(super) fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let year_of_era = year.rem_euclid(400);
    let day_of_year = days_before((month + 9) % 12) + day - 1;
    year.div_euclid(400) * ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - EPOCH
}

/// Returns year, month and day.
pub(super) fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let day_of_era = days.rem_euclid(ERA);
    // Removes the leap days, so that all years have 365.
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - days_before(month_from_march) + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = days.div_euclid(ERA) * 400 + year_of_era;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

/// Returns the days of the year before a month, both counted from March: five months have 153 days, evenly spread.
fn days_before(month_from_march: i64) -> i64 {
    (153 * month_from_march + 2) / 5
}
