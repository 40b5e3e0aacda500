// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Result codes, and names of configuration keys.
#pragma once

#include <stdint.h>
#include <stdlib.h>

// The end of a channel, and a channel without a value at the moment.
#define Z_CHANNEL_DISCONNECTED 1
#define Z_CHANNEL_NODATA 2
#define Z_OK 0
#define Z_EINVAL -1
#define Z_EPARSE -2
#define Z_EIO -3
#define Z_ENETWORK -4
#define Z_ENULL -5
#define Z_EUNAVAILABLE -6
#define Z_EDESERIALIZE -7
#define Z_ESESSION_CLOSED -8
#define Z_EUTF8 -9
#define Z_EAGAIN_MUTEX -11
#define Z_EBUSY_MUTEX -16
#define Z_EINVAL_MUTEX -22
#define Z_EPOISON_MUTEX -22
#define Z_EGENERIC INT8_MIN

// Milliseconds that `z_scout` waits for answers.
#define DEFAULT_SCOUTING_TIMEOUT 1000

#define Z_CONFIG_MODE_KEY "mode"
#define Z_CONFIG_CONNECT_KEY "connect/endpoints"
#define Z_CONFIG_LISTEN_KEY "listen/endpoints"
#define Z_CONFIG_USER_KEY "transport/auth/usrpwd/user"
#define Z_CONFIG_PASSWORD_KEY "transport/auth/usrpwd/password"
#define Z_CONFIG_MULTICAST_SCOUTING_KEY "scouting/multicast/enabled"
#define Z_CONFIG_MULTICAST_INTERFACE_KEY "scouting/multicast/interface"
#define Z_CONFIG_MULTICAST_IPV4_ADDRESS_KEY "scouting/multicast/address"
#define Z_CONFIG_SCOUTING_DELAY_KEY "scouting/delay"
#define Z_CONFIG_SCOUTING_TIMEOUT_KEY "scouting/timeout"
#define Z_CONFIG_ADD_TIMESTAMP_KEY "timestamping/enabled"
#define Z_CONFIG_SHARED_MEMORY_KEY "transport/shared_memory/enabled"

// The allocator of the C library under names of this one.
static inline void *z_malloc(size_t size) { return malloc(size); }
static inline void *z_realloc(void *memory, size_t size) { return realloc(memory, size); }
static inline void z_free(void *memory) { free(memory); }
