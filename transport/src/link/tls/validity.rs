// SPDX-License-Identifier: MIT OR Apache-2.0
//! Validity of a certificate: the one field of X.509 that a link reads after its handshake, and
//! that a listener checks before any peer does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Remaining lifetime below which a node is warned of a certificate: time to renew it.
const SOON_MAX: Duration = Duration::from_secs(14 * 86_400);

/// Start and end of a certificate's validity.
#[derive(Debug, Clone, Copy)]
struct Validity {
    start: SystemTime,
    end: SystemTime,
}

/// Returns the time at which the first of these certificates expires; `None` if the time of none
/// can be read.
pub(in crate::link) fn first_end(certificates: &[CertificateDer<'_>]) -> Option<SystemTime> {
    let validities = certificates.iter().filter_map(|one| validity(one));
    validities.map(|one| one.end).min()
}

/// Describes the fault of these certificates' validity, present or near, as a clause; `None` if
/// there is none. A certificate with a short lifetime is renewed often: it expires soon when a
/// tenth of its time is left.
pub(super) fn concern(certificates: &[CertificateDer<'_>], now: SystemTime) -> Option<String> {
    // The chain is valid from the last start to the first end.
    let validities = certificates.iter().filter_map(|one| validity(one));
    let first = validities.min_by_key(|one| one.end)?;
    let validities = certificates.iter().filter_map(|one| validity(one));
    let start = validities.map(|one| one.start).max()?;
    let between = |from: SystemTime, to: SystemTime| to.duration_since(from).unwrap_or_default();
    let whole = between(first.start, first.end);
    let said = |length: Duration| span(length.as_secs());
    // Expired.
    if first.end <= now {
        let ago = said(between(first.end, now));
        return Some(format!("expired {ago} ago, on {}", date(first.end)));
    }
    // Not valid yet.
    if start > now {
        let wait = said(between(now, start));
        return Some(format!(
            "is valid only in {wait}, from {} on; is the clock right?",
            date(start)
        ));
    }
    // Expires soon.
    let left = between(now, first.end);
    (left < SOON_MAX.min(whole / 10)).then(|| {
        let left = said(left);
        format!("expires in {left}, on {}; renew it", date(first.end))
    })
}

/// Formats a length of time in its largest unit.
pub(super) fn span(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} minutes", seconds / 60),
        7200..=172_799 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Formats a time as `YYYY-MM-DD HH:MM UTC`.
fn date(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (day, minutes) = (since / 86_400, since % 86_400 / 60);
    let reached = |year, month| days(year, month, 1).is_some_and(|first| first <= day);
    let mut year = 1970 + day / 366;
    while reached(year + 1, 1) {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| reached(year, *month));
    let month = month.unwrap_or(1);
    let first = days(year, month, 1).unwrap_or(day);
    let (hour, minute) = (minutes / 60, minutes % 60);
    format!(
        "{year}-{month:02}-{:02} {hour:02}:{minute:02} UTC",
        1 + day - first
    )
}

/// Returns the validity of a certificate (RFC 5280, section 4.1).
fn validity(certificate: &[u8]) -> Option<Validity> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let at = |seconds: i64| {
        // A time before 1970 counts as 1970.
        UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap_or(0))
    };
    let validity = certificate.validity();
    Some(Validity {
        start: at(validity.not_before.timestamp()),
        end: at(validity.not_after.timestamp()),
    })
}

/// Returns the days from 1970 to a date of the calendar; `None` for one before.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    // The year begins in March, so that a leap day is its last.
    let (year, month) = match month {
        1 | 2 => (year.checked_sub(1)?, month + 9),
        _ => (year, month - 3),
    };
    let leap_days = year / 4 + year / 400 - year / 100;
    let whole = 365 * year + leap_days + (153 * month + 2) / 5 + day;
    // 719_469 is the number of the first of January 1970.
    whole.checked_sub(719_469)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a certificate that is valid between two days, from midnight to midnight.
    fn made(from: (i32, u8, u8), to: (i32, u8, u8)) -> CertificateDer<'static> {
        let mut params = rcgen::CertificateParams::new(vec!["a".to_owned()]).expect("names");
        params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
        params.not_after = rcgen::date_time_ymd(to.0, to.1, to.2);
        let key = rcgen::KeyPair::generate().expect("a key");
        let made = params.self_signed(&key).expect("a certificate");
        made.der().clone()
    }

    #[test]
    fn what_is_wrong_with_the_time_is_said() {
        let own = made((2030, 2, 1), (2031, 2, 1));
        let short = made((2030, 6, 1), (2030, 6, 2));
        let day = |year, month, day| {
            let days = days(year, month, day).expect("later");
            UNIX_EPOCH + Duration::from_secs(86_400 * days)
        };
        let own = std::slice::from_ref(&own);
        let both = [own[0].clone(), short.clone()];
        let hour = Duration::from_secs(3600);
        for (shown, now, expected) in [
            (own, day(2030, 2, 1), None),
            (own, day(2031, 1, 18), None),
            (
                own,
                day(2031, 1, 18) + hour,
                Some("expires in 13 days, on 2031-02-01 00:00 UTC; renew it"),
            ),
            (
                own,
                day(2031, 2, 1),
                Some("expired 0 s ago, on 2031-02-01 00:00 UTC"),
            ),
            (
                own,
                day(2031, 2, 4),
                Some("expired 3 days ago, on 2031-02-01 00:00 UTC"),
            ),
            (
                own,
                day(2030, 1, 31) + hour * 22,
                Some("is valid only in 2 hours, from 2030-02-01 00:00 UTC on; is the clock right?"),
            ),
            (&[short], day(2030, 6, 1) + hour * 21, None),
            (
                &both,
                day(2030, 6, 1) + hour * 22,
                Some("expires in 2 hours, on 2030-06-02 00:00 UTC; renew it"),
            ),
            (
                &both,
                day(2030, 6, 3),
                Some("expired 24 hours ago, on 2030-06-02 00:00 UTC"),
            ),
            (&[], day(2030, 6, 3), None),
        ] {
            assert_eq!(concern(shown, now).as_deref(), expected, "{now:?}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_827_696, "2000-02-29 12:34 UTC"),
            (978_307_199, "2000-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
            (253_402_300_799, "9999-12-31 23:59 UTC"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn the_first_certificate_that_expires_counts() {
        let certificate = |year| made((1975, 1, 1), (year, 2, 3));
        let (late, early) = (certificate(2060), certificate(2030));
        let at = |seconds| Some(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(first_end(std::slice::from_ref(&late)), at(2_842_992_000));
        assert_eq!(first_end(&[late, early.clone()]), at(1_896_307_200));
        for count in 0..200 {
            let cut = CertificateDer::from(early[..count].to_vec());
            first_end(&[cut]);
        }
    }
}
