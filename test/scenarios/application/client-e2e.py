"""Runs the Python client through the cases of client-e2e.mjs: same argument, same line of JSON, no fakes."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "packages/python"))

from inkling import Inkling, InklingError, Unavailable  # noqa: E402

given = json.loads(sys.argv[1])
url, live, addresses, emails = given["url"], given["live"], given["addresses"], given["emails"]
inkling = Inkling(url, given["sandbox"], retries=0)


def plain(answer):
    return None if answer is None else answer.json


def outcome(look_up, *args, **options):
    try:
        return {"answer": plain(look_up(*args, **options))}
    except InklingError as error:
        return {
            "code": error.code,
            "httpStatus": error.http_status,
            "hint": error.hint,
            "requestId": error.request_id,
            "message": str(error),
        }


def batched(client, lookup, values, **options):
    return [
        {"value": it.value, "answer": plain(it.answer)} if it.ok else {"value": it.value, "code": it.error.code}
        for it in client.batch(lookup, values, **options)
    ]


def unavailable_by(on_unavailable, ip, **options):
    found = Inkling(url, live, on_unavailable=on_unavailable).reputation(ip, **options)
    return {"code": found.error.code, "verdict": found.verdict}


def data_of(found):
    return {
        "missing": list(found.data.missing),
        "incomplete": list(found.data.incomplete),
        "version": found.data.version,
    }


singles = {
    ip: {
        "geolocate": outcome(inkling.geolocate, ip),
        "reputation": outcome(inkling.reputation, ip),
        "evidence": outcome(inkling.reputation, ip, evidence=True),
    }
    for ip in addresses
}
singles.update({email: outcome(inkling.email, email) for email in emails})

other_end = "1" if live.endswith("0") else "0"
away = Inkling("http://127.0.0.1:1", live, retries=0, on_unavailable="deny")
unavailable = away.reputation("81.2.69.142")
many = ["81.2.%d.%d" % (60 + i % 20, i % 256) for i in range(2_500)]
with_live = Inkling(url, live)
reputation = with_live.reputation("81.2.69.1")
paced = batched(Inkling(url, given["paced"]), "reputation", many[:500], size=100)
results = {
    "singles": singles,
    "checked": outcome(inkling.email, "jane@mx-disposable.example", checks=["mx"], evidence=True),
    "batchOfAddresses": batched(inkling, "reputation", addresses),
    "batchOfEmails": batched(inkling, "email", emails),
    "many": [
        it.value == many[i] and it.answer is not None and it.answer.city.name
        for i, it in enumerate(with_live.batch("geolocate", many))
    ],
    "paced": [it.get("code", "ok") for it in paced],
    "cached": [plain(with_live.geolocate("81.2.69.1")), plain(with_live.geolocate("81.2.69.1"))],
    "again": plain(with_live.geolocate("81.2.69.1")),
    "incomplete": {
        "data": data_of(reputation),
        "json": json.dumps(reputation.json, separators=(",", ":")),
        "batched": data_of(next(iter(with_live.batch("reputation", ["81.2.69.1"])))),
        "required": unavailable_by("deny", "81.2.69.1", require=["is_abuser"]),
    },
    "reserved": unavailable_by("allow", "10.0.0.1"),
    "wrongKey": outcome(Inkling(url, live[:-1] + other_end).reputation, "me"),
    "unavailable": isinstance(unavailable, Unavailable)
    and {"available": unavailable.available, "verdict": unavailable.verdict, "error": unavailable.error.code},
}
print(json.dumps(results))
