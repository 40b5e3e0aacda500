// SPDX-License-Identifier: MIT OR Apache-2.0
//! Message sizes in the usual notation: `8`, `64k`, `1M`, `8..1G`.

/// The maximum message size that can be requested.
const LARGEST: usize = 1 << 30;
/// The default step of a range.
const STEP: usize = 8;
/// Units of sizes, as powers of two.
const UNITS: [(&str, u32); 3] = [("k", 10), ("m", 20), ("g", 30)];

/// The sizes of one part of a list: a size, or a range of powers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(Vec<usize>);

impl Sizes {
    /// Returns the sizes of all parts in ascending order, without duplicates.
    pub fn all(parts: &[Sizes]) -> Vec<usize> {
        let mut all: Vec<usize> = parts.iter().flat_map(|part| &part.0).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Parses one part of a list.
///
/// # Errors
/// Returns the fault, in words for the user.
pub fn sizes(text: &str) -> Result<Sizes, String> {
    let Some((from, rest)) = text.split_once("..") else {
        return Ok(Sizes(vec![size(text)?]));
    };
    let (to, step) = match rest.split_once('*') {
        Some((to, step)) => (to, step.parse().ok().filter(|s| *s > 1)),
        None => (rest, Some(STEP)),
    };
    let step = step.ok_or("the factor after * is a whole number from 2 on")?;
    let (from, to) = (size(from)?, size(to)?);
    if from == 0 || from > to {
        return Err(format!("{text} is empty: a range goes up, from 1 on"));
    }
    let powers = std::iter::successors(Some(from), |s| s.checked_mul(step));
    let mut all: Vec<usize> = powers.take_while(|s| *s < to).collect();
    all.push(to);
    Ok(Sizes(all))
}

/// Parses one size of a byte or more.
///
/// # Errors
/// Returns the fault, in words for the user.
pub fn one_size(text: &str) -> Result<usize, String> {
    let size = size(text).ok().filter(|size| *size > 0);
    size.ok_or_else(|| format!("{text:?}: expected one size from 1 to 1G, such as 10M"))
}

/// Parses a number of bytes with a unit: `k`, `M` and `G` are powers of 1024, with or without `B`
/// or `iB`.
fn size(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is no size: expected 8, 64k, 1M, 1G or 8..1G");
    let lower = text.trim().to_lowercase();
    let plain = lower.strip_suffix('b').unwrap_or(&lower);
    let plain = plain.strip_suffix('i').unwrap_or(plain);
    let unit = UNITS.iter().find(|(unit, _)| plain.ends_with(unit));
    let (number, shift) = match unit {
        Some((unit, shift)) => (plain.strip_suffix(unit).unwrap_or(plain), *shift),
        None => (plain, 0),
    };
    let number: usize = number.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes > LARGEST {
        return Err(format!("{text}: a message has at most 1G"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<usize> {
        sizes(text).unwrap_or_else(|e| panic!("{e}")).0
    }

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("8", 8),
            ("64B", 64),
            ("1k", 1024),
            ("64KiB", 65_536),
            ("100M", 100 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(read(text), [bytes], "{text}");
        }
    }

    #[test]
    fn ranges_by_powers() {
        let powers: Vec<usize> = (1..=10).map(|n| 1 << (3 * n)).collect();
        assert_eq!(read("8..1G"), powers);
        assert_eq!(read("8..100*4"), [8, 32, 100]);
        assert_eq!(read("7..7"), [7]);
        let parts = [Sizes(vec![64, 8]), Sizes(vec![8])];
        assert_eq!(Sizes::all(&parts), [8, 64]);
    }

    #[test]
    fn what_is_refused() {
        for text in [
            "",
            "x",
            "8.5",
            "-1",
            "8x",
            "2G",
            "99999999999G",
            "9..8",
            "0..8",
            "1..",
            "1..8*1",
            "k",
        ] {
            assert!(sizes(text).is_err(), "{text}");
        }
    }
}
