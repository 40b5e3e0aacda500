// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbered places for values, reused when free. The numbers are 32 bits wide, which keeps the
//! tables that point to each other small.
//!
//! Places come in pages, so that a table grows without being copied, and shrinks: a page without
//! values is freed, and of the pages with room the first is filled.

use std::collections::BTreeSet;

/// Places of a page, as a power of two: so many that allocators return the memory of a page to the system.
const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;

/// Values under stable small numbers.
#[derive(Debug)]
pub(super) struct Slots<T> {
    pages: Vec<Page<T>>,
    /// Numbers of the pages that have room.
    open: BTreeSet<u32>,
    len: usize,
}

#[derive(Debug)]
struct Page<T> {
    /// Never more than [`PAGE`]; grows as it is needed.
    places: Vec<Place<T>>,
    /// Head of the list of free places.
    free: u16,
    /// Number of places that are not free.
    taken: u16,
}

#[derive(Debug)]
enum Place<T> {
    Taken(T),
    /// Without a value, but not to be reused yet.
    Reserved,
    /// Free, with the next free place of the page.
    Free(u16),
}

/// End of the list of free places.
const NOWHERE: u16 = u16::MAX;

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots::new()
    }
}

impl<T> Slots<T> {
    /// Returns an empty table, without an allocation.
    pub(super) const fn new() -> Self {
        Slots {
            pages: Vec::new(),
            open: BTreeSet::new(),
            len: 0,
        }
    }

    /// Returns the bytes of memory of its values, without their allocations.
    pub(super) const fn memory(&self) -> usize {
        self.len * size_of::<Place<T>>()
    }

    /// Returns the number of places that are taken or reserved.
    #[cfg(test)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Stores a value in a free place and returns its number.
    pub(super) fn insert(&mut self, value: T) -> u32 {
        let number = match self.open.first() {
            Some(&number) => number,
            None => self.add_page(),
        };
        let page = self
            .pages
            .get_mut(number as usize)
            .expect("the numbers in `open` are those of pages");
        let place = page.insert(value);
        if usize::from(page.taken) == PAGE {
            self.open.remove(&number);
        }
        self.len += 1;
        number << PAGE_BITS | u32::from(place)
    }

    /// Frees a place.
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.reserve(index)?;
        self.release(index);
        Some(value)
    }

    /// Takes the value out of a place, which is not reused before it is [released](Self::release).
    pub(super) fn reserve(&mut self, index: u32) -> Option<T> {
        let place = self.place_mut(index)?;
        if !matches!(place, Place::Taken(_)) {
            return None;
        }
        match std::mem::replace(place, Place::Reserved) {
            Place::Taken(value) => Some(value),
            Place::Reserved | Place::Free(_) => None,
        }
    }

    /// Frees a reserved place.
    pub(super) fn release(&mut self, index: u32) {
        if !matches!(self.place_mut(index), Some(Place::Reserved)) {
            return;
        }
        let (number, place) = (index >> PAGE_BITS, index as usize % PAGE);
        let Some(page) = self.pages.get_mut(number as usize) else {
            return;
        };
        let was_full = usize::from(page.taken) == PAGE;
        page.free(place);
        self.len -= 1;
        if self.len == 0 {
            *self = Slots::new();
            return;
        }
        if was_full {
            self.open.insert(number);
        }
    }

    /// Returns a bound: all numbers are below it.
    pub(super) fn places(&self) -> u32 {
        u32::try_from(self.pages.len() * PAGE).unwrap_or(u32::MAX)
    }

    /// Returns all values with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..self.places()).filter_map(|index| Some((index, self.get(index)?)))
    }

    /// Returns the value at a place.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        let page = self.pages.get((index >> PAGE_BITS) as usize)?;
        match page.places.get(index as usize % PAGE) {
            Some(Place::Taken(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the value at a place, mutably.
    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        match self.place_mut(index) {
            Some(Place::Taken(value)) => Some(value),
            _ => None,
        }
    }

    #[inline]
    fn place_mut(&mut self, index: u32) -> Option<&mut Place<T>> {
        let page = self.pages.get_mut((index >> PAGE_BITS) as usize)?;
        page.places.get_mut(index as usize % PAGE)
    }

    fn add_page(&mut self) -> u32 {
        let number = u32::try_from(self.pages.len()).ok();
        let number = number
            .filter(|number| *number < u32::MAX >> PAGE_BITS)
            .expect("fewer than 2^32 values fit in memory");
        // the first page of a small table stays small
        let capacity = if number == 0 { 0 } else { PAGE };
        self.pages.push(Page {
            places: Vec::with_capacity(capacity),
            free: NOWHERE,
            taken: 0,
        });
        self.open.insert(number);
        number
    }
}

impl<T> Page<T> {
    fn insert(&mut self, value: T) -> u16 {
        self.taken += 1;
        let value = Place::Taken(value);
        if let Some(place) = self.places.get_mut(usize::from(self.free)) {
            let at = self.free;
            if let Place::Free(next) = *place {
                self.free = next;
            }
            *place = value;
            return at;
        }
        let at = u16::try_from(self.places.len()).expect("a page has fewer places");
        if self.places.len() == self.places.capacity() {
            // by half, not by twice: faces are large
            self.places.reserve_exact((self.places.len() / 2).max(4));
        }
        self.places.push(value);
        at
    }

    fn free(&mut self, place: usize) {
        self.taken -= 1;
        if self.taken == 0 {
            self.places = Vec::new();
            self.free = NOWHERE;
            return;
        }
        if let (Some(free), Ok(at)) = (self.places.get_mut(place), u16::try_from(place)) {
            *free = Place::Free(self.free);
            self.free = at;
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

    #[test]
    fn a_reserved_place_is_nobodys() {
        let mut slots = Slots::new();
        let a = slots.insert("a");
        assert_eq!(slots.reserve(a), Some("a"));
        assert_eq!((slots.reserve(a), slots.get(a)), (None, None));
        assert_ne!(slots.insert("b"), a);
        slots.release(a);
        slots.release(a);
        assert_eq!(slots.insert("c"), a);
        slots.release(a);
        assert_eq!((slots.get(a), slots.len()), (Some(&"c"), 2));
        assert_eq!(slots.get(u32::MAX), None);
        assert_eq!(slots.remove(u32::MAX), None);
    }

    #[test]
    fn pages_without_values_are_given_back_and_the_first_with_room_is_filled() {
        let mut slots = Slots::new();
        let all: Vec<u32> = (0..10 * PAGE).map(|n| slots.insert(n)).collect();
        assert_eq!(all.len(), slots.len());
        let keep = all[3 * PAGE + 7];
        for index in all.iter().filter(|index| **index != keep) {
            slots.remove(*index);
        }
        let held: usize = slots.pages.iter().map(|page| page.places.capacity()).sum();
        assert_eq!((slots.len(), slots.get(keep)), (1, Some(&(3 * PAGE + 7))));
        assert!(held <= PAGE, "{held} places for one value");
        let again: Vec<u32> = (0..10 * PAGE - 1).map(|n| slots.insert(n)).collect();
        assert_eq!(again[0], 0);
        assert_eq!(slots.pages.len(), 10);
        assert_eq!(slots.remove(keep), Some(3 * PAGE + 7));
        assert!(again.iter().all(|index| slots.remove(*index).is_some()));
        assert!(slots.pages.is_empty() && slots.open.is_empty());
    }
}
