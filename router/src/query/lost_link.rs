// SPDX-License-Identifier: MIT OR Apache-2.0

//! Error replies that report lost links.

use std::fmt;

use zonda_codec::ZenohId;

const BEFORE: &str = "the link to ";
const AFTER: &str = " was lost";

/// Payload of the error reply that replaces the replies of a neighbour whose link was lost, for an
/// asker that cannot detect the loss itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostLink {
    /// The neighbour whose link was lost.
    pub peer: ZenohId,
}

impl LostLink {
    /// Returns true if the payload of an error reply reports a lost link.
    #[must_use]
    pub fn is_told_by(payload: &[u8]) -> bool {
        let id = payload.strip_prefix(BEFORE.as_bytes());
        let id = id.and_then(|rest| rest.strip_suffix(AFTER.as_bytes()));
        id.is_some_and(|id| (1..=32).contains(&id.len()) && id.iter().all(u8::is_ascii_hexdigit))
    }
}

impl fmt::Display for LostLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = self.peer;
        write!(f, "{BEFORE}{peer}{AFTER}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_text_and_no_other_is_recognised() {
        let peer = "a1b2".parse().expect("an id");
        let text = LostLink { peer }.to_string();
        assert_eq!(text, "the link to a1b2 was lost");
        assert!(LostLink::is_told_by(text.as_bytes()));
        for other in [
            "",
            "Timeout",
            "the link to  was lost",
            "the link to the moon was lost",
        ] {
            assert!(!LostLink::is_told_by(other.as_bytes()), "{other}");
        }
    }
}
