// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The calls of a ROS 2 middleware in their order: two contexts, the graph by liveliness tokens, a topic with
// history, a service whose answer comes later, and the end of both contexts. Prints what each step
// sees, so that the runs of two libraries can be compared.
//
// usage: rmw PORT

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

// Waits up to ten seconds for a condition.
#define WAIT_FOR(condition)                                              \
    do {                                                                 \
        for (int i = 0; i < 1000 && !(condition); i++) z_sleep_ms(10);   \
        CHECK(condition);                                                \
    } while (0)

static const char *NODE_TOKEN = "@ros2_lv/0/11aa/0/0/NN/%/%/talker";
static const char *TOPIC = "0/chatter/std_msgs::msg::dds_::String_/TypeHashNotSupported";
static const char *SERVICE = "0/add_two_ints/example_interfaces::srv::dds_::AddTwoInts_/TypeHashNotSupported";

// ---- messages that a context keeps until the application takes them

typedef struct message_t {
    z_view_slice_t slice;
    z_owned_bytes_t bytes;
    int64_t sequence;
    int64_t time;
    uint8_t gid[16];
} message_t;

typedef struct inbox_t {
    pthread_mutex_t lock;
    message_t messages[16];
    int count;
    int drops;
} inbox_t;

static int count_of(inbox_t *inbox) {
    pthread_mutex_lock(&inbox->lock);
    int count = inbox->count;
    pthread_mutex_unlock(&inbox->lock);
    return count;
}

// The attachment of a message: a number, a time, and an array of 16 bytes.
static z_owned_bytes_t attachment_of(int64_t sequence) {
    ze_owned_serializer_t serializer;
    CHECK(ze_serializer_empty(&serializer) == Z_OK);
    ze_loaned_serializer_t *open = z_loan_mut(serializer);
    CHECK(ze_serializer_serialize_int64(open, sequence) == Z_OK);
    CHECK(ze_serializer_serialize_int64(open, 1234567890123) == Z_OK);
    CHECK(ze_serializer_serialize_sequence_length(open, 16) == Z_OK);
    for (uint8_t i = 0; i < 16; i++) CHECK(ze_serializer_serialize_uint8(open, i) == Z_OK);
    z_owned_bytes_t bytes;
    ze_serializer_finish(z_move(serializer), &bytes);
    return bytes;
}

static void read_attachment(const z_loaned_bytes_t *attachment, message_t *message) {
    CHECK(attachment != NULL);
    ze_deserializer_t reader = ze_deserializer_from_bytes(attachment);
    CHECK(ze_deserializer_deserialize_int64(&reader, &message->sequence) == Z_OK);
    CHECK(ze_deserializer_deserialize_int64(&reader, &message->time) == Z_OK);
    size_t length = 0;
    CHECK(ze_deserializer_deserialize_sequence_length(&reader, &length) == Z_OK && length == 16);
    for (size_t i = 0; i < length; i++) CHECK(ze_deserializer_deserialize_uint8(&reader, &message->gid[i]) == Z_OK);
}

static void received(z_loaned_sample_t *sample, void *context) {
    inbox_t *inbox = context;
    message_t message;
    read_attachment(z_sample_attachment(sample), &message);
    // a view of the payload, and a clone that keeps the bytes, but not the sample
    z_bytes_slice_iterator_t slices = z_bytes_get_slice_iterator(z_sample_payload(sample));
    CHECK(z_bytes_slice_iterator_next(&slices, &message.slice));
    z_bytes_clone(&message.bytes, z_sample_payload(sample));
    pthread_mutex_lock(&inbox->lock);
    if (inbox->count < 16) inbox->messages[inbox->count++] = message;
    pthread_mutex_unlock(&inbox->lock);
}

static void inbox_dropped(void *context) { ((inbox_t *)context)->drops++; }

static void print_messages(const char *who, inbox_t *inbox) {
    for (int i = 0; i < inbox->count; i++) {
        message_t *message = &inbox->messages[i];
        const z_loaned_slice_t *slice = z_loan(message->slice);
        printf("%s: message %d of publisher %d: %.*s\n", who, (int)message->sequence, message->gid[15],
               (int)z_slice_len(slice), (const char *)z_slice_data(slice));
        z_drop(z_move(message->bytes));
    }
    inbox->count = 0;
}

// ---- the graph

typedef struct graph_t {
    pthread_mutex_t lock;
    int joined;
    int left;
} graph_t;

static void graph_changed(z_loaned_sample_t *sample, void *context) {
    graph_t *graph = context;
    z_view_string_t key;
    z_keyexpr_as_view_string(z_sample_keyexpr(sample), &key);
    CHECK(z_string_len(z_loan(key)) > strlen("@ros2_lv/"));
    pthread_mutex_lock(&graph->lock);
    if (z_sample_kind(sample) == Z_SAMPLE_KIND_PUT)
        graph->joined++;
    else
        graph->left++;
    pthread_mutex_unlock(&graph->lock);
}

static int joined(graph_t *graph) {
    pthread_mutex_lock(&graph->lock);
    int count = graph->joined;
    pthread_mutex_unlock(&graph->lock);
    return count;
}

static int left(graph_t *graph) {
    pthread_mutex_lock(&graph->lock);
    int count = graph->left;
    pthread_mutex_unlock(&graph->lock);
    return count;
}

// ---- a context

static z_view_keyexpr_t key_of(const char *text) {
    z_view_keyexpr_t key;
    CHECK(z_view_keyexpr_from_str(&key, text) == Z_OK);
    return key;
}

static z_owned_keyexpr_t owned_key_of(const char *text) {
    z_owned_keyexpr_t key;
    size_t length = strlen(text);
    CHECK(z_keyexpr_from_substr_autocanonize(&key, text, &length) == Z_OK);
    return key;
}

static void open_context(z_owned_session_t *session, const char *role, const char *port) {
    char path[64], text[256];
    snprintf(path, sizeof path, "rmw_%s_%s.json5", role, port);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(file, "{ mode: \"peer\", scouting: { multicast: { enabled: false }, gossip: { enabled: true } } }\n");
    fclose(file);
    z_owned_config_t config;
    CHECK(zc_config_from_file(&config, path) == Z_OK);
    remove(path);
    z_owned_string_t value;
    CHECK(zc_config_get_from_substr(z_loan(config), "mode", 4, &value) == Z_OK);
    CHECK(z_string_len(z_loan(value)) == 6 && memcmp(z_string_data(z_loan(value)), "\"peer\"", 6) == 0);
    z_drop(z_move(value));
    snprintf(text, sizeof text, "[\"tcp/127.0.0.1:%s\"]", port);
    int listens = strcmp(role, "listener") == 0;
    const char *key = listens ? Z_CONFIG_LISTEN_KEY : Z_CONFIG_CONNECT_KEY;
    CHECK(zc_config_insert_json5(z_loan_mut(config), key, text) == Z_OK);
    if (!listens) CHECK(zc_config_insert_json5(z_loan_mut(config), Z_CONFIG_LISTEN_KEY, "[]") == Z_OK);
    z_open_options_t options;
    z_open_options_default(&options);
    CHECK(z_open(session, z_move(config), &options) == Z_OK);
    z_id_t id = z_info_zid(z_loan(*session));
    z_owned_string_t digits;
    z_id_to_string(&id, &digits);
    printf("%s: id of %d digits or fewer\n", role, z_string_len(z_loan(digits)) <= 32 ? 32 : -1);
    z_drop(z_move(digits));
}

static void list_graph(const z_loaned_session_t *session) {
    z_view_keyexpr_t key = key_of("@ros2_lv/0/**");
    z_owned_closure_reply_t closure;
    z_owned_fifo_handler_reply_t handler;
    z_fifo_channel_reply_new(&closure, &handler, SIZE_MAX - 1);
    z_liveliness_get_options_t options;
    z_liveliness_get_options_default(&options);
    CHECK(z_liveliness_get(session, z_loan(key), z_move(closure), &options) == Z_OK);
    z_owned_reply_t reply;
    int tokens = 0;
    while (z_recv(z_loan(handler), &reply) == Z_OK) {
        tokens += z_reply_is_ok(z_loan(reply));
        z_drop(z_move(reply));
    }
    printf("graph: %d tokens\n", tokens);
    z_drop(z_move(handler));
}

// ---- the topic

static void declare_talker(const z_loaned_session_t *session, ze_owned_advanced_publisher_t *publisher) {
    z_owned_keyexpr_t key = owned_key_of(TOPIC);
    ze_advanced_publisher_options_t options;
    ze_advanced_publisher_options_default(&options);
    options.publisher_options.congestion_control = Z_CONGESTION_CONTROL_BLOCK;
    options.publisher_options.reliability = Z_RELIABILITY_RELIABLE;
    options.publisher_detection = true;
    options.cache.is_enabled = true;
    options.cache.max_samples = 2;
    options.sample_miss_detection.is_enabled = true;
    options.sample_miss_detection.heartbeat_mode = ZE_ADVANCED_PUBLISHER_HEARTBEAT_MODE_SPORADIC;
    options.sample_miss_detection.heartbeat_period_ms = 500;
    CHECK(ze_declare_advanced_publisher(session, publisher, z_loan(key), &options) == Z_OK);
    z_drop(z_move(key));
}

static void say(ze_loaned_advanced_publisher_t *publisher, int64_t sequence, const char *text) {
    ze_advanced_publisher_put_options_t options;
    ze_advanced_publisher_put_options_default(&options);
    z_owned_bytes_t attachment = attachment_of(sequence);
    options.put_options.attachment = z_move(attachment);
    z_owned_bytes_t payload;
    CHECK(z_bytes_copy_from_str(&payload, text) == Z_OK);
    CHECK(ze_advanced_publisher_put(publisher, z_move(payload), &options) == Z_OK);
}

static void declare_listener(const z_loaned_session_t *session, ze_owned_advanced_subscriber_t *subscriber, inbox_t *inbox) {
    z_owned_keyexpr_t key = owned_key_of(TOPIC);
    ze_advanced_subscriber_options_t options;
    ze_advanced_subscriber_options_default(&options);
    options.subscriber_options.allowed_origin = Z_LOCALITY_REMOTE;
    options.subscriber_detection = true;
    options.query_timeout_ms = UINT64_MAX;
    options.history.is_enabled = true;
    options.history.detect_late_publishers = true;
    options.history.max_samples = 2;
    options.recovery.is_enabled = true;
    options.recovery.last_sample_miss_detection.is_enabled = true;
    z_owned_closure_sample_t closure;
    z_closure(&closure, received, inbox_dropped, inbox);
    CHECK(ze_declare_advanced_subscriber(session, subscriber, z_loan(key), z_move(closure), &options) == Z_OK);
    z_drop(z_move(key));
}

// ---- the service

typedef struct requests_t {
    pthread_mutex_t lock;
    z_owned_query_t query;
    int count;
} requests_t;

static void asked(z_loaned_query_t *query, void *context) {
    requests_t *requests = context;
    pthread_mutex_lock(&requests->lock);
    if (requests->count++ == 0) z_query_clone(&requests->query, query);
    pthread_mutex_unlock(&requests->lock);
}

static int request_count(requests_t *requests) {
    pthread_mutex_lock(&requests->lock);
    int count = requests->count;
    pthread_mutex_unlock(&requests->lock);
    return count;
}

typedef struct answers_t {
    pthread_mutex_t lock;
    z_owned_reply_t reply;
    int count;
    int done;
} answers_t;

static void answered(z_loaned_reply_t *reply, void *context) {
    answers_t *answers = context;
    pthread_mutex_lock(&answers->lock);
    if (answers->count++ == 0) z_reply_clone(&answers->reply, reply);
    pthread_mutex_unlock(&answers->lock);
}

static void answers_end(void *context) {
    answers_t *answers = context;
    pthread_mutex_lock(&answers->lock);
    answers->done = 1;
    pthread_mutex_unlock(&answers->lock);
}

static int answers_done(answers_t *answers) {
    pthread_mutex_lock(&answers->lock);
    int done = answers->done;
    pthread_mutex_unlock(&answers->lock);
    return done;
}

static void print_text(const char *label, const z_loaned_bytes_t *bytes) {
    z_owned_string_t text;
    CHECK(z_bytes_to_string(bytes, &text) == Z_OK);
    printf("%s: %.*s\n", label, (int)z_string_len(z_loan(text)), z_string_data(z_loan(text)));
    z_drop(z_move(text));
}

static void answer(requests_t *requests) {
    const z_loaned_query_t *query = z_loan(requests->query);
    print_text("service: request", z_query_payload(query));
    message_t header;
    read_attachment(z_query_attachment(query), &header);
    printf("service: number %d of client %d\n", (int)header.sequence, header.gid[15]);
    z_query_reply_options_t options;
    z_query_reply_options_default(&options);
    z_owned_bytes_t attachment = attachment_of(header.sequence);
    options.attachment = z_move(attachment);
    z_owned_bytes_t sum;
    CHECK(z_bytes_copy_from_str(&sum, "sum 5") == Z_OK);
    CHECK(z_query_reply(query, z_query_keyexpr(query), z_move(sum), &options) == Z_OK);
    // the end of the last clone is the end of the answer
    z_drop(z_move(requests->query));
}

static void call_service(const z_loaned_session_t *server, const z_loaned_session_t *client) {
    z_owned_keyexpr_t key = owned_key_of(SERVICE);
    requests_t requests = {.lock = PTHREAD_MUTEX_INITIALIZER};
    z_queryable_options_t queryable_options;
    z_queryable_options_default(&queryable_options);
    queryable_options.complete = true;
    z_owned_closure_query_t on_query;
    z_closure(&on_query, asked, NULL, &requests);
    z_owned_queryable_t queryable;
    CHECK(z_declare_queryable(server, &queryable, z_loan(key), z_move(on_query), &queryable_options) == Z_OK);

    z_querier_options_t querier_options;
    z_querier_options_default(&querier_options);
    querier_options.target = Z_QUERY_TARGET_ALL_COMPLETE;
    querier_options.consolidation.mode = Z_CONSOLIDATION_MODE_NONE;
    querier_options.timeout_ms = UINT64_MAX;
    z_owned_querier_t querier;
    CHECK(z_declare_querier(client, &querier, z_loan(key), &querier_options) == Z_OK);
    z_matching_status_t status = {false};
    WAIT_FOR(z_querier_get_matching_status(z_loan(querier), &status) == Z_OK && status.matching);

    answers_t answers = {.lock = PTHREAD_MUTEX_INITIALIZER};
    z_owned_closure_reply_t on_reply;
    z_closure(&on_reply, answered, answers_end, &answers);
    z_querier_get_options_t options;
    z_querier_get_options_default(&options);
    z_owned_bytes_t payload, attachment = attachment_of(7);
    CHECK(z_bytes_copy_from_str(&payload, "2 + 3") == Z_OK);
    options.payload = z_move(payload);
    options.attachment = z_move(attachment);
    CHECK(z_querier_get(z_loan(querier), "", z_move(on_reply), &options) == Z_OK);
    WAIT_FOR(request_count(&requests) == 1);
    CHECK(!answers_done(&answers));
    answer(&requests);
    WAIT_FOR(answers_done(&answers));
    CHECK(answers.count == 1 && z_reply_is_ok(z_loan(answers.reply)));
    const z_loaned_sample_t *sample = z_reply_ok(z_loan(answers.reply));
    print_text("client: reply", z_sample_payload(sample));
    message_t header;
    read_attachment(z_sample_attachment(sample), &header);
    printf("client: number %d\n", (int)header.sequence);
    z_drop(z_move(answers.reply));
    CHECK(z_undeclare_querier(z_move(querier)) == Z_OK);
    CHECK(z_undeclare_queryable(z_move(queryable)) == Z_OK);
    z_drop(z_move(key));
}

// ---- the end of a context

static void shut_down(z_owned_session_t *session, const char *role) {
    CHECK(!z_session_is_closed(z_loan(*session)));
    CHECK(z_close(z_loan_mut(*session), NULL) == Z_OK);
    CHECK(z_session_is_closed(z_loan(*session)));
    z_view_keyexpr_t key = key_of("after/the/end");
    z_owned_bytes_t payload;
    CHECK(z_bytes_copy_from_str(&payload, "late") == Z_OK);
    printf("%s: a put after the end gives %d\n", role, z_put(z_loan(*session), z_loan(key), z_move(payload), NULL));
    z_drop(z_move(*session));
}

int main(int argc, char **argv) {
    const char *port = argc > 1 ? argv[1] : "17455";
    setvbuf(stdout, NULL, _IOLBF, 0);
    zc_init_log_from_env_or("error");
    z_owned_session_t listener, talker;
    open_context(&listener, "listener", port);
    open_context(&talker, "talker", port);

    graph_t graph = {.lock = PTHREAD_MUTEX_INITIALIZER};
    z_view_keyexpr_t all = key_of("@ros2_lv/0/**");
    z_liveliness_subscriber_options_t graph_options;
    z_liveliness_subscriber_options_default(&graph_options);
    graph_options.history = true;
    z_owned_closure_sample_t on_graph;
    z_closure(&on_graph, graph_changed, NULL, &graph);
    z_owned_subscriber_t graph_subscriber;
    CHECK(z_liveliness_declare_subscriber(z_loan(listener), &graph_subscriber, z_loan(all), z_move(on_graph), &graph_options) == Z_OK);
    z_view_keyexpr_t token_key = key_of(NODE_TOKEN);
    z_owned_liveliness_token_t token;
    CHECK(z_liveliness_declare_token(z_loan(talker), &token, z_loan(token_key), NULL) == Z_OK);
    WAIT_FOR(joined(&graph) == 1);
    list_graph(z_loan(listener));

    // two of three messages are history when the listener comes
    ze_owned_advanced_publisher_t publisher;
    declare_talker(z_loan(talker), &publisher);
    say(z_loan_mut(publisher), 1, "first, which the cache has evicted");
    say(z_loan_mut(publisher), 2, "second");
    say(z_loan_mut(publisher), 3, "third");
    inbox_t inbox = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ze_owned_advanced_subscriber_t subscriber;
    declare_listener(z_loan(listener), &subscriber, &inbox);
    WAIT_FOR(count_of(&inbox) == 2);
    say(z_loan_mut(publisher), 4, "fourth, which is longer than what fits beside a header");
    WAIT_FOR(count_of(&inbox) == 3);
    print_messages("listener", &inbox);

    call_service(z_loan(talker), z_loan(listener));

    CHECK(z_liveliness_undeclare_token(z_move(token)) == Z_OK);
    WAIT_FOR(left(&graph) == 1);
    printf("graph: %d joined, %d left\n", joined(&graph), left(&graph));
    CHECK(ze_undeclare_advanced_publisher(z_move(publisher)) == Z_OK);
    CHECK(ze_undeclare_advanced_subscriber(z_move(subscriber)) == Z_OK);
    printf("listener: %d closure dropped\n", inbox.drops);
    CHECK(z_undeclare_subscriber(z_move(graph_subscriber)) == Z_OK);
    shut_down(&talker, "talker");
    shut_down(&listener, "listener");
    return 0;
}
