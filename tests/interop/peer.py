# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sessions of the reference, driven line by line.

Each line of standard input is one command, a JSON object with a number `n` and a verb `do`; each line of standard
output is one JSON object: the answer to a command (the same `n`, with `error` if it failed) or something that came in
(`sample`, the name of whatever it came to: a subscriber's sample, a queryable's `query`, a question's `reply`, `fault`
or `end`, a listener's `matching`). Standard input's end ends the program.
"""

import array
import hashlib
import itertools
import json
import sys
import threading
import time

import zenoh
import zenoh.ext

CONGESTION = {"drop": zenoh.CongestionControl.DROP, "block": zenoh.CongestionControl.BLOCK}
RELIABILITY = {"reliable": zenoh.Reliability.RELIABLE, "best_effort": zenoh.Reliability.BEST_EFFORT}
PRIORITY = {
    int(p): p
    for p in (
        zenoh.Priority.REAL_TIME,
        zenoh.Priority.INTERACTIVE_HIGH,
        zenoh.Priority.INTERACTIVE_LOW,
        zenoh.Priority.DATA_HIGH,
        zenoh.Priority.DATA,
        zenoh.Priority.DATA_LOW,
        zenoh.Priority.BACKGROUND,
    )
}

TARGET = {
    "best_matching": zenoh.QueryTarget.BEST_MATCHING,
    "all": zenoh.QueryTarget.ALL,
    "all_complete": zenoh.QueryTarget.ALL_COMPLETE,
}
CONSOLIDATION = {
    "auto": zenoh.ConsolidationMode.AUTO,
    "none": zenoh.ConsolidationMode.NONE,
    "monotonic": zenoh.ConsolidationMode.MONOTONIC,
    "latest": zenoh.ConsolidationMode.LATEST,
}

sessions = {}
publishers = {}
queriers = {}
subscribers = {}
# queryables, tokens, listeners: what is only ever undeclared
entities = {}
# the queries that wait for their answers, by number
queries = {}
numbers = itertools.count(1)
# what cancels a question, by its name
cancellations = {}
others = {}
writing = threading.Lock()


def say(message):
    line = json.dumps(message) + "\n"
    with writing:
        sys.stdout.write(line)
        sys.stdout.flush()


def pattern(length, seed):
    """`length` bytes that differ everywhere: numbers of 8 bytes, counted from `seed`."""
    numbers = array.array("Q", range(seed, seed + length // 8 + 1))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()[:length]


def content(payload):
    """A payload, told by its length and its digest."""
    payload = payload.to_bytes()
    return {"len": len(payload), "sha256": hashlib.sha256(payload).hexdigest()}


def entity_named(entity):
    return None if entity is None else f"{entity.zid}:{entity.eid}"


def source_named(source):
    return None if source is None else f"{entity_named(source.source_id)}:{source.source_sn}"


def described(name, sample):
    stamp = sample.timestamp
    return {
        "sample": name,
        "key": str(sample.key_expr),
        "kind": "put" if sample.kind == zenoh.SampleKind.PUT else "delete",
        **content(sample.payload),
        "encoding": str(sample.encoding),
        "priority": int(sample.priority),
        "express": bool(sample.express),
        "congestion": "block" if sample.congestion_control == zenoh.CongestionControl.BLOCK else "drop",
        "timestamp": None if stamp is None else str(stamp),
        "attachment": None if sample.attachment is None else sample.attachment.to_bytes().hex(),
        "source": source_named(sample.source_info),
        **stack_named(sample),
    }


def stack_named(received):
    """The records of a time-stamp stack, if there is one: point and node, or point and bytes of a program."""
    stack = getattr(received, "timestamp_stack", None)
    if stack is None:
        return {}

    def record(one):
        point, time = str(one.point).split(".")[-1].title(), one.timestamp()
        return f"{point} {time.hex()}" if one.is_custom else f"{point}/{time.get_id()}"

    return {"stack": [record(one) for one in stack.records]}


def every_point():
    builder = zenoh.TimestampInstrumentationBuilder()
    return builder.set_send(True).set_route(True).set_receive(True).build()


class Counted:
    """A subscriber of numbered messages: counts them, and remembers the first that is not the next."""

    def __init__(self):
        self.count = 0
        self.disorder = None

    def take(self, sample):
        number = int.from_bytes(sample.payload.to_bytes(), "little")
        if number != self.count and self.disorder is None:
            self.disorder = f"{number} came as number {self.count}"
        self.count += 1


def do_open(command):
    config = zenoh.Config()
    for key, value in command["config"].items():
        config.insert_json5(key, json.dumps(value))
    session = zenoh.open(config)
    sessions[command["session"]] = session
    return {"zid": str(session.zid())}


def do_close(command):
    sessions.pop(command["session"]).close()


def do_linked(command):
    transports = sessions[command["session"]].info.transports()
    return {"linked": sorted({str(transport.zid) for transport in transports})}


def do_subscribe(command):
    name = command["name"]
    counted = Counted() if command.get("counted") else None

    def one(sample):
        if counted is None:
            say(described(name, sample))
        else:
            counted.take(sample)

    # called where the sample was received, so that the samples of several subscribers keep their order
    direct = zenoh.handlers.Callback(one, indirect=False)
    declared = sessions[command["session"]].declare_subscriber(command["key"], direct)
    subscribers[name] = (declared, counted)


def do_unsubscribe(command):
    subscribers.pop(command["name"])[0].undeclare()


def do_count(command):
    counted = subscribers[command["name"]][1]
    return {"count": counted.count, "disorder": counted.disorder}


def service(command):
    """How messages are to be carried; sessions have no choice of reliability."""
    given = {}
    if "congestion" in command:
        given["congestion_control"] = CONGESTION[command["congestion"]]
    if "priority" in command:
        given["priority"] = PRIORITY[command["priority"]]
    if "express" in command:
        given["express"] = command["express"]
    return given


def do_publisher(command):
    session = sessions[command["session"]]
    reliability = RELIABILITY[command["reliability"]]
    declared = session.declare_publisher(command["key"], reliability=reliability, **service(command))
    publishers[command["name"]] = (session, declared)


def do_unpublisher(command):
    publishers.pop(command["name"])[1].undeclare()


def matchable(command):
    """The publisher or the querier that a command is about."""
    name = command["name"]
    return (publishers.get(name) or queriers[name])[1]


def do_matching(command):
    return {"matching": bool(matchable(command).matching_status.matching)}


def do_listen(command):
    listener = command["listener"]
    direct = zenoh.handlers.Callback(
        lambda status: say({"sample": listener, "matching": status.matching}), indirect=False
    )
    entities[listener] = matchable(command).declare_matching_listener(direct)


def fields(session, source, command):
    """What puts and deletes share."""
    given = {}
    if "attachment" in command:
        given["attachment"] = bytes.fromhex(command["attachment"])
    if "stamp_shift" in command:
        now = session.new_timestamp()
        nanos = now.get_time_as_ntp64().as_nanos() + round(command["stamp_shift"] * 10**9)
        shifted = zenoh.NTP64(nanos // 10**9, nanos % 10**9)
        given["timestamp"] = zenoh.Timestamp(shifted, now.get_id())
    if "source_sn" in command:
        given["source_info"] = zenoh.SourceInfo(source.id, command["source_sn"])
    return given


def sent(session, source, command, put, delete):
    given = fields(session, source, command)
    if command["kind"] == "delete":
        delete(**given)
    else:
        if "encoding" in command:
            given["encoding"] = zenoh.Encoding(command["encoding"])
        put(pattern(command["len"], command["seed"]), **given)
    stamp = given.get("timestamp")
    entity = source.id
    return {"timestamp": None if stamp is None else str(stamp), "source": f"{entity.zid}:{entity.eid}"}


def do_publish(command):
    session, publisher = publishers[command["name"]]
    return sent(session, publisher, command, publisher.put, publisher.delete)


def do_session_publish(command):
    session, given = sessions[command["session"]], service(command)
    key = command["key"]

    def put(payload, **more):
        session.put(key, payload, **given, **more)

    def delete(**more):
        session.delete(key, **given, **more)

    return sent(session, session, command, put, delete)


def do_stack_put(command):
    """Publishes with a time-stamp stack."""
    session = sessions[command["session"]]
    session.put(command["key"], b"value", timestamp_instrumentation=every_point(), **service(command))


def do_stack_get(command):
    """Asks with a time-stamp stack, and tells those of the answers."""
    session = sessions[command["session"]]
    replies = session.get(command["key"], timestamp_instrumentation=every_point())
    return {"stacks": [stack_named(reply.ok or reply.err) for reply in replies]}


def do_stack_answer(command):
    """Answers each query with a value, and tells the stack of the query."""

    def answer(query):
        say({"sample": command["name"], "query": str(query.key_expr), **stack_named(query)})
        query.reply(query.key_expr, b"value")

    declared = sessions[command["session"]].declare_queryable(command["key"], answer)
    entities[command["name"]] = declared


def do_many(command):
    publisher = publishers[command["name"]][1]
    for number in range(command["count"]):
        publisher.put(number.to_bytes(command["len"], "little"))


def do_get(command):
    """Asks, waits until all answers are there, and tells how many they were."""
    session = sessions[command["session"]]
    asked = session.liveliness().get if command["liveliness"] else session.get
    return {"replies": sum(1 for _ in asked(command["key"]))}


def do_declare_others(command):
    """Declares what is neither a publisher nor a subscriber, on one key."""
    session, key = sessions[command["session"]], command["key"]
    others[key] = [
        session.declare_queryable(key, lambda query: query.reply(key, b"")),
        session.declare_querier(key),
        session.liveliness().declare_token(key),
        session.liveliness().declare_subscriber(key, lambda sample: None, history=True),
        session.declare_keyexpr(key),
    ]


def do_undeclare_others(command):
    declared = others.pop(command["key"])
    sessions[command["session"]].undeclare(declared.pop())
    for entity in declared:
        entity.undeclare()


def replied(name, reply):
    """An answer to a question."""
    replier = reply.replier_id
    if reply.ok is not None:
        return {**described(name, reply.ok), "reply": True, "replier": entity_named(replier)}
    fault = {**content(reply.err.payload), "encoding": str(reply.err.encoding)}
    return {"sample": name, "fault": fault, "replier": entity_named(replier)}


def hearing(name):
    """Tells each answer to a question, and its end."""
    return zenoh.handlers.Callback(
        lambda reply: say(replied(name, reply)), lambda: say({"sample": name, "end": True}), indirect=False
    )


def question(session, asking, command):
    """What every question may have."""
    given = {}
    if "len" in command:
        given["payload"] = pattern(command["len"], command["seed"])
    if "encoding" in command:
        given["encoding"] = zenoh.Encoding(command["encoding"])
    if "attachment" in command:
        given["attachment"] = bytes.fromhex(command["attachment"])
    if "source_sn" in command:
        given["source_info"] = zenoh.SourceInfo(asking.id, command["source_sn"])
    if command.get("cancellable"):
        given["cancellation_token"] = cancellations[command["name"]] = zenoh.CancellationToken()
    return given


def conditions(command):
    """What a question has that a querier is declared with."""
    given = service(command)
    if "target" in command:
        given["target"] = TARGET[command["target"]]
    if "consolidation" in command:
        given["consolidation"] = CONSOLIDATION[command["consolidation"]]
    if "timeout" in command:
        given["timeout"] = command["timeout"]
    if command.get("any_key"):
        given["accept_replies"] = zenoh.ReplyKeyExpr.ANY
    return given


def do_ask(command):
    session, name = sessions[command["session"]], command["name"]
    given = question(session, session, command)
    session.get(command["selector"], hearing(name), **conditions(command), **given)
    return {"source": entity_named(session.id)}


def do_querier(command):
    session = sessions[command["session"]]
    declared = session.declare_querier(command["key"], **conditions(command))
    queriers[command["name"]] = (session, declared)


def do_querier_ask(command):
    session, declared = queriers[command["querier"]]
    given = question(session, declared, command)
    if "parameters" in command:
        given["parameters"] = command["parameters"]
    declared.get(hearing(command["name"]), **given)
    return {"source": entity_named(declared.id)}


def do_cancel(command):
    cancellations.pop(command["name"]).cancel()


def do_queryable(command):
    session, name = sessions[command["session"]], command["name"]

    def one(query):
        number = next(numbers)
        queries[number] = (session, query)
        body, attachment = query.payload, query.attachment
        asked = {
            "number": number,
            "key": str(query.key_expr),
            "parameters": str(query.parameters),
            "body": None if body is None else content(body),
            "encoding": None if query.encoding is None else str(query.encoding),
            "attachment": None if attachment is None else attachment.to_bytes().hex(),
            "source": source_named(query.source_info),
            "any_key": query.accepts_replies() == zenoh.ReplyKeyExpr.ANY,
        }
        say({"sample": name, "query": asked})

    direct = zenoh.handlers.Callback(one, indirect=False)
    complete = command.get("complete", False)
    entities[name] = session.declare_queryable(command["key"], direct, complete=complete)
    return {"id": entity_named(entities[name].id)}


def do_reply(command):
    session, query = queries[command["query"]]
    given = fields(session, session, command)
    if command["kind"] == "delete":
        query.reply_del(command["key"], **given)
    else:
        if "encoding" in command:
            given["encoding"] = zenoh.Encoding(command["encoding"])
        query.reply(command["key"], pattern(command["len"], command["seed"]), **given)
    stamp = given.get("timestamp")
    return {"timestamp": None if stamp is None else str(stamp), "source": entity_named(session.id)}


def do_reply_err(command):
    given = {}
    if "encoding" in command:
        given["encoding"] = zenoh.Encoding(command["encoding"])
    queries[command["query"]][1].reply_err(pattern(command["len"], command["seed"]), **given)


def do_finish(command):
    queries.pop(command["query"])[1].drop()


def do_token(command):
    entities[command["name"]] = sessions[command["session"]].liveliness().declare_token(command["key"])


def do_alive(command):
    session, name = sessions[command["session"]], command["name"]
    given = {"timeout": command["timeout"]} if "timeout" in command else {}
    session.liveliness().get(command["key"], hearing(name), **given)


def do_watch(command):
    name = command["name"]
    direct = zenoh.handlers.Callback(lambda sample: say(described(name, sample)), indirect=False)
    liveliness = sessions[command["session"]].liveliness()
    declared = liveliness.declare_subscriber(command["key"], direct, history=command["history"])
    subscribers[name] = (declared, None)


def do_undeclare(command):
    entities.pop(command["name"]).undeclare()


def do_scout(command):
    """Looks for nodes until one with the given id answers, with the default configuration; tells all that it heard."""
    scout = zenoh.scout(what=command["what"])
    heard, deadline = {}, time.monotonic() + command["seconds"]
    while command["zid"] not in heard and time.monotonic() < deadline:
        hello = scout.try_recv()
        if hello is None:
            time.sleep(0.005)
        else:
            heard[str(hello.zid)] = {
                "role": str(hello.whatami),
                "locators": [str(locator) for locator in hello.locators],
            }
    scout.stop()
    return {"heard": heard}


def do_advanced_publisher(command):
    """One whose samples go to its own session only has none of them but its cache, its heartbeats and its token seen."""
    session = sessions[command["session"]]
    detection = zenoh.ext.MissDetectionConfig(heartbeat=command.get("heartbeat"), sporadic_heartbeat=None)
    publishers[command["name"]] = session, zenoh.ext.declare_advanced_publisher(
        session,
        command["key"],
        cache=zenoh.ext.CacheConfig(command["kept"]),
        sample_miss_detection=detection,
        allowed_destination=zenoh.Locality.SESSION_LOCAL if command["mute"] else None,
    )
    return {"id": entity_named(publishers[command["name"]][1].id)}


def do_advanced_put(command):
    publishers[command["name"]][1].put(command["text"])


def do_advanced_send(command):
    """Sends what an advanced publisher did not, as if this one sample had not been lost."""
    session, publisher = publishers[command["name"]]
    info = zenoh.SourceInfo(publisher.id, command["sn"])
    session.put(publisher.key_expr, command["text"], source_info=info)


def do_advanced_subscriber(command):
    name, history, recovery = command["name"], None, None
    if command["history"]:
        history = zenoh.ext.HistoryConfig(detect_late_publishers=True)
    if command["recovery"]:
        # without heartbeats or periodic questions there is no recovery here; of a publisher without heartbeats it hears none
        recovery = zenoh.ext.RecoveryConfig(heartbeat=True)
    samples = zenoh.handlers.Callback(
        lambda sample: say({"sample": name, "text": sample.payload.to_string()}), indirect=False
    )
    misses = zenoh.handlers.Callback(lambda miss: say({"sample": name, "text": f"-{miss.nb}"}), indirect=False)
    session = sessions[command["session"]]
    declared = zenoh.ext.declare_advanced_subscriber(
        session, command["key"], samples, history=history, recovery=recovery
    )
    subscribers[name] = (declared, declared.sample_miss_listener(misses))


def do_serialize(command):
    """Serializes values of many types, and reads the same bytes of the other side."""
    ext, values = zenoh.ext, []
    for value, kind in (
        (ext.Int32(1234566), ext.Int32),
        (ext.Int128(-1), ext.Int128),
        (ext.UInt8(255), ext.UInt8),
        (ext.Float32(1234.0), ext.Float32),
        (True, bool),
        ("test", str),
        (b"bytes", bytes),
        ([ext.Int64(-100), ext.Int64(500)], list[ext.Int64]),
        ((ext.UInt16(500), ext.Float64(0.5), "x"), tuple[ext.UInt16, ext.Float64, str]),
        ([("s1", ext.Int16(10)), ("s2", ext.Int16(-10000))], list[tuple[str, ext.Int16]]),
        ({"key": [1, 2]}, dict[str, list[int]]),
        ("long" * 100, str),
    ):
        read = bytes.fromhex(command["bytes"][len(values)])
        back = ext.z_deserialize(kind, zenoh.ZBytes(read))
        values.append({"bytes": ext.z_serialize(value).to_bytes().hex(), "reads": back == value})
    return {"values": values}


def do_hash(command):
    return {"sha256": hashlib.sha256(pattern(command["len"], command["seed"])).hexdigest()}


def do_hash_text(command):
    return {"sha256": hashlib.sha256(command["text"].encode()).hexdigest()}


def obey(command):
    try:
        answer = globals()["do_" + command["do"]](command) or {}
    except Exception as error:  # whatever went wrong belongs to the test that asked
        answer = {"error": f"{type(error).__name__}: {error}"}
    answer["n"] = command["n"]
    say(answer)


def main():
    zenoh.init_log_from_env_or("warn")
    say({"n": 0})
    for line in sys.stdin:
        obey(json.loads(line))
    for session in sessions.values():
        session.close()


main()
