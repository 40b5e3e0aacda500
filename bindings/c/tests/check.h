// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the tests in C have in common: a check that ends the program, and a session without neighbours.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "zenoh.h"

// Ends the program unless the condition holds.
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

// Opens a session that listens on a free port of loopback and does not scout.
static inline void open_alone(z_owned_session_t *session) {
    z_owned_config_t config;
    CHECK(z_config_default(&config) == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(config), Z_CONFIG_LISTEN_KEY, "[\"tcp/127.0.0.1:0\"]") == Z_OK);
    CHECK(zc_config_insert_json5(z_loan_mut(config), Z_CONFIG_MULTICAST_SCOUTING_KEY, "false") == Z_OK);
    CHECK(z_open(session, z_move(config), NULL) == Z_OK);
    CHECK(!z_internal_check(config));
}
