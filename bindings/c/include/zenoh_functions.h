// SPDX-License-Identifier: MIT OR Apache-2.0

//
// The functions of the library, by subject. Pointers may be null unless it is said otherwise; an argument that
// must not be null gives Z_ENULL. What is `moved` is taken in every case.
#pragma once

#include "zenoh_types.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const unsigned int Z_ROUTER;
extern const unsigned int Z_PEER;
extern const unsigned int Z_CLIENT;


// ---- session, info, close

// Closes a session: its links and all that it declared end. Waits for callbacks that run, unless a
// callback calls it.
z_result_t z_close(z_loaned_session_t *session, z_close_options_t *options);
// Writes the defaults.
void z_close_options_default(z_close_options_t *this_);
// Calls the closure with the id of each peer that the session has a link to.
z_result_t z_info_peers_zid(const z_loaned_session_t *session, z_moved_closure_zid_t *callback);
// Calls the closure with the id of each router that the session has a link to.
z_result_t z_info_routers_zid(const z_loaned_session_t *session, z_moved_closure_zid_t *callback);
// Returns the id of the session's node; all 0 if it is closed.
z_id_t z_info_zid(const z_loaned_session_t *session);
// Returns true if the place holds a value.
bool z_internal_session_check(const z_owned_session_t *this_);
// Writes the empty state.
void z_internal_session_null(z_owned_session_t *this_);
// Opens a session; blocks until its links are there or fail.
z_result_t z_open(
    z_owned_session_t *this_,
    z_moved_config_t *config,
    const z_open_options_t *_options);
// Writes the defaults.
void z_open_options_default(z_open_options_t *this_);
// Closes a session that is not closed, and drops it.
void z_session_drop(z_moved_session_t *this_);
// Returns the id of the session as an entity.
z_entity_global_id_t z_session_id(const z_loaned_session_t *session);
// Returns true if the session is closed.
bool z_session_is_closed(const z_loaned_session_t *session);
// Lends the value.
const z_loaned_session_t *z_session_loan(const z_owned_session_t *this_);
// Lends the value for changes.
z_loaned_session_t *z_session_loan_mut(z_owned_session_t *this_);
// Drops the value; the place is empty afterwards.
void zc_concurrent_close_handle_drop(zc_moved_concurrent_close_handle_t *this_);
// Waits for the end of a session that is closing.
z_result_t zc_concurrent_close_handle_wait(zc_moved_concurrent_close_handle_t *handle);
// Returns true if the place holds a value.
bool zc_internal_concurrent_close_handle_check(const zc_owned_concurrent_close_handle_t *this_);
// Writes the empty state.
void zc_internal_concurrent_close_handle_null(zc_owned_concurrent_close_handle_t *this_);
// Does nothing: the library's threads end with the last session.
void zc_stop_z_runtime(void);

// ---- config

// Writes a clone to another place.
void z_config_clone(z_owned_config_t *dst, const z_loaned_config_t *this_);
// Makes the default configuration: a peer that scouts.
z_result_t z_config_default(z_owned_config_t *this_);
// Drops the value; the place is empty afterwards.
void z_config_drop(z_moved_config_t *this_);
// Lends the value.
const z_loaned_config_t *z_config_loan(const z_owned_config_t *this_);
// Lends the value for changes.
z_loaned_config_t *z_config_loan_mut(z_owned_config_t *this_);
// Returns true if the place holds a value.
bool z_internal_config_check(const z_owned_config_t *this_);
// Writes the empty state.
void z_internal_config_null(z_owned_config_t *this_);
// Reads the file that the environment variable `ZENOH_CONFIG` names.
z_result_t zc_config_from_env(z_owned_config_t *this_);
// Reads a configuration file.
z_result_t zc_config_from_file(z_owned_config_t *this_, const char *path);
// Reads a configuration file, whose path has so many bytes.
z_result_t zc_config_from_file_substr(z_owned_config_t *this_, const char *path, size_t len);
// Parses a configuration in JSON5.
z_result_t zc_config_from_str(z_owned_config_t *this_, const char *s);
// Parses a configuration in JSON5 of so many bytes.
z_result_t zc_config_from_substr(z_owned_config_t *this_, const char *s, size_t len);
// Writes the value of a key, in JSON.
z_result_t zc_config_get_from_str(
    const z_loaned_config_t *this_,
    const char *key,
    z_owned_string_t *out_value_string);
// Writes the value of a key, whose name has so many bytes, in JSON.
z_result_t zc_config_get_from_substr(
    const z_loaned_config_t *this_,
    const char *key,
    size_t key_len,
    z_owned_string_t *out_value_string);
// Sets the value of a key, in JSON5.
z_result_t zc_config_insert_json5(z_loaned_config_t *this_, const char *key, const char *value);
// Sets the value of a key, in JSON5, by texts of so many bytes.
z_result_t zc_config_insert_json5_from_substr(
    z_loaned_config_t *this_,
    const char *key,
    size_t key_len,
    const char *value,
    size_t value_len);

// ---- key expressions

// Declares a key expression to the session's neighbours, who then get a number for it.
z_result_t z_declare_keyexpr(
    const z_loaned_session_t *session,
    z_owned_keyexpr_t *declared_key_expr,
    const z_loaned_keyexpr_t *key_expr);
// Returns true if the place holds a value.
bool z_internal_keyexpr_check(const z_owned_keyexpr_t *this_);
// Writes the empty state.
void z_internal_keyexpr_null(z_owned_keyexpr_t *this_);
// Makes a view of the text.
void z_keyexpr_as_view_string(const z_loaned_keyexpr_t *this_, z_view_string_t *out_string);
// Canonizes a key expression where it lies; writes its length.
z_result_t z_keyexpr_canonize(char *start, size_t *len);
// Canonizes a key expression that a zero terminates, where it lies.
z_result_t z_keyexpr_canonize_null_terminated(char *start);
// Writes a clone to another place.
void z_keyexpr_clone(z_owned_keyexpr_t *dst, const z_loaned_keyexpr_t *this_);
// Appends a text to a key expression.
z_result_t z_keyexpr_concat(
    z_owned_keyexpr_t *this_,
    const z_loaned_keyexpr_t *left,
    const char *right_start,
    size_t right_len);
// Drops the value; the place is empty afterwards.
void z_keyexpr_drop(z_moved_keyexpr_t *this_);
// Returns true if the texts are equal.
bool z_keyexpr_equals(const z_loaned_keyexpr_t *left, const z_loaned_keyexpr_t *right);
// Copies a key expression.
z_result_t z_keyexpr_from_str(z_owned_keyexpr_t *this_, const char *expr);
// Copies a key expression in its canonical form.
z_result_t z_keyexpr_from_str_autocanonize(z_owned_keyexpr_t *this_, const char *expr);
// Copies a key expression of so many bytes.
z_result_t z_keyexpr_from_substr(z_owned_keyexpr_t *this_, const char *expr, size_t len);
// Copies a key expression of so many bytes in its canonical form, whose length it writes to `len`.
z_result_t z_keyexpr_from_substr_autocanonize(
    z_owned_keyexpr_t *this_,
    const char *start,
    size_t *len);
// Returns true if each key that matches the right one matches the left one.
bool z_keyexpr_includes(const z_loaned_keyexpr_t *left, const z_loaned_keyexpr_t *right);
// Returns true if a key matches both.
bool z_keyexpr_intersects(const z_loaned_keyexpr_t *left, const z_loaned_keyexpr_t *right);
// Returns 0 if the text is a key expression in its canonical form.
z_result_t z_keyexpr_is_canon(const char *start, size_t len);
// Joins two key expressions by `/`.
z_result_t z_keyexpr_join(
    z_owned_keyexpr_t *this_,
    const z_loaned_keyexpr_t *left,
    const z_loaned_keyexpr_t *right);
// Lends the value.
const z_loaned_keyexpr_t *z_keyexpr_loan(const z_owned_keyexpr_t *this_);
// Returns the relation of the left one to the right one: 0 disjoint, 1 intersecting, 2 including, 3
// equal.
z_keyexpr_intersection_level_t z_keyexpr_relation_to(
    const z_loaned_keyexpr_t *left,
    const z_loaned_keyexpr_t *right);
// Lends the key.
const z_loaned_keyexpr_t *z_publisher_keyexpr(const z_loaned_publisher_t *publisher);
// Lends the key.
const z_loaned_keyexpr_t *z_query_keyexpr(const z_loaned_query_t *this_);
// Lends the key.
const z_loaned_keyexpr_t *z_queryable_keyexpr(const z_loaned_queryable_t *queryable);
z_reply_keyexpr_t z_reply_keyexpr_default(void);
// Lends the key.
const z_loaned_keyexpr_t *z_sample_keyexpr(const z_loaned_sample_t *this_);
// Lends the key.
const z_loaned_keyexpr_t *z_subscriber_keyexpr(const z_loaned_subscriber_t *subscriber);
// Undeclares a key expression that the session has declared.
z_result_t z_undeclare_keyexpr(const z_loaned_session_t *session, z_moved_keyexpr_t *key_expr);
// Writes the empty state.
void z_view_keyexpr_empty(z_view_keyexpr_t *this_);
// Makes a view of a key expression of the program.
z_result_t z_view_keyexpr_from_str(z_view_keyexpr_t *this_, const char *expr);
// Canonizes a key expression where it lies, and makes a view of it.
z_result_t z_view_keyexpr_from_str_autocanonize(z_view_keyexpr_t *this_, char *expr);
// Makes a view of a key expression that the program knows to be one.
void z_view_keyexpr_from_str_unchecked(z_view_keyexpr_t *this_, const char *s);
// Makes a view of a key expression of so many bytes.
z_result_t z_view_keyexpr_from_substr(z_view_keyexpr_t *this_, const char *expr, size_t len);
// Canonizes a key expression of so many bytes where it lies, and makes a view of it.
z_result_t z_view_keyexpr_from_substr_autocanonize(
    z_view_keyexpr_t *this_,
    char *start,
    size_t *len);
// Makes a view of a key expression of so many bytes that the program knows to be one.
void z_view_keyexpr_from_substr_unchecked(z_view_keyexpr_t *this_, const char *start, size_t len);
// Returns true if the view is empty.
bool z_view_keyexpr_is_empty(const z_view_keyexpr_t *this_);
// Lends the value.
const z_loaned_keyexpr_t *z_view_keyexpr_loan(const z_view_keyexpr_t *this_);

// ---- put, delete, publisher

// Declares a publisher.
z_result_t z_declare_publisher(
    const z_loaned_session_t *session,
    z_owned_publisher_t *publisher,
    const z_loaned_keyexpr_t *key_expr,
    z_publisher_options_t *options);
// Publishes that the key has no value any more.
z_result_t z_delete(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_delete_options_t *options);
// Writes the defaults.
void z_delete_options_default(z_delete_options_t *this_);
z_congestion_control_t z_internal_congestion_control_default_push(void);
z_congestion_control_t z_internal_congestion_control_default_request(void);
// Returns true if the place holds a value.
bool z_internal_publisher_check(const z_owned_publisher_t *this_);
// Writes the empty state.
void z_internal_publisher_null(z_owned_publisher_t *this_);
z_priority_t z_priority_default(void);
// Publishes that the key has no value any more.
z_result_t z_publisher_delete(
    const z_loaned_publisher_t *publisher,
    z_publisher_delete_options_t *options);
// Writes the defaults.
void z_publisher_delete_options_default(z_publisher_delete_options_t *this_);
// Drops the value; the place is empty afterwards.
void z_publisher_drop(z_moved_publisher_t *this_);
// Returns the id of the publisher.
z_entity_global_id_t z_publisher_id(const z_loaned_publisher_t *publisher);
// Lends the value.
const z_loaned_publisher_t *z_publisher_loan(const z_owned_publisher_t *this_);
// Lends the value for changes.
z_loaned_publisher_t *z_publisher_loan_mut(z_owned_publisher_t *this_);
// Writes the defaults.
void z_publisher_options_default(z_publisher_options_t *this_);
// Publishes a value.
z_result_t z_publisher_put(
    const z_loaned_publisher_t *this_,
    z_moved_bytes_t *payload,
    z_publisher_put_options_t *options);
// Writes the defaults.
void z_publisher_put_options_default(z_publisher_put_options_t *this_);
// Publishes a value. With congestion control "block" it waits for room towards slow receivers.
z_result_t z_put(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_bytes_t *payload,
    z_put_options_t *options);
// Writes the defaults.
void z_put_options_default(z_put_options_t *this_);
// Returns the congestion control.
z_congestion_control_t z_sample_congestion_control(const z_loaned_sample_t *this_);
// Returns the priority, 1 to 7.
z_priority_t z_sample_priority(const z_loaned_sample_t *this_);
z_result_t z_undeclare_publisher(z_moved_publisher_t *this_);

// ---- subscriber

// Declares a subscriber that lives as long as the session.
z_result_t z_declare_background_subscriber(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    z_subscriber_options_t *options);
// Declares a subscriber: the closure is called with each sample.
z_result_t z_declare_subscriber(
    const z_loaned_session_t *session,
    z_owned_subscriber_t *subscriber,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    z_subscriber_options_t *options);
// Returns true if the place holds a value.
bool z_internal_subscriber_check(const z_owned_subscriber_t *this_);
// Writes the empty state.
void z_internal_subscriber_null(z_owned_subscriber_t *this_);
// Drops the value; the place is empty afterwards.
void z_subscriber_drop(z_moved_subscriber_t *this_);
// Returns the id of the subscriber.
z_entity_global_id_t z_subscriber_id(const z_loaned_subscriber_t *subscriber);
// Lends the value.
const z_loaned_subscriber_t *z_subscriber_loan(const z_owned_subscriber_t *this_);
// Writes the defaults.
void z_subscriber_options_default(z_subscriber_options_t *this_);
z_result_t z_undeclare_subscriber(z_moved_subscriber_t *this_);

// ---- sample, timestamp, source info, ids

// Returns the entity's number within its node.
uint32_t z_entity_global_id_eid(const z_entity_global_id_t *this_);
// Returns the entity's node.
z_id_t z_entity_global_id_zid(const z_entity_global_id_t *this_);
// Returns true if the place holds a value.
bool z_internal_sample_check(const z_owned_sample_t *this_);
// Writes the empty state.
void z_internal_sample_null(z_owned_sample_t *this_);
z_locality_t z_locality_default(void);
z_reliability_t z_reliability_default(void);
// Lends the attachment; null if there is none.
const z_loaned_bytes_t *z_sample_attachment(const z_loaned_sample_t *this_);
// Writes a clone to another place.
void z_sample_clone(z_owned_sample_t *dst, const z_loaned_sample_t *this_);
// Drops the value; the place is empty afterwards.
void z_sample_drop(z_moved_sample_t *this_);
// Returns true if the sample was sent without waiting for more to send with it.
bool z_sample_express(const z_loaned_sample_t *this_);
// Returns 0 for a put, 1 for a deletion.
z_sample_kind_t z_sample_kind(const z_loaned_sample_t *this_);
// Lends the value.
const z_loaned_sample_t *z_sample_loan(const z_owned_sample_t *this_);
// Lends the value for changes.
z_loaned_sample_t *z_sample_loan_mut(z_owned_sample_t *this_);
// Lends the payload.
const z_loaned_bytes_t *z_sample_payload(const z_loaned_sample_t *this_);
// Lends the payload for changes.
z_loaned_bytes_t *z_sample_payload_mut(z_loaned_sample_t *this_);
// Returns the reliability: 0 best effort, 1 reliable.
z_reliability_t z_sample_reliability(const z_loaned_sample_t *this_);
// Lends the source; null if it is not known, but never with the interface of zenoh-c 1.4 to 1.6.
const zonda_lent_source_t *z_sample_source_info(const z_loaned_sample_t *this_);
// Moves a value that is lent for changes to another place.
void z_sample_take_from_loaned(z_owned_sample_t *dst, z_loaned_sample_t *src);
// Returns the timestamp; null if there is none.
const z_timestamp_t *z_sample_timestamp(const z_loaned_sample_t *this_);
// Returns the entity that published; all 0 if it is not known.
z_entity_global_id_t z_source_info_id(const zonda_lent_source_t *this_);
// Returns the sequence number; 0 if it is not known.
uint32_t z_source_info_sn(const zonda_lent_source_t *this_);
z_locality_t zc_locality_default(void);

// ---- get, replies

// Asks the queryables on matching keys; the closure is called with each reply, and dropped at the
// end.
z_result_t z_get(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    const char *parameters,
    z_moved_closure_reply_t *callback,
    z_get_options_t *options);
// Writes the defaults.
void z_get_options_default(z_get_options_t *this_);
// Asks as `z_get` does, with parameters of so many bytes.
z_result_t z_get_with_parameters_substr(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    const char *parameters,
    size_t parameters_len,
    z_moved_closure_reply_t *callback,
    z_get_options_t *options);
// Returns true if the place holds a value.
bool z_internal_reply_check(const z_owned_reply_t *this_);
// Returns true if the place holds a value.
bool z_internal_reply_err_check(const z_owned_reply_err_t *this_);
// Writes the empty state.
void z_internal_reply_err_null(z_owned_reply_err_t *this_);
// Writes the empty state.
void z_internal_reply_null(z_owned_reply_t *this_);
z_query_consolidation_t z_query_consolidation_auto(void);
z_query_consolidation_t z_query_consolidation_default(void);
z_query_consolidation_t z_query_consolidation_latest(void);
z_query_consolidation_t z_query_consolidation_monotonic(void);
z_query_consolidation_t z_query_consolidation_none(void);
// Replies with a value. The key has to intersect the query's, unless the query accepts any.
z_result_t z_query_reply(
    const z_loaned_query_t *this_,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_bytes_t *payload,
    z_query_reply_options_t *options);
// Replies that the key has no value any more.
z_result_t z_query_reply_del(
    const z_loaned_query_t *this_,
    const z_loaned_keyexpr_t *key_expr,
    z_query_reply_del_options_t *options);
// Writes the defaults.
void z_query_reply_del_options_default(z_query_reply_del_options_t *this_);
// Replies with an error.
z_result_t z_query_reply_err(
    const z_loaned_query_t *this_,
    z_moved_bytes_t *payload,
    z_query_reply_err_options_t *options);
// Writes the defaults.
void z_query_reply_err_options_default(z_query_reply_err_options_t *this_);
// Writes the defaults.
void z_query_reply_options_default(z_query_reply_options_t *this_);
z_query_target_t z_query_target_default(void);
// Writes a clone to another place.
void z_reply_clone(z_owned_reply_t *dst, const z_loaned_reply_t *this_);
// Drops the value; the place is empty afterwards.
void z_reply_drop(z_moved_reply_t *this_);
// Lends the error; null if the reply is a sample.
const z_loaned_reply_err_t *z_reply_err(const z_loaned_reply_t *this_);
// Writes a clone to another place.
void z_reply_err_clone(z_owned_reply_err_t *dst, const z_loaned_reply_err_t *this_);
// Drops the value; the place is empty afterwards.
void z_reply_err_drop(z_moved_reply_err_t *this_);
// Lends the value.
const z_loaned_reply_err_t *z_reply_err_loan(const z_owned_reply_err_t *this_);
// Lends the value for changes.
z_loaned_reply_err_t *z_reply_err_loan_mut(z_owned_reply_err_t *this_);
// Lends the error for changes; null if the reply is a sample.
z_loaned_reply_err_t *z_reply_err_mut(z_loaned_reply_t *this_);
// Lends the payload, which describes the error.
const z_loaned_bytes_t *z_reply_err_payload(const z_loaned_reply_err_t *this_);
// Lends the payload for changes.
z_loaned_bytes_t *z_reply_err_payload_mut(z_loaned_reply_err_t *this_);
// Returns true if the reply is a sample.
bool z_reply_is_ok(const z_loaned_reply_t *this_);
// Lends the value.
const z_loaned_reply_t *z_reply_loan(const z_owned_reply_t *this_);
// Lends the value for changes.
z_loaned_reply_t *z_reply_loan_mut(z_owned_reply_t *this_);
// Lends the sample; null if the reply is an error.
const z_loaned_sample_t *z_reply_ok(const z_loaned_reply_t *this_);
// Lends the sample for changes; null if the reply is an error.
z_loaned_sample_t *z_reply_ok_mut(z_loaned_reply_t *this_);
// Writes the id of the queryable that replied; returns false if it is not known.
bool z_reply_replier_id(const z_loaned_reply_t *this_, zonda_replier_t *out_id);
// Moves a value that is lent for changes to another place.
void z_reply_take_from_loaned(z_owned_reply_t *dst, z_loaned_reply_t *src);

// ---- queryable, query

// Declares a queryable that lives as long as the session.
z_result_t z_declare_background_queryable(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_query_t *callback,
    z_queryable_options_t *options);
// Declares a queryable: the closure is called with each query.
z_result_t z_declare_queryable(
    const z_loaned_session_t *session,
    z_owned_queryable_t *queryable,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_query_t *callback,
    z_queryable_options_t *options);
// Returns true if the place holds a value.
bool z_internal_query_check(const z_owned_query_t *query);
// Writes the empty state.
void z_internal_query_null(z_owned_query_t *this_);
// Returns true if the place holds a value.
bool z_internal_queryable_check(const z_owned_queryable_t *this_);
// Writes the empty state.
void z_internal_queryable_null(z_owned_queryable_t *this_);
// Returns the keys that replies may have: 0 any, 1 those that intersect the query's.
z_reply_keyexpr_t z_query_accepts_replies(const z_loaned_query_t *this_);
// Lends the attachment; null if there is none.
const z_loaned_bytes_t *z_query_attachment(const z_loaned_query_t *this_);
// Lends the attachment for changes; null if there is none.
z_loaned_bytes_t *z_query_attachment_mut(z_loaned_query_t *this_);
// Writes a clone to another place.
void z_query_clone(z_owned_query_t *dst, const z_loaned_query_t *this_);
// Drops the value; the place is empty afterwards.
void z_query_drop(z_moved_query_t *this_);
// Lends the value.
const z_loaned_query_t *z_query_loan(const z_owned_query_t *this_);
// Lends the value for changes.
z_loaned_query_t *z_query_loan_mut(z_owned_query_t *this_);
// Makes a view of the parameters.
void z_query_parameters(const z_loaned_query_t *this_, z_view_string_t *parameters);
// Lends the payload; null if there is none.
const z_loaned_bytes_t *z_query_payload(const z_loaned_query_t *this_);
// Lends the payload for changes; null if there is none.
z_loaned_bytes_t *z_query_payload_mut(z_loaned_query_t *this_);
// Lends the source; null if it is not known, but never with the interface of zenoh-c 1.4 to 1.6.
const zonda_lent_source_t *z_query_source_info(const z_loaned_query_t *this_);
// Moves a value that is lent for changes to another place.
void z_query_take_from_loaned(z_owned_query_t *dst, z_loaned_query_t *src);
// Drops the value; the place is empty afterwards.
void z_queryable_drop(z_moved_queryable_t *this_);
// Returns the id of the queryable.
z_entity_global_id_t z_queryable_id(const z_loaned_queryable_t *queryable);
// Lends the value.
const z_loaned_queryable_t *z_queryable_loan(const z_owned_queryable_t *this_);
// Writes the defaults.
void z_queryable_options_default(z_queryable_options_t *this_);
z_result_t z_undeclare_queryable(z_moved_queryable_t *this_);

// ---- querier

// Declares a querier.
z_result_t z_declare_querier(
    const z_loaned_session_t *session,
    z_owned_querier_t *querier,
    const z_loaned_keyexpr_t *key_expr,
    z_querier_options_t *options);
// Returns true if the place holds a value.
bool z_internal_querier_check(const z_owned_querier_t *this_);
// Writes the empty state.
void z_internal_querier_null(z_owned_querier_t *this_);
// Drops the value; the place is empty afterwards.
void z_querier_drop(z_moved_querier_t *this_);
// Asks; the closure is called with each reply, and dropped at the end.
z_result_t z_querier_get(
    const z_loaned_querier_t *querier,
    const char *parameters,
    z_moved_closure_reply_t *callback,
    z_querier_get_options_t *options);
// Writes the defaults.
void z_querier_get_options_default(z_querier_get_options_t *this_);
// Asks as `z_querier_get` does, with parameters of so many bytes.
z_result_t z_querier_get_with_parameters_substr(
    const z_loaned_querier_t *querier,
    const char *parameters,
    size_t parameters_len,
    z_moved_closure_reply_t *callback,
    z_querier_get_options_t *options);
// Returns the id of the querier.
z_entity_global_id_t z_querier_id(const z_loaned_querier_t *querier);
// Lends the key.
const z_loaned_keyexpr_t *z_querier_keyexpr(const z_loaned_querier_t *querier);
// Lends the value.
const z_loaned_querier_t *z_querier_loan(const z_owned_querier_t *this_);
// Lends the value for changes.
z_loaned_querier_t *z_querier_loan_mut(z_owned_querier_t *this_);
// Writes the defaults.
void z_querier_options_default(z_querier_options_t *this_);
z_result_t z_undeclare_querier(z_moved_querier_t *this_);

// ---- liveliness

// Returns true if the place holds a value.
bool z_internal_liveliness_token_check(const z_owned_liveliness_token_t *this_);
// Writes the empty state.
void z_internal_liveliness_token_null(z_owned_liveliness_token_t *this_);
// Declares a subscriber to tokens that lives as long as the session.
z_result_t z_liveliness_declare_background_subscriber(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    z_liveliness_subscriber_options_t *options);
// Declares a subscriber to the coming and going of tokens: a put is a new one, a deletion a lost
// one.
z_result_t z_liveliness_declare_subscriber(
    const z_loaned_session_t *session,
    z_owned_subscriber_t *subscriber,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    z_liveliness_subscriber_options_t *options);
// Declares a token.
z_result_t z_liveliness_declare_token(
    const z_loaned_session_t *session,
    z_owned_liveliness_token_t *token,
    const z_loaned_keyexpr_t *key_expr,
    const z_liveliness_token_options_t *_options);
// Asks for the tokens on matching keys; the closure is called with each as a reply.
z_result_t z_liveliness_get(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_reply_t *callback,
    z_liveliness_get_options_t *options);
// Writes the defaults.
void z_liveliness_get_options_default(z_liveliness_get_options_t *this_);
// Writes the defaults.
void z_liveliness_subscriber_options_default(z_liveliness_subscriber_options_t *this_);
// Drops the value; the place is empty afterwards.
void z_liveliness_token_drop(z_moved_liveliness_token_t *this_);
// Lends the value.
const z_loaned_liveliness_token_t *z_liveliness_token_loan(const z_owned_liveliness_token_t *this_);
// Writes the defaults.
void z_liveliness_token_options_default(z_liveliness_token_options_t *this_);
z_result_t z_liveliness_undeclare_token(z_moved_liveliness_token_t *this_);

// ---- matching

// Makes a closure.
void z_closure_matching_status(
    z_owned_closure_matching_status_t *this_,
    void (*call)(const z_matching_status_t *matching_status, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_matching_status_call(
    const z_loaned_closure_matching_status_t *closure,
    const z_matching_status_t *mathing_status);
// Drops the value; the place is empty afterwards.
void z_closure_matching_status_drop(z_moved_closure_matching_status_t *closure_);
// Lends the value.
const z_loaned_closure_matching_status_t *z_closure_matching_status_loan(
    const z_owned_closure_matching_status_t *closure);
// Returns true if the place holds a value.
bool z_internal_closure_matching_status_check(const z_owned_closure_matching_status_t *this_);
// Writes the empty state.
void z_internal_closure_matching_status_null(z_owned_closure_matching_status_t *this_);
// Returns true if the place holds a value.
bool z_internal_matching_listener_check(const z_owned_matching_listener_t *this_);
// Writes the empty state.
void z_internal_matching_listener_null(z_owned_matching_listener_t *this_);
// Drops the value; the place is empty afterwards.
void z_matching_listener_drop(z_moved_matching_listener_t *this_);
z_result_t z_publisher_declare_background_matching_listener(
    const z_loaned_publisher_t *publisher,
    z_moved_closure_matching_status_t *callback);
z_result_t z_publisher_declare_matching_listener(
    const z_loaned_publisher_t *publisher,
    z_owned_matching_listener_t *matching_listener,
    z_moved_closure_matching_status_t *callback);
z_result_t z_publisher_get_matching_status(
    const z_loaned_publisher_t *this_,
    z_matching_status_t *matching_status);
z_result_t z_querier_declare_background_matching_listener(
    const z_loaned_querier_t *querier,
    z_moved_closure_matching_status_t *callback);
z_result_t z_querier_declare_matching_listener(
    const z_loaned_querier_t *querier,
    z_owned_matching_listener_t *matching_listener,
    z_moved_closure_matching_status_t *callback);
z_result_t z_querier_get_matching_status(
    const z_loaned_querier_t *this_,
    z_matching_status_t *matching_status);
z_result_t z_undeclare_matching_listener(z_moved_matching_listener_t *this_);

// ---- cancellation token

// Ends the gets that have the token, and waits for their callbacks. A later get with it is refused.
z_result_t z_cancellation_token_cancel(z_loaned_cancellation_token_t *this_);
// Writes a clone to another place.
void z_cancellation_token_clone(
    z_owned_cancellation_token_t *dst,
    const z_loaned_cancellation_token_t *this_);
// Drops the value; the place is empty afterwards.
void z_cancellation_token_drop(z_moved_cancellation_token_t *this_);
// Returns true if the token is cancelled.
bool z_cancellation_token_is_cancelled(const z_loaned_cancellation_token_t *this_);
// Lends the value.
const z_loaned_cancellation_token_t *z_cancellation_token_loan(
    const z_owned_cancellation_token_t *this_);
// Lends the value for changes.
z_loaned_cancellation_token_t *z_cancellation_token_loan_mut(z_owned_cancellation_token_t *this_);
// Makes a token.
z_result_t z_cancellation_token_new(z_owned_cancellation_token_t *this_);
// Returns true if the place holds a value.
bool z_internal_cancellation_token_check(const z_owned_cancellation_token_t *this_);
// Writes the empty state.
void z_internal_cancellation_token_null(z_owned_cancellation_token_t *this_);

// ---- bytes, reader, writer

// Writes a clone to another place.
void z_bytes_clone(z_owned_bytes_t *dst, const z_loaned_bytes_t *this_);
// Copies bytes of the program.
z_result_t z_bytes_copy_from_buf(z_owned_bytes_t *this_, const uint8_t *data, size_t len);
// Copies a slice.
void z_bytes_copy_from_slice(z_owned_bytes_t *this_, const z_loaned_slice_t *slice);
// Copies a text.
z_result_t z_bytes_copy_from_str(z_owned_bytes_t *this_, const char *str);
// Copies a text.
void z_bytes_copy_from_string(z_owned_bytes_t *this_, const z_loaned_string_t *str);
// Drops the value; the place is empty afterwards.
void z_bytes_drop(z_moved_bytes_t *this_);
// Makes a payload without bytes.
void z_bytes_empty(z_owned_bytes_t *this_);
// Takes bytes of the program, which the deleter frees.
z_result_t z_bytes_from_buf(
    z_owned_bytes_t *this_,
    uint8_t *data,
    size_t len,
    void (*deleter)(void *data, void *context),
    void *context);
// Takes the bytes of a slice.
void z_bytes_from_slice(z_owned_bytes_t *this_, z_moved_slice_t *slice);
// Shows bytes of the program that live for ever.
z_result_t z_bytes_from_static_buf(z_owned_bytes_t *this_, uint8_t *data, size_t len);
// Shows a text of the program that lives for ever.
z_result_t z_bytes_from_static_str(z_owned_bytes_t *this_, const char *str);
// Takes a text of the program, which the deleter frees.
z_result_t z_bytes_from_str(
    z_owned_bytes_t *this_,
    char *str,
    void (*deleter)(void *data, void *context),
    void *context);
// Takes the bytes of a text.
void z_bytes_from_string(z_owned_bytes_t *this_, z_moved_string_t *s);
// Makes a view of the bytes, which are never in more than one piece.
z_result_t z_bytes_get_contiguous_view(const z_loaned_bytes_t *this_, z_view_slice_t *view);
// Makes a reader. The bytes must outlive it.
z_bytes_reader_t z_bytes_get_reader(const z_loaned_bytes_t *data);
// Makes an iterator over the pieces of the bytes: one, or none if they are empty.
z_bytes_slice_iterator_t z_bytes_get_slice_iterator(const z_loaned_bytes_t *this_);
// Returns true if there are no bytes.
bool z_bytes_is_empty(const z_loaned_bytes_t *this_);
// Returns the number of bytes.
size_t z_bytes_len(const z_loaned_bytes_t *this_);
// Lends the value.
const z_loaned_bytes_t *z_bytes_loan(const z_owned_bytes_t *this_);
// Lends the value for changes.
z_loaned_bytes_t *z_bytes_loan_mut(z_owned_bytes_t *this_);
// Copies the next bytes; returns their number, which is less than asked for at the end.
size_t z_bytes_reader_read(z_bytes_reader_t *this_, uint8_t *dst, size_t len);
// Returns the number of bytes that are still to be read.
size_t z_bytes_reader_remaining(const z_bytes_reader_t *this_);
// Moves the reader within the bytes.
z_result_t z_bytes_reader_seek(z_bytes_reader_t *this_, int64_t offset, int origin);
// Returns the position of the reader.
int64_t z_bytes_reader_tell(z_bytes_reader_t *this_);
// Makes a view of the next piece; returns false if there is none.
bool z_bytes_slice_iterator_next(z_bytes_slice_iterator_t *this_, z_view_slice_t *slice);
// Copies the bytes to a slice.
z_result_t z_bytes_to_slice(const z_loaned_bytes_t *this_, z_owned_slice_t *dst);
// Copies the bytes to a text.
z_result_t z_bytes_to_string(const z_loaned_bytes_t *this_, z_owned_string_t *dst);
// Writes a payload. The first one is not copied if no clone of it is left.
z_result_t z_bytes_writer_append(z_loaned_bytes_writer_t *this_, z_moved_bytes_t *bytes);
// Drops the value; the place is empty afterwards.
void z_bytes_writer_drop(z_moved_bytes_writer_t *this_);
// Makes a writer without bytes.
z_result_t z_bytes_writer_empty(z_owned_bytes_writer_t *this_);
// Ends a writer; writes its bytes to a place.
void z_bytes_writer_finish(z_moved_bytes_writer_t *this_, z_owned_bytes_t *bytes);
// Lends the value.
const z_loaned_bytes_writer_t *z_bytes_writer_loan(const z_owned_bytes_writer_t *this_);
// Lends the value for changes.
z_loaned_bytes_writer_t *z_bytes_writer_loan_mut(z_owned_bytes_writer_t *this_);
// Writes bytes of the program.
z_result_t z_bytes_writer_write_all(z_loaned_bytes_writer_t *this_, const uint8_t *src, size_t len);
// Returns true if the place holds at least one byte.
bool z_internal_bytes_check(const z_owned_bytes_t *this_);
// Writes the empty state.
void z_internal_bytes_null(z_owned_bytes_t *this_);
// Returns true if the place holds a value.
bool z_internal_bytes_writer_check(const z_owned_bytes_writer_t *this_);
// Writes the empty state.
void z_internal_bytes_writer_null(z_owned_bytes_writer_t *this_);

// ---- strings, slices, arrays

// Writes the id as hexadecimal digits.
void z_id_to_string(const z_id_t *zid, z_owned_string_t *dst);
// Returns true if the slice has at least one byte.
bool z_internal_slice_check(const z_owned_slice_t *this_);
// Writes the empty state.
void z_internal_slice_null(z_owned_slice_t *this_);
// Returns true if the array has at least one text.
bool z_internal_string_array_check(const z_owned_string_array_t *this_);
// Writes the empty state.
void z_internal_string_array_null(z_owned_string_array_t *this_);
// Returns true if the text has at least one byte.
bool z_internal_string_check(const z_owned_string_t *this_);
// Writes the empty state.
void z_internal_string_null(z_owned_string_t *this_);
// Copies a slice.
void z_slice_clone(z_owned_slice_t *dst, const z_loaned_slice_t *this_);
// Copies bytes of the program.
z_result_t z_slice_copy_from_buf(z_owned_slice_t *this_, const uint8_t *start, size_t len);
// Returns the address of the bytes.
const uint8_t *z_slice_data(const z_loaned_slice_t *this_);
// Drops the value; the place is empty afterwards.
void z_slice_drop(z_moved_slice_t *this_);
// Writes the empty state.
void z_slice_empty(z_owned_slice_t *this_);
// Takes bytes of the program, which the deleter frees.
z_result_t z_slice_from_buf(
    z_owned_slice_t *this_,
    uint8_t *data,
    size_t len,
    void (*drop)(void *data, void *context),
    void *context);
// Returns true if there are no bytes.
bool z_slice_is_empty(const z_loaned_slice_t *this_);
// Returns the number of bytes.
size_t z_slice_len(const z_loaned_slice_t *this_);
// Lends the value.
const z_loaned_slice_t *z_slice_loan(const z_owned_slice_t *this_);
// Copies an array with its texts.
void z_string_array_clone(z_owned_string_array_t *dst, const z_loaned_string_array_t *this_);
// Drops the value; the place is empty afterwards.
void z_string_array_drop(z_moved_string_array_t *this_);
// Lends a text; null if the array has no such one.
const z_loaned_string_t *z_string_array_get(const z_loaned_string_array_t *this_, size_t index);
// Returns true if there are no texts.
bool z_string_array_is_empty(const z_loaned_string_array_t *this_);
// Returns the number of texts.
size_t z_string_array_len(const z_loaned_string_array_t *this_);
// Lends the value.
const z_loaned_string_array_t *z_string_array_loan(const z_owned_string_array_t *this_);
// Lends the value for changes.
z_loaned_string_array_t *z_string_array_loan_mut(z_owned_string_array_t *this_);
// Writes the empty state.
void z_string_array_new(z_owned_string_array_t *this_);
// Appends a view of a text, which must outlive the array; returns the number of texts.
size_t z_string_array_push_by_alias(z_loaned_string_array_t *this_, const z_loaned_string_t *value);
// Appends a copy of a text; returns the number of texts.
size_t z_string_array_push_by_copy(z_loaned_string_array_t *this_, const z_loaned_string_t *value);
// Lends the value.
const z_loaned_slice_t *z_string_as_slice(const z_loaned_string_t *this_);
// Copies a text.
void z_string_clone(z_owned_string_t *dst, const z_loaned_string_t *this_);
// Copies a text of the program.
z_result_t z_string_copy_from_str(z_owned_string_t *this_, const char *str);
// Copies a text of so many bytes.
z_result_t z_string_copy_from_substr(z_owned_string_t *this_, const char *str, size_t len);
// Returns the address of the text, which no zero terminates.
const char *z_string_data(const z_loaned_string_t *this_);
// Drops the value; the place is empty afterwards.
void z_string_drop(z_moved_string_t *this_);
// Writes the empty state.
void z_string_empty(z_owned_string_t *this_);
// Takes a text of the program, which the deleter frees.
z_result_t z_string_from_str(
    z_owned_string_t *this_,
    char *str,
    void (*drop)(void *value, void *context),
    void *context);
// Returns true if the text is empty.
bool z_string_is_empty(const z_loaned_string_t *this_);
// Returns the number of bytes.
size_t z_string_len(const z_loaned_string_t *this_);
// Lends the value.
const z_loaned_string_t *z_string_loan(const z_owned_string_t *this_);
// Writes the empty state.
void z_view_slice_empty(z_view_slice_t *this_);
// Makes a view of bytes of the program.
z_result_t z_view_slice_from_buf(z_view_slice_t *this_, const uint8_t *start, size_t len);
// Returns true if there are no bytes.
bool z_view_slice_is_empty(const z_view_slice_t *this_);
// Lends the value.
const z_loaned_slice_t *z_view_slice_loan(const z_view_slice_t *this_);
// Writes the empty state.
void z_view_string_empty(z_view_string_t *this_);
// Makes a view of a text of the program.
z_result_t z_view_string_from_str(z_view_string_t *this_, const char *str);
// Makes a view of a text of so many bytes.
z_result_t z_view_string_from_substr(z_view_string_t *this_, const char *str, size_t len);
// Returns true if the text is empty.
bool z_view_string_is_empty(const z_view_string_t *this_);
// Lends the value.
const z_loaned_string_t *z_view_string_loan(const z_view_string_t *this_);
// Makes a view of the names of roles (1 router, 2 peer, 4 client), joined by `|`.
z_result_t z_whatami_to_view_string(z_whatami_t whatami, z_view_string_t *str_out);
// Writes a configuration in JSON.
z_result_t zc_config_to_string(
    const z_loaned_config_t *config,
    z_owned_string_t *out_config_string);

// ---- encodings

const z_loaned_encoding_t *z_encoding_application_cbor(void);
const z_loaned_encoding_t *z_encoding_application_cdr(void);
const z_loaned_encoding_t *z_encoding_application_coap_payload(void);
const z_loaned_encoding_t *z_encoding_application_java_serialized_object(void);
const z_loaned_encoding_t *z_encoding_application_json(void);
const z_loaned_encoding_t *z_encoding_application_json_patch_json(void);
const z_loaned_encoding_t *z_encoding_application_json_seq(void);
const z_loaned_encoding_t *z_encoding_application_jsonpath(void);
const z_loaned_encoding_t *z_encoding_application_jwt(void);
const z_loaned_encoding_t *z_encoding_application_mp4(void);
const z_loaned_encoding_t *z_encoding_application_octet_stream(void);
const z_loaned_encoding_t *z_encoding_application_openmetrics_text(void);
const z_loaned_encoding_t *z_encoding_application_protobuf(void);
const z_loaned_encoding_t *z_encoding_application_python_serialized_object(void);
const z_loaned_encoding_t *z_encoding_application_soap_xml(void);
const z_loaned_encoding_t *z_encoding_application_sql(void);
const z_loaned_encoding_t *z_encoding_application_x_www_form_urlencoded(void);
const z_loaned_encoding_t *z_encoding_application_xml(void);
const z_loaned_encoding_t *z_encoding_application_yaml(void);
const z_loaned_encoding_t *z_encoding_application_yang(void);
const z_loaned_encoding_t *z_encoding_audio_aac(void);
const z_loaned_encoding_t *z_encoding_audio_flac(void);
const z_loaned_encoding_t *z_encoding_audio_mp4(void);
const z_loaned_encoding_t *z_encoding_audio_ogg(void);
const z_loaned_encoding_t *z_encoding_audio_vorbis(void);
// Writes a clone to another place.
void z_encoding_clone(z_owned_encoding_t *dst, const z_loaned_encoding_t *this_);
// Drops the value; the place is empty afterwards.
void z_encoding_drop(z_moved_encoding_t *this_);
// Returns true if both encodings are the same.
bool z_encoding_equals(const z_loaned_encoding_t *this_, const z_loaned_encoding_t *other);
// Parses an encoding, `name` or `name;schema`; null is the default one.
z_result_t z_encoding_from_str(z_owned_encoding_t *this_, const char *s);
// Parses an encoding of so many bytes; null is the default one.
z_result_t z_encoding_from_substr(z_owned_encoding_t *this_, const char *s, size_t len);
const z_loaned_encoding_t *z_encoding_image_bmp(void);
const z_loaned_encoding_t *z_encoding_image_gif(void);
const z_loaned_encoding_t *z_encoding_image_jpeg(void);
const z_loaned_encoding_t *z_encoding_image_png(void);
const z_loaned_encoding_t *z_encoding_image_webp(void);
// Lends the value.
const z_loaned_encoding_t *z_encoding_loan(const z_owned_encoding_t *this_);
const z_loaned_encoding_t *z_encoding_loan_default(void);
// Lends the value for changes.
z_loaned_encoding_t *z_encoding_loan_mut(z_owned_encoding_t *this_);
// Sets the schema.
z_result_t z_encoding_set_schema_from_str(z_loaned_encoding_t *this_, const char *s);
// Sets a schema of so many bytes.
z_result_t z_encoding_set_schema_from_substr(z_loaned_encoding_t *this_, const char *s, size_t len);
const z_loaned_encoding_t *z_encoding_text_css(void);
const z_loaned_encoding_t *z_encoding_text_csv(void);
const z_loaned_encoding_t *z_encoding_text_html(void);
const z_loaned_encoding_t *z_encoding_text_javascript(void);
const z_loaned_encoding_t *z_encoding_text_json(void);
const z_loaned_encoding_t *z_encoding_text_json5(void);
const z_loaned_encoding_t *z_encoding_text_markdown(void);
const z_loaned_encoding_t *z_encoding_text_plain(void);
const z_loaned_encoding_t *z_encoding_text_xml(void);
const z_loaned_encoding_t *z_encoding_text_yaml(void);
// Writes an encoding as text.
void z_encoding_to_string(const z_loaned_encoding_t *this_, z_owned_string_t *out_str);
const z_loaned_encoding_t *z_encoding_video_h261(void);
const z_loaned_encoding_t *z_encoding_video_h263(void);
const z_loaned_encoding_t *z_encoding_video_h264(void);
const z_loaned_encoding_t *z_encoding_video_h265(void);
const z_loaned_encoding_t *z_encoding_video_h266(void);
const z_loaned_encoding_t *z_encoding_video_mp4(void);
const z_loaned_encoding_t *z_encoding_video_ogg(void);
const z_loaned_encoding_t *z_encoding_video_raw(void);
const z_loaned_encoding_t *z_encoding_video_vp8(void);
const z_loaned_encoding_t *z_encoding_video_vp9(void);
const z_loaned_encoding_t *z_encoding_zenoh_bytes(void);
const z_loaned_encoding_t *z_encoding_zenoh_serialized(void);
const z_loaned_encoding_t *z_encoding_zenoh_string(void);
// Returns true if the encoding is not the default one.
bool z_internal_encoding_check(const z_owned_encoding_t *this_);
// Writes the empty state.
void z_internal_encoding_null(z_owned_encoding_t *this_);
// Lends the encoding of the payload; null if there is none.
const z_loaned_encoding_t *z_query_encoding(const z_loaned_query_t *this_);
// Lends the encoding of the payload.
const z_loaned_encoding_t *z_reply_err_encoding(const z_loaned_reply_err_t *this_);
// Lends the encoding.
const z_loaned_encoding_t *z_sample_encoding(const z_loaned_sample_t *this_);
// Makes an encoding of its parts.
void zc_internal_encoding_from_data(z_owned_encoding_t *this_, zc_internal_encoding_data_t data);
// Returns the parts of an encoding, which must outlive them.
zc_internal_encoding_data_t zc_internal_encoding_get_data(const z_loaned_encoding_t *this_);

// ---- channels (fifo, ring)

// Makes a closure.
void z_fifo_channel_query_new(
    z_owned_closure_query_t *callback,
    z_owned_fifo_handler_query_t *handler,
    size_t capacity);
// Makes a closure.
void z_fifo_channel_reply_new(
    z_owned_closure_reply_t *callback,
    z_owned_fifo_handler_reply_t *handler,
    size_t capacity);
// Makes a closure.
void z_fifo_channel_sample_new(
    z_owned_closure_sample_t *callback,
    z_owned_fifo_handler_sample_t *handler,
    size_t capacity);
// Drops the value; the place is empty afterwards.
void z_fifo_handler_query_drop(z_moved_fifo_handler_query_t *this_);
// Lends the value.
const z_loaned_fifo_handler_query_t *z_fifo_handler_query_loan(
    const z_owned_fifo_handler_query_t *this_);
z_result_t z_fifo_handler_query_recv(
    const z_loaned_fifo_handler_query_t *this_,
    z_owned_query_t *query);
z_result_t z_fifo_handler_query_try_recv(
    const z_loaned_fifo_handler_query_t *this_,
    z_owned_query_t *query);
// Drops the value; the place is empty afterwards.
void z_fifo_handler_reply_drop(z_moved_fifo_handler_reply_t *this_);
// Lends the value.
const z_loaned_fifo_handler_reply_t *z_fifo_handler_reply_loan(
    const z_owned_fifo_handler_reply_t *this_);
z_result_t z_fifo_handler_reply_recv(
    const z_loaned_fifo_handler_reply_t *this_,
    z_owned_reply_t *reply);
z_result_t z_fifo_handler_reply_try_recv(
    const z_loaned_fifo_handler_reply_t *this_,
    z_owned_reply_t *reply);
// Drops the value; the place is empty afterwards.
void z_fifo_handler_sample_drop(z_moved_fifo_handler_sample_t *this_);
// Lends the value.
const z_loaned_fifo_handler_sample_t *z_fifo_handler_sample_loan(
    const z_owned_fifo_handler_sample_t *this_);
z_result_t z_fifo_handler_sample_recv(
    const z_loaned_fifo_handler_sample_t *this_,
    z_owned_sample_t *sample);
z_result_t z_fifo_handler_sample_try_recv(
    const z_loaned_fifo_handler_sample_t *this_,
    z_owned_sample_t *sample);
// Returns true if the place holds a value.
bool z_internal_fifo_handler_query_check(const z_owned_fifo_handler_query_t *this_);
// Writes the empty state.
void z_internal_fifo_handler_query_null(z_owned_fifo_handler_query_t *this_);
// Returns true if the place holds a value.
bool z_internal_fifo_handler_reply_check(const z_owned_fifo_handler_reply_t *this_);
// Writes the empty state.
void z_internal_fifo_handler_reply_null(z_owned_fifo_handler_reply_t *this_);
// Returns true if the place holds a value.
bool z_internal_fifo_handler_sample_check(const z_owned_fifo_handler_sample_t *this_);
// Writes the empty state.
void z_internal_fifo_handler_sample_null(z_owned_fifo_handler_sample_t *this_);
// Returns true if the place holds a value.
bool z_internal_ring_handler_query_check(const z_owned_ring_handler_query_t *this_);
// Writes the empty state.
void z_internal_ring_handler_query_null(z_owned_ring_handler_query_t *this_);
// Returns true if the place holds a value.
bool z_internal_ring_handler_reply_check(const z_owned_ring_handler_reply_t *this_);
// Writes the empty state.
void z_internal_ring_handler_reply_null(z_owned_ring_handler_reply_t *this_);
// Returns true if the place holds a value.
bool z_internal_ring_handler_sample_check(const z_owned_ring_handler_sample_t *this_);
// Writes the empty state.
void z_internal_ring_handler_sample_null(z_owned_ring_handler_sample_t *this_);
// Makes a closure.
void z_ring_channel_query_new(
    z_owned_closure_query_t *callback,
    z_owned_ring_handler_query_t *handler,
    size_t capacity);
// Makes a closure.
void z_ring_channel_reply_new(
    z_owned_closure_reply_t *callback,
    z_owned_ring_handler_reply_t *handler,
    size_t capacity);
// Makes a closure.
void z_ring_channel_sample_new(
    z_owned_closure_sample_t *callback,
    z_owned_ring_handler_sample_t *handler,
    size_t capacity);
// Drops the value; the place is empty afterwards.
void z_ring_handler_query_drop(z_moved_ring_handler_query_t *this_);
// Lends the value.
const z_loaned_ring_handler_query_t *z_ring_handler_query_loan(
    const z_owned_ring_handler_query_t *this_);
z_result_t z_ring_handler_query_recv(
    const z_loaned_ring_handler_query_t *this_,
    z_owned_query_t *query);
z_result_t z_ring_handler_query_try_recv(
    const z_loaned_ring_handler_query_t *this_,
    z_owned_query_t *query);
// Drops the value; the place is empty afterwards.
void z_ring_handler_reply_drop(z_moved_ring_handler_reply_t *this_);
// Lends the value.
const z_loaned_ring_handler_reply_t *z_ring_handler_reply_loan(
    const z_owned_ring_handler_reply_t *this_);
z_result_t z_ring_handler_reply_recv(
    const z_loaned_ring_handler_reply_t *this_,
    z_owned_reply_t *reply);
z_result_t z_ring_handler_reply_try_recv(
    const z_loaned_ring_handler_reply_t *this_,
    z_owned_reply_t *reply);
// Drops the value; the place is empty afterwards.
void z_ring_handler_sample_drop(z_moved_ring_handler_sample_t *this_);
// Lends the value.
const z_loaned_ring_handler_sample_t *z_ring_handler_sample_loan(
    const z_owned_ring_handler_sample_t *this_);
z_result_t z_ring_handler_sample_recv(
    const z_loaned_ring_handler_sample_t *this_,
    z_owned_sample_t *sample);
z_result_t z_ring_handler_sample_try_recv(
    const z_loaned_ring_handler_sample_t *this_,
    z_owned_sample_t *sample);

// ---- closures

// Makes a closure.
void z_closure_hello(
    z_owned_closure_hello_t *this_,
    void (*call)(z_loaned_hello_t *hello, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_hello_call(const z_loaned_closure_hello_t *closure, z_loaned_hello_t *hello);
// Drops the value; the place is empty afterwards.
void z_closure_hello_drop(z_moved_closure_hello_t *this_);
// Lends the value.
const z_loaned_closure_hello_t *z_closure_hello_loan(const z_owned_closure_hello_t *closure);
// Lends the value for changes.
z_loaned_closure_hello_t *z_closure_hello_loan_mut(z_owned_closure_hello_t *closure);
// Makes a closure.
void z_closure_query(
    z_owned_closure_query_t *this_,
    void (*call)(z_loaned_query_t *query, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_query_call(const z_loaned_closure_query_t *closure, z_loaned_query_t *query);
// Drops the value; the place is empty afterwards.
void z_closure_query_drop(z_moved_closure_query_t *closure_);
// Lends the value.
const z_loaned_closure_query_t *z_closure_query_loan(const z_owned_closure_query_t *closure);
// Lends the value for changes.
z_loaned_closure_query_t *z_closure_query_loan_mut(z_owned_closure_query_t *closure);
// Makes a closure.
void z_closure_reply(
    z_owned_closure_reply_t *this_,
    void (*call)(z_loaned_reply_t *reply, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_reply_call(const z_loaned_closure_reply_t *closure, z_loaned_reply_t *reply);
// Drops the value; the place is empty afterwards.
void z_closure_reply_drop(z_moved_closure_reply_t *closure_);
// Lends the value.
const z_loaned_closure_reply_t *z_closure_reply_loan(const z_owned_closure_reply_t *closure);
// Lends the value for changes.
z_loaned_closure_reply_t *z_closure_reply_loan_mut(z_owned_closure_reply_t *closure);
// Makes a closure.
void z_closure_sample(
    z_owned_closure_sample_t *this_,
    void (*call)(z_loaned_sample_t *sample, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_sample_call(const z_loaned_closure_sample_t *closure, z_loaned_sample_t *sample);
// Drops the value; the place is empty afterwards.
void z_closure_sample_drop(z_moved_closure_sample_t *closure_);
// Lends the value.
const z_loaned_closure_sample_t *z_closure_sample_loan(const z_owned_closure_sample_t *closure);
// Lends the value for changes.
z_loaned_closure_sample_t *z_closure_sample_loan_mut(z_owned_closure_sample_t *closure);
// Makes a closure.
void z_closure_zid(
    z_owned_closure_zid_t *this_,
    void (*call)(const z_id_t *z_id, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_zid_call(const z_loaned_closure_zid_t *closure, const z_id_t *z_id);
// Drops the value; the place is empty afterwards.
void z_closure_zid_drop(z_moved_closure_zid_t *closure_);
// Lends the value.
const z_loaned_closure_zid_t *z_closure_zid_loan(const z_owned_closure_zid_t *closure);
// Lends the value for changes.
const z_loaned_closure_zid_t *z_closure_zid_loan_mut(const z_owned_closure_zid_t *closure);
// Returns true if the place holds a value.
bool z_internal_closure_hello_check(const z_owned_closure_hello_t *this_);
// Writes the empty state.
void z_internal_closure_hello_null(z_owned_closure_hello_t *this_);
// Returns true if the place holds a value.
bool z_internal_closure_query_check(const z_owned_closure_query_t *this_);
// Writes the empty state.
void z_internal_closure_query_null(z_owned_closure_query_t *this_);
// Returns true if the place holds a value.
bool z_internal_closure_reply_check(const z_owned_closure_reply_t *this_);
// Writes the empty state.
void z_internal_closure_reply_null(z_owned_closure_reply_t *this_);
// Returns true if the place holds a value.
bool z_internal_closure_sample_check(const z_owned_closure_sample_t *this_);
// Writes the empty state.
void z_internal_closure_sample_null(z_owned_closure_sample_t *this_);
// Returns true if the place holds a value.
bool z_internal_closure_zid_check(const z_owned_closure_zid_t *this_);
// Writes the empty state.
void z_internal_closure_zid_null(z_owned_closure_zid_t *this_);
// Makes a closure.
void zc_closure_log(
    zc_owned_closure_log_t *this_,
    void (*call)(zc_log_severity_t severity, const z_loaned_string_t *msg, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void zc_closure_log_call(
    const zc_loaned_closure_log_t *closure,
    zc_log_severity_t severity,
    const z_loaned_string_t *msg);
// Drops the context; the closure is empty afterwards.
void zc_closure_log_drop(zc_moved_closure_log_t *closure_);
// Lends the closure.
const zc_loaned_closure_log_t *zc_closure_log_loan(const zc_owned_closure_log_t *closure);
// Returns true if the closure is not empty.
bool zc_internal_closure_log_check(const zc_owned_closure_log_t *this_);
// Writes the empty state.
void zc_internal_closure_log_null(zc_owned_closure_log_t *this_);

// ---- connectivity (links, transports, events)

// Makes a closure.
void z_closure_link(
    z_owned_closure_link_t *this_,
    void (*call)(z_loaned_link_t *link, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_link_call(const z_loaned_closure_link_t *closure, z_loaned_link_t *link);
// Drops the value; the place is empty afterwards.
void z_closure_link_drop(z_moved_closure_link_t *closure_);
// Makes a closure.
void z_closure_link_event(
    z_owned_closure_link_event_t *this_,
    void (*call)(z_loaned_link_event_t *event, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_link_event_call(
    const z_loaned_closure_link_event_t *closure,
    z_loaned_link_event_t *event);
// Drops the value; the place is empty afterwards.
void z_closure_link_event_drop(z_moved_closure_link_event_t *closure_);
// Lends the value.
const z_loaned_closure_link_event_t *z_closure_link_event_loan(
    const z_owned_closure_link_event_t *closure);
// Lends the value.
const z_loaned_closure_link_t *z_closure_link_loan(const z_owned_closure_link_t *closure);
// Lends the value for changes.
z_loaned_closure_link_t *z_closure_link_loan_mut(z_owned_closure_link_t *closure);
// Makes a closure.
void z_closure_transport(
    z_owned_closure_transport_t *this_,
    void (*call)(z_loaned_transport_t *transport, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_transport_call(
    const z_loaned_closure_transport_t *closure,
    z_loaned_transport_t *transport);
// Drops the value; the place is empty afterwards.
void z_closure_transport_drop(z_moved_closure_transport_t *closure_);
// Makes a closure.
void z_closure_transport_event(
    z_owned_closure_transport_event_t *this_,
    void (*call)(z_loaned_transport_event_t *event, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void z_closure_transport_event_call(
    const z_loaned_closure_transport_event_t *closure,
    z_loaned_transport_event_t *event);
// Drops the value; the place is empty afterwards.
void z_closure_transport_event_drop(z_moved_closure_transport_event_t *closure_);
// Lends the value.
const z_loaned_closure_transport_event_t *z_closure_transport_event_loan(
    const z_owned_closure_transport_event_t *closure);
// Lends the value.
const z_loaned_closure_transport_t *z_closure_transport_loan(
    const z_owned_closure_transport_t *closure);
// Lends the value for changes.
z_loaned_closure_transport_t *z_closure_transport_loan_mut(z_owned_closure_transport_t *closure);
// Declares a listener that lives as long as the session.
z_result_t z_declare_background_link_events_listener(
    const z_loaned_session_t *session,
    z_moved_closure_link_event_t *callback,
    z_link_events_listener_options_t *options);
// Declares a listener that lives as long as the session.
z_result_t z_declare_background_transport_events_listener(
    const z_loaned_session_t *session,
    z_moved_closure_transport_event_t *callback,
    const z_transport_events_listener_options_t *options);
// Declares a listener: the closure is called with each event.
z_result_t z_declare_link_events_listener(
    const z_loaned_session_t *session,
    z_owned_link_events_listener_t *listener,
    z_moved_closure_link_event_t *callback,
    z_link_events_listener_options_t *options);
// Declares a listener: the closure is called with each event.
z_result_t z_declare_transport_events_listener(
    const z_loaned_session_t *session,
    z_owned_transport_events_listener_t *listener,
    z_moved_closure_transport_event_t *callback,
    const z_transport_events_listener_options_t *options);
// Calls the closure with each link of the session.
z_result_t z_info_links(
    const z_loaned_session_t *session,
    z_moved_closure_link_t *callback,
    z_info_links_options_t *options);
// Writes the defaults.
void z_info_links_options_default(z_info_links_options_t *this_);
// Calls the closure with each connection of the session.
z_result_t z_info_transports(
    const z_loaned_session_t *session,
    z_moved_closure_transport_t *callback);
// Returns true if the place holds a value.
bool z_internal_closure_link_check(const z_owned_closure_link_t *this_);
// Returns true if the place holds a value.
bool z_internal_closure_link_event_check(const z_owned_closure_link_event_t *this_);
// Writes the empty state.
void z_internal_closure_link_event_null(z_owned_closure_link_event_t *this_);
// Writes the empty state.
void z_internal_closure_link_null(z_owned_closure_link_t *this_);
// Returns true if the place holds a value.
bool z_internal_closure_transport_check(const z_owned_closure_transport_t *this_);
// Returns true if the place holds a value.
bool z_internal_closure_transport_event_check(const z_owned_closure_transport_event_t *this_);
// Writes the empty state.
void z_internal_closure_transport_event_null(z_owned_closure_transport_event_t *this_);
// Writes the empty state.
void z_internal_closure_transport_null(z_owned_closure_transport_t *this_);
// Returns true if the place holds a value.
bool z_internal_link_check(const z_owned_link_t *this_);
// Returns true if the place holds a value.
bool z_internal_link_event_check(const z_owned_link_event_t *this_);
// Writes the empty state.
void z_internal_link_event_null(z_owned_link_event_t *this_);
// Returns true if the place holds a value.
bool z_internal_link_events_listener_check(const z_owned_link_events_listener_t *this_);
// Writes the empty state.
void z_internal_link_events_listener_null(z_owned_link_events_listener_t *this_);
// Writes the empty state.
void z_internal_link_null(z_owned_link_t *this_);
// Returns true if the place holds a value.
bool z_internal_transport_check(const z_owned_transport_t *this_);
// Returns true if the place holds a value.
bool z_internal_transport_event_check(const z_owned_transport_event_t *this_);
// Writes the empty state.
void z_internal_transport_event_null(z_owned_transport_event_t *this_);
// Returns true if the place holds a value.
bool z_internal_transport_events_listener_check(const z_owned_transport_events_listener_t *this_);
// Writes the empty state.
void z_internal_transport_events_listener_null(z_owned_transport_events_listener_t *this_);
// Writes the empty state.
void z_internal_transport_null(z_owned_transport_t *this_);
// Writes the name by which the other node has proved its identity, empty if it is not known.
void z_link_auth_identifier(const z_loaned_link_t *link, z_owned_string_t *str_out);
// Writes a clone to another place.
void z_link_clone(z_owned_link_t *this_, const z_loaned_link_t *link);
// Drops the value; the place is empty afterwards.
void z_link_drop(z_moved_link_t *this_);
// Writes the address of the other end.
void z_link_dst(const z_loaned_link_t *link, z_owned_string_t *str_out);
// Drops the value; the place is empty afterwards.
void z_link_event_drop(z_moved_link_event_t *this_);
// Returns 0 for a link that came, 1 for one that went.
z_sample_kind_t z_link_event_kind(const z_loaned_link_event_t *event);
// Lends the link.
const z_loaned_link_t *z_link_event_link(const z_loaned_link_event_t *event);
// Lends the link for changes.
z_loaned_link_t *z_link_event_link_mut(z_loaned_link_event_t *event);
// Lends the value.
const z_loaned_link_event_t *z_link_event_loan(const z_owned_link_event_t *this_);
// Lends the value for changes.
z_loaned_link_event_t *z_link_event_loan_mut(z_owned_link_event_t *this_);
// Moves a value that is lent for changes to another place.
void z_link_event_take_from_loaned(z_owned_link_event_t *dst, z_loaned_link_event_t *src);
// Drops the value; the place is empty afterwards.
void z_link_events_listener_drop(z_moved_link_events_listener_t *this_);
// Lends the value.
const z_loaned_link_events_listener_t *z_link_events_listener_loan(
    const z_owned_link_events_listener_t *this_);
// Writes the defaults.
void z_link_events_listener_options_default(z_link_events_listener_options_t *this_);
// Writes the multicast group, empty for links to one node: so far, all are.
void z_link_group(const z_loaned_link_t *link, z_owned_string_t *str_out);
// Writes the names of the interfaces, which are not known.
void z_link_interfaces(const z_loaned_link_t *link, z_owned_string_array_t *interfaces_out);
// Returns true if the link carries a stream of bytes.
bool z_link_is_streamed(const z_loaned_link_t *link);
// Lends the value.
const z_loaned_link_t *z_link_loan(const z_owned_link_t *this_);
// Lends the value for changes.
z_loaned_link_t *z_link_loan_mut(z_owned_link_t *this_);
// Returns the largest size of a batch.
uint16_t z_link_mtu(const z_loaned_link_t *link);
// Writes the first and the last priority that the link is for; returns false if it is for all.
bool z_link_priorities(const z_loaned_link_t *link, uint8_t *min_out, uint8_t *max_out);
// Writes the reliability of the link; returns false if it has none of its own.
bool z_link_reliability(const z_loaned_link_t *link, z_reliability_t *reliability_out);
// Writes the address of this end.
void z_link_src(const z_loaned_link_t *link, z_owned_string_t *str_out);
// Moves a value that is lent for changes to another place.
void z_link_take_from_loaned(z_owned_link_t *dst, z_loaned_link_t *src);
// Returns the id of the other node.
z_id_t z_link_zid(const z_loaned_link_t *link);
// Writes a clone to another place.
void z_transport_clone(z_owned_transport_t *this_, const z_loaned_transport_t *transport);
// Drops the value; the place is empty afterwards.
void z_transport_drop(z_moved_transport_t *this_);
// Drops the value; the place is empty afterwards.
void z_transport_event_drop(z_moved_transport_event_t *this_);
// Returns 0 for a connection that came, 1 for one that went.
z_sample_kind_t z_transport_event_kind(const z_loaned_transport_event_t *event);
// Lends the value.
const z_loaned_transport_event_t *z_transport_event_loan(const z_owned_transport_event_t *this_);
// Lends the value for changes.
z_loaned_transport_event_t *z_transport_event_loan_mut(z_owned_transport_event_t *this_);
// Moves a value that is lent for changes to another place.
void z_transport_event_take_from_loaned(
    z_owned_transport_event_t *dst,
    z_loaned_transport_event_t *src);
// Lends the connection.
const z_loaned_transport_t *z_transport_event_transport(const z_loaned_transport_event_t *event);
// Lends the connection for changes.
z_loaned_transport_t *z_transport_event_transport_mut(z_loaned_transport_event_t *event);
// Drops the value; the place is empty afterwards.
void z_transport_events_listener_drop(z_moved_transport_events_listener_t *this_);
// Lends the value.
const z_loaned_transport_events_listener_t *z_transport_events_listener_loan(
    const z_owned_transport_events_listener_t *this_);
// Writes the defaults.
void z_transport_events_listener_options_default(z_transport_events_listener_options_t *this_);
// Returns true if it is a multicast group.
bool z_transport_is_multicast(const z_loaned_transport_t *transport);
// Returns true if messages have priorities on it.
bool z_transport_is_qos(const z_loaned_transport_t *transport);
// Lends the value.
const z_loaned_transport_t *z_transport_loan(const z_owned_transport_t *this_);
// Lends the value for changes.
z_loaned_transport_t *z_transport_loan_mut(z_owned_transport_t *this_);
// Moves a value that is lent for changes to another place.
void z_transport_take_from_loaned(z_owned_transport_t *dst, z_loaned_transport_t *src);
// Returns the role of the other node: 1 router, 2 peer, 4 client.
z_whatami_t z_transport_whatami(const z_loaned_transport_t *transport);
// Returns the id of the other node.
z_id_t z_transport_zid(const z_loaned_transport_t *transport);
z_result_t z_undeclare_link_events_listener(z_moved_link_events_listener_t *this_);
z_result_t z_undeclare_transport_events_listener(z_moved_transport_events_listener_t *this_);

// ---- scouting

// Writes a clone to another place.
void z_hello_clone(z_owned_hello_t *dst, const z_loaned_hello_t *this_);
// Drops the value; the place is empty afterwards.
void z_hello_drop(z_moved_hello_t *this_);
// Lends the value.
const z_loaned_hello_t *z_hello_loan(const z_owned_hello_t *this_);
// Lends the value for changes.
z_loaned_hello_t *z_hello_loan_mut(z_owned_hello_t *this_);
// Makes an array of views of the node's locators, which the answer must outlive.
void z_hello_locators(const z_loaned_hello_t *this_, z_owned_string_array_t *locators_out);
// Moves a value that is lent for changes to another place.
void z_hello_take_from_loaned(z_owned_hello_t *dst, z_loaned_hello_t *src);
// Returns the role of the node: 1 router, 2 peer, 4 client; 2 for an empty place.
z_whatami_t z_hello_whatami(const z_loaned_hello_t *this_);
// Returns the id of the node; all 0 for an empty place.
z_id_t z_hello_zid(const z_loaned_hello_t *this_);
// Returns true if the place holds a value.
bool z_internal_hello_check(const z_owned_hello_t *this_);
// Writes the empty state.
void z_internal_hello_null(z_owned_hello_t *this_);
// Searches for nodes, and calls the closure with each answer. Blocks for the time of the options,
// and until the closure is dropped.
z_result_t z_scout(
    z_moved_config_t *config,
    z_moved_closure_hello_t *callback,
    const z_scout_options_t *options);
// Writes the defaults.
void z_scout_options_default(z_scout_options_t *this_);

// ---- logging

// Writes the log to standard error, filtered by the environment variable `RUST_LOG`, or by the text
// where that is not set.
z_result_t zc_init_log_from_env_or(const char *fallback_filter);
// Calls the closure with each record of at least this severity: 0 trace, 1 debug, 2 information, 3
// warning, 4 error. A log that the program has chosen before stays; the closure is dropped then.
// Records that the closure itself causes are left out.
void zc_init_log_with_callback(zc_log_severity_t min_severity, zc_moved_closure_log_t *callback);
// Writes the log to standard error, filtered by the environment variable `RUST_LOG`, if it is set.
void zc_try_init_log_from_env(void);

// ---- ext: advanced publisher/subscriber

// Writes the options of a cache of one sample.
void ze_advanced_publisher_cache_options_default(ze_advanced_publisher_cache_options_t *this_);
z_result_t ze_advanced_publisher_declare_background_matching_listener(
    const ze_loaned_advanced_publisher_t *publisher,
    z_moved_closure_matching_status_t *callback);
z_result_t ze_advanced_publisher_declare_matching_listener(
    const ze_loaned_advanced_publisher_t *publisher,
    z_owned_matching_listener_t *matching_listener,
    z_moved_closure_matching_status_t *callback);
// Publishes that the key has no value any more.
z_result_t ze_advanced_publisher_delete(
    const ze_loaned_advanced_publisher_t *publisher,
    ze_advanced_publisher_delete_options_t *options);
// Writes the defaults.
void ze_advanced_publisher_delete_options_default(ze_advanced_publisher_delete_options_t *this_);
// Drops the value; the place is empty afterwards.
void ze_advanced_publisher_drop(ze_moved_advanced_publisher_t *this_);
z_result_t ze_advanced_publisher_get_matching_status(
    const ze_loaned_advanced_publisher_t *this_,
    z_matching_status_t *matching_status);
// Returns the id of the publisher.
z_entity_global_id_t ze_advanced_publisher_id(const ze_loaned_advanced_publisher_t *publisher);
// Lends the key.
const z_loaned_keyexpr_t *ze_advanced_publisher_keyexpr(
    const ze_loaned_advanced_publisher_t *publisher);
// Lends the value.
const ze_loaned_advanced_publisher_t *ze_advanced_publisher_loan(
    const ze_owned_advanced_publisher_t *this_);
// Lends the value for changes.
ze_loaned_advanced_publisher_t *ze_advanced_publisher_loan_mut(
    ze_owned_advanced_publisher_t *this_);
// Writes the defaults: none of the features.
void ze_advanced_publisher_options_default(ze_advanced_publisher_options_t *this_);
// Publishes a value.
z_result_t ze_advanced_publisher_put(
    const ze_loaned_advanced_publisher_t *this_,
    z_moved_bytes_t *payload,
    ze_advanced_publisher_put_options_t *options);
// Writes the defaults.
void ze_advanced_publisher_put_options_default(ze_advanced_publisher_put_options_t *this_);
// Writes the options of numbers without heartbeats.
void ze_advanced_publisher_sample_miss_detection_options_default(
    ze_advanced_publisher_sample_miss_detection_options_t *this_);
// Declares a listener to lost samples that lives as long as the subscriber.
z_result_t ze_advanced_subscriber_declare_background_sample_miss_listener(
    const ze_loaned_advanced_subscriber_t *subscriber,
    ze_moved_closure_miss_t *callback);
// Declares a listener to lost samples: the closure is called with each loss.
z_result_t ze_advanced_subscriber_declare_sample_miss_listener(
    const ze_loaned_advanced_subscriber_t *subscriber,
    ze_owned_sample_miss_listener_t *sample_miss_listener,
    ze_moved_closure_miss_t *callback);
// Declares a subscriber to the coming and going of publishers that announce themselves.
z_result_t ze_advanced_subscriber_detect_publishers(
    const ze_loaned_advanced_subscriber_t *subscriber,
    z_owned_subscriber_t *liveliness_subscriber,
    z_moved_closure_sample_t *callback,
    z_liveliness_subscriber_options_t *options);
// Declares a subscriber to publishers that lives as long as the session.
z_result_t ze_advanced_subscriber_detect_publishers_background(
    const ze_loaned_advanced_subscriber_t *subscriber,
    z_moved_closure_sample_t *callback,
    z_liveliness_subscriber_options_t *options);
// Drops the value; the place is empty afterwards.
void ze_advanced_subscriber_drop(ze_moved_advanced_subscriber_t *this_);
// Writes the options of a history without limits.
void ze_advanced_subscriber_history_options_default(
    ze_advanced_subscriber_history_options_t *this_);
// Returns the id of the subscriber.
z_entity_global_id_t ze_advanced_subscriber_id(const ze_loaned_advanced_subscriber_t *subscriber);
// Lends the key.
const z_loaned_keyexpr_t *ze_advanced_subscriber_keyexpr(
    const ze_loaned_advanced_subscriber_t *subscriber);
// Writes the options of a detection by heartbeats.
void ze_advanced_subscriber_last_sample_miss_detection_options_default(
    ze_advanced_subscriber_last_sample_miss_detection_options_t *this_);
// Lends the value.
const ze_loaned_advanced_subscriber_t *ze_advanced_subscriber_loan(
    const ze_owned_advanced_subscriber_t *this_);
// Writes the defaults: none of the features.
void ze_advanced_subscriber_options_default(ze_advanced_subscriber_options_t *this_);
// Writes the options of a recovery that does not look for lost last samples.
void ze_advanced_subscriber_recovery_options_default(
    ze_advanced_subscriber_recovery_options_t *this_);
// Declares an advanced publisher.
z_result_t ze_declare_advanced_publisher(
    const z_loaned_session_t *session,
    ze_owned_advanced_publisher_t *publisher,
    const z_loaned_keyexpr_t *key_expr,
    ze_advanced_publisher_options_t *options);
// Declares an advanced subscriber: the closure is called with each sample.
z_result_t ze_declare_advanced_subscriber(
    const z_loaned_session_t *session,
    ze_owned_advanced_subscriber_t *subscriber,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    ze_advanced_subscriber_options_t *options);
// Declares an advanced subscriber that lives as long as the session.
z_result_t ze_declare_background_advanced_subscriber(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    ze_advanced_subscriber_options_t *options);
// Returns true if the place holds a value.
bool ze_internal_advanced_publisher_check(const ze_owned_advanced_publisher_t *this_);
// Writes the empty state.
void ze_internal_advanced_publisher_null(ze_owned_advanced_publisher_t *this_);
// Returns true if the place holds a value.
bool ze_internal_advanced_subscriber_check(const ze_owned_advanced_subscriber_t *this_);
// Writes the empty state.
void ze_internal_advanced_subscriber_null(ze_owned_advanced_subscriber_t *this_);
// Returns true if the place holds a value.
bool ze_internal_sample_miss_listener_check(const ze_owned_sample_miss_listener_t *this_);
// Writes the empty state.
void ze_internal_sample_miss_listener_null(ze_owned_sample_miss_listener_t *this_);
// Drops the value; the place is empty afterwards.
void ze_sample_miss_listener_drop(ze_moved_sample_miss_listener_t *this_);
z_result_t ze_undeclare_advanced_publisher(ze_moved_advanced_publisher_t *this_);
z_result_t ze_undeclare_advanced_subscriber(ze_moved_advanced_subscriber_t *this_);
z_result_t ze_undeclare_sample_miss_listener(ze_moved_sample_miss_listener_t *this_);

// ---- ext: old (publication cache, querying subscriber)

// Makes a closure.
void ze_closure_miss(
    ze_owned_closure_miss_t *this_,
    void (*call)(const ze_miss_t *matching_status, void *context),
    void (*drop)(void *context),
    void *context);
// Calls the function.
void ze_closure_miss_call(const ze_loaned_closure_miss_t *closure, const ze_miss_t *mathing_status);
// Drops the value; the place is empty afterwards.
void ze_closure_miss_drop(ze_moved_closure_miss_t *closure_);
// Lends the value.
const ze_loaned_closure_miss_t *ze_closure_miss_loan(const ze_owned_closure_miss_t *closure);
// Declares a cache that lives as long as the session.
z_result_t ze_declare_background_publication_cache(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    ze_publication_cache_options_t *options);
// Declares a querying subscriber that lives as long as the session.
z_result_t ze_declare_background_querying_subscriber(
    const z_loaned_session_t *session,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    ze_querying_subscriber_options_t *options);
// Declares a cache of the session's publications on these keys.
z_result_t ze_declare_publication_cache(
    const z_loaned_session_t *session,
    ze_owned_publication_cache_t *pub_cache,
    const z_loaned_keyexpr_t *key_expr,
    ze_publication_cache_options_t *options);
// Declares a subscriber that queries earlier samples: the closure is called with each sample.
z_result_t ze_declare_querying_subscriber(
    const z_loaned_session_t *session,
    ze_owned_querying_subscriber_t *querying_subscriber,
    const z_loaned_keyexpr_t *key_expr,
    z_moved_closure_sample_t *callback,
    ze_querying_subscriber_options_t *options);
// Returns true if the place holds a value.
bool ze_internal_closure_miss_check(const ze_owned_closure_miss_t *this_);
// Writes the empty state.
void ze_internal_closure_miss_null(ze_owned_closure_miss_t *this_);
// Returns true if the place holds a value.
bool ze_internal_publication_cache_check(const ze_owned_publication_cache_t *this_);
// Writes the empty state.
void ze_internal_publication_cache_null(ze_owned_publication_cache_t *this_);
// Returns true if the place holds a value.
bool ze_internal_querying_subscriber_check(const ze_owned_querying_subscriber_t *this_);
// Writes the empty state.
void ze_internal_querying_subscriber_null(ze_owned_querying_subscriber_t *this_);
// Drops the value; the place is empty afterwards.
void ze_publication_cache_drop(ze_moved_publication_cache_t *this_);
// Lends the key.
const z_loaned_keyexpr_t *ze_publication_cache_keyexpr(const ze_loaned_publication_cache_t *this_);
// Lends the value.
const ze_loaned_publication_cache_t *ze_publication_cache_loan(
    const ze_owned_publication_cache_t *this_);
// Writes the defaults.
void ze_publication_cache_options_default(ze_publication_cache_options_t *this_);
// Drops the value; the place is empty afterwards.
void ze_querying_subscriber_drop(ze_moved_querying_subscriber_t *this_);
// Queries earlier samples once more, on other keys if the program likes.
z_result_t ze_querying_subscriber_get(
    const ze_loaned_querying_subscriber_t *this_,
    const z_loaned_keyexpr_t *selector,
    z_get_options_t *options);
// Lends the value.
const ze_loaned_querying_subscriber_t *ze_querying_subscriber_loan(
    const ze_owned_querying_subscriber_t *this_);
// Writes the defaults.
void ze_querying_subscriber_options_default(ze_querying_subscriber_options_t *this_);
z_result_t ze_undeclare_publication_cache(ze_moved_publication_cache_t *this_);
z_result_t ze_undeclare_querying_subscriber(ze_moved_querying_subscriber_t *this_);

// ---- ext: serialization

z_result_t ze_deserialize_bool(const z_loaned_bytes_t *this_, bool *dst);
z_result_t ze_deserialize_double(const z_loaned_bytes_t *this_, double *dst);
z_result_t ze_deserialize_float(const z_loaned_bytes_t *this_, float *dst);
z_result_t ze_deserialize_int16(const z_loaned_bytes_t *this_, int16_t *dst);
z_result_t ze_deserialize_int32(const z_loaned_bytes_t *this_, int32_t *dst);
z_result_t ze_deserialize_int64(const z_loaned_bytes_t *this_, int64_t *dst);
z_result_t ze_deserialize_int8(const z_loaned_bytes_t *this_, int8_t *dst);
// Reads a slice that takes all of the bytes.
z_result_t ze_deserialize_slice(const z_loaned_bytes_t *this_, z_owned_slice_t *slice);
// Reads a text that takes all of the bytes.
z_result_t ze_deserialize_string(const z_loaned_bytes_t *this_, z_owned_string_t *str);
z_result_t ze_deserialize_uint16(const z_loaned_bytes_t *this_, uint16_t *dst);
z_result_t ze_deserialize_uint32(const z_loaned_bytes_t *this_, uint32_t *dst);
z_result_t ze_deserialize_uint64(const z_loaned_bytes_t *this_, uint64_t *dst);
z_result_t ze_deserialize_uint8(const z_loaned_bytes_t *this_, uint8_t *dst);
z_result_t ze_deserializer_deserialize_bool(ze_deserializer_t *this_, bool *dst);
z_result_t ze_deserializer_deserialize_double(ze_deserializer_t *this_, double *dst);
z_result_t ze_deserializer_deserialize_float(ze_deserializer_t *this_, float *dst);
z_result_t ze_deserializer_deserialize_int16(ze_deserializer_t *this_, int16_t *dst);
z_result_t ze_deserializer_deserialize_int32(ze_deserializer_t *this_, int32_t *dst);
z_result_t ze_deserializer_deserialize_int64(ze_deserializer_t *this_, int64_t *dst);
z_result_t ze_deserializer_deserialize_int8(ze_deserializer_t *this_, int8_t *dst);
// Reads the number of values of a sequence; writes 0 beside an error.
z_result_t ze_deserializer_deserialize_sequence_length(ze_deserializer_t *this_, size_t *len);
// Reads the next slice.
z_result_t ze_deserializer_deserialize_slice(ze_deserializer_t *this_, z_owned_slice_t *slice);
// Reads the next text.
z_result_t ze_deserializer_deserialize_string(ze_deserializer_t *this_, z_owned_string_t *str);
z_result_t ze_deserializer_deserialize_uint16(ze_deserializer_t *this_, uint16_t *dst);
z_result_t ze_deserializer_deserialize_uint32(ze_deserializer_t *this_, uint32_t *dst);
z_result_t ze_deserializer_deserialize_uint64(ze_deserializer_t *this_, uint64_t *dst);
z_result_t ze_deserializer_deserialize_uint8(ze_deserializer_t *this_, uint8_t *dst);
// Makes a deserializer. The bytes must outlive it.
ze_deserializer_t ze_deserializer_from_bytes(const z_loaned_bytes_t *this_);
// Returns true if no byte is left.
bool ze_deserializer_is_done(const ze_deserializer_t *this_);
// Returns true if the place holds a value.
bool ze_internal_serializer_check(const ze_owned_serializer_t *this_);
// Writes the empty state.
void ze_internal_serializer_null(ze_owned_serializer_t *this_);
z_result_t ze_serialize_bool(z_owned_bytes_t *this_, bool val);
// Serializes bytes of the program.
z_result_t ze_serialize_buf(z_owned_bytes_t *this_, const uint8_t *data, size_t len);
z_result_t ze_serialize_double(z_owned_bytes_t *this_, double val);
z_result_t ze_serialize_float(z_owned_bytes_t *this_, float val);
z_result_t ze_serialize_int16(z_owned_bytes_t *this_, int16_t val);
z_result_t ze_serialize_int32(z_owned_bytes_t *this_, int32_t val);
z_result_t ze_serialize_int64(z_owned_bytes_t *this_, int64_t val);
z_result_t ze_serialize_int8(z_owned_bytes_t *this_, int8_t val);
// Serializes one slice.
z_result_t ze_serialize_slice(z_owned_bytes_t *this_, const z_loaned_slice_t *slice);
// Serializes a text of the program.
z_result_t ze_serialize_str(z_owned_bytes_t *this_, const char *str);
// Serializes one text.
z_result_t ze_serialize_string(z_owned_bytes_t *this_, const z_loaned_string_t *str);
// Serializes a text of so many bytes.
z_result_t ze_serialize_substr(z_owned_bytes_t *this_, const char *start, size_t len);
z_result_t ze_serialize_uint16(z_owned_bytes_t *this_, uint16_t val);
z_result_t ze_serialize_uint32(z_owned_bytes_t *this_, uint32_t val);
z_result_t ze_serialize_uint64(z_owned_bytes_t *this_, uint64_t val);
z_result_t ze_serialize_uint8(z_owned_bytes_t *this_, uint8_t val);
// Drops the value; the place is empty afterwards.
void ze_serializer_drop(ze_moved_serializer_t *this_);
// Makes a serializer without values.
z_result_t ze_serializer_empty(ze_owned_serializer_t *this_);
// Ends a serializer; writes its bytes to a place.
void ze_serializer_finish(ze_moved_serializer_t *this_, z_owned_bytes_t *bytes);
// Lends the value.
const ze_loaned_serializer_t *ze_serializer_loan(const ze_owned_serializer_t *this_);
// Lends the value for changes.
ze_loaned_serializer_t *ze_serializer_loan_mut(ze_owned_serializer_t *this_);
z_result_t ze_serializer_serialize_bool(ze_loaned_serializer_t *this_, bool val);
// Appends bytes of the program.
z_result_t ze_serializer_serialize_buf(
    ze_loaned_serializer_t *this_,
    const uint8_t *data,
    size_t len);
z_result_t ze_serializer_serialize_double(ze_loaned_serializer_t *this_, double val);
z_result_t ze_serializer_serialize_float(ze_loaned_serializer_t *this_, float val);
z_result_t ze_serializer_serialize_int16(ze_loaned_serializer_t *this_, int16_t val);
z_result_t ze_serializer_serialize_int32(ze_loaned_serializer_t *this_, int32_t val);
z_result_t ze_serializer_serialize_int64(ze_loaned_serializer_t *this_, int64_t val);
z_result_t ze_serializer_serialize_int8(ze_loaned_serializer_t *this_, int8_t val);
// Appends the number of values of a sequence.
z_result_t ze_serializer_serialize_sequence_length(ze_loaned_serializer_t *this_, size_t len);
// Appends a slice.
z_result_t ze_serializer_serialize_slice(
    ze_loaned_serializer_t *this_,
    const z_loaned_slice_t *slice);
// Appends a text of the program.
z_result_t ze_serializer_serialize_str(ze_loaned_serializer_t *this_, const char *str);
// Appends a text.
z_result_t ze_serializer_serialize_string(
    ze_loaned_serializer_t *this_,
    const z_loaned_string_t *str);
// Appends a text of so many bytes.
z_result_t ze_serializer_serialize_substr(
    ze_loaned_serializer_t *this_,
    const char *start,
    size_t len);
z_result_t ze_serializer_serialize_uint16(ze_loaned_serializer_t *this_, uint16_t val);
z_result_t ze_serializer_serialize_uint32(ze_loaned_serializer_t *this_, uint32_t val);
z_result_t ze_serializer_serialize_uint64(ze_loaned_serializer_t *this_, uint64_t val);
z_result_t ze_serializer_serialize_uint8(ze_loaned_serializer_t *this_, uint8_t val);

// ---- platform: mutex, condvar, task

// Empties the place, as `z_mutex_drop` does.
void z_condvar_drop(z_moved_condvar_t *this_);
// Makes a condition variable.
void z_condvar_init(z_owned_condvar_t *this_);
// Lends the value.
const z_loaned_condvar_t *z_condvar_loan(const z_owned_condvar_t *this_);
// Lends the condition variable. Several threads may use it at once.
z_loaned_condvar_t *z_condvar_loan_mut(z_owned_condvar_t *this_);
// Wakes one thread that waits.
z_result_t z_condvar_signal(const z_loaned_condvar_t *this_);
// Unlocks the mutex, waits for a signal, and locks it again. It may return without a signal.
z_result_t z_condvar_wait(const z_loaned_condvar_t *this_, z_loaned_mutex_t *m);
// Returns true if the place holds a value.
bool z_internal_condvar_check(const z_owned_condvar_t *this_);
// Writes the empty state.
void z_internal_condvar_null(z_owned_condvar_t *this_);
// Returns true if the place holds a value.
bool z_internal_mutex_check(const z_owned_mutex_t *this_);
// Writes the empty state.
void z_internal_mutex_null(z_owned_mutex_t *this_);
// Returns true if the place holds a value.
bool z_internal_task_check(const z_owned_task_t *this_);
// Writes the empty state.
void z_internal_task_null(z_owned_task_t *this_);
// Empties the place. Where the system's mutexes are plain numbers there is nothing else to drop.
void z_mutex_drop(z_moved_mutex_t *this_);
// Makes a mutex.
z_result_t z_mutex_init(z_owned_mutex_t *this_);
// Lends the mutex. Several threads may use it at once.
z_loaned_mutex_t *z_mutex_loan_mut(z_owned_mutex_t *this_);
// Locks a mutex; waits for the thread that holds it.
z_result_t z_mutex_lock(z_loaned_mutex_t *this_);
// Locks a mutex if no thread holds it.
z_result_t z_mutex_try_lock(z_loaned_mutex_t *this_);
// Unlocks a mutex.
z_result_t z_mutex_unlock(z_loaned_mutex_t *this_);
// Drops the value; the place is empty afterwards.
void z_task_detach(z_moved_task_t *this_);
// Drops the value; the place is empty afterwards.
void z_task_drop(z_moved_task_t *this_);
// Starts a thread.
z_result_t z_task_init(
    z_owned_task_t *this_,
    const z_task_attr_t *_attr,
    void *(*fun)(void *arg),
    void *arg);
// Waits for the end of a thread.
z_result_t z_task_join(z_moved_task_t *this_);

// ---- platform: clock, time, sleep, random

// Returns the milliseconds since then.
uint64_t z_clock_elapsed_ms(const z_clock_t *time);
// Returns the seconds since then.
uint64_t z_clock_elapsed_s(const z_clock_t *time);
// Returns the microseconds since then.
uint64_t z_clock_elapsed_us(const z_clock_t *time);
// Returns the time now.
z_clock_t z_clock_now(void);
// Fills memory with random bytes.
void z_random_fill(void *buf, size_t len);
// Returns a random number.
uint16_t z_random_u16(void);
// Returns a random number.
uint32_t z_random_u32(void);
// Returns a random number.
uint64_t z_random_u64(void);
// Returns a random number.
uint8_t z_random_u8(void);
// Sleeps so many milliseconds.
z_result_t z_sleep_ms(size_t time);
// Sleeps so many seconds.
z_result_t z_sleep_s(size_t time);
// Sleeps so many microseconds.
z_result_t z_sleep_us(size_t time);
// Returns the milliseconds since then.
uint64_t z_time_elapsed_ms(const z_time_t *time);
// Returns the seconds since then.
uint64_t z_time_elapsed_s(const z_time_t *time);
// Returns the microseconds since then.
uint64_t z_time_elapsed_us(const z_time_t *time);
// Returns the time now.
z_time_t z_time_now(void);
// Writes the time now, in UTC, as `2024-02-29T12:00:00Z` and a zero, shortened to the room; returns
// the room.
const char *z_time_now_as_str(const char *buf, size_t len);
// Returns the id of the clock.
z_id_t z_timestamp_id(const z_timestamp_t *this_);
// Makes a timestamp of the session's clock.
z_result_t z_timestamp_new(z_timestamp_t *this_, const z_loaned_session_t *session);
// Returns the time, in the units of NTP: seconds in the upper half, fractions in the lower.
uint64_t z_timestamp_ntp64_time(const z_timestamp_t *this_);

// ---- other

// Writes the text of the last error of this thread, which may be empty. The text is valid until the
// thread's next error.
void zc_get_last_error(z_view_string_t *text);

#ifdef __cplusplus
}
#endif
