# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests of the package; `cargo test` runs them with the library that it built."""

import ast
import asyncio
import gc
import json
import logging
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest
import warnings

import zonda as zenoh
from zonda import handlers
from zonda.ext import (
    AdvancedSubscriber,
    CacheConfig,
    Float32,
    HistoryConfig,
    Int8,
    MissDetectionConfig,
    UInt128,
    ZDeserializeError,
    declare_advanced_publisher,
    declare_advanced_subscriber,
    z_deserialize,
    z_serialize,
)

LIMIT = 20


def config(mode, listen=(), connect=()):
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", json.dumps(list(listen)))
    config.insert_json5("connect/endpoints", json.dumps(list(connect)))
    return config


def until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("the condition does not come true")
        time.sleep(0.002)


class Pair(unittest.TestCase):
    def setUp(self):
        self.near = zenoh.open(config("peer", ["tcp/127.0.0.1:0"]))
        self.far = zenoh.open(config("client", [], [self.near.info.locators()[0]]))

    def tearDown(self):
        self.far.close()
        self.near.close()

    def publisher(self, key, **options):
        publisher = self.near.declare_publisher(key, **options)
        until(lambda: publisher.matching_status)
        return publisher

    def test_a_sample_has_what_its_put_gave(self):
        subscriber = self.far.declare_subscriber("a/**")
        publisher = self.publisher("a/b", priority=zenoh.Priority.REAL_TIME)
        stamp = self.near.new_timestamp()
        publisher.put(b"value", encoding="text/plain", attachment="beside", timestamp=stamp)
        sample = subscriber.recv()
        self.assertEqual(sample.key_expr, "a/b")
        self.assertEqual(bytes(sample.payload), b"value")
        self.assertEqual(sample.kind, zenoh.SampleKind.PUT)
        self.assertEqual(sample.encoding, zenoh.Encoding.TEXT_PLAIN)
        self.assertEqual(sample.attachment.to_string(), "beside")
        self.assertEqual(sample.timestamp, stamp)
        self.assertEqual(sample.priority, zenoh.Priority.REAL_TIME)
        publisher.delete()
        self.assertEqual(subscriber.recv().kind, zenoh.SampleKind.DELETE)
        self.assertIsNone(subscriber.try_recv())
        subscriber.undeclare()
        with self.assertRaises(zenoh.ZError):
            subscriber.recv()

    def test_a_callback_gets_every_value_in_order(self):
        values = []
        self.far.declare_subscriber("a", lambda sample: values.append(int(bytes(sample.payload))))
        gc.collect()
        publisher = self.publisher("a", congestion_control=zenoh.CongestionControl.BLOCK)
        for number in range(5000):
            publisher.put(str(number))
        until(lambda: len(values) == 5000)
        self.assertEqual(values, list(range(5000)))

    def test_a_callback_that_raises_is_logged_and_called_again(self):
        values = []

        def raises(sample):
            values.append(sample)
            raise KeyError("here")

        subscriber = self.far.declare_subscriber("a", raises)
        publisher = self.publisher("a")
        with self.assertLogs("zonda.handlers", logging.ERROR) as logs:
            publisher.put("1")
            publisher.put("2")
            until(lambda: len(values) == 2 and len(logs.output) == 2)
        self.assertIn("KeyError", logs.output[0])
        subscriber.undeclare()

    def test_a_slow_callback_stops_no_other_subscriber(self):
        is_over = threading.Event()
        values = []
        self.far.declare_subscriber("a", lambda sample: is_over.wait(LIMIT))
        self.far.declare_subscriber("a", values.append)
        publisher = self.publisher("a")
        for _ in range(100):
            publisher.put("value")
        until(lambda: len(values) == 100)
        is_over.set()

    def test_the_end_of_a_callback_comes_after_its_last_call(self):
        steps = []
        callback = handlers.Callback(lambda sample: steps.append("call"), lambda: steps.append("end"))
        subscriber = self.far.declare_subscriber("a", callback)
        publisher = self.publisher("a")
        publisher.put("1")
        until(lambda: steps == ["call"])
        subscriber.undeclare()
        until(lambda: steps == ["call", "end"])

    def test_a_direct_callback_runs_and_raises(self):
        values = []

        def raises(sample):
            values.append(sample)
            raise SystemExit("here")

        subscriber = self.far.declare_subscriber("a", handlers.Callback(raises, indirect=False))
        publisher = self.publisher("a")
        with self.assertLogs("zonda.handlers", logging.ERROR):
            publisher.put("1")
            until(lambda: values)
            publisher.put("2")
            until(lambda: len(values) == 2)
        subscriber.undeclare()

    def test_a_ring_keeps_the_latest(self):
        subscriber = self.far.declare_subscriber("a", handlers.RingChannel(2))
        last = []
        self.far.declare_subscriber("a", last.append)
        publisher = self.publisher("a")
        for number in range(10):
            publisher.put(str(number))
        until(lambda: len(last) == 10)
        values = []
        while (sample := subscriber.try_recv()) is not None:
            values.append(sample.payload.to_string())
        self.assertEqual(values, ["8", "9"])

    def test_a_full_queue_of_the_own_session_waits_for_its_reader(self):
        subscriber = self.near.declare_subscriber("a", handlers.FifoChannel(4))
        values = []

        def read():
            for sample in subscriber:
                values.append(sample)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        publisher = self.near.declare_publisher("a")
        for number in range(2000):
            publisher.put(b"value")
        until(lambda: len(values) == 2000)
        subscriber.undeclare()
        reader.join(LIMIT)
        self.assertFalse(reader.is_alive())

    def test_a_get_collects_replies_and_errors(self):
        def answer(query):
            with query:
                self.assertEqual(query.parameters.get("a"), "1")
                query.reply("q/1", query.payload, attachment=b"beside")
                query.reply_err("refused")

        self.near.declare_queryable("q/*", answer)
        replies = []
        until(lambda: replies.extend(self.far.get("q/*?a=1", payload=b"asked", timeout=5)) or len(replies) >= 2)
        ok = [reply.ok for reply in replies if reply.ok]
        errors = [reply.err for reply in replies if reply.err]
        self.assertEqual(bytes(ok[0].payload), b"asked")
        self.assertEqual(errors[0].payload.to_string(), "refused")

    def test_a_reply_warns_of_arguments_that_it_ignores(self):
        told = []

        def answer(query):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                query.reply("q", b"", priority=zenoh.Priority.DATA)
                query.reply_del("q", congestion_control=zenoh.CongestionControl.BLOCK)
                query.reply("q", b"", express=True)
            told.append([(warning.category, str(warning.message).split()[0]) for warning in caught])

        self.near.declare_queryable("q", answer)
        until(lambda: list(self.far.get("q", timeout=5)))
        self.assertEqual(
            told[0], [(DeprecationWarning, "priority"), (DeprecationWarning, "congestion_control")]
        )

    def test_a_querier_asks_again_and_again(self):
        queryable = self.near.declare_queryable("q")

        def serve():
            for query in queryable:
                with query:
                    query.reply("q", b"answer")

        threading.Thread(target=serve, daemon=True).start()
        querier = self.far.declare_querier("q", timeout=5)
        until(lambda: querier.matching_status)
        for _ in range(10):
            self.assertEqual([bytes(reply.ok.payload) for reply in querier.get()], [b"answer"])
        queryable.undeclare()

    def test_a_cancelled_get_ends(self):
        queryable = self.near.declare_queryable("q")
        token = zenoh.CancellationToken()
        replies = self.far.get("q", timeout=60, cancellation_token=token)
        token.cancel()
        self.assertTrue(token.is_cancelled)
        with self.assertRaises(zenoh.ZError):
            replies.recv()
        queryable.undeclare()

    def test_asyncio_takes_samples_and_replies(self):
        subscriber = self.far.declare_subscriber("a")
        publisher = self.publisher("a", congestion_control=zenoh.CongestionControl.BLOCK)
        self.near.declare_queryable("q", lambda query: query.reply("q", b"answer"))

        async def run():
            values = []

            async def send():
                for number in range(2000):
                    publisher.put(str(number))
                    if number % 100 == 0:
                        await asyncio.sleep(0)

            task = asyncio.create_task(send())
            async for sample in subscriber:
                values.append(int(bytes(sample.payload)))
                if len(values) == 2000:
                    break
            await task
            replies = [bytes(reply.ok.payload) async for reply in await self.far.get("q", timeout=5)]
            subscriber.undeclare()
            async for _ in subscriber:
                self.fail("a value after the end")
            return values, replies

        values, replies = asyncio.run(asyncio.wait_for(run(), LIMIT))
        self.assertEqual(values, list(range(2000)))
        self.assertEqual(replies, [b"answer"])

    def test_asyncio_cancels_a_wait_and_loses_nothing(self):
        subscriber = self.far.declare_subscriber("a")
        publisher = self.publisher("a")

        async def run():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(aiter(subscriber)), 0.02)
            publisher.put("value")
            return await asyncio.wait_for(anext(aiter(subscriber)), LIMIT)

        self.assertEqual(bytes(asyncio.run(run()).payload), b"value")

    def test_asyncio_gives_other_tasks_a_turn_amid_values_that_wait(self):
        count = 5000
        subscriber = self.far.declare_subscriber("a", handlers.FifoChannel(count))
        publisher = self.publisher("a", congestion_control=zenoh.CongestionControl.BLOCK)
        for _ in range(count):
            publisher.put(b"")
        publisher.put(b"last")
        turns = 0

        async def other():
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        async def run():
            task = asyncio.create_task(other())
            await asyncio.sleep(0)
            before, taken = turns, 0
            async for _ in subscriber:
                taken += 1
                if taken == count:
                    break
            task.cancel()
            return turns - before

        self.assertGreaterEqual(asyncio.run(asyncio.wait_for(run(), LIMIT)), count // 1024)

    def test_asyncio_awaits_a_value_once(self):
        subscriber = self.far.declare_subscriber("a")
        publisher = self.publisher("a")
        publisher.put("value")

        async def run():
            await subscriber.handler.__anext__()
            publisher.put("another")
            await asyncio.sleep(0)
            until(lambda: not subscriber.handler.on_ready(lambda: None))
            value = subscriber.handler.__anext__()
            first = await value
            with self.assertRaises(RuntimeError):
                await value
            publisher.put("the last")
            until(lambda: not subscriber.handler.on_ready(lambda: None))
            self.assertIsNot(subscriber.handler.__anext__(), value)
            with self.assertRaises(RuntimeError):
                await value
            return first

        self.assertEqual(bytes(asyncio.run(run()).payload), b"another")

    def test_liveliness_sees_a_token_come_and_go(self):
        subscriber = self.far.liveliness().declare_subscriber("alive/*", history=True)
        token = self.near.liveliness().declare_token("alive/me")
        self.assertEqual(subscriber.recv().kind, zenoh.SampleKind.PUT)
        replies = [str(reply.ok.key_expr) for reply in self.far.liveliness().get("alive/*", timeout=5)]
        self.assertEqual(replies, ["alive/me"])
        token.undeclare()
        self.assertEqual(subscriber.recv().kind, zenoh.SampleKind.DELETE)

    def test_an_advanced_subscriber_gets_the_history(self):
        publisher = declare_advanced_publisher(
            self.near, "a", cache=CacheConfig(2), sample_miss_detection=MissDetectionConfig()
        )
        for number in range(3):
            publisher.put(str(number))
        subscriber = declare_advanced_subscriber(self.far, "a", history=HistoryConfig(max_samples=2))
        self.assertIsInstance(subscriber, AdvancedSubscriber)
        values = [subscriber.recv().payload.to_string() for _ in range(2)]
        self.assertEqual(values, ["1", "2"])

    def test_connections_are_listed(self):
        until(lambda: self.near.info.transports())
        transport = self.near.info.transports()[0]
        self.assertEqual(transport.zid, self.far.zid())
        self.assertEqual(transport.whatami, zenoh.WhatAmI.CLIENT)
        listener = self.near.info.declare_transport_events_listener(history=True)
        self.assertEqual(listener.recv().kind, zenoh.SampleKind.PUT)

    def test_a_link_shows_what_its_endpoint_names(self):
        endpoint = self.near.info.locators()[0] + "?prio=2-5;rel=1"
        with zenoh.open(config("client", [], [endpoint])) as session:
            until(lambda: session.info.links())
            link = session.info.links()[0]
            self.assertEqual(link.priorities, (2, 5))
            self.assertEqual(link.reliability, zenoh.Reliability.RELIABLE)
        self.assertIsNone(self.far.info.links()[0].priorities)

    def test_a_held_payload_is_let_go(self):
        subscriber = self.far.declare_subscriber("a")
        publisher = self.publisher("a")
        payload = bytes(100_000)
        count = sys.getrefcount(payload)
        publisher.put(payload)
        self.assertEqual(len(subscriber.recv().payload), 100_000)
        until(lambda: publisher.key_expr == "a" and sys.getrefcount(payload) == count)

    def test_entities_are_dropped_by_the_collector_on_another_thread(self):
        class Holder:
            pass

        for _ in range(20):
            holder = Holder()
            holder.itself = holder
            holder.subscriber = self.far.declare_subscriber("a")
            holder.publisher = self.near.declare_publisher("a")
            del holder
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join(LIMIT)
        self.assertFalse(thread.is_alive())

    def test_many_threads_put_and_read(self):
        values = []
        self.far.declare_subscriber("a", values.append)
        publisher = self.publisher("a", congestion_control=zenoh.CongestionControl.BLOCK)
        threads = [
            threading.Thread(target=lambda: [publisher.put(b"x" * size) for size in (1, 100, 10_000) * 100])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
        until(lambda: len(values) == 1200)

    def test_misuse_raises(self):
        publisher = self.near.declare_publisher("a")
        publisher.undeclare()
        publisher.undeclare()
        with self.assertRaises(zenoh.ZError):
            publisher.put("value")
        with self.assertRaises(TypeError):
            self.near.put("a", 5)
        with self.assertRaises(TypeError):
            self.near.declare_subscriber("a", 5)
        with self.assertRaises(zenoh.ZError):
            self.near.put("a//b", "value")
        with self.assertRaises(ValueError):
            self.near.get("a", timeout=-1)
        self.far.close()
        with self.assertRaises(zenoh.ZError):
            self.far.put("a", "value")


    def test_a_bad_argument_is_refused_in_one_line(self):
        session, handler = self.near, self.far.declare_subscriber("a").handler
        refused = [
            lambda: zenoh.KeyExpr(""),
            lambda: zenoh.KeyExpr(None),
            lambda: zenoh.KeyExpr(b"a"),
            lambda: zenoh.KeyExpr("\ud800"),
            lambda: zenoh.KeyExpr("a/" * 200_000),
            lambda: zenoh.KeyExpr("a").join("//"),
            lambda: session.put(None, "value"),
            lambda: session.put("a", None),
            lambda: session.put("a", "\ud800"),
            lambda: session.put("a", "value", encoding=5),
            lambda: session.put("a", "value", encoding="x" * 100_000),
            lambda: session.put("a", "value", attachment=5),
            lambda: session.put("a", "value", priority=5),
            lambda: session.put("a", "value", timestamp=5),
            lambda: session.get("a", timeout=float("nan")),
            lambda: session.get("a", timeout=float("inf")),
            lambda: session.get("a", timeout=1e300),
            lambda: session.get("a?b=\ud800"),
            lambda: session.get("a", cancellation_token=5),
            lambda: session.declare_subscriber("a", (1, 2, 3)),
            lambda: session.declare_subscriber("a", handlers.Callback(5)),
            lambda: zenoh.Timestamp(zenoh.NTP64(1, 0), b""),
            lambda: zenoh.Timestamp(zenoh.NTP64(1, 0), bytes(17)),
            lambda: zenoh.NTP64(-1, 0),
            lambda: handlers.FifoChannel(-1),
            lambda: handlers.RingChannel(2**64),
            lambda: handler.recv(-1),
            lambda: handler.recv(float("nan")),
            lambda: handler.drain(-1),
            lambda: zenoh.Config.from_json5("[" * 100_000),
            lambda: zenoh.Config().insert_json5("no/such/key", "1"),
            lambda: zenoh.open(None),
            lambda: zenoh.Encoding("\ud800"),
            lambda: zenoh.Parameters("\ud800"),
            lambda: zenoh.WhatAmIMatcher("nonsense"),
            lambda: zenoh.Sample(),
            lambda: HistoryConfig(max_age=float("nan")),
            lambda: HistoryConfig(max_age=-1),
            lambda: z_serialize(UInt128(2**128)),
            lambda: z_deserialize(str, zenoh.ZBytes(b"\x01\xff")),
        ]
        errors = (TypeError, ValueError, OverflowError, zenoh.ZError, ZDeserializeError)
        for number, call in enumerate(refused):
            with self.assertRaises(errors, msg=number) as raised:
                call()
            text = str(raised.exception)
            self.assertTrue(0 < len(text) < 300 and "\n" not in text, (number, text))

    def test_a_callback_may_call_its_session(self):
        for indirect in (True, False):
            steps, entities = [], []

            def call(sample):
                self.far.put("other", b"value")
                self.far.declare_publisher("other").undeclare()
                self.far.declare_subscriber("other", len).undeclare()
                entities[0].undeclare()
                steps.append("call")

            callback = handlers.Callback(call, lambda: steps.append("end"), indirect=indirect)
            entities.append(self.far.declare_subscriber("a", callback))
            self.publisher("a").put("value")
            until(lambda: "end" in steps)
            self.assertEqual(steps, ["call", "end"])

    def test_a_callback_may_outlive_its_session(self):
        for indirect in (True, False):
            session = zenoh.open(config("client", [], [self.near.info.locators()[0]]))
            inside, goes_on, steps = threading.Event(), threading.Event(), []

            def call(sample):
                inside.set()
                goes_on.wait(LIMIT)
                steps.append(bytes(sample.payload))

            callback = handlers.Callback(call, lambda: steps.append("end"), indirect=indirect)
            subscriber = session.declare_subscriber("b", callback)
            self.publisher("b").put("value")
            self.assertTrue(inside.wait(LIMIT))
            closer = threading.Thread(target=session.close)
            closer.start()
            until(session.is_closed)
            del subscriber, session
            gc.collect()
            self.assertEqual(steps, [])
            goes_on.set()
            until(lambda: "end" in steps)
            closer.join(LIMIT)
            self.assertEqual(steps, [b"value", "end"])


class Values(unittest.TestCase):
    def test_a_payload_is_a_buffer(self):
        payload = zenoh.ZBytes(bytes(range(256)) * 100)
        view = memoryview(payload)
        self.assertTrue(view.readonly)
        self.assertEqual(len(view), 25_600)
        del payload
        gc.collect()
        self.assertEqual(view[255], 255)
        self.assertEqual(bytes(zenoh.ZBytes(memoryview(b"abcd")[::2])), b"ac")
        self.assertEqual(zenoh.ZBytes("text"), "text")
        self.assertFalse(zenoh.ZBytes())
        with self.assertRaises(ValueError):
            zenoh.ZBytes(b"\xff").to_string()

    def test_values_are_serialized_as_elsewhere(self):
        self.assertEqual(bytes(z_serialize([1, 2])), b"\x02\x01\0\0\0\x02\0\0\0")
        for tp, value in [
            (dict[str, list[int]], {"a": [1, -2], "b": []}),
            (tuple[Int8, Float32, bool], (Int8(-1), Float32(0.5), True)),
            (UInt128, UInt128(2**127)),
            (set[bytes], {b"a", b"bc"}),
        ]:
            self.assertEqual(z_deserialize(tp, z_serialize(value)), value)
        with self.assertRaises(ZDeserializeError):
            z_deserialize(int, zenoh.ZBytes(b"\0"))
        with self.assertRaises(ZDeserializeError):
            z_deserialize(list[int], zenoh.ZBytes(b"\xff\xff\xff\xff\x7f"))

    def test_keys_parameters_and_times_behave(self):
        key = zenoh.KeyExpr("a/*")
        self.assertTrue(key.intersects("a/b"))
        self.assertEqual(key.relation_to("a/b"), zenoh.SetIntersectionLevel.INCLUDES)
        self.assertEqual(hash(key), hash("a/*"))
        self.assertEqual(zenoh.KeyExpr.autocanonize("a/**/*"), "a/*/**")
        selector = zenoh.Selector("a", {"b": "1"})
        self.assertEqual(str(selector), "a?b=1")
        parameters = zenoh.Parameters("a=1;b=2|3")
        self.assertEqual(parameters.values("b"), ["2", "3"])
        self.assertEqual(dict(parameters)["a"], "1")
        time = zenoh.NTP64(1, 500_000_000)
        self.assertEqual(time.as_secs_f64(), 1.5)
        stamp = zenoh.Timestamp(time, b"\x01\x02")
        self.assertEqual(stamp.get_time().timestamp(), 1.5)
        self.assertEqual(zenoh.Encoding("text/plain"), zenoh.Encoding.TEXT_PLAIN)
        self.assertEqual(zenoh.WhatAmI.ROUTER | zenoh.WhatAmI.PEER, zenoh.WhatAmIMatcher("router|peer"))

    def test_the_stubs_name_what_the_modules_have(self):
        folder = pathlib.Path(zenoh.__file__).parent
        for name in ("__init__", "handlers", "ext"):
            module = zenoh if name == "__init__" else getattr(zenoh, name)
            stub = ast.parse((folder / f"{name}.pyi").read_text())
            classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
            functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
            public = {
                key
                for key, value in vars(module).items()
                if not key.startswith("_") and (isinstance(value, type) or callable(value))
            }
            imported = {
                alias.asname or alias.name
                for node in stub.body
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            self.assertEqual(public - imported, (set(classes) | functions) - {n for n in classes if n[0] == "_"}, name)
            for key, node in classes.items():
                if key.startswith("_"):
                    continue
                told = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
                told |= {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
                told |= {t.id for item in node.body if isinstance(item, ast.Assign) for t in item.targets}
                there = {member for member in vars(getattr(module, key)) if not member.startswith("_")}
                self.assertEqual(there, {member for member in told if not member.startswith("_")}, key)


PRELUDE = """
import json, os, sys, threading, time
import zonda as zenoh
def config(mode, **keys):
    config = zenoh.Config()
    config.insert_json5("mode", json.dumps(mode))
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", json.dumps(keys.get("listen", [])))
    config.insert_json5("connect/endpoints", json.dumps(keys.get("connect", [])))
    return config
near = zenoh.open(config("peer", listen=["tcp/127.0.0.1:0"]))
far = zenoh.open(config("client", connect=[near.info.locators()[0]]))
publisher = near.declare_publisher("a")
"""


class Processes(unittest.TestCase):
    def run_program(self, program, limit=3 * LIMIT):
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE + program], capture_output=True, text=True, timeout=limit
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_the_interpreter_ends_amid_callbacks(self):
        output = self.run_program("""
calls = 0
def call(sample):
    global calls
    calls += 1
def sleeps(sample): time.sleep(30)
far.declare_subscriber("a", call)
far.declare_subscriber("a", sleeps)
far.declare_subscriber("a", zenoh.handlers.Callback(call, indirect=False))
waiting = far.declare_subscriber("b")
threading.Thread(target=lambda: waiting.recv(), daemon=True).start()
def flood():
    while True: publisher.put(b"x")
threading.Thread(target=flood, daemon=True).start()
while calls < 1000: time.sleep(0.001)
print("end")
""")
        self.assertEqual(output, "end\n")

    def test_the_interpreter_ends_amid_a_direct_callback_that_does_not_return(self):
        output = self.run_program("""
inside = threading.Event()
def call(sample):
    inside.set()
    while True: pass
far.declare_subscriber("a", zenoh.handlers.Callback(call, indirect=False))
while not publisher.matching_status: time.sleep(0.001)
publisher.put(b"x")
inside.wait()
print("end")
""")
        self.assertEqual(output, "end\n")

    def test_the_interpreter_ends_amid_threads_that_return_to_it(self):
        # Python unwinds the stack of a thread that asks for the lock too late, and would end the process by a signal
        self.run_program("""
begin, called = threading.Event(), threading.Event()
def calls():
    begin.wait()
    while True:
        zenoh.CancellationToken().cancel()
        called.set()
for _ in range(16): threading.Thread(target=calls, daemon=True).start()
begin.set()
called.wait()
""")

    def test_the_interpreter_ends_amid_asyncio(self):
        self.run_program("""
import asyncio
subscriber = far.declare_subscriber("a")
async def run():
    try: await asyncio.wait_for(anext(aiter(subscriber)), 0.05)
    except asyncio.TimeoutError: pass
asyncio.run(run())
publisher.put("late")
""")

    def test_a_forked_process_gets_an_error_and_ends(self):
        output = self.run_program("""
subscriber = far.declare_subscriber("a")
sys.stdout.flush()
child = os.fork()
if child == 0:
    for call in (subscriber.recv, lambda: far.put("a", "value")):
        try: call()
        except zenoh.ZError as error: print("error", flush=True)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
        self.assertEqual(output.split(), ["error", "error", "0"])

    def test_a_million_operations_leak_nothing(self):
        output = self.run_program("""
import gc, tracemalloc
from zonda.ext import z_deserialize, z_serialize
subscriber = near.declare_subscriber("b", zenoh.handlers.FifoChannel(8))
sender = near.declare_publisher("b")
near.declare_queryable("q", lambda query: query.reply("q", query.payload))

def values(count):
    for number in range(count):
        sender.put(b"value", attachment="beside")
        sample = subscriber.recv()
        bytes(sample.payload), sample.attachment.to_string(), str(sample.key_expr), sample.encoding
        zenoh.Selector("b", {"a": "1"}).parameters
        z_deserialize(list[int], z_serialize([number]))
        try: zenoh.KeyExpr("b//")
        except zenoh.ZError: pass

def entities(count):
    for _ in range(count):
        list(near.get("q", payload=b"asked", timeout=20))
        near.declare_publisher("b").undeclare()
        near.declare_subscriber("c", lambda sample: None).undeclare()
        near.liveliness().declare_token("t").undeclare()

def resident():
    with open("/proc/self/statm") as memory: return int(memory.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def grown(work, count):
    work(count // 10)
    gc.collect()
    before, size = tracemalloc.get_traced_memory()[0], resident()
    work(count)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before, resident() - size

tracemalloc.start()
print(json.dumps([grown(values, 100_000), grown(entities, 1000)]))
""", limit=30 * LIMIT)
        for objects, memory in json.loads(output):
            # a leak of one byte a round is 100 kB, or one of a small object in each declaration 50 kB
            self.assertLess(objects, 32_000, output)
            self.assertLess(memory, 8_000_000, output)

    def test_ctrl_c_ends_a_wait(self):
        output = self.run_program("""
import signal
subscriber = far.declare_subscriber("a")
queryable = near.declare_queryable("q")
for wait in (subscriber.recv, lambda: next(iter(subscriber)), lambda: list(far.get("q", timeout=60))):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try: wait()
    except KeyboardInterrupt: print("interrupted")
""")
        self.assertEqual(output, "interrupted\n" * 3)


if __name__ == "__main__":
    unittest.main()
