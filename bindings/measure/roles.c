// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One role of a measurement: `roles ROLE ENDPOINT SIZE SECONDS`, with ROLE one of pub, sub, ping and pong. `run`
// starts it with the library that is measured. sub prints samples per second, ping the median of a round trip in us.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "zenoh.h"

// Pings at the beginning that are not counted.
#define WARM_UP 200
// Round trips that are counted at most.
#define MOST 100000

static atomic_ulong samples;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static unsigned long pongs;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    fprintf(stderr, "roles: %s failed\n", what);
    exit(1);
}

static void open_session(z_owned_session_t *session, const char *endpoint) {
    char endpoints[256];
    snprintf(endpoints, sizeof endpoints, "[\"%s\"]", endpoint);
    z_owned_config_t config;
    if (z_config_default(&config) != Z_OK) fail("z_config_default");
    if (zc_config_insert_json5(z_loan_mut(config), "mode", "\"client\"") != Z_OK) fail("mode");
    if (zc_config_insert_json5(z_loan_mut(config), "connect/endpoints", endpoints) != Z_OK) fail("the endpoint");
    if (zc_config_insert_json5(z_loan_mut(config), "scouting/multicast/enabled", "false") != Z_OK) fail("scouting");
    if (z_open(session, z_move(config), NULL) != Z_OK) fail("z_open");
}

static void declare_publisher(const z_owned_session_t *session, z_owned_publisher_t *publisher, const char *key,
                              bool express) {
    z_view_keyexpr_t view;
    z_view_keyexpr_from_str(&view, key);
    z_publisher_options_t options;
    z_publisher_options_default(&options);
    options.congestion_control = Z_CONGESTION_CONTROL_BLOCK;
    options.is_express = express;
    if (z_declare_publisher(z_loan(*session), publisher, z_loan(view), &options) != Z_OK) fail("z_declare_publisher");
}

static void subscribe(const z_owned_session_t *session, z_owned_subscriber_t *subscriber, const char *key,
                      void (*call)(z_loaned_sample_t *, void *), void *context) {
    z_view_keyexpr_t view;
    z_view_keyexpr_from_str(&view, key);
    z_owned_closure_sample_t closure;
    z_closure(&closure, call, NULL, context);
    if (z_declare_subscriber(z_loan(*session), subscriber, z_loan(view), z_move(closure), NULL) != Z_OK)
        fail("z_declare_subscriber");
}

static void count(z_loaned_sample_t *sample, void *context) {
    (void)sample;
    (void)context;
    atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
}

static void reflect(z_loaned_sample_t *sample, void *context) {
    z_owned_bytes_t payload;
    z_bytes_clone(&payload, z_sample_payload(sample));
    z_publisher_put(z_loan(*(z_owned_publisher_t *)context), z_move(payload), NULL);
}

static void take_pong(z_loaned_sample_t *sample, void *context) {
    (void)sample;
    (void)context;
    pthread_mutex_lock(&lock);
    pongs++;
    pthread_cond_signal(&arrived);
    pthread_mutex_unlock(&lock);
}

static void pub(const z_owned_session_t *session, size_t size, double seconds) {
    z_owned_publisher_t publisher;
    declare_publisher(session, &publisher, "measure/throughput", false);
    uint8_t *data = calloc(1, size);
    z_owned_bytes_t message, payload;
    z_bytes_from_static_buf(&message, data, size);
    for (double end = now() + seconds; now() < end;) {
        for (int i = 0; i < (size < 100000 ? 50 : 1); i++) {
            z_bytes_clone(&payload, z_loan(message));
            if (z_publisher_put(z_loan(publisher), z_move(payload), NULL) != Z_OK) fail("z_publisher_put");
        }
    }
}

static void sub(const z_owned_session_t *session, double seconds) {
    z_owned_subscriber_t subscriber;
    subscribe(session, &subscriber, "measure/throughput", count, NULL);
    puts("ready");
    fflush(stdout);
    while (atomic_load(&samples) == 0) z_sleep_ms(1);
    z_sleep_ms(300);
    unsigned long before = atomic_load(&samples);
    double began = now();
    z_sleep_ms((size_t)(seconds * 1000));
    unsigned long after = atomic_load(&samples);
    printf("%.1f\n", (double)(after - before) / (now() - began));
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void ping(const z_owned_session_t *session, size_t size, double seconds) {
    static double trips[MOST];
    z_owned_publisher_t publisher;
    declare_publisher(session, &publisher, "measure/ping", true);
    z_owned_subscriber_t subscriber;
    subscribe(session, &subscriber, "measure/pong", take_pong, NULL);
    z_sleep_ms(500);
    uint8_t *data = calloc(1, size);
    int counted = 0;
    double end = now() + seconds;
    for (unsigned long sent = 1; now() < end && counted < MOST; sent++) {
        double began = now();
        z_owned_bytes_t payload;
        z_bytes_copy_from_buf(&payload, data, size);
        z_publisher_put(z_loan(publisher), z_move(payload), NULL);
        pthread_mutex_lock(&lock);
        while (pongs < sent) pthread_cond_wait(&arrived, &lock);
        pthread_mutex_unlock(&lock);
        if (sent > WARM_UP) trips[counted++] = (now() - began) * 1e6;
    }
    if (counted == 0) fail("every round trip");
    qsort(trips, counted, sizeof *trips, by_size);
    printf("%.2f\n", trips[counted / 2]);
}

int main(int count_of, char **words) {
    if (count_of != 5) {
        fprintf(stderr, "usage: roles pub|sub|ping|pong ENDPOINT SIZE SECONDS\n");
        return 2;
    }
    size_t size = strtoul(words[3], NULL, 10);
    double seconds = strtod(words[4], NULL);
    z_owned_session_t session;
    open_session(&session, words[2]);
    if (strcmp(words[1], "pub") == 0) pub(&session, size, seconds);
    if (strcmp(words[1], "sub") == 0) sub(&session, seconds);
    if (strcmp(words[1], "ping") == 0) ping(&session, size, seconds);
    if (strcmp(words[1], "pong") == 0) {
        z_owned_publisher_t publisher;
        declare_publisher(&session, &publisher, "measure/pong", true);
        z_owned_subscriber_t subscriber;
        subscribe(&session, &subscriber, "measure/ping", reflect, &publisher);
        puts("ready");
        fflush(stdout);
        z_sleep_ms((size_t)(seconds * 1000));
    }
    fflush(stdout);
    _exit(0);
}
