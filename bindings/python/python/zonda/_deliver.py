# SPDX-License-Identifier: MIT OR Apache-2.0
"""The threads that call callbacks: each takes all values that wait, and calls the function with one after another."""

import logging
import threading

_log = logging.getLogger("zonda.handlers")


def report(error):
    """Logs the exception of a callback: `logging` shows it on standard error unless a program decides otherwise."""
    _log.error("callback error", exc_info=error)


def _run(batch, function, drop, finisher):
    finisher._here()
    while (values := batch()) is not None:
        # no variable keeps a value: a query is over when its callback lets go of it
        take = values.pop
        while values:
            try:
                while values:
                    function(take())
            except BaseException as error:  # SystemExit and the like end no thread of the package
                report(error)
        take = None
    function = None
    if drop is not None:
        try:
            drop()
        except BaseException as error:
            report(error)


def start(handler, function, drop, finisher):
    """Starts the thread of a callback; `finisher` is dropped when it ends."""
    name = getattr(function, "__name__", "callback")
    thread = threading.Thread(
        target=_run, args=(handler._batch, function, drop, finisher), name=f"zonda-{name}", daemon=True
    )
    thread.start()
