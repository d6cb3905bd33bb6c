//! Timestamps and durations. No request brings a time, so they only come from texts; zones are UTC and fixed offsets.

use super::ast::Operator;
use super::function::Part;
use super::stop::{Fault, Stop};
use super::value::Value;

const SECOND: i64 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND as i128;

/// The first and the last nanosecond that a timestamp may be: the years 1 to 9999.
const FIRST: i128 = -62_135_596_800 * SECOND as i128;
const LAST: i128 = 253_402_300_800 * SECOND as i128 - 1;

fn checked(nanos: i128) -> Result<Value<'static>, Stop> {
    if (FIRST..=LAST).contains(&nanos) { Ok(Value::Timestamp(nanos)) } else { Err(Fault::Overflow.into()) }
}

/// Adds, or takes away.
pub(super) fn arithmetic<'a>(
    operator: Operator,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Result<Value<'a>, Stop> {
    let duration = |nanos: Option<i64>| nanos.map(Value::Duration).ok_or(Stop::Fault(Fault::Overflow));
    match (operator, left, right) {
        (Operator::Add, Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        (Operator::Subtract, Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        (Operator::Add, Value::Timestamp(a), Value::Duration(b))
        | (Operator::Add, Value::Duration(b), Value::Timestamp(a)) => checked(a + i128::from(*b)),
        (Operator::Subtract, Value::Timestamp(a), Value::Duration(b)) => checked(a - i128::from(*b)),
        (Operator::Subtract, Value::Timestamp(a), Value::Timestamp(b)) => duration(i64::try_from(a - b).ok()),
        _ => Err(Fault::Type.into()),
    }
}

/// A timestamp from seconds or a text.
pub(super) fn timestamp<'a>(value: &Value<'_>) -> Result<Value<'a>, Stop> {
    match value {
        Value::Int(seconds) => checked(i128::from(*seconds) * i128::from(SECOND)),
        Value::Text(text) => parse_timestamp(text).ok_or(Stop::Fault(Fault::Argument)).and_then(checked),
        _ => Err(Fault::Type.into()),
    }
}

/// Reads a duration in Go's form: `1h30m`, `-1.5s`, `300ms`.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    const UNITS: [(&str, i128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut nanos: i128 = 0;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || whole.len() > 19 || fraction.contains('.') {
            return None;
        }
        let (unit, size) = UNITS.iter().find(|(unit, _)| tail.starts_with(unit))?;
        let fraction = &fraction[..fraction.len().min(15)];
        let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i128>().ok() };
        let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
        nanos += digits(whole)?.checked_mul(*size)? + digits(fraction)? * size / scale;
        rest = &tail[unit.len()..];
        if rest.is_empty() {
            return i64::try_from(if negative { -nanos } else { nanos }).ok();
        }
    }
}

/// Reads a timestamp as RFC 3339 has it: `2026-01-02T03:04:05.678Z`.
fn parse_timestamp(text: &str) -> Option<i128> {
    let number = |from: usize, to: usize| {
        text.get(from..to).filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?.parse::<i64>().ok()
    };
    let sign = |at: usize, signs: &str| text.get(at..=at).filter(|s| signs.contains(*s)).map(|_| ());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    for (at, signs) in [(4, "-"), (7, "-"), (10, "Tt"), (13, ":"), (16, ":")] {
        sign(at, signs)?;
    }
    if !(1..=12).contains(&month)
        || !(1..=days_in(year, month)).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).filter(|n| (1..=9).contains(n))?;
            let scale = 10_i128.pow(9 - u32::try_from(end).ok()?);
            (rest[..end].parse::<i128>().ok()? * scale, &rest[end..])
        }
        None => (0, rest),
    };
    let offset = if matches!(zone, "Z" | "z") { 0 } else { parse_zone(zone)? };
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    Some(i128::from(seconds) * i128::from(SECOND) + fraction)
}

/// The seconds east of Greenwich of `+01:30`.
fn parse_zone(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.as_bytes().first()? {
        b'-' => (-1, &zone[1..]),
        b'+' => (1, &zone[1..]),
        _ => (1, zone),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let two = |t: &str| {
        Some(t).filter(|t| t.len() == 2 && t.bytes().all(|b| b.is_ascii_digit()))?.parse::<i64>().ok()
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The days from 1970 to a date (Howard Hinnant's `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970 (Howard Hinnant's `civil_from_days`).
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn days_in(year: i64, month: i64) -> i64 {
    let (next, of) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days(next, of, 1) - days(year, month, 1)
}

/// A part of a timestamp in a zone, or of a duration.
pub(super) fn get(value: &Value<'_>, part: Part, zone: &str) -> Result<i64, Stop> {
    let nanos = match value {
        Value::Duration(nanos) => {
            return match part {
                Part::Hours => Ok(nanos / (3600 * SECOND)),
                Part::Minutes => Ok(nanos / (60 * SECOND)),
                Part::Seconds => Ok(nanos / SECOND),
                Part::Milliseconds => Ok(nanos / 1_000_000 % 1000),
                _ => Err(Fault::Type.into()),
            };
        }
        Value::Timestamp(nanos) => *nanos,
        _ => return Err(Fault::Type.into()),
    };
    let offset = if matches!(zone, "UTC" | "") { 0 } else { parse_zone(zone).ok_or(Fault::Argument)? };
    let local = nanos + i128::from(offset) * i128::from(SECOND);
    let fit = |n: i128| i64::try_from(n).map_err(|_| Fault::Overflow);
    let day = fit(local.div_euclid(DAY))?;
    let of_day = fit(local.rem_euclid(DAY))?;
    let (year, month, of_month) = date(day);
    Ok(match part {
        Part::Date => of_month,
        Part::DayOfMonth => of_month - 1,
        Part::DayOfWeek => (day + 4).rem_euclid(7),
        Part::DayOfYear => day - days(year, 1, 1),
        Part::FullYear => year,
        Part::Hours => of_day / (3600 * SECOND),
        Part::Milliseconds => of_day / 1_000_000 % 1000,
        Part::Minutes => of_day / (60 * SECOND) % 60,
        Part::Month => month - 1,
        Part::Seconds => of_day / SECOND % 60,
    })
}

/// A duration as text: seconds, with as many digits as it needs.
pub(super) fn duration_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}{}s", nanos / 1_000_000_000, fraction(nanos % 1_000_000_000))
}

/// A timestamp as text, in UTC.
pub(super) fn timestamp_text(nanos: i128) -> String {
    let part = |part| get(&Value::Timestamp(nanos), part, "UTC").unwrap_or_default();
    let below = u64::try_from(nanos.rem_euclid(i128::from(SECOND))).unwrap_or_default();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z",
        part(Part::FullYear),
        part(Part::Month) + 1,
        part(Part::Date),
        part(Part::Hours),
        part(Part::Minutes),
        part(Part::Seconds),
        fraction(below)
    )
}

fn fraction(nanos: u64) -> String {
    match nanos {
        0 => String::new(),
        nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_read_written_and_taken_apart() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0_i64),
            ("2000-02-29T12:00:00+01:00", 951_822_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] {
            assert_eq!(parse_timestamp(text), Some(i128::from(seconds) * i128::from(SECOND)), "{text}");
        }
        for text in
            ["2001-02-29T00:00:00Z", "2000-1-1T00:00:00Z", "2000-01-01", "2000-01-01T24:00:00Z", "", "\u{e9}"]
        {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
        let text = "2026-11-30T13:14:15.06Z";
        let value = Value::Timestamp(parse_timestamp(text).unwrap());
        assert_eq!(timestamp_text(parse_timestamp(text).unwrap()), text);
        for (part, zone, want) in [
            (Part::FullYear, "UTC", 2026),
            (Part::Month, "UTC", 10),
            (Part::Date, "UTC", 30),
            (Part::DayOfMonth, "UTC", 29),
            (Part::DayOfWeek, "UTC", 1),
            (Part::DayOfYear, "UTC", 333),
            (Part::Hours, "-14:00", 23),
            (Part::Date, "-14:00", 29),
            (Part::Minutes, "UTC", 14),
            (Part::Seconds, "UTC", 15),
            (Part::Milliseconds, "UTC", 60),
        ] {
            assert_eq!(get(&value, part, zone), Ok(want), "{part:?}");
        }
        assert_eq!(get(&value, Part::Hours, "Europe/Berlin"), Err(Fault::Argument.into()));
    }

    #[test]
    fn durations_are_those_of_go() {
        for (text, want) in [
            ("1h30m", Some(5400 * SECOND)),
            ("-1.5s", Some(-1_500_000_000)),
            ("300ms", Some(300_000_000)),
            ("0", Some(0)),
            ("1us", Some(1000)),
            ("", None),
            ("1", None),
            ("s", None),
            (".s", None),
            ("1.2.3s", None),
            ("9999999h", None),
            ("1d", None),
        ] {
            assert_eq!(parse_duration(text), want, "{text}");
        }
        assert_eq!(duration_text(-1_500_000_000), "-1.5s");
    }
}
