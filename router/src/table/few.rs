// SPDX-License-Identifier: MIT OR Apache-2.0

//! A list of few values: up to one needs no allocation.

/// Few values, in an order that its user gives them.
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

    /// Adds a value behind the others.
    pub(super) fn push(&mut self, value: T) {
        self.insert(self.as_slice().len(), value);
    }

    /// Adds a value at a place.
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

    /// Removes the value at a place; the others keep their order.
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
    /// Adds a value if it is not in it; tells whether it was not.
    pub(super) fn insert_new(&mut self, value: T) -> bool {
        let is_new = !self.as_slice().contains(&value);
        if is_new {
            self.push(value);
        }
        is_new
    }

    /// Removes a value, not keeping the order of the others; tells whether it was there.
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
