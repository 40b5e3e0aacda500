// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The types of the library. A program gives an owned value a place of the size below, and moves it
// by copying its bytes; what lies in the place is the library's alone. A loaned value is the
// address of a place.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER)
#define ZONDA_ALIGN(n) __declspec(align(n))
#else
#define ZONDA_ALIGN(n) __attribute__((aligned(n)))
#endif

// A result: 0, the state of a channel above it, an error below it.
typedef int8_t z_result_t;

// ---- enumerations
typedef enum z_locality_t {
  Z_LOCALITY_ANY = 0,
  Z_LOCALITY_DEFAULT = Z_LOCALITY_ANY,
  ZC_LOCALITY_ANY = 0,
  Z_LOCALITY_SESSION_LOCAL = 1,
  ZC_LOCALITY_SESSION_LOCAL = 1,
  Z_LOCALITY_REMOTE = 2,
  ZC_LOCALITY_REMOTE = 2,
} z_locality_t;
typedef enum z_congestion_control_t {
  Z_CONGESTION_CONTROL_BLOCK = 0,
  Z_CONGESTION_CONTROL_DROP = 1,
  Z_CONGESTION_CONTROL_DEFAULT = Z_CONGESTION_CONTROL_DROP,
  Z_CONGESTION_CONTROL_BLOCK_FIRST = 2,
} z_congestion_control_t;
typedef enum z_priority_t {
  Z_PRIORITY_REAL_TIME = 1,
  Z_PRIORITY_INTERACTIVE_HIGH = 2,
  Z_PRIORITY_INTERACTIVE_LOW = 3,
  Z_PRIORITY_DATA_HIGH = 4,
  Z_PRIORITY_DATA = 5,
  Z_PRIORITY_DEFAULT = Z_PRIORITY_DATA,
  Z_PRIORITY_DATA_LOW = 6,
  Z_PRIORITY_BACKGROUND = 7,
} z_priority_t;
typedef enum z_reliability_t {
  Z_RELIABILITY_BEST_EFFORT = 0,
  Z_RELIABILITY_RELIABLE = 1,
  Z_RELIABILITY_DEFAULT = Z_RELIABILITY_RELIABLE,
} z_reliability_t;
typedef enum z_query_target_t {
  Z_QUERY_TARGET_BEST_MATCHING = 0,
  Z_QUERY_TARGET_DEFAULT = Z_QUERY_TARGET_BEST_MATCHING,
  Z_QUERY_TARGET_ALL = 1,
  Z_QUERY_TARGET_ALL_COMPLETE = 2,
} z_query_target_t;
typedef enum z_consolidation_mode_t {
  Z_CONSOLIDATION_MODE_AUTO = -1,
  Z_CONSOLIDATION_MODE_NONE = 0,
  Z_CONSOLIDATION_MODE_MONOTONIC = 1,
  Z_CONSOLIDATION_MODE_LATEST = 2,
} z_consolidation_mode_t;
typedef enum z_reply_keyexpr_t {
  Z_REPLY_KEYEXPR_ANY = 0,
  Z_REPLY_KEYEXPR_MATCHING_QUERY = 1,
  Z_REPLY_KEYEXPR_DEFAULT = Z_REPLY_KEYEXPR_MATCHING_QUERY,
} z_reply_keyexpr_t;
typedef enum z_whatami_t {
  Z_WHATAMI_ROUTER = 1,
  Z_WHATAMI_PEER = 2,
  Z_WHATAMI_CLIENT = 4,
} z_whatami_t;
typedef enum z_keyexpr_intersection_level_t {
  Z_KEYEXPR_INTERSECTION_LEVEL_DISJOINT = 0,
  Z_KEYEXPR_INTERSECTION_LEVEL_INTERSECTS = 1,
  Z_KEYEXPR_INTERSECTION_LEVEL_INCLUDES = 2,
  Z_KEYEXPR_INTERSECTION_LEVEL_EQUALS = 3,
} z_keyexpr_intersection_level_t;
typedef enum z_sample_kind_t {
  Z_SAMPLE_KIND_PUT = 0,
  Z_SAMPLE_KIND_DEFAULT = Z_SAMPLE_KIND_PUT,
  Z_SAMPLE_KIND_DELETE = 1,
} z_sample_kind_t;
typedef enum z_what_t {
  Z_WHAT_ROUTER = 1,
  Z_WHAT_PEER = 2,
  Z_WHAT_CLIENT = 4,
  Z_WHAT_ROUTER_PEER = 3,
  Z_WHAT_ROUTER_CLIENT = 5,
  Z_WHAT_PEER_CLIENT = 6,
  Z_WHAT_ROUTER_PEER_CLIENT = 7,
} z_what_t;
typedef enum zc_log_severity_t {
  ZC_LOG_SEVERITY_TRACE = 0,
  ZC_LOG_SEVERITY_DEBUG = 1,
  ZC_LOG_SEVERITY_INFO = 2,
  ZC_LOG_SEVERITY_WARN = 3,
  ZC_LOG_SEVERITY_ERROR = 4,
} zc_log_severity_t;
typedef enum ze_advanced_publisher_heartbeat_mode_t {
  ZE_ADVANCED_PUBLISHER_HEARTBEAT_MODE_NONE = 0,
  ZE_ADVANCED_PUBLISHER_HEARTBEAT_MODE_PERIODIC = 1,
  ZE_ADVANCED_PUBLISHER_HEARTBEAT_MODE_SPORADIC = 2,
} ze_advanced_publisher_heartbeat_mode_t;
typedef z_locality_t zc_locality_t;
// ---- places
#define ZONDA_PLACE(prefix, name, align, size) \
  typedef struct ZONDA_ALIGN(align) prefix##_owned_##name##_t { uint8_t _0[size]; } prefix##_owned_##name##_t; \
  typedef struct ZONDA_ALIGN(align) prefix##_loaned_##name##_t { uint8_t _0[size]; } prefix##_loaned_##name##_t; \
  typedef struct prefix##_moved_##name##_t { prefix##_owned_##name##_t _this; } prefix##_moved_##name##_t
ZONDA_PLACE(z, bytes, 8, 40);
ZONDA_PLACE(z, slice, 8, 32);
ZONDA_PLACE(z, string, 8, 32);
ZONDA_PLACE(z, bytes_writer, 8, 64);
ZONDA_PLACE(z, session, 8, 8);
ZONDA_PLACE(z, hello, 8, 48);
ZONDA_PLACE(z, query, 8, 144);
ZONDA_PLACE(z, reply, 8, 280);
ZONDA_PLACE(z, sample, 8, 256);
ZONDA_PLACE(z, condvar, 4, 8);
ZONDA_PLACE(z, mutex, 8, 24);
ZONDA_PLACE(z, config, 8, 2064);
ZONDA_PLACE(z, keyexpr, 8, 32);
ZONDA_PLACE(z, publisher, 8, 120);
ZONDA_PLACE(z, encoding, 8, 48);
ZONDA_PLACE(z, querier, 8, 88);
ZONDA_PLACE(z, queryable, 8, 56);
ZONDA_PLACE(z, subscriber, 8, 56);
ZONDA_PLACE(z, string_array, 8, 24);
ZONDA_PLACE(z, liveliness_token, 8, 16);
ZONDA_PLACE(z, matching_listener, 8, 32);
ZONDA_PLACE(z, reply_err, 8, 120);
ZONDA_PLACE(z, fifo_handler_query, 8, 8);
ZONDA_PLACE(z, fifo_handler_reply, 8, 8);
ZONDA_PLACE(z, fifo_handler_sample, 8, 8);
ZONDA_PLACE(z, ring_handler_query, 8, 8);
ZONDA_PLACE(z, ring_handler_reply, 8, 8);
ZONDA_PLACE(z, ring_handler_sample, 8, 8);
ZONDA_PLACE(z, task, 8, 24);
ZONDA_PLACE(z, transport, 1, 20);
ZONDA_PLACE(z, transport_event, 1, 21);
ZONDA_PLACE(z, transport_events_listener, 8, 24);
ZONDA_PLACE(z, link, 8, 144);
ZONDA_PLACE(z, link_event, 8, 152);
ZONDA_PLACE(z, link_events_listener, 8, 24);
ZONDA_PLACE(z, cancellation_token, 8, 24);
ZONDA_PLACE(zc, concurrent_close_handle, 8, 16);
ZONDA_PLACE(ze, advanced_publisher, 8, 248);
ZONDA_PLACE(ze, advanced_subscriber, 8, 176);
ZONDA_PLACE(ze, publication_cache, 8, 144);
ZONDA_PLACE(ze, querying_subscriber, 8, 104);
ZONDA_PLACE(ze, serializer, 8, 64);
ZONDA_PLACE(ze, sample_miss_listener, 8, 24);

#undef ZONDA_PLACE

// ---- views: they show memory of the program and own nothing
typedef struct ZONDA_ALIGN(8) z_view_slice_t { uint8_t _0[32]; } z_view_slice_t;
typedef struct ZONDA_ALIGN(8) z_view_string_t { uint8_t _0[32]; } z_view_string_t;
typedef struct ZONDA_ALIGN(8) z_view_keyexpr_t { uint8_t _0[32]; } z_view_keyexpr_t;

// ---- plain values
typedef struct z_id_t { uint8_t id[16]; } z_id_t;
typedef struct ZONDA_ALIGN(8) z_timestamp_t { uint8_t _0[24]; } z_timestamp_t;
typedef struct ZONDA_ALIGN(4) z_entity_global_id_t { uint8_t _0[20]; } z_entity_global_id_t;
typedef struct ZONDA_ALIGN(8) z_bytes_reader_t { uint8_t _0[24]; } z_bytes_reader_t;
typedef struct ZONDA_ALIGN(8) z_bytes_slice_iterator_t { uint8_t _0[24]; } z_bytes_slice_iterator_t;
typedef struct ZONDA_ALIGN(8) ze_deserializer_t { uint8_t _0[24]; } ze_deserializer_t;
typedef struct z_clock_t {
  uint64_t t;
  const void *t_base;
} z_clock_t;
typedef struct z_matching_status_t {
  bool matching;
} z_matching_status_t;
typedef struct z_task_attr_t {
  size_t _0;
} z_task_attr_t;
typedef struct z_time_t {
  uint64_t t;
} z_time_t;
typedef struct ze_miss_t {
  z_entity_global_id_t source;
  uint32_t nb;
} ze_miss_t;
// ---- what differs between releases of zenoh-c
#ifdef ZONDA_GENERATION_A
#include "zenoh_generation_a.h"
#else
#include "zenoh_generation_b.h"
#endif
// ---- closures: a context, a function that gets a value and the context, a function that drops the
// context after the last call. The library calls them on threads of its own.
typedef struct z_owned_closure_hello_t {
  void *_context;
  void (*_call)(z_loaned_hello_t *hello, void *context);
  void (*_drop)(void *context);
} z_owned_closure_hello_t;
typedef struct z_loaned_closure_hello_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_hello_t;
typedef struct z_moved_closure_hello_t {
  z_owned_closure_hello_t _this;
} z_moved_closure_hello_t;
typedef struct z_owned_closure_link_t {
  void *_context;
  void (*_call)(z_loaned_link_t *link, void *context);
  void (*_drop)(void *context);
} z_owned_closure_link_t;
typedef struct z_loaned_closure_link_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_link_t;
typedef struct z_moved_closure_link_t {
  z_owned_closure_link_t _this;
} z_moved_closure_link_t;
typedef struct z_owned_closure_link_event_t {
  void *_context;
  void (*_call)(z_loaned_link_event_t *event, void *context);
  void (*_drop)(void *context);
} z_owned_closure_link_event_t;
typedef struct z_loaned_closure_link_event_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_link_event_t;
typedef struct z_moved_closure_link_event_t {
  z_owned_closure_link_event_t _this;
} z_moved_closure_link_event_t;
typedef struct z_owned_closure_matching_status_t {
  void *_context;
  void (*_call)(const z_matching_status_t *matching_status, void *context);
  void (*_drop)(void *context);
} z_owned_closure_matching_status_t;
typedef struct z_loaned_closure_matching_status_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_matching_status_t;
typedef struct z_moved_closure_matching_status_t {
  z_owned_closure_matching_status_t _this;
} z_moved_closure_matching_status_t;
typedef struct z_owned_closure_query_t {
  void *_context;
  void (*_call)(z_loaned_query_t *query, void *context);
  void (*_drop)(void *context);
} z_owned_closure_query_t;
typedef struct z_loaned_closure_query_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_query_t;
typedef struct z_moved_closure_query_t {
  z_owned_closure_query_t _this;
} z_moved_closure_query_t;
typedef struct z_owned_closure_reply_t {
  void *_context;
  void (*_call)(z_loaned_reply_t *reply, void *context);
  void (*_drop)(void *context);
} z_owned_closure_reply_t;
typedef struct z_loaned_closure_reply_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_reply_t;
typedef struct z_moved_closure_reply_t {
  z_owned_closure_reply_t _this;
} z_moved_closure_reply_t;
typedef struct z_owned_closure_sample_t {
  void *_context;
  void (*_call)(z_loaned_sample_t *sample, void *context);
  void (*_drop)(void *context);
} z_owned_closure_sample_t;
typedef struct z_loaned_closure_sample_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_sample_t;
typedef struct z_moved_closure_sample_t {
  z_owned_closure_sample_t _this;
} z_moved_closure_sample_t;
typedef struct z_owned_closure_transport_t {
  void *_context;
  void (*_call)(z_loaned_transport_t *transport, void *context);
  void (*_drop)(void *context);
} z_owned_closure_transport_t;
typedef struct z_loaned_closure_transport_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_transport_t;
typedef struct z_moved_closure_transport_t {
  z_owned_closure_transport_t _this;
} z_moved_closure_transport_t;
typedef struct z_owned_closure_transport_event_t {
  void *_context;
  void (*_call)(z_loaned_transport_event_t *event, void *context);
  void (*_drop)(void *context);
} z_owned_closure_transport_event_t;
typedef struct z_loaned_closure_transport_event_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_transport_event_t;
typedef struct z_moved_closure_transport_event_t {
  z_owned_closure_transport_event_t _this;
} z_moved_closure_transport_event_t;
typedef struct z_owned_closure_zid_t {
  void *_context;
  void (*_call)(const z_id_t *z_id, void *context);
  void (*_drop)(void *context);
} z_owned_closure_zid_t;
typedef struct z_loaned_closure_zid_t {
  size_t _0;
  size_t _1;
  size_t _2;
} z_loaned_closure_zid_t;
typedef struct z_moved_closure_zid_t {
  z_owned_closure_zid_t _this;
} z_moved_closure_zid_t;
typedef struct zc_owned_closure_log_t {
  void *_context;
  void (*_call)(zc_log_severity_t severity, const z_loaned_string_t *msg, void *context);
  void (*_drop)(void *context);
} zc_owned_closure_log_t;
typedef struct zc_loaned_closure_log_t {
  size_t _0;
  size_t _1;
  size_t _2;
} zc_loaned_closure_log_t;
typedef struct zc_moved_closure_log_t {
  zc_owned_closure_log_t _this;
} zc_moved_closure_log_t;
typedef struct ze_owned_closure_miss_t {
  void *_context;
  void (*_call)(const ze_miss_t *matching_status, void *context);
  void (*_drop)(void *context);
} ze_owned_closure_miss_t;
typedef struct ze_loaned_closure_miss_t {
  size_t _0;
  size_t _1;
  size_t _2;
} ze_loaned_closure_miss_t;
typedef struct ze_moved_closure_miss_t {
  ze_owned_closure_miss_t _this;
} ze_moved_closure_miss_t;
// ---- options. `.._default` writes all members; what is `moved` in them is taken in every case.
typedef struct z_close_options_t {
  uint32_t internal_timeout_ms;
  zc_owned_concurrent_close_handle_t *internal_out_concurrent;
} z_close_options_t;
typedef struct z_link_events_listener_options_t {
  bool history;
  z_moved_transport_t *transport;
} z_link_events_listener_options_t;
typedef struct z_queryable_options_t {
  bool complete;
  z_locality_t allowed_origin;
} z_queryable_options_t;
typedef struct z_subscriber_options_t {
  z_locality_t allowed_origin;
} z_subscriber_options_t;
typedef struct z_transport_events_listener_options_t {
  bool history;
} z_transport_events_listener_options_t;
typedef struct z_publisher_options_t {
  z_moved_encoding_t *encoding;
  z_congestion_control_t congestion_control;
  z_priority_t priority;
  bool is_express;
  z_reliability_t reliability;
  z_locality_t allowed_destination;
} z_publisher_options_t;
typedef struct z_query_consolidation_t {
  z_consolidation_mode_t mode;
} z_query_consolidation_t;
typedef struct z_querier_options_t {
  z_query_target_t target;
  z_query_consolidation_t consolidation;
  z_congestion_control_t congestion_control;
  bool is_express;
  z_locality_t allowed_destination;
  z_reply_keyexpr_t accept_replies;
  z_priority_t priority;
  uint64_t timeout_ms;
} z_querier_options_t;
typedef struct z_delete_options_t {
  z_congestion_control_t congestion_control;
  z_priority_t priority;
  bool is_express;
  z_timestamp_t *timestamp;
  z_reliability_t reliability;
  z_locality_t allowed_destination;
} z_delete_options_t;
typedef struct z_get_options_t {
  z_query_target_t target;
  z_query_consolidation_t consolidation;
  z_moved_bytes_t *payload;
  z_moved_encoding_t *encoding;
  z_congestion_control_t congestion_control;
  bool is_express;
  z_locality_t allowed_destination;
  z_reply_keyexpr_t accept_replies;
  z_priority_t priority;
  zonda_given_source_t *source_info;
  z_moved_bytes_t *attachment;
  uint64_t timeout_ms;
  ZONDA_TOKEN_OPTION
} z_get_options_t;
typedef struct z_info_links_options_t {
  z_moved_transport_t *transport;
} z_info_links_options_t;
typedef struct z_liveliness_subscriber_options_t {
  bool history;
} z_liveliness_subscriber_options_t;
typedef struct z_liveliness_token_options_t {
  uint8_t _dummy;
} z_liveliness_token_options_t;
typedef struct z_liveliness_get_options_t {
  uint64_t timeout_ms;
  ZONDA_TOKEN_OPTION
} z_liveliness_get_options_t;
typedef struct z_open_options_t {
  uint8_t _dummy;
} z_open_options_t;
typedef struct z_publisher_delete_options_t {
  const z_timestamp_t *timestamp;
} z_publisher_delete_options_t;
typedef struct z_publisher_put_options_t {
  z_moved_encoding_t *encoding;
  const z_timestamp_t *timestamp;
  zonda_given_source_t *source_info;
  z_moved_bytes_t *attachment;
} z_publisher_put_options_t;
typedef struct z_put_options_t {
  z_moved_encoding_t *encoding;
  z_congestion_control_t congestion_control;
  z_priority_t priority;
  bool is_express;
  z_timestamp_t *timestamp;
  z_reliability_t reliability;
  z_locality_t allowed_destination;
  zonda_given_source_t *source_info;
  z_moved_bytes_t *attachment;
} z_put_options_t;
typedef struct z_querier_get_options_t {
  z_moved_bytes_t *payload;
  z_moved_encoding_t *encoding;
  zonda_given_source_t *source_info;
  z_moved_bytes_t *attachment;
  ZONDA_TOKEN_OPTION
} z_querier_get_options_t;
typedef struct z_query_reply_options_t {
  z_moved_encoding_t *encoding;
  z_congestion_control_t congestion_control;
  z_priority_t priority;
  bool is_express;
  z_timestamp_t *timestamp;
  zonda_given_source_t *source_info;
  z_moved_bytes_t *attachment;
} z_query_reply_options_t;
typedef struct z_query_reply_del_options_t {
  z_congestion_control_t congestion_control;
  z_priority_t priority;
  bool is_express;
  z_timestamp_t *timestamp;
  zonda_given_source_t *source_info;
  z_moved_bytes_t *attachment;
} z_query_reply_del_options_t;
typedef struct z_query_reply_err_options_t {
  z_moved_encoding_t *encoding;
} z_query_reply_err_options_t;
typedef struct z_scout_options_t {
  uint64_t timeout_ms;
  z_what_t what;
} z_scout_options_t;
typedef struct zc_internal_encoding_data_t {
  uint16_t id;
  const uint8_t *schema_ptr;
  size_t schema_len;
} zc_internal_encoding_data_t;
typedef struct ze_advanced_publisher_cache_options_t {
  bool is_enabled;
  size_t max_samples;
  z_congestion_control_t congestion_control;
  z_priority_t priority;
  bool is_express;
} ze_advanced_publisher_cache_options_t;
typedef struct ze_advanced_publisher_delete_options_t {
  z_publisher_delete_options_t delete_options;
} ze_advanced_publisher_delete_options_t;
typedef struct ze_advanced_publisher_sample_miss_detection_options_t {
  bool is_enabled;
  ze_advanced_publisher_heartbeat_mode_t heartbeat_mode;
  uint64_t heartbeat_period_ms;
} ze_advanced_publisher_sample_miss_detection_options_t;
typedef struct ze_advanced_publisher_options_t {
  z_publisher_options_t publisher_options;
  ze_advanced_publisher_cache_options_t cache;
  ze_advanced_publisher_sample_miss_detection_options_t sample_miss_detection;
  bool publisher_detection;
  const z_loaned_keyexpr_t *publisher_detection_metadata;
} ze_advanced_publisher_options_t;
typedef struct ze_advanced_publisher_put_options_t {
  z_publisher_put_options_t put_options;
} ze_advanced_publisher_put_options_t;
typedef struct ze_advanced_subscriber_history_options_t {
  bool is_enabled;
  bool detect_late_publishers;
  size_t max_samples;
  uint64_t max_age_ms;
} ze_advanced_subscriber_history_options_t;
typedef struct ze_advanced_subscriber_last_sample_miss_detection_options_t {
  bool is_enabled;
  uint64_t periodic_queries_period_ms;
} ze_advanced_subscriber_last_sample_miss_detection_options_t;
typedef struct ze_advanced_subscriber_recovery_options_t {
  bool is_enabled;
  ze_advanced_subscriber_last_sample_miss_detection_options_t last_sample_miss_detection;
} ze_advanced_subscriber_recovery_options_t;
typedef struct ze_advanced_subscriber_options_t {
  z_subscriber_options_t subscriber_options;
  ze_advanced_subscriber_history_options_t history;
  ze_advanced_subscriber_recovery_options_t recovery;
  uint64_t query_timeout_ms;
  bool subscriber_detection;
  const z_loaned_keyexpr_t *subscriber_detection_metadata;
} ze_advanced_subscriber_options_t;
typedef struct ze_publication_cache_options_t {
  const z_loaned_keyexpr_t *queryable_suffix;
  z_locality_t queryable_origin;
  bool queryable_complete;
  size_t history;
  size_t resources_limit;
} ze_publication_cache_options_t;
typedef struct ze_querying_subscriber_options_t {
  z_locality_t allowed_origin;
  const z_loaned_keyexpr_t *query_selector;
  z_query_target_t query_target;
  z_query_consolidation_t query_consolidation;
  z_reply_keyexpr_t query_accept_replies;
  uint64_t query_timeout_ms;
} ze_querying_subscriber_options_t;
