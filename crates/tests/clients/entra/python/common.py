"""What every check needs: the settings, the human's commands, and one line a check."""

import json
import os
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPH = "https://graph.microsoft.com"
EXCHANGE = "api://AzureADTokenExchange/.default"


def settings(path):
    """Reads an environment file of the development tenant."""
    out = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.rstrip("\n").partition("=")
            out[name] = value
    return out


class Human:
    """Acts as the person, by the tenant's own commands."""

    def __init__(self, env):
        self.env = env
        # Every template begins with the same command and tenant.
        self.base = env["REVOKE_CMD"].rsplit(" ", 1)[0]

    def _run(self, command):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stderr.strip()}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def decide(self, code, decision="approve"):
        command = self.env["APPROVE_CMD"]
        self._run(command.replace("{user_code}", code).replace("{decision}", decision))

    def revoke(self):
        self._run(self.env["REVOKE_CMD"])

    def say(self, chat, text):
        quoted = "'" + text.replace("'", "'\\''") + "'"
        command = self.env["SAY_CMD"]
        return self._run(command.replace("{chat_id}", chat).replace("{text}", quoted))

    def ctl(self, *words):
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        return self._run(f"{self.base} {quoted}")

    def fault(self, **fault):
        return self.ctl("fault", json.dumps(fault))


CHECKS = []


def check(function):
    """Registers a check; its name is the function's."""
    CHECKS.append(function)
    return function


def say(name, why=None):
    print(json.dumps({"check": name, "ok": why is None, "why": why}), flush=True)


def run(*arguments, only=None):
    """Runs every check in order; a later one may use what an earlier one left."""
    for function in CHECKS:
        name = function.__name__
        if only and only not in name:
            continue
        try:
            function(*arguments)
            say(name)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            last = traceback.extract_tb(error.__traceback__)[-1]
            say(name, f"{type(error).__name__}: {str(error)[:600]} ({last.name}:{last.lineno})")


def same(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what or 'value'}: {actual!r} and not {expected!r}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


def claims(token):
    """The claims of a token, unverified: only to look at them."""
    import base64

    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def main_arguments():
    env = settings(sys.argv[1])
    only = sys.argv[2] if len(sys.argv) > 2 else None
    for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE"):
        os.environ[name] = env["CA_BUNDLE"]
    return env, only
