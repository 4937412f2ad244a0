"""Making and unmaking an agent: blueprint, principal, identity, user, consent, licence."""

import json
import time
import uuid

import importlib

from common import EXCHANGE, GRAPH, Human, check, claims, holds, main_arguments, run, same

ENV, ONLY = main_arguments()
HUMAN = Human(ENV)

import msal  # noqa: E402 - the authority's certificate must be in the environment first
import requests  # noqa: E402
from kiota_serialization_json.json_parse_node import JsonParseNode  # noqa: E402

ADMIN = [f"{GRAPH}/{name}" for name in (
    "AgentIdentityBlueprint.Create", "AgentIdentityBlueprint.AddRemoveCreds.All",
    "AgentIdentityBlueprint.UpdateAuthProperties.All", "AgentIdentityBlueprint.DeleteRestore.All",
    "AgentIdentityBlueprintPrincipal.Create", "AgentIdentity.Create.All", "AgentIdentity.ReadWrite.All",
    "AgentIdUser.ReadWrite.All", "Application.Read.All", "AppRoleAssignment.ReadWrite.All",
    "DelegatedPermissionGrant.ReadWrite.All", "User.Read.All",
)]
STATE = {"name": f"agent-{uuid.uuid4().hex[:8]}"}


def app(client, credential):
    return msal.ConfidentialClientApplication(
        client, credential, authority=ENV["AUTHORITY"], instance_discovery=False)


def admin():
    if "admin" not in STATE:
        public = msal.PublicClientApplication(
            ENV["CLIENT_ID"], authority=ENV["AUTHORITY"], instance_discovery=False)
        flow = public.initiate_device_flow(ADMIN)
        HUMAN.decide(flow["user_code"])
        flow["interval"] = 0
        STATE["admin"] = public.acquire_token_by_device_flow(flow)["access_token"]
    return STATE["admin"]


def call(method, path, body=None, token=None, **headers):
    headers["authorization"] = f"Bearer {token or admin()}"
    return requests.request(
        method, f"{ENV['GRAPH_BASE']}/v1.0{path}", json=body, headers=headers, timeout=20)


def done(answer, status, model=None):
    same(answer.status_code, status, answer.text)
    body = answer.json() if answer.text else None
    if model:
        module, name = model
        made = importlib.import_module(f"msgraph.generated.models.{module}")
        value = JsonParseNode(body).get_object_value(getattr(made, name))
        holds(not value.additional_data, value.additional_data)
        same(type(value).__name__, name, "the model")
    return body


def refused(answer, status, code):
    same((answer.status_code, answer.json()["error"]["code"]), (status, code), answer.text)


def sponsor(user=None):
    return [f"https://graph.microsoft.com/v1.0/users/{user or ENV['HUMAN_ID']}"]


@check
def a_blueprint_needs_a_sponsor_and_no_secret_of_its_own():
    path = "/applications/microsoft.graph.agentIdentityBlueprint"
    refused(call("POST", path, {"displayName": "x"}), 400, "Request_BadRequest")
    refused(call("POST", path, {"displayName": "x", "sponsors@odata.bind": sponsor(), "publicClient": {}}),
            400, "AgentBlueprint_IncompatibleProperty")
    refused(call("POST", path, {"displayName": "x", "sponsors@odata.bind": sponsor(str(uuid.uuid4()))}),
            404, "Request_ResourceNotFound")
    refused(call("POST", "/applications", {"displayName": "x"}), 403, "Authorization_RequestDenied")


@check
def a_blueprint_is_made_and_given_a_secret_and_a_scope():
    body = {"@odata.type": "Microsoft.Graph.AgentIdentityBlueprint", "displayName": STATE["name"],
            "sponsors@odata.bind": sponsor()}
    made = done(call("POST", "/applications", body, **{"OData-Version": "4.0"}), 201,
                ("agent_identity_blueprint", "AgentIdentityBlueprint"))
    STATE["object"], STATE["blueprint"] = made["id"], made["appId"]
    secret = done(call("POST", f"/applications/{made['id']}/addPassword",
                       {"passwordCredential": {"displayName": "test"}}), 200,
                  ("password_credential", "PasswordCredential"))
    STATE["secret"] = secret["secretText"]
    trust = {"name": "t", "issuer": "https://issuer.example.com", "subject": "s",
             "audiences": ["api://AzureADTokenExchange"]}
    path = f"/applications/{made['id']}/federatedIdentityCredentials"
    done(call("POST", path, trust), 201, ("federated_identity_credential", "FederatedIdentityCredential"))
    refused(call("POST", path, trust), 409, "Request_MultipleObjectsWithSameKeyValue")
    scope = {"id": str(uuid.uuid4()), "value": "access_agent", "isEnabled": True, "type": "User",
             "adminConsentDescription": "x", "adminConsentDisplayName": "x"}
    done(call("PATCH", f"/applications/{made['id']}", {
        "identifierUris": [f"api://{made['appId']}"], "api": {"oauth2PermissionScopes": [scope]}}), 204)
    refused(call("PATCH", f"/applications/{made['id']}", {"identifierUris": ["api://other"]}),
            400, "HostNameNotOnVerifiedDomain")
    read = done(call("GET", f"/applications/{made['id']}"), 200,
                ("agent_identity_blueprint", "AgentIdentityBlueprint"))
    same(read["api"]["oauth2PermissionScopes"][0]["value"], "access_agent")
    holds("secretText" not in json.dumps(read["passwordCredentials"]) or
          read["passwordCredentials"][0]["secretText"] is None, "no secret is read back")
    found = done(call("GET", f"/applications?$filter=appId eq '{made['appId']}'"), 200)
    same(len(found["value"]), 1)


@check
def a_certificate_is_registered():
    with open(ENV["BLUEPRINT_CERT_PEM"], encoding="utf-8") as file:
        der = "".join(line.strip() for line in file if "-----" not in line)
    key = {"type": "AsymmetricX509Cert", "usage": "Verify", "key": der, "displayName": "CN=x"}
    done(call("PATCH", f"/applications/{STATE['object']}", {"keyCredentials": [key]}), 204)
    read = done(call("GET", f"/applications/{STATE['object']}"), 200,
                ("agent_identity_blueprint", "AgentIdentityBlueprint"))
    holds(read["keyCredentials"][0]["customKeyIdentifier"], "a thumbprint")
    refused(call("PATCH", f"/applications/{STATE['object']}", {"keyCredentials": [{**key, "key": "AAAA"}]}),
            400, "KeyCredentialsInvalidKeyType")


def agent_body(**more):
    return {"displayName": STATE["name"], "agentIdentityBlueprintId": STATE["blueprint"],
            "sponsors@odata.bind": sponsor(), **more}


@check
def an_agent_needs_its_blueprint_s_principal():
    path = "/servicePrincipals/microsoft.graph.agentIdentity"
    refused(call("POST", path, agent_body()), 400, "AgentIdentity_AgentBlueprintPrincipalDoesNotExist")
    body = {"appId": STATE["blueprint"]}
    cast = "/servicePrincipals/microsoft.graph.agentIdentityBlueprintPrincipal"
    done(call("POST", cast, body), 201, ("agent_identity_blueprint_principal", "AgentIdentityBlueprintPrincipal"))
    refused(call("POST", cast, body), 409, "Request_MultipleObjectsWithSameKeyValue")


def blueprint_token():
    answer = app(STATE["blueprint"], STATE["secret"]).acquire_token_for_client([f"{GRAPH}/.default"])
    holds("access_token" in answer, answer)
    return answer["access_token"]


@check
def an_agent_is_made_by_its_blueprint():
    path = "/servicePrincipals/microsoft.graph.agentIdentity"
    token = blueprint_token()
    refused(call("POST", path, agent_body(passwordCredentials=[]), token),
            400, "AgentIdentity_CredentialsNotSupported")
    refused(call("POST", path, agent_body(agentIdentityBlueprintId=ENV["API_CLIENT_ID"]), token),
            400, "AgentIdentity_IncompatibleParentType")
    refused(call("POST", path, agent_body(agentIdentityBlueprintId=ENV["BLUEPRINT_ID"]), token),
            403, "Error_AgentIdentitySelfCreateRequired")
    made = done(call("POST", path, agent_body(), token), 201, ("agent_identity", "AgentIdentity"))
    same(made["servicePrincipalType"], "ServiceIdentity")
    same((made["createdByAppId"], made["agentIdentityBlueprintId"]), (STATE["blueprint"],) * 2)
    STATE["agent"] = made["id"]
    sponsors = done(call("GET", f"/servicePrincipals/{made['id']}/microsoft.graph.agentIdentity/sponsors?$select=displayName"), 200)
    same([list(one) for one in sponsors["value"]], [["@odata.type", "id"]], "ids and nothing else")
    same(sponsors["value"][0]["id"], ENV["HUMAN_ID"])


@check
def an_agent_gets_one_user():
    upn = f"{STATE['name']}@first.example.com"
    body = {"accountEnabled": True, "displayName": STATE["name"], "mailNickname": STATE["name"],
            "userPrincipalName": upn, "identityParentId": STATE["agent"]}
    path = "/users/microsoft.graph.agentUser"
    refused(call("POST", path, {**body, "userPrincipalName": "x@nowhere.example.com"}), 400, "Request_BadRequest")
    for name in ("displayName", "mailNickname", "userPrincipalName", "identityParentId", "accountEnabled"):
        less = {key: value for key, value in body.items() if key != name}
        refused(call("POST", path, less), 400, "Request_BadRequest")
    refused(call("POST", path, body, blueprint_token()), 403, "Authorization_RequestDenied")
    refused(call("POST", path, {**body, "passwordProfile": {}}), 400, "PropertyNotCompatibleWithAgentIdentity")
    made = done(call("POST", path, body), 201, ("agent_user", "AgentUser"))
    same(made["identityParentId"], STATE["agent"])
    refused(call("POST", path, {**body, "userPrincipalName": f"2{upn}"}), 400, "Request_BadRequest")
    STATE["user"], STATE["upn"] = made["id"], upn


def agent_user_token():
    blueprint = app(STATE["blueprint"], STATE["secret"])
    first = blueprint.acquire_token_for_client([EXCHANGE], fmi_path=STATE["agent"])["access_token"]
    agent = app(STATE["agent"], {"client_assertion": first})
    second = agent.acquire_token_for_client([EXCHANGE])["access_token"]
    return agent.acquire_token_by_user_federated_identity_credential(
        [f"{GRAPH}/.default"], second, username=STATE["upn"])


@check
def consent_comes_late_and_then_works():
    same(agent_user_token()["error_codes"], [65001])
    graph = done(call("GET", "/servicePrincipals?$filter=appId eq '00000003-0000-0000-c000-000000000000'"), 200)
    body = {"clientId": STATE["agent"], "consentType": "Principal", "principalId": STATE["user"],
            "resourceId": graph["value"][0]["id"], "scope": "User.Read Chat.ReadWrite Chat.Create"}
    refused(call("POST", "/oauth2PermissionGrants", body), 400, "Request_BadRequest")
    body["startTime"] = "2026-01-01T00:00:00Z"
    refused(call("POST", "/oauth2PermissionGrants", {**body, "scope": "User.ReadWrite.All"}), 400, "Request_BadRequest")
    HUMAN.ctl("propagation", "2")
    made = done(call("POST", "/oauth2PermissionGrants", body), 201, ("o_auth2_permission_grant", "OAuth2PermissionGrant"))
    HUMAN.ctl("propagation", "0")
    refused(call("POST", "/oauth2PermissionGrants", body), 409, "Request_MultipleObjectsWithSameKeyValue")
    same(agent_user_token()["error_codes"], [65001], "not seen yet")
    until = time.time() + 20
    while "access_token" not in (answer := agent_user_token()) and time.time() < until:
        time.sleep(0.2)
    token = claims(answer["access_token"])
    same((token["oid"], token["appid"]), (STATE["user"], STATE["agent"]))
    same(set(token["scp"].split()), {"User.Read", "Chat.ReadWrite", "Chat.Create"})
    found = done(call("GET", f"/oauth2PermissionGrants?$filter=clientId eq '{STATE['agent']}'"), 200)
    same([one["id"] for one in found["value"]], [made["id"]])
    done(call("PATCH", f"/oauth2PermissionGrants/{made['id']}", {"scope": "User.Read Chat.ReadWrite Chat.Create ChatMessage.Send"}), 204)
    STATE["token"] = agent_user_token()["access_token"]


@check
def without_a_licence_there_is_no_chat_and_with_one_there_is():
    people = [{"@odata.type": "#microsoft.graph.aadUserConversationMember", "roles": ["owner"],
               "user@odata.bind": f"https://graph.microsoft.com/v1.0/users('{one}')"}
              for one in (STATE["user"], ENV["HUMAN_ID"])]
    body = {"chatType": "oneOnOne", "members": people}
    refused(call("POST", "/chats", body, STATE["token"]), 403, "Forbidden")
    refused(call("GET", "/me/messages", None, STATE["token"]), 404, "MailboxNotEnabledForRESTAPI")
    HUMAN.ctl("license", STATE["user"], "on")
    done(call("POST", "/chats", body, STATE["token"]), 201, ("chat", "Chat"))
    detail = done(call("GET", "/me/licenseDetails", None, STATE["token"]), 200)
    same(len(detail["value"]), 1)


@check
def application_permissions_are_granted_except_what_agents_may_not_have():
    graph = done(call("GET", "/servicePrincipals?$filter=appId eq '00000003-0000-0000-c000-000000000000'"), 200)["value"][0]
    roles = {role["value"]: role["id"] for role in graph["appRoles"]}
    path = f"/servicePrincipals/{STATE['agent']}/appRoleAssignments"

    def body(name):
        return {"principalId": STATE["agent"], "resourceId": graph["id"], "appRoleId": roles[name]}
    refused(call("POST", path, body("Chat.Read.All")), 400, "Request_BadRequest")
    made = done(call("POST", path, body("User.Read.All")), 201, ("app_role_assignment", "AppRoleAssignment"))
    refused(call("POST", path, body("User.Read.All")), 400, "Request_BadRequest")
    blueprint = app(STATE["blueprint"], STATE["secret"])
    first = blueprint.acquire_token_for_client([EXCHANGE], fmi_path=STATE["agent"])["access_token"]
    own = app(STATE["agent"], {"client_assertion": first}).acquire_token_for_client([f"{GRAPH}/.default"])
    same(claims(own["access_token"])["roles"], ["User.Read.All"])
    same(call("GET", "/users", None, own["access_token"]).status_code, 200)
    same(call("GET", "/me", None, own["access_token"]).status_code, 400)
    same(call("POST", f"/users/{STATE['user']}/presence/setPresence", {}, own["access_token"]).status_code, 403)
    done(call("DELETE", f"{path}/{made['id']}"), 204)


@check
def a_tenant_without_agents_says_so():
    HUMAN.ctl("agents", "off")
    refused(call("GET", "/servicePrincipals/microsoft.graph.agentIdentity"), 400, "BadRequest")
    refused(call("POST", "/users/microsoft.graph.agentUser", {}), 400, "BadRequest")
    blueprint = app(STATE["blueprint"], STATE["secret"])
    same(blueprint.acquire_token_for_client([EXCHANGE], fmi_path=STATE["agent"])["error_codes"], [82001])
    HUMAN.ctl("agents", "on")
    done(call("GET", "/servicePrincipals/microsoft.graph.agentIdentity"), 200)


@check
def a_disabled_agent_or_blueprint_signs_in_no_more():
    for client, code in ((STATE["agent"], 7000112), (STATE["blueprint"], 7000112)):
        HUMAN.ctl("application", client, "off")
        blueprint = app(STATE["blueprint"], STATE["secret"])
        first = blueprint.acquire_token_for_client([EXCHANGE], fmi_path=STATE["agent"])
        if client == STATE["agent"]:
            first = app(STATE["agent"], {"client_assertion": first["access_token"]}).acquire_token_for_client([EXCHANGE])
        same((first["error"], first["error_codes"]), ("unauthorized_client", [code]))
        HUMAN.ctl("application", client, "on")


@check
def agents_are_found_by_their_blueprint():
    found = done(call("GET", f"/servicePrincipals?$filter=agentIdentityBlueprintId eq '{STATE['blueprint']}'"), 200)
    same([one["id"] for one in found["value"]], [STATE["agent"]])
    found = done(call("GET", f"/servicePrincipals/microsoft.graph.agentIdentity?$filter=startswith(displayName,'{STATE['name'][:8]}')"), 200)
    same([one["id"] for one in found["value"]], [STATE["agent"]])
    refused(call("GET", "/servicePrincipals?$filter=notes eq 'x'"), 400, "Request_UnsupportedQuery")
    skus = done(call("GET", "/subscribedSkus"), 403)
    holds(skus["error"]["code"], skus)


@check
def everything_is_taken_away_again():
    done(call("DELETE", f"/users/{STATE['user']}"), 204)
    refused(call("GET", f"/users/{STATE['user']}"), 404, "Request_ResourceNotFound")
    same(call("GET", "/me", None, STATE["token"]).status_code, 401)
    done(call("DELETE", f"/servicePrincipals/{STATE['agent']}"), 204)
    done(call("DELETE", f"/applications/{STATE['object']}"), 204)
    refused(call("GET", f"/applications/{STATE['object']}"), 404, "Request_ResourceNotFound")
    answer = app(STATE["blueprint"], STATE["secret"]).acquire_token_for_client([f"{GRAPH}/.default"])
    same(answer["error_codes"], [700016])
    refused(call("DELETE", f"/users/{ENV['HUMAN_ID']}"), 403, "Authorization_RequestDenied")


run(only=ONLY)
