// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sources of messages, in the form of both generations: given with a put, read from the sample. Sizes of the
// options that have them.

#include <stdatomic.h>
#include <string.h>

#include "check.h"

#ifdef ZONDA_GENERATION_A
#define TOKEN 0
#else
#define TOKEN 8
#endif
_Static_assert(sizeof(z_get_options_t) == 72 + TOKEN, "z_get_options_t");
_Static_assert(sizeof(z_querier_get_options_t) == 32 + TOKEN, "z_querier_get_options_t");
_Static_assert(sizeof(z_liveliness_get_options_t) == 8 + TOKEN, "z_liveliness_get_options_t");
_Static_assert(sizeof(z_put_options_t) == 56, "z_put_options_t");

// What a callback reads of the samples.
typedef struct seen_t {
    atomic_int calls;
    bool known;
    z_entity_global_id_t id;
    uint32_t number;
} seen_t;

static void read_source(z_loaned_sample_t *sample, void *context) {
    seen_t *seen = context;
#ifdef ZONDA_GENERATION_A
    // never null: a sample without a source lends an empty one
    const z_loaned_source_info_t *source = z_sample_source_info(sample);
    seen->known = source != NULL && z_internal_source_info_check((const z_owned_source_info_t *)source);
    if (source == NULL) return;
#else
    const z_source_info_t *source = z_sample_source_info(sample);
    seen->known = source != NULL;
#endif
    seen->id = z_source_info_id(source);
    seen->number = z_source_info_sn(source);
    seen->calls++;
}

static void source_values(const z_entity_global_id_t *id) {
#ifdef ZONDA_GENERATION_A
    z_owned_source_info_t source, taken;
    CHECK(z_source_info_new(&source, NULL, 1) == Z_ENULL && !z_internal_check(source));
    CHECK(z_source_info_new(&source, id, 9) == Z_OK && z_internal_check(source));
    CHECK(z_source_info_sn(z_loan(source)) == 9);
    z_take(&taken, z_move(source));
    CHECK(!z_internal_check(source) && z_internal_check(taken));
    CHECK(z_source_info_sn(z_loan(source)) == 0);
    z_drop(z_move(taken));
    z_drop(z_move(taken));
    CHECK(!z_internal_check(taken));
#else
    z_source_info_t source = z_source_info_new(id, 9);
    CHECK(z_source_info_sn(&source) == 9);
    CHECK(z_source_info_sn(NULL) == 0);
#endif
}

static void put_with_source(z_loaned_session_t *session, const z_loaned_keyexpr_t *key,
                           const z_entity_global_id_t *id) {
    z_owned_bytes_t payload;
    z_bytes_from_static_str(&payload, "with");
    z_put_options_t options;
    z_put_options_default(&options);
    CHECK(options.source_info == NULL);
#ifdef ZONDA_GENERATION_A
    z_owned_source_info_t source;
    CHECK(z_source_info_new(&source, id, 7) == Z_OK);
    options.source_info = z_move(source);
    CHECK(z_put(session, key, z_move(payload), &options) == Z_OK);
    CHECK(!z_internal_check(source));
    // what is given away is taken although the call fails
    CHECK(z_source_info_new(&source, id, 7) == Z_OK);
    options.source_info = z_move(source);
    CHECK(z_put(session, key, NULL, &options) == Z_ENULL);
    CHECK(!z_internal_check(source));
#else
    z_source_info_t source = z_source_info_new(id, 7);
    options.source_info = &source;
    CHECK(z_put(session, key, z_move(payload), &options) == Z_OK);
#endif
}

static void messages(z_loaned_session_t *session) {
    seen_t seen = {.calls = 0};
    z_view_keyexpr_t key;
    CHECK(z_view_keyexpr_from_str(&key, "test/source") == Z_OK);
    z_owned_closure_sample_t closure;
    z_closure(&closure, read_source, NULL, &seen);
    z_owned_subscriber_t subscriber;
    CHECK(z_declare_subscriber(session, &subscriber, z_loan(key), z_move(closure), NULL) == Z_OK);
    z_owned_publisher_t publisher;
    CHECK(z_declare_publisher(session, &publisher, z_loan(key), NULL) == Z_OK);
    z_entity_global_id_t id = z_publisher_id(z_loan(publisher));
    source_values(&id);

    put_with_source(session, z_loan(key), &id);
    for (int i = 0; i < 500 && seen.calls == 0; i++) z_sleep_ms(10);
    CHECK(seen.calls == 1 && seen.known && seen.number == 7);
    CHECK(z_entity_global_id_eid(&seen.id) == z_entity_global_id_eid(&id));

    z_owned_bytes_t payload;
    z_bytes_from_static_str(&payload, "without");
    CHECK(z_put(session, z_loan(key), z_move(payload), NULL) == Z_OK);
    for (int i = 0; i < 500 && seen.calls == 1; i++) z_sleep_ms(10);
    CHECK(seen.calls == 2 && !seen.known && seen.number == 0);

    z_drop(z_move(publisher));
    z_drop(z_move(subscriber));
}

int main(void) {
    z_owned_session_t session;
    open_alone(&session);
    messages(z_loan_mut(session));
    z_drop(z_move(session));
    return 0;
}
