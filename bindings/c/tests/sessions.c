// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Two sessions over a link: queries, queriers, liveliness, matching, cancellation, advanced publishers, links.

#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define EVENTUALLY(condition)                                                \
    do {                                                                     \
        struct timespec pause = {0, 5000000};                                \
        for (int rounds = 0; rounds < 2000 && !(condition); ++rounds)        \
            nanosleep(&pause, NULL);                                         \
        CHECK(condition);                                                    \
    } while (0)

// Bytes of the id of the queryable of a reply.
#ifdef ZONDA_GENERATION_1_4
#define REPLIER 16
#else
#define REPLIER 20
#endif

static z_owned_session_t asker, answerer;

static int free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int socket_number = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(socket_number, (struct sockaddr *)&address, len) == 0);
    CHECK(getsockname(socket_number, (struct sockaddr *)&address, &len) == 0);
    close(socket_number);
    return ntohs(address.sin_port);
}

static void open_session(z_owned_session_t *session, const char *option, int port) {
    char endpoint[64];
    z_owned_config_t config;
    CHECK(z_config_default(&config) == Z_OK);
    snprintf(endpoint, sizeof endpoint, "[\"tcp/127.0.0.1:%d?prio=1-7;rel=1\"]", port);
    CHECK(zc_config_insert_json5(z_loan_mut(config), "listen/endpoints", "[]") == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(config), option, endpoint) == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(config), "scouting/multicast/enabled", "false") == Z_OK);
    CHECK(z_open(session, z_move(config), NULL) == Z_OK);
    CHECK(!z_internal_config_check(&config));
}

static const z_loaned_keyexpr_t *key(z_view_keyexpr_t *view, const char *text) {
    CHECK(z_view_keyexpr_from_str(view, text) == Z_OK);
    return z_loan(*view);
}

static int holds(const z_loaned_bytes_t *bytes, const char *text) {
    z_view_slice_t view;
    return bytes != NULL && z_bytes_get_contiguous_view(bytes, &view) == Z_OK &&
           z_slice_len(z_loan(view)) == strlen(text) && memcmp(z_slice_data(z_loan(view)), text, strlen(text)) == 0;
}

static int says(const z_loaned_keyexpr_t *key_expr, const char *text) {
    z_view_string_t view;
    z_keyexpr_as_view_string(key_expr, &view);
    return z_string_len(z_loan(view)) == strlen(text) && memcmp(z_string_data(z_loan(view)), text, strlen(text)) == 0;
}

// ---- replies

typedef struct {
    atomic_int samples, deletions, errors, ended;
    int shows;  // the reply whose parts are looked at, counted from 1
    z_owned_reply_t kept;
} replies_t;

static void take_reply(z_loaned_reply_t *reply, void *context) {
    replies_t *replies = context;
    if (z_reply_is_ok(reply)) {
        CHECK(z_reply_err(reply) == NULL);
        int deleted = z_sample_kind(z_reply_ok(reply)) == Z_SAMPLE_KIND_DELETE;
        if (!z_internal_reply_check(&replies->kept)) z_reply_take_from_loaned(&replies->kept, reply);
        ++*(deleted ? &replies->deletions : &replies->samples);
    } else {
        CHECK(z_reply_ok(reply) == NULL && holds(z_reply_err_payload(z_reply_err(reply)), "no such thing"));
        ++replies->errors;
    }
}

static void end_replies(void *context) { ++((replies_t *)context)->ended; }

static z_moved_closure_reply_t *into(z_owned_closure_reply_t *closure, replies_t *replies) {
    z_internal_reply_null(&replies->kept);
    z_closure_reply(closure, take_reply, end_replies, replies);
    return z_move(*closure);
}

// ---- queries

static z_owned_query_t kept_query;
static atomic_int queries, queryables_ended;

static void answer(z_loaned_query_t *query, void *context) {
    (void)context;
    z_view_string_t parameters;
    z_query_parameters(query, &parameters);
    CHECK(strncmp(z_string_data(z_loan(parameters)), "n=7", z_string_len(z_loan(parameters))) == 0);
    CHECK(holds(z_query_payload(query), "question") && holds(z_query_attachment(query), "aside"));
    CHECK(z_query_encoding(query) != NULL && z_query_accepts_replies(query) == Z_REPLY_KEYEXPR_MATCHING_QUERY);

    z_view_keyexpr_t view;
    z_owned_bytes_t payload;
    z_query_reply_options_t options;
    z_query_reply_options_default(&options);
    z_owned_bytes_t attachment;
    z_bytes_copy_from_str(&attachment, "beside");
    options.attachment = z_move(attachment);
    z_bytes_copy_from_str(&payload, "answer");
    CHECK(z_query_reply(query, key(&view, "queries/a"), z_move(payload), &options) == Z_OK);
    CHECK(!z_internal_bytes_check(&payload) && !z_internal_bytes_check(&attachment));
    CHECK(z_query_reply_del(query, key(&view, "queries/b"), NULL) == Z_OK);
    z_bytes_copy_from_str(&payload, "no such thing");
    CHECK(z_query_reply_err(query, z_move(payload), NULL) == Z_OK);
    z_bytes_copy_from_str(&payload, "elsewhere");
    CHECK(z_query_reply(query, key(&view, "other/key"), z_move(payload), NULL) != Z_OK);
    CHECK(!z_internal_bytes_check(&payload));
    z_query_clone(&kept_query, query);
    ++queries;
}

static void end_queryable(void *context) {
    (void)context;
    ++queryables_ended;
}

static void declare_queryable(z_owned_queryable_t *queryable, const char *text) {
    z_view_keyexpr_t view;
    z_owned_closure_query_t closure;
    z_queryable_options_t options;
    z_queryable_options_default(&options);
    options.complete = true;
    z_closure_query(&closure, answer, end_queryable, NULL);
    CHECK(z_declare_queryable(z_loan(answerer), queryable, key(&view, text), z_move(closure), &options) == Z_OK);
    CHECK(!z_internal_closure_query_check(&closure) && says(z_queryable_keyexpr(z_loan(*queryable)), text));
}

static void ask(const char *text, replies_t *replies, uint64_t timeout_ms) {
    z_view_keyexpr_t view;
    z_owned_closure_reply_t closure;
    z_owned_bytes_t payload, attachment;
    z_owned_encoding_t encoding;
    z_get_options_t options;
    z_get_options_default(&options);
    z_bytes_copy_from_str(&payload, "question");
    z_bytes_copy_from_str(&attachment, "aside");
    CHECK(z_encoding_from_str(&encoding, "text/plain") == Z_OK);
    options.payload = z_move(payload);
    options.attachment = z_move(attachment);
    options.encoding = z_move(encoding);
    options.timeout_ms = timeout_ms;
    options.consolidation = z_query_consolidation_none();
    CHECK(z_get(z_loan(asker), key(&view, text), "n=7", into(&closure, replies), &options) == Z_OK);
    CHECK(!z_internal_closure_reply_check(&closure) && !z_internal_bytes_check(&payload));
    CHECK(!z_internal_bytes_check(&attachment) && !z_internal_encoding_check(&encoding));
}

static int queryable_is_known(const char *text) {
    z_view_keyexpr_t view;
    z_owned_querier_t querier;
    z_matching_status_t status;
    CHECK(z_declare_querier(z_loan(asker), &querier, key(&view, text), NULL) == Z_OK);
    CHECK(z_querier_get_matching_status(z_loan(querier), &status) == Z_OK);
    z_drop(z_move(querier));
    return status.matching;
}

static void a_get_ends_when_the_last_clone_of_its_query_is_dropped(void) {
    z_owned_queryable_t queryable;
    declare_queryable(&queryable, "queries/**");
    EVENTUALLY(queryable_is_known("queries/a"));
    replies_t replies = {0};
    ask("queries/*", &replies, UINT64_MAX);
    EVENTUALLY(replies.samples == 1 && replies.deletions == 1 && replies.errors == 1);
    CHECK(replies.ended == 0);

    const z_loaned_sample_t *sample = z_reply_ok(z_loan(replies.kept));
    CHECK(says(z_sample_keyexpr(sample), "queries/a") && holds(z_sample_payload(sample), "answer"));
    CHECK(holds(z_sample_attachment(sample), "beside"));
    z_entity_global_id_t expected = z_queryable_id(z_loan(queryable));
    // nothing is written behind the place that a program of the release has
    struct {
        zonda_replier_t id;
        uint8_t behind[8];
    } replier = {.behind = "behind"};
    CHECK(z_reply_replier_id(z_loan(replies.kept), &replier.id));
    CHECK(sizeof replier.id == REPLIER && memcmp(&replier.id, &expected, REPLIER) == 0);
    CHECK(memcmp(replier.behind, "behind", 7) == 0);

    z_drop(z_move(kept_query));
    EVENTUALLY(replies.ended == 1);
    z_drop(z_move(queryable));
    z_drop(z_move(queryable));
    CHECK(queryables_ended == 1);
    // the next queryable of this key is another one
    EVENTUALLY(!queryable_is_known("queries/a"));
    z_drop(z_move(replies.kept));
}

static void what_a_reply_shows_stays_where_it_is(void) {
    z_owned_queryable_t queryable;
    declare_queryable(&queryable, "queries/**");
    EVENTUALLY(queryable_is_known("queries/a"));
    replies_t replies = {0};
    ask("queries/*", &replies, 5000);
    EVENTUALLY(replies.errors == 1);
    z_owned_bytes_t clone;
    z_view_slice_t view;
    z_bytes_clone(&clone, z_sample_payload(z_reply_ok(z_loan(replies.kept))));
    CHECK(z_bytes_get_contiguous_view(z_sample_payload(z_reply_ok(z_loan(replies.kept))), &view) == Z_OK);
    z_drop(z_move(replies.kept));
    CHECK(memcmp(z_slice_data(z_loan(view)), "answer", 6) == 0);
    z_drop(z_move(clone));
    z_drop(z_move(kept_query));
    EVENTUALLY(replies.ended == 1);
    CHECK(z_undeclare_queryable(z_move(queryable)) == Z_OK);
}

static void what_is_given_away_is_taken_on_errors_too(void) {
    replies_t replies = {0};
    z_owned_closure_reply_t closure;
    z_owned_bytes_t payload;
    z_get_options_t options;
    z_get_options_default(&options);
    z_bytes_copy_from_str(&payload, "question");
    options.payload = z_move(payload);
    CHECK(z_get(z_loan(asker), NULL, "", into(&closure, &replies), &options) == Z_ENULL);
    CHECK(!z_internal_bytes_check(&payload) && !z_internal_closure_reply_check(&closure));
    CHECK(replies.ended == 1);
}

// ---- queriers and matching

typedef struct {
    atomic_int found, lost, ended;
} matching_t;

static void take_status(const z_matching_status_t *status, void *context) {
    matching_t *matching = context;
    ++*(status->matching ? &matching->found : &matching->lost);
}

static void end_matching(void *context) { ++((matching_t *)context)->ended; }

static void a_querier_asks_and_learns_of_queryables(void) {
    z_view_keyexpr_t view;
    z_owned_querier_t querier;
    z_querier_options_t options;
    z_querier_options_default(&options);
    options.timeout_ms = 5000;
    options.consolidation = z_query_consolidation_none();
    CHECK(z_declare_querier(z_loan(asker), &querier, key(&view, "querier/a"), &options) == Z_OK);
    CHECK(says(z_querier_keyexpr(z_loan(querier)), "querier/a"));

    matching_t matching = {0};
    z_owned_closure_matching_status_t closure;
    z_owned_matching_listener_t listener;
    z_closure_matching_status(&closure, take_status, end_matching, &matching);
    CHECK(z_querier_declare_matching_listener(z_loan(querier), &listener, z_move(closure)) == Z_OK);
    z_owned_queryable_t queryable;
    z_owned_closure_query_t asked;
    z_owned_fifo_handler_query_t handler;
    z_fifo_channel_query_new(&asked, &handler, 4);
    CHECK(z_declare_queryable(z_loan(answerer), &queryable, key(&view, "querier/*"), z_move(asked), NULL) == Z_OK);
    EVENTUALLY(matching.found == 1);

    replies_t replies = {0};
    z_owned_closure_reply_t reply_closure;
    CHECK(z_querier_get(z_loan(querier), "n=7", into(&reply_closure, &replies), NULL) == Z_OK);
    z_owned_query_t query;
    CHECK(z_recv(z_loan(handler), &query) == Z_OK);
    CHECK(z_query_payload(z_loan(query)) == NULL && z_query_attachment(z_loan(query)) == NULL);
    z_owned_bytes_t payload;
    z_bytes_copy_from_str(&payload, "later");
    CHECK(z_query_reply(z_loan(query), z_query_keyexpr(z_loan(query)), z_move(payload), NULL) == Z_OK);
    z_drop(z_move(query));
    EVENTUALLY(replies.ended == 1);
    CHECK(replies.samples == 1);
    z_drop(z_move(replies.kept));

    z_drop(z_move(queryable));
    z_drop(z_move(handler));
    EVENTUALLY(matching.lost == 1);
    CHECK(z_undeclare_matching_listener(z_move(listener)) == Z_OK);
    CHECK(matching.ended == 1);
    CHECK(z_undeclare_querier(z_move(querier)) == Z_OK && !z_internal_querier_check(&querier));
}

// ---- samples: liveliness and advanced subscribers

typedef struct {
    atomic_int puts, deletions, ended;
} samples_t;

static void take_sample(z_loaned_sample_t *sample, void *context) {
    samples_t *samples = context;
    ++*(z_sample_kind(sample) == Z_SAMPLE_KIND_PUT ? &samples->puts : &samples->deletions);
}

static void end_samples(void *context) { ++((samples_t *)context)->ended; }

static z_moved_closure_sample_t *counting(z_owned_closure_sample_t *closure, samples_t *samples) {
    z_closure_sample(closure, take_sample, end_samples, samples);
    return z_move(*closure);
}

static void tokens_come_and_go(void) {
    z_view_keyexpr_t view;
    z_owned_liveliness_token_t token;
    CHECK(z_liveliness_declare_token(z_loan(answerer), &token, key(&view, "tokens/a"), NULL) == Z_OK);
    samples_t samples = {0};
    z_owned_closure_sample_t closure;
    z_owned_subscriber_t subscriber;
    z_liveliness_subscriber_options_t options;
    z_liveliness_subscriber_options_default(&options);
    options.history = true;
    CHECK(z_liveliness_declare_subscriber(z_loan(asker), &subscriber, key(&view, "tokens/*"),
                                          counting(&closure, &samples), &options) == Z_OK);
    EVENTUALLY(samples.puts == 1);

    replies_t replies = {0};
    z_owned_closure_reply_t reply_closure;
    CHECK(z_liveliness_get(z_loan(asker), key(&view, "tokens/**"), into(&reply_closure, &replies), NULL) == Z_OK);
    EVENTUALLY(replies.ended == 1);
    CHECK(replies.samples == 1 && says(z_sample_keyexpr(z_reply_ok(z_loan(replies.kept))), "tokens/a"));
    z_drop(z_move(replies.kept));

    CHECK(z_liveliness_undeclare_token(z_move(token)) == Z_OK);
    EVENTUALLY(samples.deletions == 1);
    CHECK(z_undeclare_subscriber(z_move(subscriber)) == Z_OK);
    CHECK(samples.ended == 1);
}

static void a_late_subscriber_gets_the_history(void) {
    z_view_keyexpr_t view;
    ze_owned_advanced_publisher_t publisher;
    ze_advanced_publisher_options_t options;
    ze_advanced_publisher_options_default(&options);
    ze_advanced_publisher_cache_options_default(&options.cache);
    options.cache.max_samples = 2;
    ze_advanced_publisher_sample_miss_detection_options_default(&options.sample_miss_detection);
    options.publisher_detection = true;
    CHECK(ze_declare_advanced_publisher(z_loan(answerer), &publisher, key(&view, "history/a"), &options) == Z_OK);
    for (int sent = 0; sent < 3; ++sent) {
        z_owned_bytes_t payload;
        z_bytes_copy_from_str(&payload, "value");
        CHECK(ze_advanced_publisher_put(z_loan(publisher), z_move(payload), NULL) == Z_OK);
    }
    samples_t samples = {0}, publishers = {0};
    z_owned_closure_sample_t closure;
    ze_owned_advanced_subscriber_t subscriber;
    ze_advanced_subscriber_options_t late;
    ze_advanced_subscriber_options_default(&late);
    ze_advanced_subscriber_history_options_default(&late.history);
    late.history.detect_late_publishers = true;
    late.query_timeout_ms = UINT64_MAX;
    CHECK(ze_declare_advanced_subscriber(z_loan(asker), &subscriber, key(&view, "history/*"),
                                         counting(&closure, &samples), &late) == Z_OK);
    EVENTUALLY(samples.puts == 2);
    z_owned_subscriber_t detecting;
    z_liveliness_subscriber_options_t known = {.history = true};
    CHECK(ze_advanced_subscriber_detect_publishers(z_loan(subscriber), &detecting, counting(&closure, &publishers),
                                                   &known) == Z_OK);
    EVENTUALLY(publishers.puts == 1);
    CHECK(ze_undeclare_advanced_publisher(z_move(publisher)) == Z_OK);
    EVENTUALLY(publishers.deletions == 1);
    z_drop(z_move(detecting));
    CHECK(ze_undeclare_advanced_subscriber(z_move(subscriber)) == Z_OK);
    CHECK(samples.ended == 1 && publishers.ended == 1);
}

// ---- cancellation
#ifndef ZONDA_GENERATION_A

static void a_cancelled_get_is_over(void) {
    z_view_keyexpr_t view;
    z_owned_queryable_t queryable;
    z_owned_closure_query_t asked;
    z_owned_fifo_handler_query_t handler;
    z_fifo_channel_query_new(&asked, &handler, 4);
    CHECK(z_declare_queryable(z_loan(answerer), &queryable, key(&view, "cancelled"), z_move(asked), NULL) == Z_OK);
    EVENTUALLY(queryable_is_known("cancelled"));

    replies_t replies = {0};
    z_owned_closure_reply_t closure;
    z_owned_cancellation_token_t token, clone;
    CHECK(z_cancellation_token_new(&token) == Z_OK);
    z_cancellation_token_clone(&clone, z_loan(token));
    z_get_options_t options;
    z_get_options_default(&options);
    options.cancellation_token = z_move(clone);
    CHECK(z_get(z_loan(asker), key(&view, "cancelled"), NULL, into(&closure, &replies), &options) == Z_OK);
    CHECK(!z_internal_cancellation_token_check(&clone));
    z_owned_query_t query;
    CHECK(z_recv(z_loan(handler), &query) == Z_OK);
    CHECK(replies.ended == 0 && !z_cancellation_token_is_cancelled(z_loan(token)));
    CHECK(z_cancellation_token_cancel(z_loan_mut(token)) == Z_OK);
    CHECK(replies.ended == 1 && z_cancellation_token_is_cancelled(z_loan(token)));
    z_drop(z_move(token));
    z_drop(z_move(query));
    z_drop(z_move(queryable));
    z_drop(z_move(handler));
}
#endif

// ---- links

static void take_transport(z_loaned_transport_t *transport, void *context) {
    z_id_t id = z_transport_zid(transport), other = z_info_zid(z_loan(answerer));
    CHECK(memcmp(&id, &other, sizeof id) == 0 && z_transport_whatami(transport) == Z_WHATAMI_PEER);
    ++*(atomic_int *)context;
}

static void take_link(z_loaned_link_t *link, void *context) {
    z_owned_string_t text;
    z_link_dst(link, &text);
    CHECK(strncmp(z_string_data(z_loan(text)), "tcp/127.0.0.1", 13) == 0);
    CHECK(z_link_is_streamed(link) && z_link_mtu(link) > 0);
    uint8_t first = 0, last = 0;
    z_reliability_t reliability;
    CHECK(z_link_priorities(link, &first, &last) && first == 1 && last == 7);
    CHECK(z_link_reliability(link, &reliability) && reliability == Z_RELIABILITY_RELIABLE);
    z_drop(z_move(text));
    ++*(atomic_int *)context;
}

static atomic_int links_came, links_went;

static void take_link_event(z_loaned_link_event_t *event, void *context) {
    (void)context;
    z_id_t id = z_link_zid(z_link_event_link(event)), other = z_info_zid(z_loan(answerer));
    CHECK(memcmp(&id, &other, sizeof id) == 0);
    ++*(z_link_event_kind(event) == Z_SAMPLE_KIND_PUT ? &links_came : &links_went);
}

static void links_are_listed_and_listened_to(void) {
    atomic_int transports = 0, links = 0;
    z_owned_closure_transport_t transport_closure;
    z_closure_transport(&transport_closure, take_transport, NULL, &transports);
    CHECK(z_info_transports(z_loan(asker), z_move(transport_closure)) == Z_OK && transports == 1);
    z_owned_closure_link_t link_closure;
    z_closure_link(&link_closure, take_link, NULL, &links);
    CHECK(z_info_links(z_loan(asker), z_move(link_closure), NULL) == Z_OK && links == 1);
    z_owned_closure_link_event_t event_closure;
    z_closure_link_event(&event_closure, take_link_event, NULL, NULL);
    z_link_events_listener_options_t options;
    z_link_events_listener_options_default(&options);
    options.history = true;
    CHECK(z_declare_background_link_events_listener(z_loan(asker), z_move(event_closure), &options) == Z_OK);
    EVENTUALLY(links_came == 1);
}

static void a_get_whose_answerer_is_lost_ends_without_a_reply(void) {
    z_owned_queryable_t queryable;
    z_owned_closure_query_t asked;
    z_owned_fifo_handler_query_t handler;
    z_view_keyexpr_t view;
    z_fifo_channel_query_new(&asked, &handler, 4);
    CHECK(z_declare_queryable(z_loan(answerer), &queryable, key(&view, "lost"), z_move(asked), NULL) == Z_OK);
    EVENTUALLY(queryable_is_known("lost"));
    replies_t replies = {0};
    z_owned_closure_reply_t closure;
    CHECK(z_get(z_loan(asker), key(&view, "lost"), NULL, into(&closure, &replies), NULL) == Z_OK);
    z_owned_query_t query;
    CHECK(z_recv(z_loan(handler), &query) == Z_OK);
    CHECK(z_close(z_loan_mut(answerer), NULL) == Z_OK);
    EVENTUALLY(replies.ended == 1);
    CHECK(replies.samples == 0 && replies.errors == 0);
    EVENTUALLY(links_went == 1);
    z_drop(z_move(query));
    z_drop(z_move(handler));
    z_drop(z_move(queryable));
}

int main(void) {
    int port = free_port();
    open_session(&answerer, "listen/endpoints", port);
    open_session(&asker, "connect/endpoints", port);

    a_get_ends_when_the_last_clone_of_its_query_is_dropped();
    what_a_reply_shows_stays_where_it_is();
    what_is_given_away_is_taken_on_errors_too();
    a_querier_asks_and_learns_of_queryables();
    tokens_come_and_go();
    a_late_subscriber_gets_the_history();
#ifndef ZONDA_GENERATION_A
    a_cancelled_get_is_over();
#endif
    links_are_listed_and_listened_to();
    a_get_whose_answerer_is_lost_ends_without_a_reply();

    z_drop(z_move(asker));
    z_drop(z_move(answerer));
    return 0;
}
