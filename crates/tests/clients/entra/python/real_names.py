"""MSAL and requests without any override but the proxy: Microsoft's own host names."""

import os

from common import EXCHANGE, GRAPH, Human, check, claims, holds, main_arguments, run, same

ENV, ONLY = main_arguments()
HUMAN = Human(ENV)
os.environ["HTTPS_PROXY"] = os.environ["https_proxy"] = ENV["HTTPS_PROXY"]
for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
    os.environ.pop(name, None)

import msal  # noqa: E402 - the proxy must be in the environment first
import requests  # noqa: E402

AUTHORITY = f"https://login.microsoftonline.com/{ENV['TENANT_ID']}"
STATE = {}


@check
def instance_discovery_is_on_and_works():
    app = msal.PublicClientApplication(ENV["CLIENT_ID"], authority=AUTHORITY)
    flow = app.initiate_device_flow([f"{GRAPH}/User.Read"])
    same(flow["verification_uri"], "https://login.microsoft.com/device")
    HUMAN.decide(flow["user_code"])
    flow["interval"] = 0
    answer = app.acquire_token_by_device_flow(flow)
    holds("access_token" in answer, answer)
    account = app.get_accounts()[0]
    refreshed = app.acquire_token_silent([f"{GRAPH}/User.Read"], account, force_refresh=True)
    holds("access_token" in refreshed, refreshed)
    STATE["token"] = refreshed["access_token"]
    same(answer["id_token_claims"]["iss"], f"{AUTHORITY}/v2.0")


@check
def common_and_organizations_find_the_tenant():
    for name in ("common", "organizations"):
        app = msal.PublicClientApplication(
            ENV["CLIENT_ID"], authority=f"https://login.microsoftonline.com/{name}")
        flow = app.initiate_device_flow([f"{GRAPH}/User.Read"])
        HUMAN.decide(flow["user_code"])
        flow["interval"] = 0
        answer = app.acquire_token_by_device_flow(flow)
        same(answer["id_token_claims"]["tid"], ENV["TENANT_ID"])


@check
def graph_answers_under_its_own_name():
    answer = requests.get("https://graph.microsoft.com/v1.0/me", timeout=20,
                          headers={"authorization": f"Bearer {STATE['token']}"})
    same((answer.status_code, answer.json().get("id")), (200, ENV["HUMAN_ID"]))


@check
def an_agent_signs_in_with_nothing_overridden():
    def app(client, credential):
        return msal.ConfidentialClientApplication(client, credential, authority=AUTHORITY)
    with open(ENV["BLUEPRINT_KEY_PEM"], encoding="utf-8") as key:
        private = key.read()
    with open(ENV["BLUEPRINT_CERT_PEM"], encoding="utf-8") as cert:
        blueprint = app(ENV["BLUEPRINT_ID"], {"private_key": private, "public_certificate": cert.read()})
    first = blueprint.acquire_token_for_client([EXCHANGE], fmi_path=ENV["AGENT_ID"])["access_token"]
    agent = app(ENV["AGENT_ID"], {"client_assertion": first})
    second = agent.acquire_token_for_client([EXCHANGE])["access_token"]
    answer = agent.acquire_token_by_user_federated_identity_credential(
        [f"{GRAPH}/.default"], second, username=ENV["AGENT_USER_UPN"])
    same(claims(answer["access_token"])["oid"], ENV["AGENT_USER_ID"])


@check
def azure_identity_works_by_default():
    from azure.identity import ClientSecretCredential

    credential = ClientSecretCredential(ENV["TENANT_ID"], ENV["API_CLIENT_ID"], ENV["API_CLIENT_SECRET"])
    same(claims(credential.get_token(f"{GRAPH}/.default").token)["idtyp"], "app")


@check
def the_proxy_is_no_way_out():
    try:
        requests.get("https://www.example.com/", timeout=20)
    except requests.exceptions.ProxyError:
        unknown = HUMAN.ctl("report", "unknown")["unknown"]
        holds("CONNECT www.example.com:443" in unknown, unknown)
        return
    raise AssertionError("the proxy connected elsewhere")


run(only=ONLY)
