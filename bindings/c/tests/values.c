// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rules of plain values: bytes, texts, encodings, serialization, channels, threads, clocks, the log.

#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

// ---- bytes

static void count_deletion(void *data, void *context) {
    (void)data;
    ++*(int *)context;
}

static const uint8_t *address_of(const z_loaned_bytes_t *bytes) {
    z_view_slice_t view;
    CHECK(z_bytes_get_contiguous_view(bytes, &view) == Z_OK);
    return z_slice_data(z_loan(view));
}

static int holds(const z_loaned_bytes_t *bytes, const void *expected, size_t len) {
    return z_bytes_len(bytes) == len && memcmp(address_of(bytes), expected, len) == 0;
}

static void bytes_given_away_are_not_copied_and_freed_once(void) {
    uint8_t data[64] = {1, 2, 3};
    int deletions = 0;
    z_owned_bytes_t bytes, clone, moved;
    CHECK(z_bytes_from_buf(&bytes, data, sizeof data, count_deletion, &deletions) == Z_OK);
    CHECK(z_internal_bytes_check(&bytes));
    CHECK(address_of(z_loan(bytes)) == data);
    z_bytes_clone(&clone, z_loan(bytes));
    z_take(&moved, z_move(bytes));
    CHECK(!z_internal_bytes_check(&bytes) && z_bytes_len(z_loan(bytes)) == 0);
    CHECK(address_of(z_loan(clone)) == data && address_of(z_loan(moved)) == data);

    z_owned_slice_t slice;
    CHECK(z_bytes_to_slice(z_loan(clone), &slice) == Z_OK);
    z_drop(z_move(moved));
    CHECK(deletions == 0);
    z_drop(z_move(clone));
    z_drop(z_move(clone));
    CHECK(deletions == 1);
    CHECK(z_slice_len(z_loan(slice)) == sizeof data && z_slice_data(z_loan(slice))[2] == 3);
    z_drop(z_move(slice));

    char text[] = "a text";
    CHECK(z_bytes_from_str(&bytes, text, count_deletion, &deletions) == Z_OK);
    CHECK(holds(z_loan(bytes), text, 6) && address_of(z_loan(bytes)) == (uint8_t *)text);
    z_drop(z_move(bytes));
    CHECK(deletions == 2);
    CHECK(z_bytes_from_buf(&bytes, NULL, 0, count_deletion, &deletions) == Z_OK);
    z_drop(z_move(bytes));
    CHECK(deletions == 3);
    CHECK(z_bytes_from_static_buf(&bytes, data, sizeof data) == Z_OK && address_of(z_loan(bytes)) == data);
    z_drop(z_move(bytes));
}

static void bytes_are_copied_when_asked_for(void) {
    uint8_t data[] = {9, 8, 7};
    z_owned_bytes_t bytes;
    CHECK(z_bytes_copy_from_buf(&bytes, data, 3) == Z_OK);
    CHECK(holds(z_loan(bytes), data, 3) && address_of(z_loan(bytes)) != data);
    z_drop(z_move(bytes));
    CHECK(z_bytes_copy_from_buf(&bytes, NULL, 3) == Z_EINVAL);
    CHECK(z_bytes_copy_from_buf(&bytes, data, SIZE_MAX) == Z_EINVAL);
    CHECK(!z_internal_bytes_check(&bytes));
    z_bytes_empty(&bytes);
    CHECK(z_bytes_is_empty(z_loan(bytes)) && !z_internal_bytes_check(&bytes));
    z_drop(z_move(bytes));

    z_owned_string_t text;
    CHECK(z_string_copy_from_str(&text, "text") == Z_OK);
    z_bytes_copy_from_string(&bytes, z_loan(text));
    CHECK(holds(z_loan(bytes), "text", 4));
    z_drop(z_move(bytes));
    z_bytes_from_string(&bytes, z_move(text));
    CHECK(holds(z_loan(bytes), "text", 4) && !z_internal_string_check(&text));
    CHECK(z_bytes_to_string(z_loan(bytes), &text) == Z_OK);
    CHECK(z_string_len(z_loan(text)) == 4);
    z_drop(z_move(text));
    z_drop(z_move(bytes));
    CHECK(z_bytes_copy_from_buf(&bytes, (const uint8_t *)"\xff", 1) == Z_OK);
    CHECK(z_bytes_to_string(z_loan(bytes), &text) == Z_EINVAL && !z_internal_string_check(&text));
    z_drop(z_move(bytes));
}

static void a_reader_stays_within_the_bytes(void) {
    uint8_t data[] = {0, 1, 2, 3, 4, 5, 6, 7}, read[8];
    z_owned_bytes_t bytes;
    CHECK(z_bytes_from_static_buf(&bytes, data, 8) == Z_OK);
    z_bytes_reader_t reader = z_bytes_get_reader(z_loan(bytes));
    CHECK(z_bytes_reader_read(&reader, read, 3) == 3 && z_bytes_reader_tell(&reader) == 3);
    CHECK(z_bytes_reader_seek(&reader, 2, SEEK_CUR) == Z_OK && z_bytes_reader_remaining(&reader) == 3);
    z_bytes_reader_t copy = reader;
    CHECK(z_bytes_reader_read(&reader, read, 8) == 3 && read[0] == 5);
    CHECK(z_bytes_reader_read(&reader, read, 8) == 0 && z_bytes_reader_remaining(&copy) == 3);
    CHECK(z_bytes_reader_seek(&reader, -8, SEEK_END) == Z_OK && z_bytes_reader_tell(&reader) == 0);
    CHECK(z_bytes_reader_seek(&reader, 8, SEEK_SET) == Z_OK && z_bytes_reader_remaining(&reader) == 0);
    const int64_t outside[][2] = {{9, SEEK_SET},         {-1, SEEK_SET},        {1, SEEK_CUR},
                                  {INT64_MAX, SEEK_CUR}, {INT64_MIN, SEEK_END}, {0, 7}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        CHECK(z_bytes_reader_seek(&reader, outside[i][0], (int)outside[i][1]) == Z_EINVAL);
        CHECK(z_bytes_reader_tell(&reader) == 8);
    }
    z_drop(z_move(bytes));

    z_bytes_empty(&bytes);
    z_bytes_slice_iterator_t pieces = z_bytes_get_slice_iterator(z_loan(bytes));
    z_view_slice_t piece;
    CHECK(!z_bytes_slice_iterator_next(&pieces, &piece));
    z_drop(z_move(bytes));
}

static void a_writer_collects(void) {
    z_owned_bytes_writer_t writer;
    z_owned_bytes_t bytes;
    CHECK(z_bytes_writer_empty(&writer) == Z_OK && z_internal_bytes_writer_check(&writer));
    CHECK(z_bytes_copy_from_str(&bytes, "to") == Z_OK);
    CHECK(z_bytes_writer_append(z_loan_mut(writer), z_move(bytes)) == Z_OK);
    CHECK(!z_internal_bytes_check(&bytes));
    CHECK(z_bytes_writer_write_all(z_loan_mut(writer), (const uint8_t *)"geth", 4) == Z_OK);
    CHECK(z_bytes_copy_from_str(&bytes, "er") == Z_OK);
    CHECK(z_bytes_writer_append(z_loan_mut(writer), z_move(bytes)) == Z_OK);
    z_bytes_writer_finish(z_move(writer), &bytes);
    CHECK(!z_internal_bytes_writer_check(&writer) && holds(z_loan(bytes), "together", 8));
    z_drop(z_move(bytes));
    z_drop(z_move(writer));

    CHECK(z_bytes_writer_empty(&writer) == Z_OK);
    z_bytes_writer_finish(z_move(writer), &bytes);
    CHECK(z_bytes_is_empty(z_loan(bytes)));
    z_drop(z_move(bytes));
}

// ---- texts

static int is_text(const z_loaned_string_t *string, const char *text) {
    return z_string_len(string) == strlen(text) && memcmp(z_string_data(string), text, strlen(text)) == 0;
}

static void a_clone_of_a_view_outlives_its_memory(void) {
    char memory[] = "shown";
    z_view_string_t view;
    z_view_slice_t slice_view;
    z_owned_string_t text;
    z_owned_slice_t slice;
    CHECK(z_view_string_from_str(&view, memory) == Z_OK);
    CHECK(z_view_slice_from_buf(&slice_view, (uint8_t *)memory, 5) == Z_OK);
    CHECK(z_string_data(z_loan(view)) == memory);
    z_string_clone(&text, z_loan(view));
    z_slice_clone(&slice, z_loan(slice_view));
    memory[0] = 'S';
    CHECK(is_text(z_loan(view), "Shown") && is_text(z_loan(text), "shown"));
    CHECK(z_slice_data(z_loan(slice))[0] == 's');
    CHECK(z_slice_len(z_string_as_slice(z_loan(text))) == 5);
    z_drop(z_move(text));
    z_drop(z_move(slice));
    CHECK(z_view_string_from_substr(&view, memory, 2) == Z_OK && is_text(z_loan(view), "Sh"));
    CHECK(z_view_string_from_substr(&view, NULL, 2) == Z_EINVAL && z_view_string_is_empty(&view));
}

static void a_text_without_bytes_can_be_read_as_one(void) {
    z_owned_string_t text;
    z_view_string_t view;
    z_internal_string_null(&text);
    CHECK(strcmp(z_string_data(z_loan(text)), "") == 0);
    CHECK(z_view_string_from_str(&view, "") == Z_OK && strcmp(z_string_data(z_loan(view)), "") == 0);
    CHECK(z_string_copy_from_str(&text, NULL) == Z_OK && z_string_is_empty(z_loan(text)));
    z_drop(z_move(text));
    int deletions = 0;
    char given[] = "given";
    CHECK(z_string_from_str(&text, given, count_deletion, &deletions) == Z_OK);
    CHECK(z_string_data(z_loan(text)) == given);
    z_drop(z_move(text));
    z_drop(z_move(text));
    CHECK(deletions == 1);
}

static void an_array_holds_copies_and_views(void) {
    char memory[] = "shown";
    z_view_string_t view;
    z_owned_string_array_t array, clone;
    CHECK(z_view_string_from_str(&view, memory) == Z_OK);
    z_string_array_new(&array);
    CHECK(!z_internal_string_array_check(&array));
    CHECK(z_string_array_push_by_copy(z_loan_mut(array), z_loan(view)) == 1);
    CHECK(z_string_array_push_by_alias(z_loan_mut(array), z_loan(view)) == 2);
    z_string_array_clone(&clone, z_loan(array));
    memory[0] = 'S';
    CHECK(is_text(z_string_array_get(z_loan(array), 0), "shown"));
    CHECK(is_text(z_string_array_get(z_loan(array), 1), "Shown"));
    CHECK(z_string_array_get(z_loan(array), 2) == NULL && z_string_array_len(z_loan(array)) == 2);
    z_drop(z_move(array));
    CHECK(is_text(z_string_array_get(z_loan(clone), 1), "shown"));
    z_drop(z_move(clone));
    CHECK(z_string_array_is_empty(z_loan(array)));
}

// ---- encodings

static int is_encoding(const z_loaned_encoding_t *encoding, const char *text) {
    z_owned_string_t name;
    z_encoding_to_string(encoding, &name);
    int is = is_text(z_loan(name), text);
    z_drop(z_move(name));
    return is;
}

static void encodings_are_names_with_schemas(void) {
    CHECK(is_encoding(z_encoding_loan_default(), "zenoh/bytes"));
    CHECK(is_encoding(z_encoding_application_json_patch_json(), "application/json-patch+json"));
    CHECK(is_encoding(z_encoding_application_x_www_form_urlencoded(), "application/x-www-form-urlencoded"));
    CHECK(is_encoding(z_encoding_video_vp9(), "video/vp9"));

    z_owned_encoding_t encoding, same;
    z_internal_encoding_null(&encoding);
    CHECK(!z_internal_encoding_check(&encoding));
    CHECK(z_encoding_equals(z_loan(encoding), z_encoding_zenoh_bytes()));
    CHECK(z_encoding_set_schema_from_str(z_loan_mut(encoding), "v1") == Z_OK);
    CHECK(is_encoding(z_loan(encoding), "zenoh/bytes;v1") && z_internal_encoding_check(&encoding));
    CHECK(z_encoding_set_schema_from_substr(z_loan_mut(encoding), "\xff", 1) == Z_EINVAL);
    CHECK(is_encoding(z_loan(encoding), "zenoh/bytes;v1"));
    CHECK(z_encoding_set_schema_from_substr(z_loan_mut(encoding), NULL, 0) == Z_OK);
    CHECK(!z_internal_encoding_check(&encoding));

    CHECK(z_encoding_from_substr(&encoding, "text/plain;utf-8", 16) == Z_OK);
    zc_internal_encoding_data_t data = zc_internal_encoding_get_data(z_loan(encoding));
    CHECK(data.id == 4 && data.schema_len == 5 && memcmp(data.schema_ptr, "utf-8", 5) == 0);
    zc_internal_encoding_from_data(&same, data);
    CHECK(z_encoding_equals(z_loan(encoding), z_loan(same)));
    z_drop(z_move(encoding));
    z_drop(z_move(same));
    data = zc_internal_encoding_get_data(z_encoding_text_plain());
    CHECK(data.id == 4 && data.schema_ptr == NULL && data.schema_len == 0);
    CHECK(z_encoding_from_str(&encoding, "\xff") == Z_EINVAL && !z_internal_encoding_check(&encoding));
}

// ---- serialization

static void serialized_values_have_the_documented_bytes(void) {
    ze_owned_serializer_t serializer;
    z_owned_bytes_t bytes;
    CHECK(ze_serializer_empty(&serializer) == Z_OK);
    CHECK(ze_serializer_serialize_uint16(z_loan_mut(serializer), 500) == Z_OK);
    CHECK(ze_serializer_serialize_int8(z_loan_mut(serializer), -1) == Z_OK);
    CHECK(ze_serializer_serialize_bool(z_loan_mut(serializer), true) == Z_OK);
    CHECK(ze_serializer_serialize_float(z_loan_mut(serializer), 1234.0f) == Z_OK);
    CHECK(ze_serializer_serialize_str(z_loan_mut(serializer), "test") == Z_OK);
    CHECK(ze_serializer_serialize_buf(z_loan_mut(serializer), (const uint8_t *)"\xff", 1) == Z_OK);
    CHECK(ze_serializer_serialize_sequence_length(z_loan_mut(serializer), 300) == Z_OK);
    CHECK(ze_serializer_serialize_substr(z_loan_mut(serializer), "\xff", 1) == Z_EUTF8);
    ze_serializer_finish(z_move(serializer), &bytes);
    const char expected[] =
        "\xf4\x01"
        "\xff"
        "\x01"
        "\x00\x40\x9a\x44"
        "\x04test"
        "\x01\xff"
        "\xac\x02";
    CHECK(holds(z_loan(bytes), expected, sizeof expected - 1));

    ze_deserializer_t next = ze_deserializer_from_bytes(z_loan(bytes));
    uint16_t number;
    int8_t small;
    bool flag;
    float real;
    size_t len;
    z_owned_string_t text;
    z_owned_slice_t slice;
    CHECK(ze_deserializer_deserialize_uint16(&next, &number) == Z_OK && number == 500);
    CHECK(ze_deserializer_deserialize_int8(&next, &small) == Z_OK && small == -1);
    CHECK(ze_deserializer_deserialize_bool(&next, &flag) == Z_OK && flag);
    CHECK(ze_deserializer_deserialize_float(&next, &real) == Z_OK && real == 1234.0f);
    CHECK(ze_deserializer_deserialize_string(&next, &text) == Z_OK && is_text(z_loan(text), "test"));
    ze_deserializer_t before = next;
    CHECK(ze_deserializer_deserialize_slice(&next, &slice) == Z_OK && z_slice_len(z_loan(slice)) == 1);
    z_drop(z_move(text));
    CHECK(ze_deserializer_deserialize_string(&before, &text) == Z_EDESERIALIZE);
    CHECK(ze_deserializer_deserialize_sequence_length(&next, &len) == Z_OK && len == 300);
    CHECK(ze_deserializer_is_done(&next));
    CHECK(ze_deserializer_deserialize_sequence_length(&next, &len) == Z_EDESERIALIZE && len == 0);
    z_drop(z_move(slice));
    z_drop(z_move(bytes));
}

#define COMES_BACK(type, name, value)                                    \
    do {                                                                 \
        type back = 0;                                                   \
        CHECK(ze_serialize_##name(&bytes, value) == Z_OK);               \
        CHECK(z_bytes_len(z_loan(bytes)) == sizeof(type));               \
        CHECK(ze_deserialize_##name(z_loan(bytes), &back) == Z_OK);      \
        CHECK(back == value);                                            \
        z_drop(z_move(bytes));                                           \
    } while (0)

static void one_value_takes_all_of_the_bytes(void) {
    z_owned_bytes_t bytes;
    COMES_BACK(uint8_t, uint8, UINT8_MAX);
    COMES_BACK(uint16_t, uint16, UINT16_MAX);
    COMES_BACK(uint32_t, uint32, UINT32_MAX);
    COMES_BACK(uint64_t, uint64, UINT64_MAX);
    COMES_BACK(int8_t, int8, INT8_MIN);
    COMES_BACK(int16_t, int16, INT16_MIN);
    COMES_BACK(int32_t, int32, INT32_MIN);
    COMES_BACK(int64_t, int64, INT64_MIN);
    COMES_BACK(float, float, 0.5f);
    COMES_BACK(double, double, -0.25);
    COMES_BACK(bool, bool, true);

    uint16_t number = 7;
    bool flag;
    z_owned_slice_t slice;
    CHECK(z_bytes_copy_from_buf(&bytes, (const uint8_t *)"\x02\x00\x00", 3) == Z_OK);
    CHECK(ze_deserialize_uint16(z_loan(bytes), &number) < 0 && number == 7);
    CHECK(ze_deserialize_bool(z_loan(bytes), &flag) < 0);
    CHECK(ze_deserialize_slice(z_loan(bytes), &slice) == Z_OK && z_slice_len(z_loan(slice)) == 2);
    z_drop(z_move(slice));
    z_drop(z_move(bytes));
    // a length that is a lie
    CHECK(z_bytes_copy_from_buf(&bytes, (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10) == Z_OK);
    CHECK(ze_deserialize_slice(z_loan(bytes), &slice) == Z_EDESERIALIZE);
    CHECK(!z_internal_slice_check(&slice));
    z_drop(z_move(bytes));
}

// ---- channels

typedef struct channels_t {
    z_owned_fifo_handler_sample_t fifo;
    z_owned_ring_handler_sample_t ring;
    z_owned_subscriber_t fifo_subscriber;
    z_owned_subscriber_t ring_subscriber;
} channels_t;

static void put(const z_loaned_session_t *session, const z_loaned_keyexpr_t *key, const char *text) {
    z_owned_bytes_t payload;
    CHECK(z_bytes_copy_from_str(&payload, text) == Z_OK);
    CHECK(z_put(session, key, z_move(payload), NULL) == Z_OK);
}

static int is_sample(z_owned_sample_t *sample, const char *text) {
    int is = holds(z_sample_payload(z_loan(*sample)), text, strlen(text));
    z_drop(z_move(*sample));
    return is;
}

// Puts one more sample after a while, so that the main thread waits for it.
static void *put_late(void *session) {
    z_view_keyexpr_t key;
    CHECK(z_view_keyexpr_from_str(&key, "test/values") == Z_OK);
    z_sleep_ms(20);
    put(session, z_loan(key), "late");
    return NULL;
}

static void subscribe(const z_loaned_session_t *session, const z_loaned_keyexpr_t *key, channels_t *channels) {
    z_owned_closure_sample_t closure;
    z_fifo_channel_sample_new(&closure, &channels->fifo, SIZE_MAX - 1);
    CHECK(z_declare_subscriber(session, &channels->fifo_subscriber, key, z_move(closure), NULL) == Z_OK);
    z_ring_channel_sample_new(&closure, &channels->ring, 2);
    CHECK(z_declare_subscriber(session, &channels->ring_subscriber, key, z_move(closure), NULL) == Z_OK);
}

static void channels_queue_until_they_are_closed(void) {
    z_owned_config_t config;
    z_owned_session_t session;
    CHECK(z_config_default(&config) == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(config), Z_CONFIG_MULTICAST_SCOUTING_KEY, "false") == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(config), Z_CONFIG_LISTEN_KEY, "[]") == Z_OK);
    CHECK(z_open(&session, z_move(config), NULL) == Z_OK);
    z_view_keyexpr_t key;
    CHECK(z_view_keyexpr_from_str(&key, "test/values") == Z_OK);
    channels_t channels;
    subscribe(z_loan(session), z_loan(key), &channels);

    z_owned_sample_t sample;
    CHECK(z_try_recv(z_loan(channels.fifo), &sample) == Z_CHANNEL_NODATA);
    CHECK(z_try_recv(z_loan(channels.ring), &sample) == Z_CHANNEL_NODATA && !z_internal_sample_check(&sample));
    put(z_loan(session), z_loan(key), "1");
    put(z_loan(session), z_loan(key), "2");
    put(z_loan(session), z_loan(key), "3");
    CHECK(z_recv(z_loan(channels.ring), &sample) == Z_OK && is_sample(&sample, "2"));
    CHECK(z_recv(z_loan(channels.fifo), &sample) == Z_OK && is_sample(&sample, "1"));
    CHECK(z_recv(z_loan(channels.fifo), &sample) == Z_OK && is_sample(&sample, "2"));
    CHECK(z_recv(z_loan(channels.fifo), &sample) == Z_OK && is_sample(&sample, "3"));

    z_owned_task_t task;
    CHECK(z_task_init(&task, NULL, put_late, (void *)z_loan(session)) == Z_OK);
    CHECK(z_recv(z_loan(channels.fifo), &sample) == Z_OK && is_sample(&sample, "late"));
    CHECK(z_task_join(z_move(task)) == Z_OK);

    CHECK(z_undeclare_subscriber(z_move(channels.fifo_subscriber)) == Z_OK);
    CHECK(z_undeclare_subscriber(z_move(channels.ring_subscriber)) == Z_OK);
    CHECK(z_recv(z_loan(channels.ring), &sample) == Z_OK && is_sample(&sample, "3"));
    CHECK(z_recv(z_loan(channels.ring), &sample) == Z_OK && is_sample(&sample, "late"));
    CHECK(z_recv(z_loan(channels.ring), &sample) == Z_CHANNEL_DISCONNECTED);
    CHECK(z_try_recv(z_loan(channels.fifo), &sample) == Z_CHANNEL_DISCONNECTED);
    z_drop(z_move(channels.fifo));
    z_drop(z_move(channels.ring));
    z_drop(z_move(session));
}

// ---- threads

typedef struct shared_t {
    z_owned_mutex_t mutex;
    z_owned_condvar_t condition;
    int count;
    int turn;
} shared_t;

static void *count_up(void *context) {
    shared_t *shared = context;
    for (int i = 0; i < 10000; i++) {
        CHECK(z_mutex_lock(z_loan_mut(shared->mutex)) == Z_OK);
        shared->count++;
        CHECK(z_mutex_unlock(z_loan_mut(shared->mutex)) == Z_OK);
    }
    return NULL;
}

// Takes every second turn.
static void take_turns(shared_t *shared, int own) {
    for (int i = 0; i < 1000; i++) {
        CHECK(z_mutex_lock(z_loan_mut(shared->mutex)) == Z_OK);
        while (shared->turn != own) {
            CHECK(z_condvar_wait(z_loan(shared->condition), z_loan_mut(shared->mutex)) == Z_OK);
        }
        shared->turn = 1 - own;
        CHECK(z_condvar_signal(z_loan(shared->condition)) == Z_OK);
        CHECK(z_mutex_unlock(z_loan_mut(shared->mutex)) == Z_OK);
    }
}

static void *take_odd_turns(void *context) {
    take_turns(context, 1);
    return NULL;
}

static void threads_exclude_and_wake_each_other(void) {
    shared_t shared;
    shared.count = shared.turn = 0;
    CHECK(z_mutex_init(&shared.mutex) == Z_OK && z_internal_mutex_check(&shared.mutex));
    z_condvar_init(&shared.condition);
    CHECK(z_mutex_unlock(z_loan_mut(shared.mutex)) == Z_EINVAL_MUTEX);
    CHECK(z_condvar_wait(z_loan(shared.condition), z_loan_mut(shared.mutex)) == Z_EINVAL_MUTEX);
    CHECK(z_mutex_try_lock(z_loan_mut(shared.mutex)) == Z_OK);
    CHECK(z_mutex_try_lock(z_loan_mut(shared.mutex)) == Z_EBUSY_MUTEX);
    CHECK(z_mutex_unlock(z_loan_mut(shared.mutex)) == Z_OK);

    z_owned_task_t tasks[3];
    for (int i = 0; i < 3; i++) CHECK(z_task_init(&tasks[i], NULL, count_up, &shared) == Z_OK);
    for (int i = 0; i < 3; i++) CHECK(z_task_join(z_move(tasks[i])) == Z_OK);
    CHECK(shared.count == 30000);
    CHECK(z_task_init(&tasks[0], NULL, take_odd_turns, &shared) == Z_OK);
    take_turns(&shared, 0);
    CHECK(z_task_join(z_move(tasks[0])) == Z_OK && !z_internal_task_check(&tasks[0]));
    CHECK(z_task_join(z_move(tasks[0])) == Z_OK);
    z_drop(z_move(shared.condition));
    z_drop(z_move(shared.mutex));
    CHECK(!z_internal_condvar_check(&shared.condition) && !z_internal_mutex_check(&shared.mutex));
}

static void clocks_run(void) {
    z_clock_t start = z_clock_now();
    z_time_t wall = z_time_now();
    z_sleep_ms(20);
    CHECK(z_clock_elapsed_ms(&start) >= 20 && z_clock_elapsed_us(&start) >= 20000);
    CHECK(z_clock_elapsed_s(&start) < 60 && z_time_elapsed_s(&wall) < 60 && z_clock_elapsed_s(NULL) == 0);
    char room[32];
    memset(room, 'x', sizeof room);
    CHECK(z_time_now_as_str(room, sizeof room) == room);
    CHECK(strlen(room) == 20 && room[4] == '-' && room[10] == 'T' && room[19] == 'Z');
    CHECK(strlen(z_time_now_as_str(room, 5)) == 4 && strlen(room + 5) == 15);
    CHECK(*z_time_now_as_str(room, 1) == 0);
    CHECK(z_time_now_as_str(NULL, 3) == NULL);

    uint8_t bytes[64] = {0}, zeros[64] = {0};
    z_random_fill(bytes, sizeof bytes);
    CHECK(memcmp(bytes, zeros, sizeof bytes) != 0);
    CHECK(z_random_u64() != z_random_u64());
}

static void a_closed_pipe_is_an_error(void) {
    struct sigaction action;
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    int ends[2];
    CHECK(pipe(ends) == 0);
    close(ends[0]);
    CHECK(write(ends[1], "x", 1) == -1);
    close(ends[1]);
}

// ---- scouting

typedef struct search_t {
    z_id_t wanted;
    z_owned_hello_t found;
    int drops;
} search_t;

static void keep_wanted(z_loaned_hello_t *hello, void *context) {
    search_t *search = context;
    z_id_t zid = z_hello_zid(hello);
    if (memcmp(&zid, &search->wanted, sizeof zid) != 0 || z_internal_hello_check(&search->found)) return;
    z_hello_take_from_loaned(&search->found, hello);
}

static void count_drop(void *context) { ++*(int *)context; }

static void count_end(void *context) { ((search_t *)context)->drops++; }

// Makes the configuration of a peer that scouts within this machine, in one of the groups of this process:
// another process may hold the port of one.
static void local_scouting(z_owned_config_t *config, int number) {
    char group[64];
    snprintf(group, sizeof group, "'224.0.0.224:%d'", 20000 + ((int)getpid() + number * 997) % 12000);
    CHECK(z_config_default(config) == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(*config), Z_CONFIG_MULTICAST_SCOUTING_KEY, "true") == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(*config), Z_CONFIG_MULTICAST_INTERFACE_KEY, "'127.0.0.1'") == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(*config), Z_CONFIG_MULTICAST_IPV4_ADDRESS_KEY, group) == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(*config), Z_CONFIG_LISTEN_KEY, "['tcp/127.0.0.1:0']") == Z_OK);
}

// Opens a session, and searches for it in this group.
static void search_in(int group, z_owned_session_t *session, search_t *search) {
    z_owned_config_t config;
    z_owned_closure_hello_t closure;
    z_scout_options_t options;
    local_scouting(&config, group);
    CHECK(z_open(session, z_move(config), NULL) == Z_OK);
    search->wanted = z_info_zid(z_loan(*session));
    z_scout_options_default(&options);
    options.timeout_ms = 200;
    for (int i = 0; i < 10 && !z_internal_hello_check(&search->found); i++) {
        local_scouting(&config, group);
        z_closure(&closure, keep_wanted, count_end, search);
        int before = search->drops;
        CHECK(z_scout(z_move(config), z_move(closure), &options) == Z_OK && search->drops == before + 1);
    }
}

static void scouting_finds_a_peer(void) {
    z_owned_session_t session;
    search_t search;
    search.drops = 0;
    z_internal_session_null(&session);
    z_internal_hello_null(&search.found);
    for (int group = 0; group < 5 && !z_internal_hello_check(&search.found); group++) {
        z_drop(z_move(session));
        search_in(group, &session, &search);
    }
    CHECK(z_internal_hello_check(&search.found));
    CHECK(z_hello_whatami(z_loan(search.found)) == Z_WHATAMI_PEER);
    z_owned_hello_t clone;
    z_hello_clone(&clone, z_loan(search.found));
    z_drop(z_move(search.found));
    z_owned_string_array_t locators;
    z_hello_locators(z_loan(clone), &locators);
    CHECK(z_string_array_len(z_loan(locators)) == 1);
    CHECK(memcmp(z_string_data(z_string_array_get(z_loan(locators), 0)), "tcp/127.0.0.1:", 14) == 0);
    z_drop(z_move(locators));
    z_drop(z_move(clone));
    z_drop(z_move(session));
}

static void scouting_takes_what_it_is_given(void) {
    z_scout_options_t options;
    z_scout_options_default(&options);
    CHECK(options.timeout_ms == 1000 && options.what == Z_WHAT_ROUTER_PEER);
    search_t search;
    search.drops = 0;
    z_owned_config_t config;
    z_owned_closure_hello_t closure;
    z_internal_config_null(&config);
    z_closure(&closure, keep_wanted, count_end, &search);
    CHECK(z_scout(z_move(config), z_move(closure), &options) == Z_EINVAL && search.drops == 1);

    local_scouting(&config, 0);
    z_owned_string_t json;
    CHECK(zc_config_to_string(z_loan(config), &json) == Z_OK && z_string_data(z_loan(json))[0] == '{');
    z_drop(z_move(json));
    z_closure(&closure, keep_wanted, count_end, &search);
    options.what = (z_what_t)8;
    CHECK(z_scout(z_move(config), z_move(closure), &options) == Z_EINVAL && search.drops == 2);
    CHECK(!z_internal_config_check(&config));

    z_view_string_t names;
    CHECK(z_whatami_to_view_string((z_whatami_t)3, &names) == Z_OK && is_text(z_loan(names), "router|peer"));
    CHECK(z_whatami_to_view_string((z_whatami_t)8, &names) == Z_EINVAL);
    CHECK(Z_ROUTER == Z_WHATAMI_ROUTER && Z_PEER == Z_WHATAMI_PEER && Z_CLIENT == Z_WHATAMI_CLIENT);
}

// ---- the log

typedef struct log_t {
    int records;
    char text[128];
} log_t;

static void cause_an_error(void) {
    z_owned_keyexpr_t key;
    CHECK(z_keyexpr_from_str(&key, "a//b") == Z_EINVAL);
}

static void keep_record(zc_log_severity_t severity, const z_loaned_string_t *text, void *context) {
    log_t *log = context;
    CHECK(severity == ZC_LOG_SEVERITY_ERROR);
    size_t len = z_string_len(text) < 127 ? z_string_len(text) : 127;
    memcpy(log->text, z_string_data(text), len);
    log->text[len] = 0;
    log->records++;
    cause_an_error();
}

static void the_log_is_what_the_program_makes_of_it(void) {
    static log_t log;
    int drops = 0;
    zc_owned_closure_log_t closure;
    zc_closure_log(&closure, keep_record, NULL, &log);
    CHECK(zc_internal_closure_log_check(&closure));
    zc_init_log_with_callback(ZC_LOG_SEVERITY_WARN, z_move(closure));
    CHECK(!zc_internal_closure_log_check(&closure));
    cause_an_error();
    CHECK(log.records == 1 && strstr(log.text, "a//b") != NULL);

    // a second log is refused, and its closure dropped
    zc_closure_log(&closure, keep_record, count_drop, &drops);
    zc_init_log_with_callback(ZC_LOG_SEVERITY_TRACE, z_move(closure));
    CHECK(drops == 1);
    CHECK(zc_init_log_from_env_or("error") == Z_OK);
    zc_try_init_log_from_env();
    cause_an_error();
    CHECK(log.records == 2);
}

int main(void) {
    bytes_given_away_are_not_copied_and_freed_once();
    bytes_are_copied_when_asked_for();
    a_reader_stays_within_the_bytes();
    a_writer_collects();
    a_clone_of_a_view_outlives_its_memory();
    a_text_without_bytes_can_be_read_as_one();
    an_array_holds_copies_and_views();
    encodings_are_names_with_schemas();
    serialized_values_have_the_documented_bytes();
    one_value_takes_all_of_the_bytes();
    channels_queue_until_they_are_closed();
    threads_exclude_and_wake_each_other();
    clocks_run();
    a_closed_pipe_is_an_error();
    scouting_finds_a_peer();
    scouting_takes_what_it_is_given();
    the_log_is_what_the_program_makes_of_it();
    return 0;
}
