// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names that stand for a function of each type: `z_loan`, `z_move`, `z_drop` and so on, by `_Generic` in
// C and by overloads in C++. The lists say which types have which function.
#pragma once

#include "zenoh_functions.h"

// Types that are moved and dropped.
#define ZONDA_OWNED(X) \
  ZONDA_OWNED_THEN(X) \
  X(z, bytes) \
  X(z, bytes_writer) \
  X(z, cancellation_token) \
  X(z, closure_hello) \
  X(z, closure_link) \
  X(z, closure_link_event) \
  X(z, closure_matching_status) \
  X(z, closure_query) \
  X(z, closure_reply) \
  X(z, closure_sample) \
  X(z, closure_transport) \
  X(z, closure_transport_event) \
  X(z, closure_zid) \
  X(z, condvar) \
  X(z, config) \
  X(z, encoding) \
  X(z, fifo_handler_query) \
  X(z, fifo_handler_reply) \
  X(z, fifo_handler_sample) \
  X(z, hello) \
  X(z, keyexpr) \
  X(z, link) \
  X(z, link_event) \
  X(z, link_events_listener) \
  X(z, liveliness_token) \
  X(z, matching_listener) \
  X(z, mutex) \
  X(z, publisher) \
  X(z, querier) \
  X(z, query) \
  X(z, queryable) \
  X(z, reply) \
  X(z, reply_err) \
  X(z, ring_handler_query) \
  X(z, ring_handler_reply) \
  X(z, ring_handler_sample) \
  X(z, sample) \
  X(z, session) \
  X(z, slice) \
  X(z, string) \
  X(z, string_array) \
  X(z, subscriber) \
  X(z, task) \
  X(z, transport) \
  X(z, transport_event) \
  X(z, transport_events_listener) \
  X(zc, closure_log) \
  X(zc, concurrent_close_handle) \
  X(ze, advanced_publisher) \
  X(ze, advanced_subscriber) \
  X(ze, closure_miss) \
  X(ze, publication_cache) \
  X(ze, querying_subscriber) \
  X(ze, sample_miss_listener) \
  X(ze, serializer)

// Types that are lent.
#define ZONDA_LOANED(X) \
  ZONDA_OWNED_THEN(X) \
  X(z, bytes) \
  X(z, bytes_writer) \
  X(z, cancellation_token) \
  X(z, closure_hello) \
  X(z, closure_link) \
  X(z, closure_link_event) \
  X(z, closure_matching_status) \
  X(z, closure_query) \
  X(z, closure_reply) \
  X(z, closure_sample) \
  X(z, closure_transport) \
  X(z, closure_transport_event) \
  X(z, closure_zid) \
  X(z, condvar) \
  X(z, config) \
  X(z, encoding) \
  X(z, fifo_handler_query) \
  X(z, fifo_handler_reply) \
  X(z, fifo_handler_sample) \
  X(z, hello) \
  X(z, keyexpr) \
  X(z, link) \
  X(z, link_event) \
  X(z, link_events_listener) \
  X(z, liveliness_token) \
  X(z, publisher) \
  X(z, querier) \
  X(z, query) \
  X(z, queryable) \
  X(z, reply) \
  X(z, reply_err) \
  X(z, ring_handler_query) \
  X(z, ring_handler_reply) \
  X(z, ring_handler_sample) \
  X(z, sample) \
  X(z, session) \
  X(z, slice) \
  X(z, string) \
  X(z, string_array) \
  X(z, subscriber) \
  X(z, transport) \
  X(z, transport_event) \
  X(z, transport_events_listener) \
  X(zc, closure_log) \
  X(ze, advanced_publisher) \
  X(ze, advanced_subscriber) \
  X(ze, closure_miss) \
  X(ze, publication_cache) \
  X(ze, querying_subscriber) \
  X(ze, serializer)

// Types that are lent for changes.
#define ZONDA_LOANED_MUT(X) \
  X(z, bytes) \
  X(z, bytes_writer) \
  X(z, cancellation_token) \
  X(z, closure_hello) \
  X(z, closure_link) \
  X(z, closure_query) \
  X(z, closure_reply) \
  X(z, closure_sample) \
  X(z, closure_transport) \
  X(z, condvar) \
  X(z, config) \
  X(z, encoding) \
  X(z, hello) \
  X(z, link) \
  X(z, link_event) \
  X(z, mutex) \
  X(z, publisher) \
  X(z, querier) \
  X(z, query) \
  X(z, reply) \
  X(z, reply_err) \
  X(z, sample) \
  X(z, session) \
  X(z, string_array) \
  X(z, transport) \
  X(z, transport_event) \
  X(ze, advanced_publisher) \
  X(ze, serializer)

// Types that are cloned.
#define ZONDA_CLONED(X) \
  X(z, bytes) \
  X(z, cancellation_token) \
  X(z, config) \
  X(z, encoding) \
  X(z, hello) \
  X(z, keyexpr) \
  X(z, link) \
  X(z, query) \
  X(z, reply) \
  X(z, reply_err) \
  X(z, sample) \
  X(z, slice) \
  X(z, string) \
  X(z, string_array) \
  X(z, transport)

// Types that a callback may take.
#define ZONDA_TAKEN(X) \
  X(z, hello) \
  X(z, link) \
  X(z, link_event) \
  X(z, query) \
  X(z, reply) \
  X(z, sample) \
  X(z, transport) \
  X(z, transport_event)

// Closures that `z_call` calls.
#define ZONDA_CLOSURES(X) \
  X(z, closure_hello) \
  X(z, closure_link) \
  X(z, closure_link_event) \
  X(z, closure_matching_status) \
  X(z, closure_query) \
  X(z, closure_reply) \
  X(z, closure_sample) \
  X(z, closure_transport) \
  X(z, closure_transport_event) \
  X(z, closure_zid) \
  X(ze, closure_miss)

// Closures with their function, which gets a value of this type.
#define ZONDA_CALLBACKS(X) \
  X(z, closure_hello, z_loaned_hello_t *) \
  X(z, closure_link, z_loaned_link_t *) \
  X(z, closure_link_event, z_loaned_link_event_t *) \
  X(z, closure_matching_status, const z_matching_status_t *) \
  X(z, closure_query, z_loaned_query_t *) \
  X(z, closure_reply, z_loaned_reply_t *) \
  X(z, closure_sample, z_loaned_sample_t *) \
  X(z, closure_transport, z_loaned_transport_t *) \
  X(z, closure_transport_event, z_loaned_transport_event_t *) \
  X(z, closure_zid, const z_id_t *) \
  X(ze, closure_miss, const ze_miss_t *)

// Channels, and what they give.
#define ZONDA_CHANNELS(X) \
  X(fifo_handler_query, query) \
  X(fifo_handler_reply, reply) \
  X(fifo_handler_sample, sample) \
  X(ring_handler_query, query) \
  X(ring_handler_reply, reply) \
  X(ring_handler_sample, sample)

// Views, and the type that they are lent as.
#define ZONDA_VIEWS(X) \
  X(keyexpr) \
  X(slice) \
  X(string)

typedef void (*z_closure_drop_callback_t)(void *context);
#define ZONDA_CALLBACK(p, n, value) typedef void (*p##_##n##_callback_t)(value, void *context);
ZONDA_CALLBACKS(ZONDA_CALLBACK)
#undef ZONDA_CALLBACK
typedef void (*zc_closure_log_callback_t)(zc_log_severity_t, const z_loaned_string_t *, void *context);

// Gives a value away: the function that gets it takes it.
#define ZONDA_MOVE(p, n) \
  static inline p##_moved_##n##_t *p##_##n##_move(p##_owned_##n##_t *x) { \
    return (p##_moved_##n##_t *)x; \
  }
ZONDA_OWNED(ZONDA_MOVE)
#undef ZONDA_MOVE

// Moves a value that is given away to a place.
#define ZONDA_TAKE(p, n) \
  static inline void p##_##n##_take(p##_owned_##n##_t *to, p##_moved_##n##_t *from) { \
    *to = from->_this; \
    p##_internal_##n##_null(&from->_this); \
  }
ZONDA_OWNED(ZONDA_TAKE)
#undef ZONDA_TAKE

#ifndef __cplusplus

// The end of a list of types, which no program has.
struct zonda_no_type;
#define ZONDA_END struct zonda_no_type * : 0

#define ZONDA_CASE(p, n) p##_owned_##n##_t : p##_##n##_loan,
#define ZONDA_VIEW_CASE(n) z_view_##n##_t : z_view_##n##_loan,
#define z_loan(x) _Generic((x), ZONDA_LOANED(ZONDA_CASE) ZONDA_VIEWS(ZONDA_VIEW_CASE) ZONDA_END)(&x)

#define ZONDA_MUT_CASE(p, n) p##_owned_##n##_t : p##_##n##_loan_mut,
#define z_loan_mut(x) _Generic((x), ZONDA_LOANED_MUT(ZONDA_MUT_CASE) ZONDA_END)(&x)

#define ZONDA_MOVE_CASE(p, n) p##_owned_##n##_t : p##_##n##_move,
#define z_move(x) _Generic((x), ZONDA_OWNED(ZONDA_MOVE_CASE) ZONDA_END)(&x)

#define ZONDA_DROP_CASE(p, n) p##_moved_##n##_t * : p##_##n##_drop,
#define z_drop(x) _Generic((x), ZONDA_OWNED(ZONDA_DROP_CASE) ZONDA_END)(x)

#define ZONDA_NULL_CASE(p, n) p##_owned_##n##_t * : p##_internal_##n##_null,
#define z_internal_null(x) _Generic((x), ZONDA_OWNED(ZONDA_NULL_CASE) ZONDA_END)(x)

#define ZONDA_CHECK_CASE(p, n) p##_owned_##n##_t : p##_internal_##n##_check,
#define z_internal_check(x) _Generic((x), ZONDA_OWNED(ZONDA_CHECK_CASE) ZONDA_END)(&x)

#define ZONDA_TAKE_CASE(p, n) p##_owned_##n##_t * : p##_##n##_take,
#define z_take(to, from) _Generic((to), ZONDA_OWNED(ZONDA_TAKE_CASE) ZONDA_END)(to, from)

#define ZONDA_TAKEN_CASE(p, n) p##_owned_##n##_t * : p##_##n##_take_from_loaned,
#define z_take_from_loaned(to, from) _Generic((to), ZONDA_TAKEN(ZONDA_TAKEN_CASE) ZONDA_END)(to, from)

#define ZONDA_CLONE_CASE(p, n) p##_owned_##n##_t * : p##_##n##_clone,
#define z_clone(to, from) _Generic((to), ZONDA_CLONED(ZONDA_CLONE_CASE) ZONDA_END)(to, from)

#define ZONDA_CALL_CASE(p, n) const p##_loaned_##n##_t * : p##_##n##_call,
#define z_call(closure, value) \
  _Generic((closure), ZONDA_CLOSURES(ZONDA_CALL_CASE) ZONDA_END)(closure, value)

#define ZONDA_CLOSURE_CASE(p, n, value) p##_owned_##n##_t * : p##_##n,
#define z_closure(closure, call, drop, context) \
  _Generic((closure), ZONDA_CALLBACKS(ZONDA_CLOSURE_CASE) ZONDA_END)(closure, call, drop, context)

#define ZONDA_RECV_CASE(n, value) const z_loaned_##n##_t * : z_##n##_recv,
#define z_recv(channel, value) \
  _Generic((channel), ZONDA_CHANNELS(ZONDA_RECV_CASE) ZONDA_END)(channel, value)

#define ZONDA_TRY_RECV_CASE(n, value) const z_loaned_##n##_t * : z_##n##_try_recv,
#define z_try_recv(channel, value) \
  _Generic((channel), ZONDA_CHANNELS(ZONDA_TRY_RECV_CASE) ZONDA_END)(channel, value)

#else  // C++

template <class T> struct z_loaned_to_owned_type_t {};
template <class T> struct z_owned_to_loaned_type_t {};

#define ZONDA_OVERLOADS(p, n) \
  inline p##_moved_##n##_t *z_move(p##_owned_##n##_t &x) { return p##_##n##_move(&x); } \
  inline void z_drop(p##_moved_##n##_t *x) { p##_##n##_drop(x); } \
  inline void z_internal_null(p##_owned_##n##_t *x) { p##_internal_##n##_null(x); } \
  inline bool z_internal_check(const p##_owned_##n##_t &x) { return p##_internal_##n##_check(&x); } \
  inline void z_take(p##_owned_##n##_t *to, p##_moved_##n##_t *from) { p##_##n##_take(to, from); }
ZONDA_OWNED(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS

#define ZONDA_OVERLOADS(p, n) \
  inline const p##_loaned_##n##_t *z_loan(const p##_owned_##n##_t &x) { return p##_##n##_loan(&x); } \
  template <> struct z_loaned_to_owned_type_t<p##_loaned_##n##_t> { typedef p##_owned_##n##_t type; }; \
  template <> struct z_owned_to_loaned_type_t<p##_owned_##n##_t> { typedef p##_loaned_##n##_t type; };
ZONDA_LOANED(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS
template <> struct z_loaned_to_owned_type_t<z_loaned_mutex_t> { typedef z_owned_mutex_t type; };
template <> struct z_owned_to_loaned_type_t<z_owned_mutex_t> { typedef z_loaned_mutex_t type; };

#define ZONDA_OVERLOADS(n) \
  inline const z_loaned_##n##_t *z_loan(const z_view_##n##_t &x) { return z_view_##n##_loan(&x); }
ZONDA_VIEWS(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS

#define ZONDA_OVERLOADS(p, n) \
  inline p##_loaned_##n##_t *z_loan_mut(p##_owned_##n##_t &x) { return p##_##n##_loan_mut(&x); }
ZONDA_LOANED_MUT(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS

#define ZONDA_OVERLOADS(p, n) \
  inline void z_clone(p##_owned_##n##_t *to, const p##_loaned_##n##_t *from) { p##_##n##_clone(to, from); }
ZONDA_CLONED(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS

#define ZONDA_OVERLOADS(p, n) \
  inline void z_take_from_loaned(p##_owned_##n##_t *to, p##_loaned_##n##_t *from) { \
    p##_##n##_take_from_loaned(to, from); \
  }
ZONDA_TAKEN(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS

#define ZONDA_OVERLOADS(p, n, value) \
  inline void z_closure(p##_owned_##n##_t *closure, p##_##n##_callback_t call, \
                        z_closure_drop_callback_t drop, void *context) { \
    p##_##n(closure, call, drop, context); \
  } \
  inline void z_call(const p##_loaned_##n##_t *closure, value x) { p##_##n##_call(closure, x); }
ZONDA_CALLBACKS(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS

#define ZONDA_OVERLOADS(n, value) \
  inline z_result_t z_recv(const z_loaned_##n##_t *channel, z_owned_##value##_t *x) { \
    return z_##n##_recv(channel, x); \
  } \
  inline z_result_t z_try_recv(const z_loaned_##n##_t *channel, z_owned_##value##_t *x) { \
    return z_##n##_try_recv(channel, x); \
  }
ZONDA_CHANNELS(ZONDA_OVERLOADS)
#undef ZONDA_OVERLOADS

#endif
