// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What zenoh-c 1.7 and later has otherwise: a source is a plain value, which options point to, and three structs
// of options end with a token that cancels a get.
#pragma once

#include "zenoh_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ZONDA_ALIGN(4) z_source_info_t { uint8_t _0[24]; } z_source_info_t;

// The source that a sample and a query lend.
typedef z_source_info_t zonda_lent_source_t;
// The source that options point to.
typedef const z_source_info_t zonda_given_source_t;
// The id of the queryable of a reply.
typedef z_entity_global_id_t zonda_replier_t;
// The last member of options of a get.
#define ZONDA_TOKEN_OPTION z_moved_cancellation_token_t *cancellation_token;
// Types that are moved, dropped and lent, beside those of every release: none.
#define ZONDA_OWNED_THEN(X)

// Makes the source of a message from its publisher and number.
z_source_info_t z_source_info_new(const z_entity_global_id_t *source_id, uint32_t source_sn);

#ifdef __cplusplus
}
#endif
