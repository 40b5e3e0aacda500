# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sessions of the reference, driven line by line.

Each line of standard input is one command, a JSON object with a number `n` and a verb `do`; each line of standard
output is one JSON object: the answer to a command (the same `n`, with `error` if it failed) or a sample that came in
(`sample`, the name of the subscriber). Standard input's end ends the program.
"""

import array
import hashlib
import json
import sys
import threading
import time

import zenoh

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

sessions = {}
publishers = {}
subscribers = {}
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


def described(name, sample):
    payload = sample.payload.to_bytes()
    stamp, source = sample.timestamp, sample.source_info
    return {
        "sample": name,
        "key": str(sample.key_expr),
        "kind": "put" if sample.kind == zenoh.SampleKind.PUT else "delete",
        "len": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
        "encoding": str(sample.encoding),
        "priority": int(sample.priority),
        "express": bool(sample.express),
        "congestion": "block" if sample.congestion_control == zenoh.CongestionControl.BLOCK else "drop",
        "timestamp": None if stamp is None else str(stamp),
        "attachment": None if sample.attachment is None else sample.attachment.to_bytes().hex(),
        "source": None if source is None else f"{source.source_id.zid}:{source.source_id.eid}:{source.source_sn}",
    }


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


def do_matching(command):
    return {"matching": bool(publishers[command["name"]][1].matching_status.matching)}


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


def do_hash(command):
    return {"sha256": hashlib.sha256(pattern(command["len"], command["seed"])).hexdigest()}


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
