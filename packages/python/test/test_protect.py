"""Tests `protect`: what it decides, without a framework, and the same rows in each framework that is installed."""

import asyncio
import importlib.metadata
import importlib.util
import json
import logging
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from inkling import AsyncInkling, InklingError, Unavailable  # noqa: E402
from inkling._protect import Gate, Refusal, Visit  # noqa: E402
from inkling.testing import FakeInkling  # noqa: E402

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
JANE = "jane@example.com"
SPAM = "jane@disposable.example"
LARGE = 2**20


def fake_visitors(**options):
    """192.0.2.6 is challenged. Private addresses are refused, as a server refuses them."""
    fake = FakeInkling(**options)
    fake.server.answer("assess", "192.0.2.1")
    fake.server.answer("assess", "192.0.2.6", action="challenge")
    fake.server.answer("assess", "10.0.0.1", "IP_ADDRESS_RESERVED")
    fake.server.answer("assess", JANE)
    fake.server.answer("assess", SPAM, action="deny")
    fake.server.answer("assess", "jane@gmial.com", did_you_mean="jane@gmail.com")
    fake.server.answer("assess", "jane", action="deny", reasons=[{"code": "invalid_email", "weight": 0.9}])
    return fake


# name, body, content type, X-Forwarded-For, status, action of the decision or text of the error
ROWS = [
    ("an ordinary visitor", {"email": JANE}, JSON, "192.0.2.1", 200, "allow"),
    ("a form", "email=jane%40example.com&plan=free", FORM, "192.0.2.1", 200, "allow"),
    ("a challenged visitor reaches the view", {"email": JANE}, JSON, "192.0.2.6", 200, "challenge"),
    ("a forged address", {"email": JANE}, JSON, "192.0.2.1, 192.0.2.6", 200, "challenge"),
    ("a disposable address", {"email": SPAM}, JSON, "192.0.2.1", 403, "contact us"),
    ("a mistyped address", {"email": "jane@gmial.com"}, JSON, "192.0.2.1", 422, "Did you mean jane@gmail.com?"),
    ("an invalid address", {"email": "jane"}, JSON, "192.0.2.1", 422, "Please check"),
    ("a private address: the email address decides", {"email": JANE}, JSON, "10.0.0.1", 200, "allow"),
    ("the same with a disposable address", {"email": SPAM}, JSON, "10.0.0.1", 403, "contact us"),
    ("no email address", {}, JSON, "192.0.2.1", 422, "Please check"),
    ("several email addresses", {"email": [JANE, SPAM]}, JSON, "192.0.2.1", 422, "Please check"),
    ("the field twice", "email=%s&email=%s" % (JANE, SPAM), FORM, "192.0.2.1", 422, "Please check"),
    ("an object", {"email": {"x": JANE}}, JSON, "192.0.2.1", 422, "Please check"),
    ("a list", [JANE], JSON, "192.0.2.1", 422, "Please check"),
    ("no JSON", "{", JSON, "192.0.2.1", 422, "Please check"),
    ("JSON as a form", json.dumps({"email": SPAM, "x": "&email=%s&" % JANE}), FORM, "192.0.2.1", 200, "allow"),
    ("no content type that is accepted", {"email": JANE}, "text/plain", "192.0.2.1", 415, "Send a form or JSON"),
    ("two content types", {"email": JANE}, "%s, %s" % (JSON, FORM), "192.0.2.1", 415, "Send a form or JSON"),
    ("an address that is too long", {"email": "x" * 2_000}, JSON, "192.0.2.1", 422, "Please check"),
]


class Decided(unittest.TestCase):
    def setUp(self):
        logging.getLogger("inkling").disabled = True
        self.addCleanup(setattr, logging.getLogger("inkling"), "disabled", False)

    def gate(self, client, visit_from="192.0.2.1", email=JANE, **options):
        visit = Visit(visit_from, {"user-agent": "curl/8"}.get, {"email": email})
        gate = Gate(client, **options)
        found = gate.decide(None, visit)
        again = asyncio.run(gate.decide_async(None, visit))
        self.assertEqual(type(found), type(again))
        self.assertEqual(getattr(found, "status", None), getattr(again, "status", None))
        return found

    def test_an_outage_is_decided_by_the_client(self):
        for policy, code, expected in (
            ("raise", "TIMED_OUT", "allow"),
            ("allow", "TIMED_OUT", "allow"),
            ("deny", "TIMED_OUT", 503),
            ("raise", "RATE_LIMITED", 503),
            ("allow", "RATE_LIMITED", 503),
            ("deny", "RATE_LIMITED", 503),
        ):
            with self.subTest(policy=policy, code=code):
                client = fake_visitors(on_unavailable=policy)
                client.server.fail(code)
                told = []
                found = self.gate(client, on_undecided=told.append)
                self.assertEqual([it.error.code for it in told], [code] * 2)
                self.assertEqual(found.status if isinstance(found, Refusal) else found.verdict, expected)

    def test_what_the_application_has_to_mend_is_raised(self):
        client = fake_visitors(on_unavailable="allow")
        client.server.fail("SCOPE_REQUIRED")
        self.assertRaises(InklingError, self.gate, client)

    def test_nobody_on_the_internet(self):
        for ip in ("10.0.0.1", None):
            self.assertEqual(self.gate(fake_visitors(), ip).action, "allow")
            self.assertEqual(self.gate(fake_visitors(on_unavailable="deny"), ip).status, 503)
        self.assertEqual(self.gate(fake_visitors(), "127.0.0.1", loopback="192.0.2.6").action, "challenge")
        for trust_proxy, action in ((1, "challenge"), (["loopback"], "allow")):  # a list needs the peer
            visit = Visit("", {"x-forwarded-for": "192.0.2.6"}.get, {"email": JANE})
            self.assertEqual(Gate(fake_visitors(), trust_proxy=trust_proxy).decide(None, visit).action, action)

    def test_hooks(self):
        async def later(*_):
            await asyncio.sleep(0)
            return "later"

        with self.assertRaisesRegex(TypeError, "coroutine function"):
            self.gate(fake_visitors(), "192.0.2.6", on_challenge=later)
        refused = self.gate(fake_visitors(), email=SPAM, on_denied=lambda decision: decision.action)
        self.assertEqual((refused.status, refused.answer), (403, "deny"))
        asked = self.gate(fake_visitors(), "192.0.2.6", on_challenge=lambda decision: {"captcha": decision.id})
        self.assertEqual((asked.status, asked.answer["captcha"][:4]), (403, "asm_"))
        self.assertEqual(self.gate(fake_visitors(), "192.0.2.6", on_challenge=lambda _: "admit").action, "challenge")
        corrected = self.gate(fake_visitors(), email="jane@gmial.com", on_invalid=lambda it: it.did_you_mean)
        self.assertEqual((corrected.status, corrected.answer), (422, "jane@gmail.com"))
        self.assertEqual(self.gate(fake_visitors(), email="jane@gmial.com", on_invalid=lambda _: "admit").action, "allow")
        self.assertEqual(self.gate(fake_visitors(), email="jane", on_invalid=lambda _: "admit").status, 403)
        visit = Visit("192.0.2.6", {}.get, {"email": JANE})
        awaited = asyncio.run(Gate(fake_visitors(), on_challenge=later).decide_async(None, visit))
        self.assertEqual(awaited.answer, "later")

    def test_sends_what_it_knows(self):
        client = fake_visitors()
        sent = []
        client.assess = lambda event, **visitor: sent.append((event, visitor)) or FakeInkling.assess(client, event, **visitor)
        more = {"ref": "user-81", "facts": {"captcha": True}}
        gate = Gate(client, event="login", email="mail", more=lambda request: more if request == 7 else None)
        gate.decide(7, Visit("192.0.2.1", {"user-agent": "x" * 3_000}.get, {"mail": JANE}))
        self.assertEqual(sent, [("login", {"ip": "192.0.2.1", "email": JANE, "user_agent": "x" * 2_048, **more})])
        Gate(client, email=None).decide(8, Visit("192.0.2.1", {}.get))
        self.assertEqual(sent[1], ("sign_up", {"ip": "192.0.2.1", "user_agent": None}))

    def test_warns_once_for_each_code_of_an_outage(self):
        client = fake_visitors()
        gate = Gate(client)
        logging.getLogger("inkling").disabled = False
        with self.assertLogs("inkling") as logs:
            for failure in (None, "TIMED_OUT", "CONNECTION_FAILED", "TIMED_OUT", None, "TIMED_OUT"):
                client.server.fail(failure) if failure else client.server.recover()
                for ip in ("10.0.0.1", "192.0.2.1", "192.0.2.1"):
                    gate.decide(None, Visit(ip, {}.get, {"email": JANE}))
        codes = [record.getMessage().split(": ")[1].split(".")[0] for record in logs.records]
        self.assertEqual(codes, ["IP_ADDRESS_RESERVED", "TIMED_OUT", "CONNECTION_FAILED", "TIMED_OUT"])

    def test_wrong_options(self):
        for options in ({"trust_proxy": True}, {"trust_proxy": ["x"]}, {"loopback": "here"}, {"event": 7}, {"emial": "x"}):
            with self.subTest(options), self.assertRaises((ValueError, TypeError)):
                Gate(fake_visitors(), **options)


class Framework:
    """The rows in one framework. `send` returns the status and the JSON."""

    def test_rows(self):
        logging.getLogger("inkling").disabled = True
        send = self.start(fake_visitors(on_unavailable="allow"), trust_proxy=1)
        for name, body, content_type, sender, status, text in ROWS:
            with self.subTest(name):
                got, found = send(body if isinstance(body, str) else json.dumps(body), content_type, sender)
                self.assertEqual(got, status, found)
                self.assertIn(text, str(found))

    def test_without_a_trusted_proxy_the_header_is_nothing(self):
        send = self.start(fake_visitors(), loopback="192.0.2.1")
        self.assertEqual(send(json.dumps({"email": JANE}), JSON, "192.0.2.6"), (200, {"action": "allow"}))

    def test_an_async_client_and_an_outage(self):
        client = fake_visitors(on_unavailable="deny")
        client.server.fail("TIMED_OUT")
        logging.getLogger("inkling").disabled = True
        send = self.start(AsyncInkling(client), trust_proxy=1)
        self.assertEqual(send(json.dumps({"email": JANE}), JSON, "192.0.2.1")[0], 503)

    def test_hooks_answer(self):
        send = self.start(fake_visitors(), trust_proxy=1, on_denied=self.hook, on_challenge=self.hook)
        self.assertEqual(send(json.dumps({"email": SPAM}), JSON, "192.0.2.1")[0], 418)
        self.assertEqual(send(json.dumps({"email": JANE}), JSON, "192.0.2.6")[0], 418)

    def test_a_body_over_the_limit(self):
        client = fake_visitors()
        send = self.start(client, trust_proxy=1)
        self.assertEqual(send("email=%s&note=%s" % (JANE, "x" * LARGE * 3), FORM, "192.0.2.1")[0], self.too_large)
        large = json.dumps({"email": JANE, "note": "x" * LARGE * 3})
        self.assertEqual(send(large, JSON, "192.0.2.1")[0], self.too_large_json)


def installed(name):
    return unittest.skipUnless(importlib.util.find_spec(name), "needs %s" % name)


@installed("flask")
class Flask(Framework, unittest.TestCase):
    too_large = 413

    @property
    def too_large_json(self):  # before 2.3, Werkzeug limited only forms
        version = importlib.metadata.version("werkzeug").split(".")
        return 413 if (int(version[0]), int(version[1])) >= (2, 3) else 200

    def start(self, client, **options):
        import flask
        from inkling.flask import protect

        app = flask.Flask("test")
        app.config["MAX_CONTENT_LENGTH"] = LARGE

        @app.post("/")
        @protect(client, **options)
        def view():
            return {"action": flask.g.decision.action}

        def send(body, content_type, sender):
            headers = {"X-Forwarded-For": sender}
            response = app.test_client().post("/", data=body, content_type=content_type, headers=headers)
            return response.status_code, response.get_json(silent=True)

        return send

    def hook(self, decision):
        return {"error": decision.action}, 418

    def test_behind_proxy_fix(self):
        import flask
        from inkling.flask import protect
        from werkzeug.middleware.proxy_fix import ProxyFix

        for trust_proxy in (0, 1):
            app = flask.Flask("test")
            app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1)
            guarded = protect(fake_visitors(), trust_proxy=trust_proxy)
            app.post("/")(guarded(lambda: {"action": flask.g.decision.action}))
            headers = {"X-Forwarded-For": "192.0.2.1, 192.0.2.6"}
            response = app.test_client().post("/", json={"email": JANE}, headers=headers)
            self.assertEqual(response.get_json(), {"action": "challenge"})


@installed("django")
class Django(Framework, unittest.TestCase):
    too_large = too_large_json = 400
    is_async = False

    @classmethod
    def setUpClass(cls):
        import django
        from django.conf import settings

        if not settings.configured:
            settings.configure(
                ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="x", DATA_UPLOAD_MAX_MEMORY_SIZE=LARGE
            )
            django.setup()
            logging.getLogger("django").disabled = True

    def start(self, client, **options):
        from django.http import JsonResponse
        from django.test import Client
        from django.urls import clear_url_caches, path
        from inkling.django import protect

        if self.is_async:

            @protect(client, **options)
            async def view(request):
                return JsonResponse({"action": request.decision.action})
        else:

            @protect(client, **options)
            def view(request):
                return JsonResponse({"action": request.decision.action})

        def send(body, content_type, sender):
            globals()["urlpatterns"] = [path("", view)]  # this module is ROOT_URLCONF
            clear_url_caches()
            response = Client(raise_request_exception=False).generic(
                "POST", "/", body, content_type=content_type, HTTP_X_FORWARDED_FOR=sender
            )
            is_json = response.headers["Content-Type"] == JSON
            return response.status_code, json.loads(response.content) if is_json else None

        return send

    def hook(self, decision, request):
        from django.http import HttpResponse

        return HttpResponse(request.method, status=418)


@installed("django")
class DjangoAsync(Django):
    is_async = True


@installed("fastapi")
class FastAPI(Framework, unittest.TestCase):
    test_a_body_over_the_limit = None  # FastAPI has no limit: the README says to set one in the proxy

    def start(self, client, **options):
        import fastapi
        from asgi_client import TestClient
        from inkling.fastapi import protect

        app = fastapi.FastAPI()

        @app.post("/")
        async def view(decision=fastapi.Depends(protect(client, **options))):
            return {"action": decision.action}

        browser = TestClient(app)

        def send(body, content_type, sender):
            headers = {"content-type": content_type, "x-forwarded-for": sender}
            response = browser.post("/", content=body.encode(), headers=headers)
            return response.status_code, response.json()

        return send

    def test_a_gate_of_a_router_is_replaced(self):
        import fastapi
        from asgi_client import TestClient
        from inkling import Inkling
        from inkling.fastapi import protect

        gate = protect(Inkling("http://127.0.0.1:2", "ink_test_unit_tests"), trust_proxy=1)
        router = fastapi.APIRouter()

        @router.post("/")
        async def view(decision=fastapi.Depends(gate)):
            return {"action": decision.action}

        app = fastapi.FastAPI()
        app.include_router(router)
        app.dependency_overrides[gate] = protect(fake_visitors(), trust_proxy=1)
        headers = {"content-type": JSON, "x-forwarded-for": "192.0.2.6"}
        response = TestClient(app).post("/", content=json.dumps({"email": JANE}).encode(), headers=headers)
        self.assertEqual((response.status_code, response.json()), (200, {"action": "challenge"}))

    async def hook(self, decision, request):
        from fastapi import HTTPException

        raise HTTPException(418, request.method)


if __name__ == "__main__":
    unittest.main()
