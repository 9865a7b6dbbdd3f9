"""Tests the client with a faulty server. test/scenarios/application/client-e2e.py has the tests with a real server."""

import asyncio
import inspect
import json
import os
import pickle
import socket
import ssl
import sys
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from inkling import (  # noqa: E402
    CLIENT_CODES,
    SERVER_CODES,
    AsyncInkling,
    Inkling,
    InklingError,
    Unavailable,
    denies,
    visitor_address,
)
from inkling._generated import VISITOR_FIELDS  # noqa: E402
from inkling._transport import Breaker, pause_before, retry_after  # noqa: E402
from inkling.testing import FakeInkling  # noqa: E402

KEY = "ink_live_abc_def"
DECISION = {
    "id": "asm_0123456789abcdef",
    "action": "challenge",
    "review": False,
    "score": 0.6,
    "reasons": [{"code": "tor_exit", "weight": 0.6}],
    "rule": None,
    "shadow": [{"rule": "tor", "action": "deny"}],
    "degraded": ["is_abuser"],
    "ruleset": 7,
    "data_version": "r1",
}
CLEAN = {"is_abuser": False, "is_proxy": False, "is_tor_exit": False}
# A time in seconds that is longer than any of these tests.
LONG = 60


def problem(code, status):
    return {"type": "x", "title": "T", "status": status, "detail": "D", "code": code, "request_id": "abc"}


class Server(ThreadingHTTPServer):
    """Answers each request with the next of `steps`, and repeats the last step. `seen` has the requests."""

    daemon_threads = True

    def __init__(self, *steps):
        self.steps = list(steps)
        self.seen = []
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server_address[1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.seen.append((self.client_address, self.path, dict(self.headers), body))
            steps = self.server.steps
            step = steps.pop(0) if len(steps) > 1 else steps[0]
        step(self) if callable(step) else answer(*step)(self)

    do_POST = do_GET


def answer(status=200, value=CLEAN, **headers):
    def step(handler):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        handler.send_response(status)
        named = {"Content_Type": "application/json", "Content_Length": len(body), **headers}
        for name, text in named.items():
            if text is not None:
                handler.send_header(name.replace("_", "-"), str(text))
        handler.end_headers()
        handler.wfile.write(body)

    return step


def hang(handler):
    handler.connection.settimeout(LONG)
    handler.rfile.read(1)  # returns when the client closes the connection
    handler.close_connection = True


def drip(handler):
    """Sends one byte at a time. Each arrives within any limit for a single read."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    try:
        for _ in range(500):
            handler.wfile.write(b" ")
            time.sleep(0.02)
    except OSError:
        pass
    handler.close_connection = True


def drop(handler):
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


class Case(unittest.TestCase):
    def serve(self, *steps, **options):
        server = Server(*steps)
        client = Inkling(server.url, KEY, **{"timeout": LONG, **options})

        def end():
            client.close()
            server.shutdown()
            server.server_close()

        self.addCleanup(end)
        return server, client

    def fails(self, code, work, *args, **options):
        with self.assertRaises(InklingError) as caught:
            work(*args, **options)
        self.assertEqual(caught.exception.code, code)
        return caught.exception


class Retries(Case):
    def test_transient_failures(self):
        for step in (answer(503, problem("DATA_NOT_LOADED", 503)), answer(502, b"<html>"), drop):
            server, client = self.serve(step, step, answer())
            self.assertFalse(client.reputation("81.2.69.1").is_proxy)
            self.assertEqual(len(server.seen), 3)

    def test_others_are_not_repeated(self):
        server, client = self.serve(answer(401, problem("KEY_INVALID", 401)))
        error = self.fails("KEY_INVALID", client.reputation, "81.2.69.1")
        self.assertEqual((error.http_status, error.request_id, len(server.seen)), (401, "abc", 1))
        self.assertNotIn(KEY, str(error) + repr(error) + repr(client.__dict__))

    def test_no_more_than_asked_for(self):
        server, client = self.serve(answer(503, b""), retries=1)
        self.fails("ANSWER_UNREADABLE", client.reputation, "81.2.69.1")
        self.assertEqual(len(server.seen), 2)

    def test_retry_after_is_heeded(self):
        limited = problem("RATE_LIMITED", 429)
        server, client = self.serve(answer(429, limited, Retry_After=1), answer())
        begun = time.monotonic()
        client.reputation("81.2.69.1")
        self.assertGreaterEqual(time.monotonic() - begun, 1)
        server, client = self.serve(answer(429, limited, Retry_After=LONG * 2))
        error = self.fails("RATE_LIMITED", client.reputation, "81.2.69.1")
        self.assertEqual((error.retry_after, len(server.seen)), (LONG * 2, 1))  # too late for another attempt

    def test_pauses(self):
        self.assertEqual(retry_after("7"), 7)
        self.assertEqual(retry_after("Thu, 01 Jan 1970 00:00:00 GMT"), 0)
        self.assertGreater(retry_after("Fri, 01 Jan 2100 00:00:00 GMT"), 1e9)
        for text in (None, "", "soon", "-1", "1.5", "Fri, nonsense"):
            self.assertIsNone(retry_after(text))
        for failures in (1, 5, 5_000):
            self.assertTrue(0.05 <= pause_before(failures, None) <= 10)
        self.assertTrue(4 <= pause_before(1, 4) <= 5)


class Time(Case):
    def test_silence_and_drips_end(self):
        for step in (hang, drip):
            _, client = self.serve(step, timeout=0.6, retries=1)
            self.fails("TIMED_OUT", client.reputation, "81.2.69.1")

    def test_one_hanging_connection_does_not_use_up_the_time(self):
        _, client = self.serve(hang, answer(), timeout=4)
        self.assertFalse(client.reputation("81.2.69.1").is_proxy)

    def test_of_one_lookup(self):
        _, client = self.serve(hang, timeout=LONG, retries=0)
        self.fails("TIMED_OUT", client.reputation, "81.2.69.1", timeout=0.2)


class Connections(Case):
    def test_are_used_again(self):
        server, client = self.serve(answer(404, problem("IP_ADDRESS_NOT_FOUND", 404)), answer())
        self.assertIsNone(client.geolocate("81.2.69.1"))
        for ip in ("81.2.69.2", "81.2.69.3"):
            client.reputation(ip)
        self.assertEqual(len({peer for peer, *_ in server.seen}), 1)

    def test_that_the_server_closed_cost_no_retry(self):
        def closing(handler):
            answer()(handler)
            handler.close_connection = True  # without announcing it

        server, client = self.serve(closing, retries=0)
        for i in range(5):
            client.reputation("81.2.69.%d" % i)
        self.assertEqual(len(server.seen), 5)

    def test_that_were_reset_cost_no_retry_with_tls_either(self):
        server, client = self.serve(answer(), retries=0)
        client.reputation("81.2.69.1")

        def send(*_):  # as an SSLSocket does; a plain socket raises ConnectionError
            raise ssl.SSLEOFError(8, "EOF occurred in violation of protocol")

        client._transport._idle[0].request = send
        client.reputation("81.2.69.2")
        self.assertEqual(len(server.seen), 2)

    def test_closed_by_announcement(self):
        _, client = self.serve(answer(Connection="close"), retries=0)
        for i in range(3):
            self.assertFalse(client.reputation("81.2.69.%d" % i).is_proxy)

    def test_an_answer_that_is_cut_short(self):
        def closing(handler):
            answer(Content_Length=1_000)(handler)
            handler.close_connection = True

        _, client = self.serve(closing, retries=0)
        self.fails("CONNECTION_FAILED", client.reputation, "81.2.69.1")

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_are_not_shared_with_a_child_process(self):
        server, client = self.serve(answer())
        client.reputation("81.2.69.1")
        child = os.fork()
        if child == 0:
            try:
                client.reputation("81.2.69.2")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        client.reputation("81.2.69.3")
        first, other, again = [peer for peer, *_ in server.seen]
        self.assertNotEqual(first, other)
        self.assertEqual(first, again)

    def test_threads_get_their_own_answers(self):
        def echo(handler):
            answer(value={**CLEAN, "ip": handler.path.split("/")[-1]})(handler)

        _, client = self.serve(echo)
        wrong = []

        def look_up(thread):
            for i in range(50):
                ip = "81.2.%d.%d" % (thread, i)
                if client.reputation(ip).ip != ip:
                    wrong.append(ip)

        threads = [threading.Thread(target=look_up, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_redirects_are_not_followed(self):
        server, client = self.serve(answer(301, b"", Location="http://127.0.0.1:1/"))
        self.assertIn("redirect", self.fails("ANSWER_UNREADABLE", client.email, "jane@example.com").hint)
        self.assertEqual(len(server.seen), 1)


class Circuit(Case):
    def test_opens_and_closes(self):
        server, client = self.serve(drop, drop, drop, answer(), retries=0)
        for _ in range(Breaker.FAILURES):
            self.fails("CONNECTION_FAILED", client.reputation, "81.2.69.1")
        client._transport._breaker._until += LONG
        error = self.fails("CONNECTION_FAILED", client.reputation, "81.2.69.1")
        self.assertTrue(str(error).startswith("Not sent"))
        self.assertEqual(len(server.seen), Breaker.FAILURES)
        client._transport._breaker._until = 0.0
        client.reputation("81.2.69.1")
        client.reputation("81.2.69.2")
        self.assertEqual(len(server.seen), Breaker.FAILURES + 2)

    def test_one_probe_at_a_time(self):
        breaker = Breaker()
        error = InklingError("TIMED_OUT", "x")
        for _ in range(Breaker.FAILURES):
            breaker.fail(breaker.enter(), error)
        breaker._until = 0.0
        self.assertTrue(breaker.enter())
        self.assertIn("in progress", self.fails("TIMED_OUT", breaker.enter).hint)
        breaker.abandon(True)
        self.assertTrue(breaker.enter())
        breaker.succeed()
        self.assertFalse(breaker.enter())

    def test_a_refusal_is_a_response(self):
        server, client = self.serve(answer(500, problem("INTERNAL", 500)), retries=0)
        for _ in range(6):
            self.fails("INTERNAL", client.reputation, "81.2.69.1")
        self.assertEqual(len(server.seen), 6)


class Caching(Case):
    def test_fresh_answers_are_not_fetched_again(self):
        server, client = self.serve(answer(Cache_Control="private, max-age=300", Inkling_Data_Version="v1"))
        first, second = client.reputation("81.2.69.1"), client.reputation("81.2.69.1")
        self.assertEqual((first, first.data), (second, second.data))
        first.json["is_proxy"] = True  # must not change other callers' answers
        self.assertFalse(client.reputation("81.2.69.1").json["is_proxy"])
        client.reputation("81.2.69.1", evidence=True)
        self.assertEqual(len(server.seen), 2)

    def test_old_answers_are_validated(self):
        server, client = self.serve(answer(Cache_Control="no-cache", ETag='"a"'), answer(304, b"", ETag='"a"'))
        for _ in range(3):
            self.assertFalse(client.reputation("81.2.69.1").is_proxy)
        self.assertEqual([seen[2].get("If-None-Match") for seen in server.seen], [None, '"a"', '"a"'])
        self.assertEqual(len({seen[0] for seen in server.seen}), 1)

    def test_not_where_it_is_forbidden_nor_without_bound(self):
        server, client = self.serve(answer(Cache_Control="no-store, max-age=300", ETag='"a"'))
        client.reputation("81.2.69.1"), client.reputation("81.2.69.1")
        self.assertEqual(len(server.seen), 2)
        _, client = self.serve(answer(Cache_Control="max-age=300"), cache_entries=2)
        for i in range(5):
            client.reputation("81.2.69.%d" % i)
        self.assertEqual(len(client._cache._entries), 2)


class WithoutAnAnswer(Case):
    def test_allow_and_deny(self):
        refused = answer(400, problem("IP_ADDRESS_RESERVED", 400))
        for verdict in ("allow", "deny"):
            _, client = self.serve(refused, on_unavailable=verdict)
            found = client.reputation("10.0.0.1")
            self.assertIsInstance(found, Unavailable)
            self.assertEqual((found.verdict, found.error.code), (verdict, "IP_ADDRESS_RESERVED"))
            self.assertEqual(denies(found, lambda it: it.is_proxy), verdict == "deny")
        self.fails("IP_ADDRESS_RESERVED", lambda: found.is_proxy)
        self.assertIsNone(Unavailable("allow", found.error).is_proxy)
        with self.assertRaises(AttributeError):
            found.is_proxi
        _, client = self.serve(refused)
        self.fails("IP_ADDRESS_RESERVED", client.reputation, "10.0.0.1")

    def test_throttling_is_denied_by_default(self):
        for code in ("RATE_LIMITED", "QUOTA_EXCEEDED"):
            refused = answer(429, problem(code, 429))
            for options, verdict in (
                ({"on_unavailable": "allow"}, "deny"),
                ({"on_unavailable": "deny", "on_throttled": "allow"}, "allow"),
            ):
                _, client = self.serve(refused, retries=0, **options)
                found = client.reputation("81.2.69.1")
                self.assertEqual((found.verdict, found.error.code, found.error.is_throttled), (verdict, code, True))
            _, client = self.serve(refused, retries=0)
            self.fails(code, client.reputation, "81.2.69.1")

    def test_an_address_that_would_ask_for_another_path(self):
        server, client = self.serve(answer(200, "{}"))
        for value in ("", ".", ".."):
            self.fails("IP_ADDRESS_INVALID", client.reputation, value)
            self.fails("IP_ADDRESS_INVALID", client.geolocate, value)
            with self.assertRaises(ValueError):
                client.outcome(value, "fraud")
        self.assertEqual(server.seen, [])

    def test_what_always_raises(self):
        for code, status in (("KEY_INVALID", 401), ("SCOPE_REQUIRED", 403), ("SANDBOX_VALUE_REQUIRED", 422)):
            _, client = self.serve(answer(status, problem(code, status)), on_unavailable="allow")
            self.fails(code, client.reputation, "81.2.69.1")

    def test_other_json_is_no_answer(self):
        for value in ([], {}, None, "x", {**CLEAN, "is_proxy": "no"}, {"is_tor_exit": False}, b"<html>", b"[" * 100_000, b"\xff"):
            _, client = self.serve(answer(value=value))
            self.fails("ANSWER_UNREADABLE", client.reputation, "81.2.69.1")
        for value in ([], {}, {"answers": []}, {"answers": [CLEAN]}):
            _, client = self.serve(answer(value=value))
            self.fails("ANSWER_UNREADABLE", client.email, "jane@example.com")

    def test_denies_decides_on_answers(self):
        _, client = self.serve(answer(value={**CLEAN, "is_proxy": True}))
        self.assertTrue(denies(client.reputation("81.2.69.1"), lambda it: it.is_proxy))
        self.assertFalse(denies(client.reputation("81.2.69.1"), lambda it: it.is_abuser))
        self.assertFalse(denies(None, lambda it: True))

    def test_required_data(self):
        state = 'partial; missing="is_proxy"; incomplete="is_abuser"'
        headers = {"Inkling_Data_State": state, "Inkling_Data_Version": "v1", "Cache_Control": "max-age=300"}
        _, client = self.serve(answer(**headers), require=["is_proxy", "disposable"])
        self.fails("DATA_INCOMPLETE", client.reputation, "81.2.69.1")
        self.fails("DATA_INCOMPLETE", client.reputation, "81.2.69.1")  # not even from the cache
        data = client.reputation("81.2.69.1", require=[]).data
        self.assertEqual((data.missing, data.incomplete, data.version), (("is_proxy",), ("is_abuser",), "v1"))
        self.fails("DATA_INCOMPLETE", client.reputation, "81.2.69.1", require=iter(["is_proxy"]))
        error = self.fails("DATA_INCOMPLETE", client.reputation, "81.2.69.1", require=["is_abuser"])
        self.assertIn("data is incomplete for is_abuser", str(error))
        _, client = self.serve(answer(), require=iter(["is_proxy"]))
        self.assertIn("proxy removes", self.fails("DATA_INCOMPLETE", client.reputation, "81.2.69.1").hint)


    def test_ages(self):
        for state, ages in (
            ('complete; age="is_abuser:93d is_proxy:3h"', {"is_abuser": 93 * 24, "is_proxy": 3}),
            ('complete; age="is_proxy:3w is_tor_exit:47h"', {"is_tor_exit": 47}),
            ('partial; missing="is_abuser"', {}),
        ):
            _, client = self.serve(answer(Inkling_Data_State=state, Inkling_Data_Version="v1"), require=["is_proxy"])
            self.assertEqual(client.reputation("81.2.69.1").data.age_hours, ages)


def lines(count=None, ending=None, **headers):
    """Returns an answer for each value of the request, or for `count` of them."""

    def step(handler):
        values = handler.server.seen[-1][3].splitlines()
        body = b"".join(json.dumps({**CLEAN, "ip": json.loads(it)}).encode() + b"\n" for it in values[:count])
        answer(value=body, Content_Type="application/x-ndjson", **headers)(handler)
        if ending is not None:
            ending(handler)

    return step


class Batches(Case):
    values = ["81.2.69.%d" % i for i in range(10)]

    def ips(self, results):
        return [it.answer.ip for it in results]

    def test_are_in_order_and_read_no_more_than_they_send(self):
        server, client = self.serve(lines())
        taken = []

        def source():
            for i in range(1_000_000):
                taken.append(i)
                yield str(i)

        results = client.batch("reputation", source(), size=3, concurrency=1)
        self.assertEqual([next(results).value for _ in range(7)], [str(i) for i in range(7)])
        results.close()
        self.assertEqual((len(taken), len(server.seen)), (9, 3))
        self.assertEqual(self.ips(client.batch("reputation", self.values, size=3)), self.values)

    def test_only_values_without_an_answer_are_sent_again(self):
        server, client = self.serve(lines(4, drop, Content_Length=10_000), lines())
        self.assertEqual(self.ips(client.batch("reputation", self.values)), self.values)
        self.assertEqual([len(seen[3].splitlines()) for seen in server.seen], [10, 6])

    def test_results_come_before_the_failure(self):
        _, client = self.serve(lines(4, drop, Content_Length=10_000), answer(401, problem("KEY_INVALID", 401)))
        results = client.batch("reputation", self.values)
        self.assertEqual([next(results).value for _ in range(4)], self.values[:4])
        self.fails("KEY_INVALID", next, results)

    def test_a_source_that_fails(self):
        def source():
            yield "81.2.69.1"
            raise OSError("unplugged")

        _, client = self.serve(lines())
        results = client.batch("reputation", source(), size=1)
        self.assertEqual(next(results).value, "81.2.69.1")
        with self.assertRaisesRegex(OSError, "unplugged"):
            next(results)
        with self.assertRaises(TypeError):
            list(client.batch("reputation", [None]))

    def test_silence_missing_data_and_other_answers(self):
        _, client = self.serve(hang, retries=0)
        self.fails("TIMED_OUT", list, client.batch("reputation", self.values, timeout=0.2))
        _, client = self.serve(lines())
        self.fails("DATA_INCOMPLETE", list, client.batch("reputation", self.values, require=["is_proxy"]))
        for step in (answer(), answer(value=b"[]\n", Content_Type="application/x-ndjson")):
            _, client = self.serve(step)
            self.fails("ANSWER_UNREADABLE", list, client.batch("reputation", self.values))


class Options(Case):
    def test_wrong_ones_are_refused(self):
        url = "http://127.0.0.1:8080"
        for args, options in (
            (("127.0.0.1:8080", KEY), {}),
            (("ftp://127.0.0.1", KEY), {}),
            (("http://a:b@127.0.0.1", KEY), {}),
            ((url, ""), {}),
            ((url, KEY + "\r\nX: y"), {}),
            ((url, KEY), {"on_unavailable": "throw"}),
            ((url, KEY), {"on_throttled": "allow"}),
            ((url, KEY), {"on_unavailable": "allow", "on_throttled": "raise"}),
            ((url, KEY), {"require": "is_proxy"}),
            ((url, KEY), {"require": ["is_proxi"]}),
            ((url, KEY), {"timeout": 0}),
            ((url, KEY), {"timeout": float("nan")}),
            ((url, KEY), {"retries": -1}),
            ((url, KEY), {"cache_entries": True}),
        ):
            with self.subTest(args=args, options=options), self.assertRaises(ValueError) as caught:
                Inkling(*args, **options)
            self.assertNotIn(KEY, str(caught.exception))
        client = Inkling(url, KEY)
        with self.assertRaises(ValueError):
            client.reputation("81.2.69.1", require=["disposable"])
        with self.assertRaises(ValueError):
            client.email("jane@example.com", checks="mx")
        with self.assertRaises(TypeError):
            client.reputation(None)
        with self.assertRaises(TypeError):
            client.batch("reputation", "81.2.69.1")

    def test_values_are_escaped_and_email_is_in_no_path(self):
        server, client = self.serve(answer(400, problem("IP_ADDRESS_INVALID", 400)))
        for ip in ("a/../b?c#d", "\ud800", "", "81.2.69.1 HTTP/1.1\r\nX: y"):
            self.fails("IP_ADDRESS_INVALID", client.reputation, ip)
        paths = [seen[1] for seen in server.seen]
        self.assertEqual(paths[0], "/v1/ip-intel/reputation/a%2F..%2Fb%3Fc%23d")
        self.fails("IP_ADDRESS_INVALID", client.email, "jané@example.com")
        _, path, headers, body = server.seen[-1]
        self.assertEqual((path, json.loads(body)), ("/v1/user-intel/email", {"values": ["jané@example.com"]}))
        self.assertEqual(headers["Authorization"], "Bearer " + KEY)

    def test_a_path_in_the_url_is_kept_and_no_key_is_none(self):
        server, _ = self.serve(answer())
        with Inkling(server.url + "/inkling/", None) as client:
            client.reputation("81.2.69.1", evidence=True, network=True, subject=True)
        self.assertEqual(
            server.seen[0][1],
            "/inkling/v1/ip-intel/reputation/81.2.69.1?include=evidence,network,subject",
        )
        self.assertNotIn("Authorization", server.seen[0][2])

    def test_errors(self):
        error = InklingError("RATE_LIMITED", "x", http_status=429, retry_after=2.0)
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(copy), copy.__dict__), ("x (RATE_LIMITED)", error.__dict__))
        for code in SERVER_CODES + CLIENT_CODES:
            self.assertGreater(len(InklingError(code, "x").hint), 10)


class Decisions(Case):
    def test_what_is_sent_and_what_comes_back(self):
        server, client = self.serve(drop, answer(200, DECISION))
        found = client.assess(
            "sign_up", ip="203.0.113.9", email="jané@x.org", facts={"plan": "free"}, idempotency_key="form-81"
        )
        _, path, headers, body = server.seen[-1]
        self.assertEqual((path, headers["Idempotency-Key"]), ("/v1/assess", "form-81"))
        sent = {"event": "sign_up", "ip": "203.0.113.9", "email": "jané@x.org", "facts": {"plan": "free"}}
        self.assertEqual(json.loads(body), sent)
        self.assertEqual((found.action, found.reasons[0].code, found.shadow[0].action), ("challenge", "tor_exit", "deny"))
        self.assertEqual((found.facts, found.ip, found.json), (None, None, DECISION))

    def test_an_idempotency_key_that_cannot_be_sent_is_no_outage(self):
        server, client = self.serve(answer(200, DECISION), on_unavailable="allow")
        for key in ("", "two words", "line\nbreak", "jos\u00e9", "\u4e2d", "x" * 201):
            self.fails("IDEMPOTENCY_KEY_INVALID", client.assess, "login", ip="203.0.113.9", idempotency_key=key)
        self.assertEqual(server.seen, [])
        self.assertEqual(client.assess("login", ip="203.0.113.9", idempotency_key="!~").json, DECISION)

    def test_more_can_be_included(self):
        evidence = {"ip": {"reputation": CLEAN}, "email": {"valid": True, "disposable": False, "providers": []}}
        server, client = self.serve(answer(200, {**DECISION, **evidence, "facts": {"ip.kind": "isp"}}))
        found = client.assess("login", ip="203.0.113.9", with_evidence=True, with_facts=True)
        self.assertEqual(server.seen[-1][1], "/v1/assess?include=evidence,facts")
        self.assertEqual((found.ip.reputation.is_proxy, found.email.valid, found.facts["ip.kind"]), (False, True, "isp"))

    def test_every_field_of_a_visitor_is_a_parameter(self):
        for client in (Inkling, AsyncInkling):
            parameters = inspect.signature(client.assess).parameters
            self.assertEqual([name for name in VISITOR_FIELDS if name not in parameters], [])

    def test_other_answers_are_none(self):
        for value in ({**DECISION, "action": "quarantine"}, CLEAN, [], b"<html>", {**DECISION, "review": 1}):
            _, client = self.serve(answer(200, value), retries=0)
            self.fails("ANSWER_UNREADABLE", client.assess, "login", ip="203.0.113.9")

    def test_an_outage_lets_in_and_a_throttled_key_does_not(self):
        for step, verdict in ((drop, "allow"), (answer(429, problem("RATE_LIMITED", 429)), "deny")):
            _, client = self.serve(step, retries=0, on_unavailable="allow")
            found = client.assess("login", ip="203.0.113.9")
            self.assertEqual((type(found), found.verdict), (Unavailable, verdict))
            self.assertEqual(denies(found, lambda it: it.action == "deny"), verdict == "deny")

    def test_outcomes(self):
        server, client = self.serve(answer(204, b"", Content_Type=None), on_unavailable="allow")
        self.assertIsNone(client.outcome("asm_a/b", "fraud"))
        self.assertEqual(server.seen[-1][1], "/v1/assess/asm_a%2Fb/outcome")
        self.assertEqual(json.loads(server.seen[-1][3]), {"outcome": "fraud"})
        with self.assertRaises(ValueError):
            client.outcome("asm_a", "abuse")
        _, client = self.serve(answer(503, problem("KEYS_NOT_LOADED", 503)), retries=0, on_unavailable="allow")
        self.fails("KEYS_NOT_LOADED", client.outcome, "asm_a", "fraud")


class Fakes(Case):
    def test_the_fake_answers_as_that_of_the_typescript_client(self):
        fake = FakeInkling(require=("is_proxy",))
        fake.server.answer("assess", "192.0.2.1", id="asm_1111111111111111", facts={"ip.kind": "isp"}, ip={})
        found = fake.assess("sign_up", ip="::ffff:192.0.2.1")
        self.assertEqual((found.id, found.facts, found.ip), ("asm_1111111111111111", None, None))
        self.assertEqual(fake.assess("sign_up", ip="192.0.2.1", with_facts=True).facts, {"ip.kind": "isp"})
        fake.outcome(found.id, "fraud")
        fake.server.answer("geolocate", "192.0.2.1")
        fake.server.lack("is_proxy")
        place = fake.geolocate("192.0.2.1", network=True)
        self.assertEqual((place.data.missing, place.network.prefix), ((), "192.0.2.1/32"))
        fake.server.answer("email", "jane@Mailinator.com", disposable=True)
        self.assertEqual(list(fake.email("jane@mailinator.com").providers), ["mailinator.com"])

    def test_decide_as_a_test_says(self):
        fake = FakeInkling()
        self.assertIn("server.answer", self.fails("ANSWER_NOT_SET", fake.assess, "sign_up", ip="8.8.8.8").hint)
        fake.server.answer("assess", "jane@acme.com", action="deny")
        fake.server.answer("assess", "jane@gmial.com", did_you_mean="jane@gmail.com")
        fake.server.answer("assess", "2001:db8::6", action="challenge")
        fake.server.answer("assess", "192.0.2.1", "RATE_LIMITED")
        found = fake.assess("sign_up", email="Jane@Acme.com")
        self.assertEqual((found.action, found.did_you_mean), ("deny", None))
        self.assertEqual(fake.assess("sign_up", email="jane@gmial.com").did_you_mean, "jane@gmail.com")
        self.assertEqual(fake.assess("sign_up", ip="2001:DB8:0::6", email="jane@gmial.com").action, "challenge")
        self.assertTrue(self.fails("RATE_LIMITED", fake.assess, "sign_up", ip="192.0.2.1").is_throttled)
        fake.outcome(found.id, "legitimate")
        self.fails("DECISION_NOT_FOUND", fake.outcome, "asm_1111111111111111", "fraud")
        for wrong in (("place", "192.0.2.1"), ("email", "a@b.c", "NO_CODE")):
            self.assertRaises(ValueError, fake.server.answer, *wrong)

    def test_look_up_as_a_test_says(self):
        fake = FakeInkling(require=("is_proxy",))
        self.fails("ANSWER_NOT_SET", fake.reputation, "192.0.2.6")
        evidence = [{"feed": "tor", "label": "tor_exit", "effect": "sets"}]
        fake.server.answer("reputation", "192.0.2.6", is_tor_exit=True, evidence=evidence)
        fake.server.answer("geolocate", "192.0.2.6", country={"iso_code": "GB"})
        fake.server.answer("geolocate", "192.0.2.7", "IP_ADDRESS_NOT_FOUND")
        fake.server.answer("email", "jane@acme.com", disposable=True)
        plain = fake.reputation("192.0.2.6")
        self.assertEqual((plain.is_tor_exit, plain.is_proxy, "evidence" in plain.json), (True, False, False))
        self.assertEqual(fake.reputation("192.0.2.6", evidence=True, network=True).evidence[0].feed, "tor")
        self.assertEqual(fake.geolocate("192.0.2.6").country.iso_code, "GB")
        self.assertIsNone(fake.geolocate("192.0.2.7"))
        self.assertEqual(fake.email("Jane@acme.com", checks=["mx"]).checks.mx, "found")
        places = [(it.ok, it.answer and it.answer.country.iso_code) for it in fake.batch("geolocate", ["192.0.2.6", "192.0.2.7"])]
        self.assertEqual(places, [(True, "GB"), (True, None)])
        fake.server.lack("is_proxy")
        self.fails("DATA_INCOMPLETE", fake.reputation, "192.0.2.6")

    def test_fail_on_demand(self):
        fake = FakeInkling(on_unavailable="allow")
        fake.server.answer("assess", "192.0.2.1", action="allow")
        for code, verdict in (("TIMED_OUT", "allow"), ("QUOTA_EXCEEDED", "deny")):
            fake.server.fail(code)
            self.assertEqual(fake.assess("sign_up", ip="192.0.2.1").verdict, verdict)
        fake.server.recover()
        self.assertEqual(fake.assess("sign_up", ip="192.0.2.1").action, "allow")

    def test_records_what_the_application_has_sent(self):
        fake = FakeInkling(on_unavailable="allow")
        fake.server.answer("assess", "192.0.2.1")
        fake.server.answer("reputation", "192.0.2.1")
        visitor = {"event": "login", "ip": "192.0.2.1", "account": "81"}
        fake.assess("login", ip="192.0.2.1", account="81", with_facts=True)
        fake.outcome("asm_0000000000000000", "fraud")
        fake.reputation("192.0.2.1")
        list(fake.batch("reputation", ["192.0.2.1"]))
        self.assertEqual(
            fake.server.requests,
            [
                ("/v1/assess?include=facts", visitor),
                ("/v1/assess/asm_0000000000000000/outcome", {"outcome": "fraud"}),
                ("/v1/ip-intel/reputation/192.0.2.1", None),
                ("/v1/ip-intel/reputation", '"192.0.2.1"\n'),
            ],
        )
        fake.server.reset()
        self.assertEqual(fake.server.requests, [])
        fake.server.fail("RATE_LIMITED")
        fake.assess("login", ip="192.0.2.1", account="81")
        self.assertEqual(fake.server.requests, [("/v1/assess", visitor)])

    def test_forgets_what_a_test_has_set(self):
        fake = FakeInkling(require=("is_proxy",))
        fake.server.answer("reputation", "192.0.2.1", is_tor_exit=True)
        fake.server.lack("is_proxy")
        fake.server.fail()
        fake.server.reset()
        self.fails("ANSWER_NOT_SET", fake.reputation, "192.0.2.1")
        fake.server.answer("reputation", "192.0.2.1")
        self.assertFalse(fake.reputation("192.0.2.1").is_tor_exit)


class Asyncio(Case):
    def run_async(self, work):
        return asyncio.run(work())

    def test_has_the_methods_of_the_client_with_their_parameters(self):
        for name in ("geolocate", "reputation", "email", "assess", "outcome", "batch"):
            with self.subTest(name):
                ours, theirs = (inspect.signature(getattr(one, name)) for one in (AsyncInkling, Inkling))
                self.assertEqual(list(ours.parameters.values()), list(theirs.parameters.values()))

    def test_answers_errors_and_batches_are_those_of_the_client(self):
        server, client = self.serve(answer())

        async def work():
            inkling = AsyncInkling(client)
            ips = ["192.0.2.%d" % i for i in range(40)]
            found = await asyncio.gather(*(inkling.reputation(ip) for ip in ips))
            self.assertEqual([it.is_proxy for it in found], [False] * 40)
            server.steps[:] = [answer(400, problem("IP_ADDRESS_INVALID", 400))]
            with self.assertRaises(InklingError) as caught:
                await inkling.geolocate("x")
            self.assertEqual(caught.exception.code, "IP_ADDRESS_INVALID")
            server.steps[:] = [answer(value=DECISION)]
            self.assertEqual((await inkling.assess("sign_up", ip="192.0.2.1", with_facts=True)).action, "challenge")
            await inkling.outcome(DECISION["id"], "fraud")
            self.assertIn("include=facts", server.seen[-2][1])
            fake = FakeInkling()
            for ip in ips:
                fake.server.answer("reputation", ip, is_proxy=ip.endswith("7"))
            self.assertEqual(
                [it.value async for it in AsyncInkling(fake).batch("reputation", iter(ips), size=7) if it.answer.is_proxy],
                ["192.0.2.7", "192.0.2.17", "192.0.2.27", "192.0.2.37"],
            )
            with self.assertRaises(InklingError):
                async for _ in AsyncInkling(fake).batch("reputation", ["192.0.2.1", "192.0.2.99"]):
                    pass

        self.run_async(work)

    def test_the_wait_for_a_thread_counts(self):
        _, client = self.serve(hang, on_unavailable="deny", retries=0)

        async def work():
            inkling = AsyncInkling(client, threads=1)
            found = await asyncio.gather(*(inkling.reputation("192.0.2.1", timeout=0.3) for _ in range(3)))
            self.assertEqual([(it.verdict, it.error.code) for it in found], [("deny", "TIMED_OUT")] * 3)
            self.assertIn("No thread", str(found[2].error))

        self.run_async(work)

    def test_a_cancelled_lookup_leaves_the_client_usable(self):
        server, client = self.serve(hang, answer(), timeout=1.0, retries=0)

        async def work():
            inkling = AsyncInkling(client)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(inkling.reputation("192.0.2.1"), 0.1)
            self.assertEqual((await inkling.reputation("192.0.2.2")).is_proxy, False)

        self.run_async(work)


class Addresses(unittest.TestCase):
    def test_of_visitors_behind_proxies(self):
        # The TypeScript client and the server run the same table.
        table = Path(__file__).parents[2] / "client" / "test" / "caller-addresses.json"
        rows = json.loads(table.read_text("utf-8"))
        self.assertGreater(len(rows), 40)
        for row in rows:
            with self.subTest(row["name"]):
                found = visitor_address(row["peer"], row["header"], trust_proxy=row["trust"])
                self.assertEqual(found, row["address"])

    def test_wrong_proxies_are_refused(self):
        for trust in (
            -1,
            True,
            33,
            "private",
            ["10.0.0.1/8"],
            ["10.0.0.0/08"],
            ["10.0.0.0/255.0.0.0"],
            ["::ffff:0:0/95"],
            ["::ffff:10.0.0.1/104"],
            ["nowhere"],
        ):
            with self.subTest(trust=trust), self.assertRaises(ValueError):
                visitor_address("10.0.0.1", None, trust_proxy=trust)


if __name__ == "__main__":
    unittest.main()
