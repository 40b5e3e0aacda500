// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entities that a client has declared, by the numbers that the client gave them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use zonda::pubsub::Publisher;
use zonda::query::{Querier, Query};

use super::message::Sort;

/// Queries that wait for the client's answers; the oldest is ended for another one.
const QUERIES_MAX: usize = 1000;

/// An entity. Dropping it undeclares it.
pub(super) enum Entity {
    Publisher(Publisher<'static>),
    Querier(Querier<'static>),
    Other { _held: Box<dyn Send + Sync> },
}

impl Entity {
    /// Holds an entity that no later message names, but to undeclare it.
    pub fn other(entity: impl Send + Sync + 'static) -> Entity {
        let _held = Box::new(entity);
        Entity::Other { _held }
    }
}

/// The entities of a client.
pub(super) struct Entities {
    all: HashMap<(Sort, u32), Entity>,
    count_max: usize,
}

impl Entities {
    pub fn new(count_max: usize) -> Entities {
        Entities {
            all: HashMap::new(),
            count_max,
        }
    }

    /// Checks that an entity with this number can be added.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn check(&self, sort: Sort, id: u32) -> Result<(), String> {
        if self.all.contains_key(&(sort, id)) {
            return Err(format!("the number {id} is taken"));
        }
        match self.all.len() < self.count_max {
            true => Ok(()),
            false => {
                Err("too many declarations (services/http/limits/remote_declarations)".to_owned())
            }
        }
    }

    pub fn add(&mut self, sort: Sort, id: u32, entity: Entity) {
        self.all.insert((sort, id), entity);
    }

    /// Removes an entity.
    ///
    /// # Errors
    /// There is none with this number.
    pub fn remove(&mut self, sort: Sort, id: u32) -> Result<Entity, String> {
        self.all.remove(&(sort, id)).ok_or_else(|| unknown(id))
    }

    /// Returns a publisher.
    ///
    /// # Errors
    /// There is none with this number.
    pub fn publisher(&self, id: u32) -> Result<&Publisher<'static>, String> {
        match self.all.get(&(Sort::Publisher, id)) {
            Some(Entity::Publisher(publisher)) => Ok(publisher),
            _ => Err(unknown(id)),
        }
    }

    /// Returns a querier.
    ///
    /// # Errors
    /// There is none with this number.
    pub fn querier(&self, id: u32) -> Result<&Querier<'static>, String> {
        match self.all.get(&(Sort::Querier, id)) {
            Some(Entity::Querier(querier)) => Ok(querier),
            _ => Err(unknown(id)),
        }
    }
}

fn unknown(id: u32) -> String {
    format!("nothing has the number {id}")
}

/// Queries that wait for the client's answers, by the numbers that the server gave them.
#[derive(Clone, Default)]
pub(super) struct Queries(Arc<Mutex<Numbered>>);

#[derive(Default)]
struct Numbered {
    next: u32,
    waiting: BTreeMap<u32, Query>,
}

impl Queries {
    /// Adds a query, and returns its number.
    pub fn add(&self, query: Query) -> u32 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = all.next;
        all.next = number.wrapping_add(1);
        let oldest = match all.waiting.len() < QUERIES_MAX {
            true => None,
            false => all.waiting.pop_first(),
        };
        all.waiting.insert(number, query);
        drop(all);
        // The end of a query may call the session.
        drop(oldest);
        number
    }

    /// Returns a query.
    ///
    /// # Errors
    /// None with this number waits.
    pub fn get(&self, number: u32) -> Result<Query, String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let query = all.waiting.get(&number).cloned();
        query.ok_or_else(|| format!("no query {number} waits for an answer"))
    }

    /// Removes a query.
    ///
    /// # Errors
    /// None with this number waits.
    pub fn remove(&self, number: u32) -> Result<Query, String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let query = all.waiting.remove(&number);
        query.ok_or_else(|| format!("no query {number} waits for an answer"))
    }
}
