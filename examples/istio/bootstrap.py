#!/usr/bin/env python3
"""Prints a configuration with which a plain Envoy plays Istio's gateway: the filters of envoy-filter.yaml in front of the app.

    examples/istio/bootstrap.py >gateway.yaml && envoy -c gateway.yaml      visitors 8085, the rest as in ../envoy/filter-only.yaml
"""

from pathlib import Path

import yaml

here = Path(__file__).parent
patches = yaml.safe_load((here / "envoy-filter.yaml").read_text())["spec"]["configPatches"]
gateway = yaml.safe_load((here / "../envoy/filter-only.yaml").read_text())

listener = gateway["static_resources"]["listeners"][0]
listener["address"]["socket_address"]["port_value"] = 8085
manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
manager["http_filters"] = [patch["patch"]["value"] for patch in patches] + manager["http_filters"][-1:]

# Istio makes this cluster from the service; here it is the one on loopback.
ask = manager["http_filters"][-2]["typed_config"]["grpc_service"]["envoy_grpc"]["cluster_name"]
cluster = next(c for c in gateway["static_resources"]["clusters"] if c["name"] == "tollgate")
cluster["name"] = cluster["load_assignment"]["cluster_name"] = ask

print(yaml.safe_dump(gateway, sort_keys=False))
