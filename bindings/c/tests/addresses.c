// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rules of addresses: what a value shows stays where it is when the value is moved or cloned, and a
// lent part of a value is itself a value.

#include <stdatomic.h>
#include <string.h>

#include "check.h"

// What a callback keeps of a sample: a view of its payload, a clone of the payload, a clone of the key.
typedef struct kept_t {
    z_view_slice_t slice;
    z_owned_bytes_t bytes;
    z_owned_keyexpr_t key;
    z_owned_sample_t sample;
    atomic_int calls;
    int drops;
} kept_t;

static void keep(z_loaned_sample_t *sample, void *context) {
    kept_t *kept = context;
    if (kept->calls++ > 0) return;
    z_bytes_clone(&kept->bytes, z_sample_payload(sample));
    z_bytes_slice_iterator_t slices = z_bytes_get_slice_iterator(z_sample_payload(sample));
    z_bytes_slice_iterator_next(&slices, &kept->slice);
    z_keyexpr_clone(&kept->key, z_sample_keyexpr(sample));
    z_sample_take_from_loaned(&kept->sample, sample);
}

static void dropped(void *context) { ((kept_t *)context)->drops++; }

static int equal_text(const z_loaned_keyexpr_t *key, const char *text) {
    z_view_string_t view;
    z_keyexpr_as_view_string(key, &view);
    const z_loaned_string_t *string = z_loan(view);
    return z_string_len(string) == strlen(text) && memcmp(z_string_data(string), text, strlen(text)) == 0;
}

static void small_payloads(z_loaned_session_t *session) {
    kept_t kept;
    memset(&kept, 0, sizeof kept);
    z_view_keyexpr_t key;
    CHECK(z_view_keyexpr_from_str(&key, "test/addresses") == Z_OK);
    z_owned_closure_sample_t closure;
    z_closure(&closure, keep, dropped, &kept);
    z_owned_subscriber_t subscriber;
    CHECK(z_declare_subscriber(session, &subscriber, z_loan(key), z_move(closure), NULL) == Z_OK);
    CHECK(!z_internal_closure_sample_check(&closure));

    // a callback of the same session runs before the put returns, or at the latest before the end of
    // the subscriber
    for (int i = 0; i < 3; i++) {
        z_owned_bytes_t payload;
        CHECK(z_bytes_copy_from_str(&payload, i == 0 ? "short" : "other") == Z_OK);
        CHECK(z_put(session, z_loan(key), z_move(payload), NULL) == Z_OK);
        CHECK(!z_internal_bytes_check(&payload));
    }
    for (int i = 0; i < 200 && kept.calls < 3; i++) z_sleep_ms(10);
    CHECK(kept.calls == 3);
    CHECK(z_undeclare_subscriber(z_move(subscriber)) == Z_OK);
    CHECK(kept.drops == 1);

    // the view reads what the clone keeps, though the sample has gone, and the key outlives it
    CHECK(z_internal_sample_check(&kept.sample));
    z_owned_sample_t moved = kept.sample;
    z_internal_sample_null(&kept.sample);
    z_drop(z_move(moved));
    const z_loaned_slice_t *slice = z_loan(kept.slice);
    CHECK(z_slice_len(slice) == 5 && memcmp(z_slice_data(slice), "short", 5) == 0);
    CHECK(equal_text(z_loan(kept.key), "test/addresses"));
    z_drop(z_move(kept.bytes));
    z_drop(z_move(kept.key));
}

static void lent_values(void) {
    z_owned_bytes_t bytes;
    CHECK(z_bytes_copy_from_str(&bytes, "value") == Z_OK);
    CHECK((const void *)z_loan(bytes) == (const void *)&bytes);
    CHECK((const void *)z_loan_mut(bytes) == (const void *)&bytes);
    z_owned_bytes_t moved;
    z_take(&moved, z_move(bytes));
    CHECK(!z_internal_check(bytes) && z_internal_check(moved));
    CHECK(z_bytes_len(z_loan(moved)) == 5);
    z_drop(z_move(moved));
    z_drop(z_move(moved));
}

static void refused_arguments(z_loaned_session_t *session) {
    z_view_keyexpr_t key;
    CHECK(z_view_keyexpr_from_str(&key, "a//b") == Z_EINVAL);
    CHECK(z_view_keyexpr_is_empty(&key));
    z_view_string_t reason;
    zc_get_last_error(&reason);
    CHECK(z_string_len(z_loan(reason)) > 0);
    CHECK(z_view_keyexpr_from_str(&key, NULL) == Z_EINVAL);
    CHECK(z_put(NULL, NULL, NULL, NULL) == Z_ENULL);

    // what is given away is taken although the call fails
    z_owned_bytes_t payload, attachment;
    CHECK(z_bytes_copy_from_str(&payload, "lost") == Z_OK);
    CHECK(z_bytes_copy_from_str(&attachment, "lost, too") == Z_OK);
    z_put_options_t options;
    z_put_options_default(&options);
    options.attachment = z_move(attachment);
    CHECK(z_put(session, z_loan(key), z_move(payload), &options) == Z_ENULL);
    CHECK(!z_internal_check(payload) && !z_internal_check(attachment));
}

static void closed_session(z_loaned_session_t *session) {
    CHECK(z_close(session, NULL) == Z_OK);
    CHECK(z_session_is_closed(session));
    z_view_keyexpr_t key;
    CHECK(z_view_keyexpr_from_str(&key, "test/addresses") == Z_OK);
    z_owned_bytes_t payload;
    CHECK(z_bytes_copy_from_str(&payload, "late") == Z_OK);
    CHECK(z_put(session, z_loan(key), z_move(payload), NULL) == Z_ESESSION_CLOSED);
}

int main(void) {
    z_owned_session_t session;
    open_alone(&session);
    lent_values();
    small_payloads(z_loan_mut(session));
    refused_arguments(z_loan_mut(session));
    closed_session(z_loan_mut(session));
    z_drop(z_move(session));
    z_drop(z_move(session));
    return 0;
}
