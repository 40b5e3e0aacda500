// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unit tests of the relations: the step bound, and the algebra on generated keys.
