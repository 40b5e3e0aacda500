// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What zenoh-c 1.4 to 1.6 has otherwise: a source is an owned value, which options take, and a get has no token
// that cancels it. In 1.4 (`ZONDA_GENERATION_1_4`) a reply has the id of its node alone.
#pragma once

#include "zenoh_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ZONDA_ALIGN(4) z_owned_source_info_t { uint8_t _0[32]; } z_owned_source_info_t;
typedef struct ZONDA_ALIGN(4) z_loaned_source_info_t { uint8_t _0[32]; } z_loaned_source_info_t;
typedef struct z_moved_source_info_t { z_owned_source_info_t _this; } z_moved_source_info_t;

// The source that a sample and a query lend.
typedef z_loaned_source_info_t zonda_lent_source_t;
// The source that options take.
typedef z_moved_source_info_t zonda_given_source_t;
// The id of the queryable of a reply.
#ifdef ZONDA_GENERATION_1_4
typedef z_id_t zonda_replier_t;
#else
typedef z_entity_global_id_t zonda_replier_t;
#endif
// The last member of options of a get: none.
#define ZONDA_TOKEN_OPTION
// Types that are moved, dropped and lent, beside those of every release.
#define ZONDA_OWNED_THEN(X) X(z, source_info)

// Returns true if the place holds a value.
bool z_internal_source_info_check(const z_owned_source_info_t *this_);
// Writes the empty state.
void z_internal_source_info_null(z_owned_source_info_t *this_);
// Drops the value; the place is empty afterwards.
void z_source_info_drop(z_moved_source_info_t *this_);
// Lends the value.
const z_loaned_source_info_t *z_source_info_loan(const z_owned_source_info_t *this_);
// Makes the source of a message from its publisher and number.
z_result_t z_source_info_new(z_owned_source_info_t *this_, const z_entity_global_id_t *source_id,
                             uint32_t source_sn);

#ifdef __cplusplus
}
#endif
