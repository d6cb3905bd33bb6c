//! The texts that settings are written in: spans of time, rates, file modes, header names.
//! Says what is wrong with a text, never where it stood.

use std::time::Duration;

use crate::memory::Limit;

/// A span of time: a whole number and its unit, such as `300s`, `30m`, `7d`.
pub fn span(text: &str) -> Result<Duration, String> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let scale = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => {
            return Err(format!(
                "`{text}` is no span of time; write a whole number and a unit, such as 500ms, 300s, 30m, 12h, 7d"
            ));
        }
    };
    let millis = number.parse::<u64>().ok().and_then(|n| n.checked_mul(scale));
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| format!("`{text}` is no span of time that can be counted"))
}

/// A rate: `600/1m`, with `burst 120` behind it where bursts are smaller than the count.
pub(super) fn limit(text: &str) -> Result<Limit, String> {
    let bad =
        || format!("`{text}` is no rate; write count/span, such as 60/1m, or with a burst: 600/1m burst 120");
    let (rate, burst) = match text.split_once(" burst ") {
        Some((rate, burst)) => (rate.trim_end(), Some(burst.trim())),
        None => (text, None),
    };
    let (count, per) = rate.split_once('/').ok_or_else(bad)?;
    let count: u32 = count.parse().map_err(|_| bad())?;
    let burst = burst.map_or(Ok(count), str::parse).map_err(|_| bad())?;
    let per = span(per)?;
    if count == 0 || burst == 0 || per.is_zero() {
        return Err(format!("`{text}` lets nobody through; every number of a rate is at least 1"));
    }
    Ok(Limit { count, per, burst })
}

/// A whole number within its bounds.
pub(super) fn number<N>(low: N, high: N) -> impl Fn(&str) -> Result<N, String>
where
    N: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    move |text| match text.parse::<N>() {
        Ok(n) if n >= low && n <= high => Ok(n),
        _ => Err(format!("`{text}` is no whole number from {low} to {high}")),
    }
}

/// A number of bytes: a whole number and its unit, such as `64MiB`, within its bounds.
pub(super) fn bytes(low: usize, high: usize) -> impl Fn(&str) -> Result<usize, String> {
    move |text| {
        let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(at);
        let scale = match unit.trim_start() {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return Err(format!("`{text}` is no number of bytes; write such as 64MiB or 1GiB")),
        };
        match number.parse::<usize>().ok().and_then(|n| n.checked_mul(scale)) {
            Some(bytes) if (low..=high).contains(&bytes) => Ok(bytes),
            _ => Err(format!("`{text}` is not between {} KiB and {} GiB", low >> 10, high >> 30)),
        }
    }
}

/// `true` or `false`.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("`{text}` is neither true nor false"))
}

/// A file mode in octal. Sockets that everyone may write to would let everyone ask.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    match u32::from_str_radix(text.strip_prefix("0o").unwrap_or(text), 8) {
        Ok(mode) if mode <= 0o777 && mode & 0o002 != 0 => {
            Err(format!("`{text}` lets every user of this machine write to the socket; use 0660 and a group"))
        }
        Ok(mode) if mode <= 0o777 => Ok(mode),
        _ => Err(format!("`{text}` is no file mode; write it in octal, such as 0660")),
    }
}

/// A path prefix that starts and ends with `/` and has one reading only.
pub(super) fn prefix(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/".contains(&b);
    let framed = text.len() > 2 && text.starts_with('/') && text.ends_with('/');
    if !framed
        || text.starts_with("/auth/")
        || text.starts_with("/check/")
        || text.contains("//")
        || text.contains("/./")
        || text.contains("/../")
        || !text.bytes().all(plain)
    {
        return Err(format!(
            "`{text}` is no prefix; it starts and ends with `/`, holds letters, digits and -._~, and is not below /auth/ or /check/; such as /.tollgate/"
        ));
    }
    Ok(text.to_owned())
}

/// A token of RFC 9110, 5.6.2: a cookie's or a header's name.
pub(super) fn token(text: &str) -> Result<String, String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(fits) {
        return Err(format!("`{text}` is no name; use letters, digits and -"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_need_a_number_and_a_unit() {
        for (text, seconds) in [("300s", 300), ("30m", 1800), ("12h", 43_200), ("7d", 604_800)] {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(span("500ms"), Ok(Duration::from_millis(500)));
        for text in
            ["", "s", "7", "7 d", "-1s", "1.5h", "1w", "99999999999999999999s", "18446744073709551615d"]
        {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_have_a_count_a_span_and_perhaps_a_burst() {
        let minute = Duration::from_secs(60);
        assert_eq!(limit("60/1m"), Ok(Limit { count: 60, per: minute, burst: 60 }));
        assert_eq!(limit("600/1m burst 120"), Ok(Limit { count: 600, per: minute, burst: 120 }));
        for text in
            ["", "60", "60/m", "0/1m", "60/0s", "60/1m burst", "60/1m burst x", "60/1m burst 0", "-1/1m"]
        {
            assert!(limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_have_a_unit_and_bounds() {
        let read = bytes(1 << 20, 1 << 30);
        for (text, want) in
            [("64MiB", 64 << 20), ("64 MiB", 64 << 20), ("1GiB", 1 << 30), ("2097152", 2 << 20)]
        {
            assert_eq!(read(text), Ok(want), "{text}");
        }
        for text in ["", "MiB", "64MB", "64mib", "1KiB", "2GiB", "-1MiB", "1.5MiB", "99999999999999999999GiB"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_prefix_has_one_reading_and_two_slashes() {
        assert_eq!(prefix("/.tollgate/").as_deref(), Ok("/.tollgate/"));
        assert_eq!(prefix("/a/b/").as_deref(), Ok("/a/b/"));
        for text in ["", "/", "//", "/a", "a/", "/a//b/", "/../a/", "/a/./", "/%61/", "/a b/", "/ä/", "/a;b/"]
        {
            assert!(prefix(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_socket_is_never_open_to_everyone() {
        assert_eq!((mode("0660"), mode("0o600"), mode("770")), (Ok(0o660), Ok(0o600), Ok(0o770)));
        for text in ["0666", "777", "0888", "", "rw", "1000"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }
}
