// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tests of the codec: one program, as each additional one is linked with the codec of the
//! reference.

mod corpus;
mod dice;
mod differential;
mod heads;
mod hostile;
mod key_expr_oracle;
mod key_expr_properties;
mod key_expr_type;
mod key_expr_vectors;
mod limits;
mod locator;
mod payload;
mod spellings;
mod vectors;
