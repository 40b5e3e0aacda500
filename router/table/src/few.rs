// SPDX-License-Identifier: MIT OR Apache-2.0

//! List of few values: up to one needs no allocation.

/// List of few values, in an order that its user chooses.
#[derive(Debug)]
pub(super) enum Few<T> {
    None,
    One(T),
    #[expect(
        clippy::box_collection,
        reason = "a vector inside would double the size of what has such a list"
    )]
    Many(Box<Vec<T>>),
}

impl<T> Few<T> {
    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Few::None => &[],
            Few::One(value) => std::slice::from_ref(value),
            Few::Many(values) => values,
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        match self {
            Few::None => &mut [],
            Few::One(value) => std::slice::from_mut(value),
            Few::Many(values) => values,
        }
    }

    /// Appends a value.
    pub(super) fn push(&mut self, value: T) {
        self.insert(self.as_slice().len(), value);
    }

    /// Inserts a value at an index.
    pub(super) fn insert(&mut self, at: usize, value: T) {
        *self = match std::mem::replace(self, Few::None) {
            Few::None => Few::One(value),
            Few::One(first) => {
                let mut values = Box::new(vec![first]);
                values.insert(at, value);
                Few::Many(values)
            }
            Few::Many(mut values) => {
                values.insert(at, value);
                Few::Many(values)
            }
        };
    }

    /// Removes the value at an index; the rest keep their order.
    pub(super) fn remove_at(&mut self, at: usize) {
        match self {
            Few::None | Few::One(_) => *self = Few::None,
            Few::Many(values) => {
                values.remove(at);
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        if let Few::Many(values) = self
            && values.len() == 1
            && let Some(last) = values.pop()
        {
            *self = Few::One(last);
        }
    }
}

impl<T: PartialEq> Few<T> {
    /// Inserts `value`; returns true if it was absent.
    pub(super) fn insert_new(&mut self, value: T) -> bool {
        let is_new = !self.as_slice().contains(&value);
        if is_new {
            self.push(value);
        }
        is_new
    }

    /// Removes `value` and does not keep the order of the rest; returns true if it was present.
    pub(super) fn remove(&mut self, value: &T) -> bool {
        let Some(at) = self.as_slice().iter().position(|other| other == value) else {
            return false;
        };
        match self {
            Few::None | Few::One(_) => *self = Few::None,
            Few::Many(values) => {
                values.swap_remove(at);
                self.shrink();
            }
        }
        true
    }
}
