# SPDX-License-Identifier: MIT OR Apache-2.0
"""One role of a measurement: `roles.py PACKAGE ROLE ENDPOINT SIZE SECONDS`.

ROLE is pub, sub, for, asyncio, ping or pong; PACKAGE is zonda or zenoh. `run` starts it. The three kinds of receivers print
samples per second, ping the median of a round trip in us.
"""

import asyncio
import importlib
import json
import os
import statistics
import sys
import threading
import time

PACKAGE, ROLE, ENDPOINT = sys.argv[1:4]
SIZE, SECONDS = int(sys.argv[4]), float(sys.argv[5])
WARM_UP = 200

zenoh = importlib.import_module(PACKAGE)
samples = 0


def session():
    config = zenoh.Config()
    config.insert_json5("mode", '"client"')
    config.insert_json5("connect/endpoints", json.dumps([ENDPOINT]))
    config.insert_json5("scouting/multicast/enabled", "false")
    return zenoh.open(config)


def publisher(session, key, express=False):
    block = zenoh.CongestionControl.BLOCK
    return session.declare_publisher(key, congestion_control=block, express=express)


def pub(session):
    put = publisher(session, "measure/throughput").put
    data = bytes(SIZE)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(50 if SIZE < 100_000 else 1):
            put(data)


def report():
    """Prints the rate of a receiver, and ends the process."""
    print("ready", flush=True)
    while samples == 0:
        time.sleep(0.001)
    time.sleep(0.3)
    before, began = samples, time.monotonic()
    time.sleep(SECONDS)
    print((samples - before) / (time.monotonic() - began), flush=True)
    os._exit(0)


def count(_sample):
    global samples
    samples += 1


async def in_loop(subscriber):
    global samples
    async for _sample in subscriber:
        samples += 1


def receive(session):
    global samples
    if ROLE == "sub":
        session.declare_subscriber("measure/throughput", count)
        report()
    subscriber = session.declare_subscriber("measure/throughput")
    threading.Thread(target=report, daemon=True).start()
    if ROLE == "asyncio":
        asyncio.run(in_loop(subscriber))
    for _sample in subscriber:
        samples += 1


def pong(session):
    put = publisher(session, "measure/pong", express=True).put
    session.declare_subscriber("measure/ping", lambda sample: put(sample.payload))
    print("ready", flush=True)
    time.sleep(SECONDS)


def ping(session):
    put = publisher(session, "measure/ping", express=True).put
    recv = session.declare_subscriber("measure/pong").recv
    time.sleep(0.5)
    data, trips = bytes(SIZE), []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.perf_counter()
        put(data)
        recv()
        trips.append((time.perf_counter() - began) * 1e6)
    print(statistics.median(trips[WARM_UP:]), flush=True)


roles = {"pub": pub, "sub": receive, "for": receive, "asyncio": receive, "ping": ping, "pong": pong}
roles[ROLE](session())
os._exit(0)
