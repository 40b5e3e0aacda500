#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the metrics of a node with the OpenMetrics parser of prometheus_client, and checks the type of each family.

usage: judge.py URL|FILE      pip install prometheus_client
"""
import sys
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

ACCEPT = "application/openmetrics-text; version=1.0.0"

# Types of the reference's families: the names without the suffix of their samples.
REFERENCE = {
    "zenoh_build": "info",
    "zenoh_transports_opened": "gauge",
    "zenoh_links_opened": "gauge",
    "zenoh_resources_declared": "gauge",
    "zenoh_tx_bytes": "counter",
    "zenoh_rx_bytes": "counter",
    "zenoh_rx_transport_message": "counter",
    "zenoh_tx_network_message": "counter",
    "zenoh_rx_network_message": "counter",
    "zenoh_tx_per_transport_bytes": "counter",
    "zenoh_rx_per_transport_bytes": "counter",
    "zenoh_tx_network_message_per_transport": "counter",
    "zenoh_rx_network_message_per_transport": "counter",
    "zenoh_tx_network_message_dropped_payload_bytes": "histogram",
    "zenoh_rx_network_message_dropped_payload_bytes": "histogram",
}

TYPES = {"counter", "gauge", "info", "histogram"}


def text_of(place):
    """Returns the text of a file, or what a node serves at an address."""
    if not place.startswith(("http:", "https:")):
        with open(place, encoding="utf-8") as file:
            return file.read()
    request = urllib.request.Request(place, headers={"Accept": ACCEPT})
    with urllib.request.urlopen(request, timeout=10) as answer:
        kind = answer.headers["Content-Type"]
        if not kind.startswith("application/openmetrics-text"):
            sys.exit(f"{place}: the answer is {kind}, not OpenMetrics")
        return answer.read().decode("utf-8")


def faults_of(family):
    """Returns what is wrong with a family, perhaps nothing."""
    if not family.name.startswith(("zonda_", "zenoh_")):
        yield "its name begins with neither zonda_ nor zenoh_"
    if family.type not in TYPES:
        yield f"its type is {family.type}"
    wanted = REFERENCE.get(family.name, family.type)
    if family.name.startswith("zenoh_") and family.name not in REFERENCE:
        yield "the reference has no such name"
    if family.type != wanted:
        yield f"its type is {family.type}, the reference's {wanted}"
    if not family.documentation:
        yield "it has no description"
    if not family.samples:
        yield "it has no samples"
    labels = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
    if len(labels) != len(set(labels)):
        yield "two samples have the same labels"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    families = list(text_string_to_metric_families(text_of(sys.argv[1])))
    faults = [f"{family.name}: {fault}" for family in families for fault in faults_of(family)]
    samples = sum(len(family.samples) for family in families)
    print("\n".join(faults + [f"{len(families)} families, {samples} samples, {len(faults)} faults"]))
    sys.exit(1 if faults or not families else 0)


if __name__ == "__main__":
    main()
