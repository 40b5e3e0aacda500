# SPDX-License-Identifier: MIT OR Apache-2.0
"""Handlers: what a declaration does with the values that arrive."""

from ._zonda import Callback, DefaultHandler, FifoChannel, Handler, RingChannel

__all__ = ["Callback", "DefaultHandler", "FifoChannel", "Handler", "RingChannel"]
