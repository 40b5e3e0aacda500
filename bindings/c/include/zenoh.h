// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Zonda for C: the interface of zenoh-c, with what it calls unstable. Link with `-lzenohc`.
#pragma once

#include <assert.h>

#include "zenoh_configure.h"
#include "zenoh_constants.h"
#include "zenoh_types.h"
#include "zenoh_functions.h"
#include "zenoh_macros.h"
