// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attackers in processes of their own, and the cases that watch their effects on honest nodes
//! ([`crate::world`]).

mod adversary;
mod amplification;
mod chance;
mod doors;
mod isolation;
mod labour;
mod mesh;
mod moves;
mod pace;
mod rings;
mod silence;
mod smuggling;
mod soak;
pub mod words;

use crate::roles::Stage;

/// Work of an attacker.
pub type Attack = fn(&Stage);

/// All attackers by name.
pub const ATTACKS: &[(&str, Attack)] = &[
    ("silent_guest", silence::silent_guest),
    ("frozen", pace::frozen),
    ("slow", pace::slow),
    ("sleeper_that_returns", pace::sleeper_that_returns),
    ("tiny_batches", pace::tiny_batches),
    ("churn", pace::churn),
    ("slow_listener", pace::slow_listener),
    ("peer_without_a_word", pace::peer_without_a_word),
    ("keys_of_many_chunks", labour::keys_of_many_chunks),
    ("interests_in_one_for_all", labour::interests_in_one_for_all),
    ("interests_in_what_it_has", labour::interests_in_what_it_has),
    ("wild_puts", labour::wild_puts),
    ("wild_questions", labour::wild_questions),
    ("many_who_listen_to_churn", labour::many_who_listen_to_churn),
    (
        "many_interests_in_one_key",
        labour::many_interests_in_one_key,
    ),
    ("admin_space", labour::admin_space),
    ("churn_with_a_table", labour::churn_with_a_table),
    ("visitors", amplification::visitors),
    (
        "visitors_that_do_not_read",
        amplification::visitors_that_do_not_read,
    ),
    ("long_keys", amplification::long_keys),
    ("bushy_keys", amplification::bushy_keys),
    (
        "listeners_that_do_not_read",
        amplification::listeners_that_do_not_read,
    ),
    ("unfinished_messages", amplification::unfinished_messages),
    ("pinned_blocks", amplification::pinned_blocks),
    ("routes_of_long_keys", amplification::routes_of_long_keys),
    ("sessions_for_a_year", doors::sessions_for_a_year),
    ("silent_connections", doors::silent_connections),
    ("client_far_away", doors::client_far_away),
    ("gossip_of_many", doors::gossip_of_many),
    ("noisy_strangers", doors::noisy_strangers),
    ("smuggler", smuggling::smuggler),
    ("length_of_nothing", smuggling::length_of_nothing),
    (
        "surplus_in_an_extension",
        smuggling::surplus_in_an_extension,
    ),
    ("member", isolation::member),
    ("dead_consumers", isolation::dead_consumers),
    ("starters", isolation::starters),
    ("cuts", isolation::cuts),
    ("returners", isolation::returners),
    ("daily_life", soak::daily_life),
    ("adversary", adversary::play),
];
