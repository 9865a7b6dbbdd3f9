"""Tests the README's form without JavaScript, in the project that the README creates: copy this beside `manage.py`."""

import os
from unittest.mock import patch

from accounts.form import sign_up
from django.test import SimpleTestCase, override_settings
from django.urls import path
from inkling.testing import FakeInkling

urlpatterns = [path("sign-up", sign_up)]
fake = FakeInkling(on_unavailable="deny")


@override_settings(INKLING=fake, ROOT_URLCONF=__name__)
@patch.dict(os.environ, TURNSTILE_SITE_KEY="the site key")
@patch("accounts.form.is_solved", lambda token: token == "solved")
class Form(SimpleTestCase):
    def send(self, status, text, **form):
        response = self.client.post("/sign-up", form, HTTP_X_FORWARDED_FOR="192.0.2.1")
        self.assertContains(response, text, status_code=status)

    def test_sign_up(self):
        answer = fake.server.answer
        answer("assess", "jane@example.com")
        answer("assess", "jane@acme.example", action="challenge")
        answer("assess", "jane@disposable.example", action="deny")
        answer("assess", "<b>@gmial.com", did_you_mean="<b>@gmail.com")
        self.assertContains(self.client.get("/sign-up"), "csrfmiddlewaretoken")
        self.send(201, "Your account is created.", email="jane@example.com")
        self.send(403, 'data-sitekey="the site key"', email="jane@acme.example")
        self.send(201, "created", **{"email": "jane@acme.example", "cf-turnstile-response": "solved"})
        self.send(403, "quote asm_", email="jane@disposable.example")
        self.send(422, "Did you mean &lt;b&gt;@gmail.com?", email="<b>@gmial.com")
        self.send(422, 'name="confirmed" type="hidden" value="&lt;b&gt;@gmial.com"', email="<b>@gmial.com")
        self.send(201, "created", email="<b>@gmial.com", confirmed="<b>@gmial.com")
        self.send(422, "Please check the email address.", email="")
