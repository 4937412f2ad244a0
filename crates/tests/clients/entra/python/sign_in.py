"""MSAL and azure-identity against the tenant, unchanged but for the address and the authority."""

import hashlib
import threading
import time

from common import (
    EXCHANGE, GRAPH, Human, check, claims, holds, main_arguments, run, same,
)

ENV, ONLY = main_arguments()
HUMAN = Human(ENV)

import msal  # noqa: E402 - the authority's certificate must be in the environment first
import requests  # noqa: E402

STATE = {}


def public(**options):
    return msal.PublicClientApplication(
        ENV["CLIENT_ID"], authority=ENV["AUTHORITY"], instance_discovery=False, **options
    )


def confidential(client_id, credential, **options):
    return msal.ConfidentialClientApplication(
        client_id, credential, authority=ENV["AUTHORITY"], instance_discovery=False, **options
    )


def api(**options):
    return confidential(ENV["API_CLIENT_ID"], ENV["API_CLIENT_SECRET"], **options)


def by_device(app, scopes, decision="approve", **options):
    flow = app.initiate_device_flow(scopes, **options)
    holds("user_code" in flow, flow)
    same(len(flow["user_code"]), 9, "length of the user code")
    HUMAN.decide(flow["user_code"], decision)
    flow["interval"] = 0
    return app.acquire_token_by_device_flow(flow)


def certificate():
    with open(ENV["BLUEPRINT_KEY_PEM"], encoding="utf-8") as key:
        private = key.read()
    with open(ENV["BLUEPRINT_CERT_PEM"], encoding="utf-8") as cert:
        public_part = cert.read()
    return private, public_part


def blueprint():
    return confidential(ENV["BLUEPRINT_ID"], ENV["BLUEPRINT_SECRET"])


def hop_one(app):
    answer = app.acquire_token_for_client([EXCHANGE], fmi_path=ENV["AGENT_ID"])
    holds("access_token" in answer, answer)
    return answer["access_token"]


def agent(first):
    return confidential(ENV["AGENT_ID"], {"client_assertion": first})


def three_hops(app, **who):
    first = hop_one(app)
    identity = agent(first)
    second = identity.acquire_token_for_client([EXCHANGE])
    holds("access_token" in second, second)
    return identity.acquire_token_by_user_federated_identity_credential(
        [f"{GRAPH}/.default"], second["access_token"], **(who or {"username": ENV["AGENT_USER_UPN"]})
    )


def raw(form, tenant=None, **options):
    url = f"{ENV['AUTHORITY_HOST']}/{tenant or ENV['TENANT_ID']}/oauth2/v2.0/token"
    return requests.post(url, data=form, timeout=20, **options)


def refused(answer, error, code, status=None):
    body = answer if isinstance(answer, dict) else answer.json()
    same(body.get("error"), error, body)
    holds(code in body["error_codes"], body)
    holds(body["error_description"].startswith(f"AADSTS{code}: "), body["error_description"])
    for member in ("timestamp", "trace_id", "correlation_id", "error_uri"):
        holds(member in body or isinstance(answer, dict), f"{member} in {body}")
    if status:
        same(answer.status_code, status, "status")


@check
def discovery_has_what_every_library_wants():
    url = f"{ENV['AUTHORITY']}/v2.0/.well-known/openid-configuration"
    found = requests.get(url, timeout=20).json()
    for name in ("issuer", "token_endpoint", "authorization_endpoint", "jwks_uri",
                 "device_authorization_endpoint", "userinfo_endpoint", "end_session_endpoint"):
        holds(found.get(name), name)
    keys = requests.get(found["jwks_uri"], timeout=20).json()["keys"]
    for name in ("kty", "use", "kid", "x5t", "n", "e", "x5c", "issuer"):
        holds(name in keys[0], name)


@check
def an_unknown_tenant_is_refused():
    url = f"{ENV['AUTHORITY_HOST']}/no-such.example.com/v2.0/.well-known/openid-configuration"
    refused(requests.get(url, timeout=20), "invalid_tenant", 90002, 400)


@check
def an_unknown_instance_is_refused():
    url = f"{ENV['AUTHORITY_HOST']}/common/discovery/instance"
    asked = {"api-version": "1.1", "authorization_endpoint": "https://login.example.com/common/oauth2/v2.0/authorize"}
    refused(requests.get(url, params=asked, timeout=20), "invalid_instance", 50049, 400)


@check
def device_code_signs_a_person_in():
    app = public()
    answer = by_device(app, [f"{GRAPH}/User.Read"])
    holds("access_token" in answer, answer)
    same(answer["token_type"], "Bearer")
    holds(answer.get("id_token_claims", {}).get("preferred_username"), "an id token")
    token = claims(answer["access_token"])
    same(token["ver"], "1.0")
    same(token["oid"], ENV["HUMAN_ID"])
    same(token["scp"], "User.Read")
    same(token["appidacr"], "0")
    STATE["app"], STATE["answer"] = app, answer


@check
def a_silent_request_is_answered_from_the_cache():
    app = STATE["app"]
    account = app.get_accounts()[0]
    answer = app.acquire_token_silent([f"{GRAPH}/User.Read"], account)
    same(answer["access_token"], STATE["answer"]["access_token"])


@check
def a_silent_refresh_gives_another_token_and_another_refresh_token():
    app = STATE["app"]
    account = app.get_accounts()[0]
    answer = app.acquire_token_silent([f"{GRAPH}/User.Read"], account, force_refresh=True)
    holds("access_token" in answer, answer)
    holds(answer["access_token"] != STATE["answer"]["access_token"], "a new token")


@check
def the_old_refresh_token_stays_good():
    form = {"client_id": ENV["CLIENT_ID"], "grant_type": "refresh_token",
            "refresh_token": STATE["answer"]["refresh_token"], "scope": "User.Read offline_access"}
    first, second = raw(form).json(), raw(form).json()
    holds(first["refresh_token"] != second["refresh_token"], "rotation")
    holds("access_token" in second, second)


@check
def another_resource_comes_with_the_same_refresh_token():
    app = STATE["app"]
    answer = app.acquire_token_silent(
        [f"api://{ENV['API_CLIENT_ID']}/access_as_user"], app.get_accounts()[0])
    token = claims(answer["access_token"])
    same(token["aud"], ENV["API_CLIENT_ID"])
    same(token["ver"], "2.0")
    same(token["azp"], ENV["CLIENT_ID"])


@check
def pending_declined_and_wrong_codes_are_told():
    app = public()
    flow = app.initiate_device_flow([f"{GRAPH}/User.Read"])
    form = {"client_id": ENV["CLIENT_ID"], "device_code": flow["device_code"],
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code"}
    refused(raw(form), "authorization_pending", 70016, 400)
    HUMAN.decide(flow["user_code"], "decline")
    refused(raw(form), "authorization_declined", 7000014, 400)
    refused(raw({**form, "device_code": "wrong"}), "bad_verification_code", 70018, 400)


@check
def the_approval_page_works_without_commands():
    app = public()
    flow = app.initiate_device_flow([f"{GRAPH}/User.Read"])
    page = requests.post(flow["verification_uri"], data={"user_code": flow["user_code"]}, timeout=20)
    holds("Approve" in page.text and "Decline" in page.text, "the question")
    form = {"user_code": flow["user_code"], "decision": "approve",
            "account": f"{ENV['TENANT_ID']}/{ENV['HUMAN_ID']}"}
    holds("signed in" in requests.post(flow["verification_uri"], data=form, timeout=20).text, "done")
    flow["interval"] = 0
    holds("access_token" in app.acquire_token_by_device_flow(flow), "a token")


@check
def mfa_is_asked_for_with_claims():
    app = STATE["app"]
    answer = app.acquire_token_silent_with_error(
        [f"{GRAPH}/Mfa.Needed"], app.get_accounts()[0], force_refresh=True)
    same(answer["error"], "interaction_required", answer)
    holds("capolids" in answer["claims"], answer)
    holds(50076 in answer["error_codes"], answer)


@check
def confidential_by_secret_and_by_basic():
    answer = api().acquire_token_for_client([f"{GRAPH}/.default"])
    token = claims(answer["access_token"])
    same(token["idtyp"], "app")
    same(token["appidacr"], "1")
    holds("scp" not in token and "roles" in token, token)
    holds("refresh_token" not in answer and "id_token" not in answer, answer)
    form = {"grant_type": "client_credentials", "scope": f"{GRAPH}/.default"}
    basic = raw(form, auth=(ENV["API_CLIENT_ID"], ENV["API_CLIENT_SECRET"]))
    holds("access_token" in basic.json(), basic.text)


@check
def confidential_refusals():
    form = {"client_id": ENV["API_CLIENT_ID"], "grant_type": "client_credentials",
            "client_secret": ENV["API_CLIENT_SECRET"], "scope": f"{GRAPH}/.default"}
    refused(raw({**form, "client_secret": "wrong"}), "invalid_client", 7000215, 401)
    missing = {name: value for name, value in form.items() if name != "client_secret"}
    refused(raw(missing), "invalid_client", 7000218, 401)
    refused(raw({**form, "client_id": ENV["TENANT_ID"]}), "unauthorized_client", 700016, 400)
    refused(raw({**form, "scope": f"{GRAPH}/User.Read"}), "invalid_scope", 1002012, 400)
    refused(raw({**form, "scope": "https://nowhere.example.com/.default"}), "invalid_resource", 500011, 400)
    refused(raw({**form, "grant_type": "magic"}), "unsupported_grant_type", 70003, 400)
    nothing = {name: value for name, value in form.items() if name != "grant_type"}
    refused(raw(nothing), "invalid_request", 900144, 400)


@check
def scopes_are_refused():
    form = {"client_id": ENV["CLIENT_ID"], "grant_type": "refresh_token",
            "refresh_token": STATE["answer"]["refresh_token"]}
    refused(raw({**form, "scope": f"{GRAPH}/No.Such"}), "invalid_scope", 70011, 400)
    two = f"{GRAPH}/User.Read api://{ENV['API_CLIENT_ID']}/access_as_user"
    refused(raw({**form, "scope": two}), "invalid_scope", 700022, 400)
    refused(raw({**form, "refresh_token": "wrong"}), "invalid_grant", 70000, 400)


@check
def a_certificate_proves_the_blueprint_both_ways():
    private, cert = certificate()
    answer = confidential(
        ENV["BLUEPRINT_ID"], {"private_key": private, "public_certificate": cert}
    ).acquire_token_for_client([f"{GRAPH}/.default"])
    holds("access_token" in answer, answer)
    same(claims(answer["access_token"])["appidacr"], "2")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    thumbprint = x509.load_pem_x509_certificate(cert.encode()).fingerprint(hashes.SHA1()).hex()
    older = confidential(ENV["BLUEPRINT_ID"], {"private_key": private, "thumbprint": thumbprint})
    answer = older.acquire_token_for_client([f"{GRAPH}/.default"])
    holds("access_token" in answer, answer)


@check
def bad_assertions_are_refused():
    private, cert = certificate()
    wrong = hashlib.sha1(b"another").hexdigest()
    answer = confidential(
        ENV["BLUEPRINT_ID"], {"private_key": private, "thumbprint": wrong}
    ).acquire_token_for_client([f"{GRAPH}/.default"])
    refused(answer, "invalid_client", 700027)
    kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    import jwt
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    thumb = x509.load_pem_x509_certificate(cert.encode()).fingerprint(hashes.SHA256())
    import base64
    header = {"x5t#S256": base64.urlsafe_b64encode(thumb).decode().rstrip("=")}
    now = time.time()

    def signed(**changes):
        body = {"aud": f"{ENV['AUTHORITY']}/oauth2/v2.0/token", "iss": ENV["BLUEPRINT_ID"],
                "sub": ENV["BLUEPRINT_ID"], "jti": "1", "nbf": now - 60, "exp": now + 300, **changes}
        return {"client_id": ENV["BLUEPRINT_ID"], "grant_type": "client_credentials",
                "scope": f"{GRAPH}/.default", "client_assertion_type": kind,
                "client_assertion": jwt.encode(body, private, algorithm="PS256", headers=header)}

    same(raw(signed()).status_code, 200, "a good one")
    refused(raw(signed(aud="https://login.example.com/token")), "invalid_client", 700024, 401)
    refused(raw(signed(exp=now - 3600, nbf=now - 7200)), "invalid_client", 700024, 401)
    refused(raw(signed(iss="https://other.example.com")), "invalid_client", 700211, 401)


@check
def on_behalf_of_a_person():
    app = STATE["app"]
    incoming = app.acquire_token_silent(
        [f"api://{ENV['API_CLIENT_ID']}/access_as_user"], app.get_accounts()[0])["access_token"]
    STATE["incoming"] = incoming
    answer = api().acquire_token_on_behalf_of(incoming, [f"{GRAPH}/User.Read"])
    holds("access_token" in answer, answer)
    token = claims(answer["access_token"])
    same(token["oid"], ENV["HUMAN_ID"])
    same(token["appid"], ENV["API_CLIENT_ID"])
    same(token["scp"], "User.Read")


@check
def on_behalf_of_with_the_wrong_audience_is_refused():
    answer = api().acquire_token_on_behalf_of(STATE["answer"]["access_token"], [f"{GRAPH}/User.Read"])
    refused(answer, "invalid_grant", 500131)
    broken = STATE["incoming"][:-8] + "AAAAAAAA"
    refused(api().acquire_token_on_behalf_of(broken, [f"{GRAPH}/User.Read"]), "invalid_grant", 50013)


@check
def an_assertion_that_is_over_is_refused():
    HUMAN.ctl("skew", "36000")
    answer = raw({"client_id": ENV["API_CLIENT_ID"], "client_secret": ENV["API_CLIENT_SECRET"],
                  "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": STATE["incoming"],
                  "requested_token_use": "on_behalf_of", "scope": "User.Read"})
    HUMAN.ctl("skew", "0")
    refused(answer, "invalid_grant", 500133, 400)


@check
def settings_of_people_and_applications_refuse_too():
    form = {"client_id": ENV["CLIENT_ID"], "grant_type": "refresh_token", "scope": "User.Read",
            "refresh_token": STATE["answer"]["refresh_token"]}
    for command, error, code in ((("mfa", ENV["HUMAN_ID"]), "interaction_required", 50076),
                                 (("account", ENV["HUMAN_ID"]), "invalid_grant", 50057),
                                 (("application", ENV["CLIENT_ID"]), "unauthorized_client", 7000112)):
        on, off = ("on", "off") if command[0] == "mfa" else ("off", "on")
        HUMAN.ctl(*command, on)
        refused(raw(form), error, code)
        HUMAN.ctl(*command, off)
        same(raw(form).status_code, 200, command)


@check
def consent_that_is_missing_is_told():
    answer = api().acquire_token_on_behalf_of(STATE["incoming"], [f"{GRAPH}/User.Read.All"])
    refused(answer, "invalid_grant", 65001)
    same(answer.get("suberror"), "consent_required")


@check
def three_hops_by_secret():
    answer = three_hops(blueprint())
    holds("access_token" in answer, answer)
    token = claims(answer["access_token"])
    same(token["oid"], ENV["AGENT_USER_ID"])
    same(token["idtyp"], "user")
    same(token["appid"], ENV["AGENT_ID"])
    holds("11" in token["xms_act_fct"].split() and "13" in token["xms_sub_fct"].split(), token)
    same(token["xms_par_app_azp"], ENV["BLUEPRINT_ID"])


@check
def three_hops_by_certificate_and_object_id():
    private, cert = certificate()
    app = confidential(ENV["BLUEPRINT_ID"], {"private_key": private, "public_certificate": cert})
    answer = three_hops(app, user_object_id=ENV["AGENT_USER_ID"])
    same(claims(answer["access_token"])["oid"], ENV["AGENT_USER_ID"])


@check
def an_agent_without_its_user():
    answer = agent(hop_one(blueprint())).acquire_token_for_client([f"{GRAPH}/.default"])
    token = claims(answer["access_token"])
    same((token["idtyp"], token["oid"]), ("app", ENV["AGENT_ID"]))
    holds("11" in token["xms_sub_fct"].split(), token)


@check
def an_agent_on_behalf_of_a_person():
    app = STATE["app"]
    incoming = app.acquire_token_silent(
        [f"api://{ENV['BLUEPRINT_ID']}/access_agent"], app.get_accounts()[0])["access_token"]
    identity = agent(hop_one(blueprint()))
    answer = identity.acquire_token_on_behalf_of(incoming, [f"{GRAPH}/User.Read"])
    holds("access_token" in answer, answer)
    token = claims(answer["access_token"])
    same((token["oid"], token["appid"]), (ENV["HUMAN_ID"], ENV["AGENT_ID"]))
    refused(identity.acquire_token_on_behalf_of(STATE["incoming"], [f"{GRAPH}/User.Read"]),
            "invalid_grant", 500131)


@check
def an_agent_refreshes_with_its_assertion():
    first = hop_one(blueprint())
    second = agent(first).acquire_token_for_client([EXCHANGE])["access_token"]
    kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    form = {"client_id": ENV["AGENT_ID"], "client_assertion": first, "client_assertion_type": kind,
            "grant_type": "user_fic", "user_federated_identity_credential": second,
            "username": ENV["AGENT_USER_UPN"], "scope": f"{GRAPH}/.default offline_access",
            "requested_token_use": "on_behalf_of"}
    answer = raw(form).json()
    holds("refresh_token" in answer, answer)
    refresh = {"client_id": ENV["AGENT_ID"], "client_assertion": first, "client_assertion_type": kind,
               "grant_type": "refresh_token", "refresh_token": answer["refresh_token"],
               "scope": f"{GRAPH}/.default"}
    holds("access_token" in raw(refresh).json(), raw(refresh).text)
    del refresh["client_assertion"], refresh["client_assertion_type"]
    refused(raw(refresh), "invalid_client", 7000218, 401)


@check
def the_hops_are_not_mixed():
    first = hop_one(blueprint())
    identity = agent(first)
    second = identity.acquire_token_for_client([EXCHANGE])["access_token"]
    human = identity.acquire_token_by_user_federated_identity_credential(
        [f"{GRAPH}/.default"], second, user_object_id=ENV["HUMAN_ID"])
    refused(human, "invalid_grant", 50105)
    swapped = agent(first).acquire_token_by_user_federated_identity_credential(
        [f"{GRAPH}/.default"], first, username=ENV["AGENT_USER_UPN"])
    refused(swapped, "invalid_client", 700213)
    nobody = identity.acquire_token_by_user_federated_identity_credential(
        [f"{GRAPH}/.default"], second, username="nobody@first.example.com")
    refused(nobody, "invalid_grant", 50034)
    other = blueprint().acquire_token_for_client([EXCHANGE], fmi_path=ENV["HUMAN_ID"])
    refused(other, "invalid_client", 700213)
    forged = agent(first[:-8] + "AAAAAAAA").acquire_token_for_client([EXCHANGE])
    refused(forged, "invalid_client", 700027)
    plain = blueprint().acquire_token_for_client([EXCHANGE])["access_token"]
    refused(agent(plain).acquire_token_for_client([EXCHANGE]), "invalid_client", 700213)


@check
def token_exchange_of_rfc_8693_is_no_grant():
    form = {"client_id": ENV["BLUEPRINT_ID"], "client_secret": ENV["BLUEPRINT_SECRET"],
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "scope": EXCHANGE}
    refused(raw(form), "unsupported_grant_type", 70003, 400)


@check
def ordered_errors_come_as_entra_writes_them():
    form = {"client_id": ENV["CLIENT_ID"], "grant_type": "refresh_token", "scope": "User.Read",
            "refresh_token": STATE["answer"]["refresh_token"]}
    table = [
        (7000222, 401, "invalid_client", None), (7000112, 401, "unauthorized_client", None),
        (700027, 401, "invalid_client", None), (700024, 401, "invalid_client", None),
        (50173, 400, "invalid_grant", "bad_token"), (700082, 400, "invalid_grant", "token_expired"),
        (70043, 400, "invalid_grant", "token_expired"), (50132, 400, "invalid_grant", "bad_token"),
        (500133, 400, "invalid_grant", None), (65001, 400, "invalid_grant", "consent_required"),
        (50076, 400, "interaction_required", "basic_action"),
        (50079, 400, "interaction_required", "basic_action"),
        (53003, 400, "interaction_required", "message_only"),
        (53000, 400, "interaction_required", "additional_action"),
        (50196, 400, "invalid_request", None), (82001, 400, "invalid_request", None),
        (90055, 429, "temporarily_unavailable", None),
    ]
    for code, status, error, suberror in table:
        HUMAN.fault(fault="aadsts", code=code)
        answer = raw(form)
        refused(answer, error, code, status)
        same(answer.json().get("suberror"), suberror, f"suberror of {code}")
        same("claims" in answer.json(), status == 400 and error == "interaction_required" and code != 530035, f"claims of {code}")
    HUMAN.ctl("expire-secrets", ENV["API_CLIENT_ID"])
    expired = raw({"client_id": ENV["API_CLIENT_ID"], "client_secret": ENV["API_CLIENT_SECRET"],
                   "grant_type": "client_credentials", "scope": f"{GRAPH}/.default"})
    refused(expired, "invalid_client", 7000222, 401)


@check
def the_client_s_request_id_comes_back():
    form = {"client_id": ENV["CLIENT_ID"], "grant_type": "refresh_token", "refresh_token": "x",
            "client-request-id": "11111111-2222-3333-4444-555555555555"}
    same(raw(form).json()["correlation_id"], "11111111-2222-3333-4444-555555555555")


@check
def a_throttled_token_endpoint_says_when():
    HUMAN.fault(fault="throttle", retry_after=1, matching="/token", left=1)
    form = {"client_id": ENV["CLIENT_ID"], "grant_type": "refresh_token", "scope": "User.Read",
            "refresh_token": STATE["answer"]["refresh_token"]}
    answer = raw(form)
    same((answer.status_code, answer.headers["Retry-After"]), (429, "1"))
    time.sleep(0.2)
    same(raw(form).status_code, 429, "too early")
    holds(HUMAN.ctl("report", "early")["early"], "the early client is reported")
    time.sleep(1.1)
    same(raw(form).status_code, 200, "in time")


@check
def revoked_sessions_void_the_refresh_token():
    app = public()
    answer = by_device(app, [f"{GRAPH}/User.Read"])
    HUMAN.ctl("revoke", "--sessions")
    form = {"client_id": ENV["CLIENT_ID"], "grant_type": "refresh_token", "scope": "User.Read",
            "refresh_token": answer["refresh_token"]}
    refused(raw(form), "invalid_grant", 50173, 400)


@check
def azure_identity_by_device_code():
    from azure.identity import DeviceCodeCredential

    def prompt(_uri, code, _expires):
        threading.Thread(target=HUMAN.decide, args=(code,)).start()

    credential = DeviceCodeCredential(
        client_id=ENV["CLIENT_ID"], tenant_id=ENV["TENANT_ID"], authority=ENV["AUTHORITY_HOST"],
        disable_instance_discovery=True, prompt_callback=prompt, connection_verify=ENV["CA_BUNDLE"])
    record = credential.authenticate(scopes=[f"{GRAPH}/User.Read"])
    same(record.home_account_id, f"{ENV['HUMAN_ID']}.{ENV['TENANT_ID']}")
    token = credential.get_token(f"{GRAPH}/User.Read")
    same(claims(token.token)["oid"], ENV["HUMAN_ID"])


@check
def azure_identity_by_certificate():
    from azure.identity import CertificateCredential

    private, cert = certificate()
    credential = CertificateCredential(
        ENV["TENANT_ID"], ENV["BLUEPRINT_ID"], certificate_data=(private + cert).encode(),
        authority=ENV["AUTHORITY_HOST"], disable_instance_discovery=True,
        connection_verify=ENV["CA_BUNDLE"])
    token = credential.get_token(f"{GRAPH}/.default")
    same(claims(token.token)["appidacr"], "2")


run(only=ONLY)
