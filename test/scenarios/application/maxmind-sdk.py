"""Runs MaxMind's own client for Python with its `host` option. maxmind-sdk.test.ts starts it."""

import json
import sys

import geoip2.webservice
from geoip2.errors import GeoIP2Error

given = json.loads(sys.argv[1])


def client(key):
    return geoip2.webservice.Client(42, key, host=given["host"], timeout=100)


def result(lookup, address):
    try:
        return lookup(address).raw
    except GeoIP2Error as error:
        return {"error": type(error).__name__}


sdk = client(given["key"])
print(
    json.dumps(
        {
            "city": result(sdk.city, "192.0.2.1"),
            "country": result(sdk.country, "2001:db8::1"),
            "unknown": result(sdk.city, "192.0.2.3"),
            "quota": result(sdk.city, "203.0.113.15"),
            "stranger": result(client("abc").city, "192.0.2.1"),
        }
    )
)
