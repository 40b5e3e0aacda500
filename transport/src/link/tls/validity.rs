// SPDX-License-Identifier: MIT OR Apache-2.0
//! Until when a certificate is valid: the one field of X.509 that the checks of a handshake do not look at again.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// When the first of these certificates expires; `None` if there is none whose time can be read.
pub(in crate::link) fn first_end(certificates: &[CertificateDer<'_>]) -> Option<SystemTime> {
    certificates.iter().filter_map(|one| end(one)).min()
}

/// The end of a certificate's validity (RFC 5280, section 4.1).
fn end(certificate: &[u8]) -> Option<SystemTime> {
    let mut outer = Der(Der(certificate).take(SEQUENCE)?);
    let mut fields = Der(outer.take(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.take(VERSION)?;
    }
    fields.take(INTEGER)?; // serial number
    fields.take(SEQUENCE)?; // algorithm
    fields.take(SEQUENCE)?; // issuer
    let mut validity = Der(fields.take(SEQUENCE)?);
    validity.next()?;
    let (tag, text) = validity.next()?;
    time(tag, text)
}

/// What is left of a series of elements in DER.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next element: its tag and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                let length = bytes
                    .iter()
                    .fold(0, |sum, &byte| sum << 8 | usize::from(byte));
                (length, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// The content of the next element, which has this tag.
    fn take(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next()
            .filter(|(tag, _)| *tag == wanted)
            .map(|(_, content)| content)
    }
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn time(tag: u8, text: &[u8]) -> Option<SystemTime> {
    let digits = text.strip_suffix(b"Z")?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let pairs: Vec<u64> = digits
        .chunks_exact(2)
        .map(|pair| u64::from(pair[0] - b'0') * 10 + u64::from(pair[1] - b'0'))
        .collect();
    let (year, rest) = match (tag, &*pairs) {
        (UTC_TIME, [year, rest @ ..]) if *year < 50 => (2000 + year, rest),
        (UTC_TIME, [year, rest @ ..]) => (1900 + year, rest),
        (GENERALIZED_TIME, [century, year, rest @ ..]) => (century * 100 + year, rest),
        _ => return None,
    };
    let &[month @ 1..=12, day, hour, minute, second] = rest else {
        return None;
    };
    let seconds = days(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second;
    Some(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Days from 1970 to a date of the calendar; `None` for one before.
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

    fn seconds(tag: u8, text: &str) -> Option<u64> {
        let found = time(tag, text.as_bytes())?;
        Some(found.duration_since(UNIX_EPOCH).expect("later").as_secs())
    }

    #[test]
    fn times_are_read() {
        for (tag, text, expected) in [
            (UTC_TIME, "700101000000Z", 0),
            (UTC_TIME, "491231235959Z", 2_524_607_999),
            (GENERALIZED_TIME, "20000229120000Z", 951_825_600),
            (GENERALIZED_TIME, "20000301000000Z", 951_868_800),
            (GENERALIZED_TIME, "21000301000000Z", 4_107_542_400),
            (GENERALIZED_TIME, "99991231235959Z", 253_402_300_799),
        ] {
            assert_eq!(seconds(tag, text), Some(expected), "{text}");
        }
        for wrong in ["", "Z", "7001010000Z", "701301000000Z", "70010100000aZ"] {
            assert_eq!(seconds(UTC_TIME, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_first_certificate_that_expires_counts() {
        let certificate = |year: i32| {
            let mut params = rcgen::CertificateParams::new(vec!["a".to_owned()]).expect("names");
            params.not_after = rcgen::date_time_ymd(year, 2, 3);
            let key = rcgen::KeyPair::generate().expect("a key");
            let made = params.self_signed(&key).expect("a certificate");
            made.der().clone()
        };
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
