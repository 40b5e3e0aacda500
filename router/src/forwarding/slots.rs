// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbered places for values, reused when free. The numbers are 32 bits wide, which is what keeps the
//! tables that point to each other small.

/// Values under stable small numbers.
#[derive(Debug)]
pub(super) struct Slots<T> {
    places: Vec<Place<T>>,
    free: Option<u32>,
    len: usize,
}

#[derive(Debug)]
enum Place<T> {
    Taken(T),
    Free(Option<u32>),
}

impl<T> Slots<T> {
    /// Empty, without an allocation.
    pub(super) const fn new() -> Self {
        Slots {
            places: Vec::new(),
            free: None,
            len: 0,
        }
    }

    /// How many values there are.
    #[cfg(test)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Takes a free place.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        self.len += 1;
        if let Some(index) = self.free
            && let Some(place) = self.places.get_mut(index as usize)
        {
            if let Place::Free(next) = *place {
                self.free = next;
            }
            *place = Place::Taken(value);
            return index;
        }
        let index = u32::try_from(self.places.len()).expect("fewer than 2^32 values fit in memory");
        self.places.push(Place::Taken(value));
        index
    }

    /// Frees a place.
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let place = self.places.get_mut(index as usize)?;
        if let Place::Free(_) = place {
            return None;
        }
        let taken = std::mem::replace(place, Place::Free(self.free));
        self.free = Some(index);
        self.len -= 1;
        if self.len == 0 {
            self.places = Vec::new();
            self.free = None;
        }
        match taken {
            Place::Taken(value) => Some(value),
            Place::Free(_) => None,
        }
    }

    /// How many places there are, free ones included.
    pub(super) fn places(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// The value at a place.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        match self.places.get(index as usize) {
            Some(Place::Taken(value)) => Some(value),
            _ => None,
        }
    }

    /// The value at a place, to change.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.places.get_mut(index as usize) {
            Some(Place::Taken(value)) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_reused_and_freed_twice_only_once() {
        let mut slots = Slots::new();
        let a = slots.insert("a");
        let b = slots.insert("b");
        assert_eq!(slots.remove(a), Some("a"));
        assert_eq!(slots.remove(a), None);
        assert_eq!(slots.insert("c"), a);
        assert_eq!((slots.get(a), slots.get(b)), (Some(&"c"), Some(&"b")));
        assert_eq!(slots.len(), 2);
        *slots.get_mut(b).expect("taken") = "d";
        assert_eq!(slots.remove(b), Some("d"));
        assert_eq!(slots.remove(a), Some("c"));
        assert_eq!((slots.len(), slots.get(a)), (0, None));
        assert_eq!(slots.insert("e"), 0);
    }
}
