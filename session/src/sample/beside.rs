// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Beside`]: the attachment of a sample, and its time-stamp stack.

use std::fmt;
use std::sync::Arc;

use zonda_codec::{Payload, SliceBuffer, ZSlice};

use crate::bytes::ZBytes;
use crate::timestamp_stack::TimestampStack;

/// Parts of a sample beside its value.
///
/// Few samples have a stack. It is stored as the buffer of an attachment that no caller sees, so
/// that all other samples are built and dropped as if there were no stacks.
#[derive(Clone)]
pub(super) struct Beside(Option<ZBytes>);

/// Time-stamp stack of a sample, with the attachment if there is one.
#[derive(Debug, Clone)]
struct Stacked {
    stack: TimestampStack,
    attachment: Option<ZBytes>,
}

impl SliceBuffer for Stacked {
    fn as_slice(&self) -> &[u8] {
        &[]
    }
}

impl Beside {
    /// Creates the parts of a sample without a stack.
    #[inline(always)]
    pub const fn bytes(attachment: Option<ZBytes>) -> Beside {
        Beside(attachment)
    }

    /// Creates the parts of a sample.
    pub fn new(attachment: Option<ZBytes>, stack: Option<TimestampStack>) -> Beside {
        let Some(stack) = stack else {
            return Beside(attachment);
        };
        let buffer = Arc::new(Stacked { stack, attachment });
        Beside(
            ZSlice::new(buffer, 0, 0)
                .ok()
                .map(|slice| ZBytes::of_payload(Payload::from(slice))),
        )
    }

    fn stacked(&self) -> Option<&Stacked> {
        self.0.as_ref()?.payload()?.as_zslice().downcast_ref()
    }

    /// Returns the attachment and the stack.
    pub fn into_parts(self) -> (Option<ZBytes>, Option<TimestampStack>) {
        match self.stacked().cloned() {
            None => (self.0, None),
            Some(Stacked { stack, attachment }) => (attachment, Some(stack)),
        }
    }

    pub fn attachment(&self) -> Option<&ZBytes> {
        match self.stacked() {
            None => self.0.as_ref(),
            Some(stacked) => stacked.attachment.as_ref(),
        }
    }

    pub fn attachment_mut(&mut self) -> Option<&mut ZBytes> {
        if self.stacked().is_none() {
            return self.0.as_mut();
        }
        // clones of the sample keep theirs
        let (attachment, stack) = self.clone().into_parts();
        *self = Beside::new(attachment, stack);
        let stacked: &mut Stacked = self.0.as_mut()?.payload_mut()?.downcast_mut()?;
        stacked.attachment.as_mut()
    }

    pub fn stack(&self) -> Option<&TimestampStack> {
        self.stacked().map(|stacked| &stacked.stack)
    }

    /// Returns it with another attachment.
    pub fn with_attachment(self, attachment: Option<ZBytes>) -> Beside {
        Beside::new(attachment, self.into_parts().1)
    }

    /// Returns it with another stack.
    pub fn with_stack(self, stack: Option<TimestampStack>) -> Beside {
        Beside::new(self.into_parts().0, stack)
    }

    /// Copies a small attachment into a buffer of its own.
    pub fn detached(self) -> Beside {
        match self.stacked().is_some() {
            false => Beside(self.0.map(|attachment| attachment.detached())),
            true => {
                let (attachment, stack) = self.into_parts();
                Beside::new(attachment.map(|a| a.detached()), stack)
            }
        }
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stacked() {
            None => self.0.fmt(f),
            Some(stacked) => stacked.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamp_stack::TimestampInstrumentationBuilder;

    #[test]
    fn attachment_and_stack_are_independent() {
        let points = TimestampInstrumentationBuilder::new().set_send(true);
        let stack = TimestampStack::new(points.build().expect("a point"));
        let long = ZBytes::from(vec![7; 5000]);
        for attachment in [None, Some(ZBytes::from("short")), Some(long)] {
            for stack in [None, Some(stack.clone())] {
                let (attachment, stack) = (attachment.as_ref(), stack.as_ref());
                let mut beside = Beside::new(attachment.cloned(), stack.cloned());
                let kept = beside.clone();
                assert_eq!((beside.attachment(), beside.stack()), (attachment, stack));
                if let Some(mine) = beside.attachment_mut() {
                    *mine = ZBytes::from("another");
                    assert_eq!(beside.attachment(), Some(&ZBytes::from("another")));
                }
                assert_eq!(beside.stack(), stack);
                assert_eq!(kept.attachment(), attachment, "a clone is not changed");
                let detached = kept.clone().detached();
                assert_eq!(
                    (detached.attachment(), detached.stack()),
                    (attachment, stack)
                );
                let bare = kept.clone().with_attachment(None);
                assert_eq!((bare.attachment(), bare.stack()), (None, stack));
                let unstacked = kept.with_stack(None);
                assert_eq!(
                    (unstacked.attachment(), unstacked.stack()),
                    (attachment, None)
                );
            }
        }
    }
}
