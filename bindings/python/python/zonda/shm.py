# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shared memory is not available yet: this module has no name."""
