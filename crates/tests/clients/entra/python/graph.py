"""msgraph-sdk against the tenant: every answer must parse into the SDK's models whole."""

import asyncio
import datetime
import json
import threading
import time
import uuid

from common import GRAPH, Human, check, claims, holds, main_arguments, run, same

ENV, ONLY = main_arguments()
HUMAN = Human(ENV)

from azure.core.credentials import AccessToken  # noqa: E402 - after the environment is set
from azure.identity import DeviceCodeCredential  # noqa: E402
from kiota_abstractions.api_error import APIError  # noqa: E402
from kiota_abstractions.base_request_configuration import RequestConfiguration  # noqa: E402
from kiota_abstractions.serialization import AdditionalDataHolder  # noqa: E402
from kiota_authentication_azure.azure_identity_authentication_provider import (  # noqa: E402
    AzureIdentityAuthenticationProvider,
)
from msgraph import GraphRequestAdapter, GraphServiceClient  # noqa: E402
import msgraph.generated.models as models_package  # noqa: E402,F401
import msal  # noqa: E402
import requests  # noqa: E402

HOST = ENV["GRAPH_BASE"].removeprefix("https://")
SCOPES = [f"{GRAPH}/{name}" for name in (
    "User.Read", "User.ReadBasic.All", "Chat.ReadWrite", "Chat.Create", "ChatMessage.Send",
    "Presence.ReadWrite", "Presence.Read.All", "Mail.ReadWrite", "Mail.Send", "Calendars.ReadWrite",
)]
STATE = {}
LOOP = asyncio.new_event_loop()


def wait(coroutine):
    return LOOP.run_until_complete(coroutine)


def prompt(_uri, code, _expires):
    threading.Thread(target=HUMAN.decide, args=(code,)).start()


def device_credential():
    return DeviceCodeCredential(
        client_id=ENV["CLIENT_ID"], tenant_id=ENV["TENANT_ID"], authority=ENV["AUTHORITY_HOST"],
        disable_instance_discovery=True, prompt_callback=prompt)


class AgentCredential:
    """The agent's own user, by three hops of MSAL's."""

    def get_token(self, *scopes, **_options):
        def app(client, credential):
            return msal.ConfidentialClientApplication(
                client, credential, authority=ENV["AUTHORITY"], instance_discovery=False)
        exchange = ["api://AzureADTokenExchange/.default"]
        first = app(ENV["BLUEPRINT_ID"], ENV["BLUEPRINT_SECRET"]).acquire_token_for_client(
            exchange, fmi_path=ENV["AGENT_ID"])["access_token"]
        agent = app(ENV["AGENT_ID"], {"client_assertion": first})
        second = agent.acquire_token_for_client(exchange)["access_token"]
        answer = agent.acquire_token_by_user_federated_identity_credential(
            list(scopes), second, username=ENV["AGENT_USER_UPN"])
        return AccessToken(answer["access_token"], int(time.time()) + answer["expires_in"])


def client(credential, scopes):
    provider = AzureIdentityAuthenticationProvider(
        credential, scopes=scopes, allowed_hosts=[HOST, HOST.split(":")[0]])
    adapter = GraphRequestAdapter(provider)
    adapter.base_url = f"{ENV['GRAPH_BASE']}/v1.0"
    return GraphServiceClient(request_adapter=adapter)


def whole(value, path="answer", seen=None):
    """Fails when anything in an answer was not in the SDK's models."""
    seen = seen if seen is not None else set()
    if id(value) in seen or isinstance(value, (str, int, float, bool, bytes, type(None))):
        return value
    seen.add(id(value))
    extra = getattr(value, "additional_data", None)
    if extra:
        raise AssertionError(f"{path} of {type(value).__name__} has {extra}")
    if isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            whole(item, f"{path}[{at}]", seen)
    store = getattr(value, "__dict__", {})
    for name, inner in store.items():
        if name not in ("additional_data", "backing_store"):
            whole(inner, f"{path}.{name}", seen)
    backing = getattr(value, "backing_store", None)
    if backing is not None:
        for name, inner in backing.enumerate_():
            if name == "additional_data":
                holds(not inner, f"{path} of {type(value).__name__} has {inner}")
            else:
                whole(inner, f"{path}.{name}", seen)
    return value


def fails(coroutine, status, code=None):
    try:
        wait(coroutine)
    except APIError as error:
        same(error.response_status_code, status, str(error))
        main = getattr(error, "error", None)
        if code:
            same(main.code, code, main.message)
        holds(main.inner_error.request_id, "a request id")
        return error
    raise AssertionError(f"not refused with {status}")


def options(kind, headers=None, **query):
    parameters = kind(**query) if kind else None
    configuration = RequestConfiguration(query_parameters=parameters)
    for name, value in (headers or {}).items():
        configuration.headers.add(name, value)
    return configuration


def bind(user):
    return f"https://graph.microsoft.com/v1.0/users('{user}')"


def member(user):
    from msgraph.generated.models.aad_user_conversation_member import AadUserConversationMember

    made = AadUserConversationMember(roles=["owner"])
    made.odata_type = "#microsoft.graph.aadUserConversationMember"
    made.additional_data = {"user@odata.bind": bind(user)}
    return made


def text_message(text, html=False):
    from msgraph.generated.models.body_type import BodyType
    from msgraph.generated.models.chat_message import ChatMessage
    from msgraph.generated.models.item_body import ItemBody

    return ChatMessage(body=ItemBody(
        content=text, content_type=BodyType.Html if html else BodyType.Text))


def human():
    if "human" not in STATE:
        STATE["human"] = client(device_credential(), SCOPES)
    return STATE["human"]


def agent():
    if "agent" not in STATE:
        STATE["agent"] = client(AgentCredential(), [f"{GRAPH}/.default"])
    return STATE["agent"]


def raw(method, path, token=None, **more):
    token = token or AgentCredential().get_token(f"{GRAPH}/.default").token
    headers = {"authorization": f"Bearer {token}", **more.pop("headers", {})}
    return requests.request(method, ENV["GRAPH_BASE"] + path, headers=headers, timeout=20, **more)


@check
def who_am_i():
    me = whole(wait(human().me.get()))
    same(me.id, ENV["HUMAN_ID"])
    me = whole(wait(agent().me.get()))
    same(me.id, ENV["AGENT_USER_ID"])
    same(me.user_principal_name, ENV["AGENT_USER_UPN"])
    same(type(me).__name__, "AgentUser")


@check
def people_are_found_and_filtered():
    people = whole(wait(agent().users.get()))
    holds(len(people.value) >= 4, "people")
    from msgraph.generated.users.users_request_builder import UsersRequestBuilder
    kind = UsersRequestBuilder.UsersRequestBuilderGetQueryParameters
    found = whole(wait(agent().users.get(options(
        kind, filter="startswith(displayName,'Blake')", select=["id", "displayName"]))))
    same([one.display_name for one in found.value], ["Blake Sample"])
    fails(agent().users.get(options(kind, filter="endswith(mail,'x')")), 400, "Request_UnsupportedQuery")
    fails(agent().users.by_user_id(str(uuid.uuid4())).get(), 404, "Request_ResourceNotFound")


@check
def pages_come_one_after_the_other():
    from msgraph.generated.users.users_request_builder import UsersRequestBuilder
    kind = UsersRequestBuilder.UsersRequestBuilderGetQueryParameters
    page = whole(wait(agent().users.get(options(kind, top=2))))
    names = [one.id for one in page.value]
    while page.odata_next_link:
        holds(page.odata_next_link.startswith(ENV["GRAPH_BASE"]), page.odata_next_link)
        page = whole(wait(agent().users.with_url(page.odata_next_link).get()))
        names += [one.id for one in page.value]
    same(len(names), len(set(names)))
    holds(ENV["HUMAN_ID"] in names and ENV["AGENT_USER_ID"] in names, names)


@check
def a_chat_is_created_once():
    from msgraph.generated.models.chat import Chat
    from msgraph.generated.models.chat_type import ChatType

    def wanted():
        return Chat(chat_type=ChatType.OneOnOne,
                    members=[member(ENV["AGENT_USER_ID"]), member(ENV["HUMAN_ID"])])
    first = whole(wait(agent().chats.post(wanted())))
    again = whole(wait(human().chats.post(wanted())))
    same(first.id, again.id)
    holds(first.id.startswith("19:") and first.id.endswith("@unq.gbl.spaces"), first.id)
    STATE["chat"] = first.id
    from msgraph.generated.chats.item.chat_item_request_builder import ChatItemRequestBuilder
    kind = ChatItemRequestBuilder.ChatItemRequestBuilderGetQueryParameters
    read = whole(wait(agent().chats.by_chat_id(first.id).get(options(kind, expand=["members"]))))
    same(sorted(one.user_id for one in read.members), sorted([ENV["AGENT_USER_ID"], ENV["HUMAN_ID"]]))
    whole(wait(agent().chats.by_chat_id(first.id).members.get()))
    same([one.id for one in whole(wait(agent().me.chats.get())).value], [first.id])


@check
def a_chat_without_the_caller_is_refused():
    from msgraph.generated.models.chat import Chat
    from msgraph.generated.models.chat_type import ChatType

    other = wait(agent().users.get()).value[1].id
    wanted = Chat(chat_type=ChatType.OneOnOne, members=[member(other), member(ENV["HUMAN_ID"])])
    fails(agent().chats.post(wanted), 400, "BadRequest")
    fails(agent().chats.by_chat_id("19:nobody@unq.gbl.spaces").get(), 404, "NotFound")


def messages():
    return agent().chats.by_chat_id(STATE["chat"]).messages


@check
def messages_are_sent_and_read():
    sent = whole(wait(messages().post(text_message("hello"))))
    same(sent.body.content, "hello")
    same(sent.from_.user.id, ENV["AGENT_USER_ID"])
    HUMAN.say(STATE["chat"], "it's \"me\" & <you>")
    found = whole(wait(messages().get())).value
    same([one.body.content for one in found], ["it's \"me\" & <you>", "hello"])
    same(found[0].from_.user.id, ENV["HUMAN_ID"])
    same(whole(wait(messages().by_chat_message_id(sent.id).get())).id, sent.id)
    STATE["sent"] = sent


@check
def polling_by_time_sees_what_is_new_and_what_changed():
    from msgraph.generated.chats.item.messages.messages_request_builder import MessagesRequestBuilder
    kind = MessagesRequestBuilder.MessagesRequestBuilderGetQueryParameters
    last = wait(messages().get()).value[0].last_modified_date_time

    def poll(**query):
        since = last.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        return whole(wait(messages().get(options(
            kind, top=50, filter=f"lastModifiedDateTime gt {since}", **query)))).value
    order = {"orderby": ["lastModifiedDateTime desc"]}
    same(poll(**order), [])
    HUMAN.say(STATE["chat"], "new")
    same([one.body.content for one in poll(**order)], ["new"])
    wait(messages().by_chat_message_id(STATE["sent"].id).patch(text_message("changed")))
    edited = poll(**order)[0]
    same((edited.id, edited.body.content), (STATE["sent"].id, "changed"))
    holds(edited.last_edited_date_time and edited.etag != STATE["sent"].etag, "an edit")
    holds(len(poll()) > 2, "a filter without its order is ignored")


@check
def unsupported_queries_on_messages_are_refused():
    path = f"/v1.0/chats/{STATE['chat']}/messages"
    for query in ("$skip=1", "$search=x", "$top=51", "$top=0", "$top=x", "$select=id", "$count=true",
                  "$orderby=lastModifiedDateTime asc", "$orderby=subject desc", "$expand=replies",
                  "$filter=subject eq 'x'", "$filter=lastModifiedDateTime ge 2020-01-01T00:00:00Z&$orderby=lastModifiedDateTime desc"):
        answer = raw("GET", f"{path}?{query}")
        same(answer.status_code, 400, query)
        holds(answer.json()["error"]["code"] == "BadRequest", query)
    same(raw("GET", f"{path}/delta").status_code, 412, "delta of one chat")


@check
def messages_come_in_pages():
    for number in range(12):
        HUMAN.say(STATE["chat"], f"number {number}")
    from msgraph.generated.chats.item.messages.messages_request_builder import MessagesRequestBuilder
    kind = MessagesRequestBuilder.MessagesRequestBuilderGetQueryParameters
    page = whole(wait(messages().get(options(kind, top=5))))
    found = [one.id for one in page.value]
    same(len(found), 5)
    while page.odata_next_link:
        page = whole(wait(messages().with_url(page.odata_next_link).get()))
        found += [one.id for one in page.value]
    same(len(found), len(set(found)))
    holds(len(found) >= 15, len(found))


@check
def a_card_a_mention_and_a_picture():
    from msgraph.generated.models.chat_message_attachment import ChatMessageAttachment
    from msgraph.generated.models.chat_message_hosted_content import ChatMessageHostedContent
    from msgraph.generated.models.chat_message_mention import ChatMessageMention
    from msgraph.generated.models.chat_message_mentioned_identity_set import ChatMessageMentionedIdentitySet
    from msgraph.generated.models.identity import Identity

    message = text_message(
        '<p><at id="0">Alex</at> see</p><attachment id="card1"></attachment>'
        '<img src="../hostedContents/1/$value">', html=True)
    card = {"type": "AdaptiveCard", "version": "1.4", "body": [{"type": "TextBlock", "text": "Go on?"}]}
    message.attachments = [ChatMessageAttachment(
        id="card1", content_type="application/vnd.microsoft.card.adaptive", content=json.dumps(card))]
    person = Identity(id=ENV["HUMAN_ID"], display_name="Alex")
    person.additional_data = {"userIdentityType": "aadUser"}
    message.mentions = [ChatMessageMention(
        id=0, mention_text="Alex", mentioned=ChatMessageMentionedIdentitySet(user=person))]
    picture = ChatMessageHostedContent(content_bytes=b"\x89PNG fake", content_type="image/png")
    picture.additional_data = {"@microsoft.graph.temporaryId": "1"}
    message.hosted_contents = [picture]
    sent = whole(wait(messages().post(message)))
    same(json.loads(sent.attachments[0].content), card)
    same(sent.mentions[0].mentioned.user.id, ENV["HUMAN_ID"])
    holds("/hostedContents/1/$value" in sent.body.content and "../" not in sent.body.content, sent.body.content)
    hosted = messages().by_chat_message_id(sent.id).hosted_contents
    same(len(whole(wait(hosted.get())).value), 1)
    same(wait(hosted.by_chat_message_hosted_content_id("1").content.get()), b"\x89PNG fake")


@check
def messages_that_teams_refuses():
    path = f"/v1.0/chats/{STATE['chat']}/messages"
    html = {"contentType": "html", "content": "x"}
    card = {"id": "1", "contentType": "application/vnd.microsoft.card.adaptive", "content": "{\"type\":\"AdaptiveCard\"}"}
    placed = {"contentType": "html", "content": "<attachment id=\"1\"></attachment>"}
    table = [
        ({}, 400), ({"body": {"content": ""}}, 400),
        ({"body": {"contentType": "rtf", "content": "x"}}, 400),
        ({"body": html, "attachments": [card]}, 400),
        ({"body": placed, "attachments": [{**card, "content": {"type": "AdaptiveCard"}}]}, 400),
        ({"body": placed, "attachments": [{**card, "content": "no json"}]}, 400),
        ({"body": html, "mentions": [{"id": 0, "mentionText": "A", "mentioned": {"user": {"id": "1"}}}]}, 400),
        ({"body": html, "hostedContents": [{"@microsoft.graph.temporaryId": "1", "contentBytes": "AAAA", "contentType": "image/png"}]}, 400),
        ({"body": {"content": "x" * 28673}}, 413),
        ({"body": {"content": "x" * 28672}}, 201),
    ]
    for body, status in table:
        answer = raw("POST", path, json=body)
        same(answer.status_code, status, str(body)[:80])
    same(raw("POST", path, data="not json").status_code, 400)
    same(raw("POST", path, json={"body": {"content": "x" * 29000}}).json()["error"]["code"], "RequestEntityTooLarge")


@check
def reactions_previews_and_members():
    from msgraph.generated.chats.chats_request_builder import ChatsRequestBuilder
    from msgraph.generated.chats.item.messages.item.set_reaction.set_reaction_post_request_body import SetReactionPostRequestBody
    from msgraph.generated.chats.item.messages.item.unset_reaction.unset_reaction_post_request_body import UnsetReactionPostRequestBody

    said = HUMAN.say(STATE["chat"], "liked")["id"]
    item = messages().by_chat_message_id(said)
    before = wait(item.get()).last_modified_date_time
    wait(item.set_reaction.post(SetReactionPostRequestBody(reaction_type="like")))
    liked = whole(wait(item.get()))
    same([one.reaction_type for one in liked.reactions], ["like"])
    holds(liked.last_modified_date_time > before, "a reaction moves the time of change")
    wait(item.unset_reaction.post(UnsetReactionPostRequestBody(reaction_type="like")))
    same(whole(wait(item.get())).reactions, [])
    kind = ChatsRequestBuilder.ChatsRequestBuilderGetQueryParameters
    chats = whole(wait(agent().chats.get(options(kind, expand=["lastMessagePreview"]))))
    same(chats.value[0].last_message_preview.body.content, "liked")


@check
def a_message_is_deleted_and_only_by_its_author():
    sent = wait(messages().post(text_message("gone soon")))
    item = agent().users.by_user_id(ENV["AGENT_USER_ID"]).chats.by_chat_id(STATE["chat"]).messages
    wait(item.by_chat_message_id(sent.id).soft_delete.post())
    read = whole(wait(messages().by_chat_message_id(sent.id).get()))
    holds(read.deleted_date_time and read.body.content in ("", None), "deleted")
    other = HUMAN.say(STATE["chat"], "mine")["id"]
    fails(messages().by_chat_message_id(other).patch(text_message("yours")), 403, "Forbidden")


@check
def a_missing_licence_is_told_in_graph_s_words():
    HUMAN.ctl("license", ENV["AGENT_USER_ID"], "off")
    error = fails(messages().post(text_message("x")), 403, "Forbidden")
    holds("license" in error.error.message, error.error.message)
    HUMAN.ctl("license", ENV["AGENT_USER_ID"], "on")
    HUMAN.fault(fault="unlicensed", matching="/messages")
    fails(messages().post(text_message("x")), 403, "Forbidden")
    wait(messages().post(text_message("licensed again")))


@check
def a_missing_permission_is_told():
    app = msal.PublicClientApplication(ENV["CLIENT_ID"], authority=ENV["AUTHORITY"], instance_discovery=False)
    flow = app.initiate_device_flow([f"{GRAPH}/User.Read"])
    HUMAN.decide(flow["user_code"])
    flow["interval"] = 0
    token = app.acquire_token_by_device_flow(flow)["access_token"]
    for path, code in (("/chats", "Forbidden"), ("/me/messages", "ErrorAccessDenied"),
                       ("/users", "Authorization_RequestDenied"), ("/me/presence", "Forbidden"),
                       ("/me/calendarView?startDateTime=2026-01-01T00:00:00Z&endDateTime=2026-02-01T00:00:00Z", "ErrorAccessDenied")):
        answer = raw("GET", f"/v1.0{path}", token=token)
        same((answer.status_code, answer.json()["error"]["code"]), (403, code), path)


@check
def tokens_that_do_not_do():
    for token, error in (("x.y.z", "invalid_token"), ("nonsense", "invalid_token")):
        answer = raw("GET", "/v1.0/me", token=token)
        same(answer.status_code, 401)
        same(answer.json()["error"]["code"], "InvalidAuthenticationToken")
        holds(error in answer.headers["WWW-Authenticate"], answer.headers)
    answer = requests.get(f"{ENV['GRAPH_BASE']}/v1.0/me", timeout=20)
    same(answer.status_code, 401)
    holds("authorization_uri" in answer.headers["WWW-Authenticate"], answer.headers)
    HUMAN.fault(fault="expired")
    same(raw("GET", "/v1.0/me").json()["error"]["message"], "Lifetime validation failed, the token is expired.")


@check
def presence_is_set_renewed_and_cleared():
    from msgraph.generated.users.item.presence.clear_presence.clear_presence_post_request_body import ClearPresencePostRequestBody
    from msgraph.generated.users.item.presence.set_presence.set_presence_post_request_body import SetPresencePostRequestBody
    from msgraph.generated.users.item.presence.set_user_preferred_presence.set_user_preferred_presence_post_request_body import SetUserPreferredPresencePostRequestBody

    presence = agent().users.by_user_id(ENV["AGENT_USER_ID"]).presence
    hour = datetime.timedelta(hours=1)
    session = ENV["AGENT_ID"]
    for availability, activity in (("Available", "Available"), ("Busy", "InACall"), ("Away", "Away")):
        wait(presence.set_presence.post(SetPresencePostRequestBody(
            session_id=session, availability=availability, activity=activity, expiration_duration=hour)))
        now = whole(wait(agent().me.presence.get()))
        same((now.availability, now.activity), (availability, activity))
    fails(presence.set_presence.post(SetPresencePostRequestBody(
        session_id=session, availability="Busy", activity="Away", expiration_duration=hour)), 400, "InvalidArgument")
    fails(presence.set_presence.post(SetPresencePostRequestBody(
        session_id=session, availability="Away", activity="Away",
        expiration_duration=datetime.timedelta(hours=5))), 400, "InvalidArgument")
    wait(presence.set_user_preferred_presence.post(SetUserPreferredPresencePostRequestBody(
        availability="Offline", activity="OffWork", expiration_duration=hour)))
    same(wait(agent().me.presence.get()).availability, "Offline")
    wait(presence.clear_user_preferred_presence.post())
    same(wait(agent().me.presence.get()).availability, "Away")
    wait(presence.clear_presence.post(ClearPresencePostRequestBody(session_id=session)))
    same(wait(agent().me.presence.get()).availability, "Offline")
    fails(presence.clear_presence.post(ClearPresencePostRequestBody(session_id=session)), 404, "NotFound")


@check
def a_challenge_is_answered_by_the_sdk_itself():
    whole(wait(human().me.get()))
    HUMAN.revoke()
    answer = raw("GET", "/v1.0/me", token=STATE.get("old") or device_credential().get_token(SCOPES[0]).token)
    same(answer.status_code, 200, "a token from after the revocation")
    same(whole(wait(human().me.get())).id, ENV["HUMAN_ID"])
    HUMAN.fault(fault="challenge", left=1)
    same(whole(wait(human().me.get())).id, ENV["HUMAN_ID"])


@check
def throttling_is_waited_for_by_the_sdk():
    HUMAN.fault(fault="throttle", retry_after=1, left=1, matching="POST /v1.0/chats")
    before = time.time()
    wait(messages().post(text_message("after the wait")))
    holds(time.time() - before >= 1.0, "waited")
    same(HUMAN.ctl("report", "early")["early"], [])
    HUMAN.fault(fault="throttle", left=1, matching="/me")
    answer = raw("GET", "/v1.0/me")
    same(answer.status_code, 429)
    holds("Retry-After" not in answer.headers, "no time to wait")
    same(raw("GET", "/v1.0/me").status_code, 200)


@check
def other_faults_happen_as_ordered():
    for status, code in ((503, "serviceNotAvailable"), (500, "generalException"), (504, "UnknownError")):
        HUMAN.fault(fault="status", status=status, left=1)
        answer = raw("GET", "/v1.0/me")
        same((answer.status_code, answer.json()["error"]["code"]), (status, code))
    count = len(wait(messages().get()).value)
    path = f"/v1.0/chats/{STATE['chat']}/messages"
    for kind, lands in (("cut", False), ("cut-after", True)):
        HUMAN.fault(fault=kind, left=1, matching="POST /v1.0/chats")
        text = f"ordered {kind}"
        try:
            raw("POST", path, json={"body": {"content": text}})
            raise AssertionError("an answer came")
        except requests.ConnectionError:
            pass
        there = any(one.body.content == text for one in wait(messages().get()).value)
        same(there, lands, kind)
    holds(count, "messages")


def inbox():
    return agent().me.mail_folders.by_mail_folder_id("inbox")


def letter(subject, body="text"):
    return HUMAN.ctl("mail", "--to", ENV["AGENT_USER_ID"], "--subject", subject, "--body", body)


@check
def mail_changes_are_followed():
    from msgraph.generated.users.item.mail_folders.item.messages.delta.delta_request_builder import DeltaRequestBuilder
    kind = DeltaRequestBuilder.DeltaRequestBuilderGetQueryParameters
    delta = inbox().messages.delta
    prefer = {"Prefer": 'odata.maxpagesize=2, IdType="ImmutableId"'}
    for number in range(5):
        letter(f"mail {number}")

    def follow(page):
        found = list(page.value)
        while page.odata_next_link:
            page = whole(wait(delta.with_url(page.odata_next_link).get(options(None, prefer))))
            holds(len(page.value) <= 2, "the page size")
            found += page.value
        return found, page.odata_delta_link
    first = wait(delta.get(options(kind, prefer, select=["subject", "receivedDateTime", "from"])))
    found, link = follow(whole(first))
    same([one.subject for one in found], [f"mail {number}" for number in range(5)])
    found, link = follow(whole(wait(delta.with_url(link).get(options(None, prefer)))))
    same(found, [])
    letter("later")
    found, link = follow(whole(wait(delta.with_url(link).get(options(None, prefer)))))
    same([one.subject for one in found], ["later"])
    STATE["later"], STATE["delta"] = found[0].id, link


@check
def a_mail_is_moved_and_its_immutable_id_stays():
    prefer = {"Prefer": 'IdType="ImmutableId"'}
    from msgraph.generated.users.item.messages.item.move.move_post_request_body import MovePostRequestBody
    item = agent().me.messages.by_message_id(STATE["later"])
    changing = whole(wait(item.get())).id
    moved = whole(wait(item.move.post(MovePostRequestBody(destination_id="archive"), options(None, prefer))))
    same(moved.id, STATE["later"])
    holds(wait(item.get()).id != changing, "the other id is new")
    delta = inbox().messages.delta
    page = wait(delta.with_url(STATE["delta"]).get(options(None, prefer)))
    same([(one.id, "@removed" in one.additional_data) for one in page.value], [(STATE["later"], True)])
    fails(agent().me.messages.by_message_id(changing).get(), 404, "ErrorItemNotFound")


@check
def links_that_are_too_old_mean_to_begin_anew():
    HUMAN.ctl("expire-delta")
    answer = raw("GET", STATE["delta"].removeprefix(ENV["GRAPH_BASE"]))
    same((answer.status_code, answer.json()["error"]["code"]), (410, "syncStateNotFound"))
    begin = answer.headers["Location"]
    holds(begin.startswith(ENV["GRAPH_BASE"]), begin)
    holds(raw("GET", begin.removeprefix(ENV["GRAPH_BASE"])).json()["value"], "everything again")
    HUMAN.fault(fault="gone")
    same(raw("GET", "/v1.0/me/mailFolders/inbox/messages/delta").status_code, 410)


@check
def unsupported_mail_queries_are_refused():
    base = "/v1.0/me/mailFolders/inbox/messages"
    for path in (f"{base}/delta?$filter=subject eq 'x'", f"{base}/delta?$orderby=subject",
                 f"{base}/delta?$search=x", f"{base}?$filter=body/content eq 'x'", f"{base}?$orderby=body",
                 f"{base}/delta?$deltatoken=nonsense", f"{base}/delta?changeType=moved"):
        same(raw("GET", path).status_code, 400, path)


def draft(subject, to, body="hello"):
    from msgraph.generated.models.body_type import BodyType
    from msgraph.generated.models.email_address import EmailAddress
    from msgraph.generated.models.item_body import ItemBody
    from msgraph.generated.models.message import Message
    from msgraph.generated.models.recipient import Recipient

    return Message(subject=subject, body=ItemBody(content=body, content_type=BodyType.Html),
                   to_recipients=[Recipient(email_address=EmailAddress(address=to))])


@check
def a_draft_is_written_changed_and_sent():
    own_key = f"<{uuid.uuid4()}@agent.example.com>"
    upn = wait(human().me.get()).user_principal_name
    wanted = draft("a draft", upn)
    wanted.internet_message_id = own_key
    made = whole(wait(agent().me.messages.post(wanted)))
    holds(made.is_draft, "a draft")
    from msgraph.generated.models.message import Message
    whole(wait(agent().me.messages.by_message_id(made.id).patch(Message(subject="a better draft"))))
    from msgraph.generated.users.item.messages.messages_request_builder import MessagesRequestBuilder
    kind = MessagesRequestBuilder.MessagesRequestBuilderGetQueryParameters
    query = options(kind, filter=f"internetMessageId eq '{own_key}'")
    same([one.subject for one in whole(wait(agent().me.messages.get(query))).value], ["a better draft"])
    wait(agent().me.messages.by_message_id(made.id).send.post())
    arrived = whole(wait(human().me.messages.get(options(kind, filter=f"internetMessageId eq '{own_key}'"))))
    same([(one.subject, one.is_read) for one in arrived.value], [("a better draft", False)])
    STATE["arrived"] = arrived.value[0].id
    fails(agent().me.messages.by_message_id(made.id).get(), 404)


@check
def a_reply_is_drafted_and_mail_is_sent_at_once():
    from msgraph.generated.users.item.messages.item.create_reply.create_reply_post_request_body import CreateReplyPostRequestBody
    from msgraph.generated.users.item.send_mail.send_mail_post_request_body import SendMailPostRequestBody

    item = human().me.messages.by_message_id(STATE["arrived"])
    reply = whole(wait(item.create_reply.post(CreateReplyPostRequestBody(comment="thanks"))))
    same((reply.subject, reply.is_draft), ("RE: a better draft", True))
    same(reply.to_recipients[0].email_address.address, ENV["AGENT_USER_UPN"])
    wait(human().me.messages.by_message_id(reply.id).send.post())
    body = SendMailPostRequestBody(message=draft("at once", ENV["AGENT_USER_UPN"]), save_to_sent_items=True)
    wait(human().me.send_mail.post(body))
    subjects = [one.subject for one in whole(wait(inbox().messages.get())).value]
    holds("at once" in subjects and "RE: a better draft" in subjects, subjects)
    fails(human().me.messages.by_message_id(STATE["arrived"]).send.post(), 400, "ErrorInvalidOperation")


@check
def folders_bodies_and_flags():
    whole(wait(agent().me.mail_folders.get()))
    same(whole(wait(inbox().get())).display_name, "Inbox")
    HUMAN.ctl("mail", "--to", ENV["AGENT_USER_ID"], "--subject", "html", "--html",
              "--body", "<p>a &amp; b</p><script>alert(1)</script>")
    from msgraph.generated.users.item.messages.messages_request_builder import MessagesRequestBuilder
    kind = MessagesRequestBuilder.MessagesRequestBuilderGetQueryParameters
    query = options(kind, {"Prefer": 'outlook.body-content-type="text"'}, filter="subject eq 'html'")
    found = whole(wait(agent().me.messages.get(query))).value
    same(found[0].body.content, "a & b")
    html = wait(agent().me.messages.by_message_id(found[0].id).get())
    same(html.body.content, "<p>a &amp; b</p>")
    from msgraph.generated.models.message import Message
    read = whole(wait(agent().me.messages.by_message_id(found[0].id).patch(Message(is_read=True))))
    same(read.is_read, True)
    same(raw("PATCH", f"/v1.0/me/messages/{found[0].id}", json={"subject": "x"}).status_code, 400)


@check
def meetings_are_set_once_and_seen_in_a_zone():
    from msgraph.generated.models.date_time_time_zone import DateTimeTimeZone
    from msgraph.generated.models.event import Event
    from msgraph.generated.users.item.calendar_view.calendar_view_request_builder import CalendarViewRequestBuilder

    key = str(uuid.uuid4())

    def wanted():
        return Event(subject="review", transaction_id=key,
                     start=DateTimeTimeZone(date_time="2026-12-01T10:00:00", time_zone="UTC"),
                     end=DateTimeTimeZone(date_time="2026-12-01T11:00:00", time_zone="UTC"))
    first = whole(wait(agent().me.events.post(wanted())))
    again = whole(wait(agent().me.events.post(wanted())))
    same(first.id, again.id)
    HUMAN.ctl("meeting", "--user", ENV["AGENT_USER_ID"], "--subject", "set by the human",
              "--start", "2026-12-01T12:00:00Z", "--end", "2026-12-01T12:30:00Z")
    kind = CalendarViewRequestBuilder.CalendarViewRequestBuilderGetQueryParameters
    query = options(kind, {"Prefer": 'outlook.timezone="Europe/Berlin"'},
                    start_date_time="2026-12-01T00:00:00Z", end_date_time="2026-12-02T00:00:00Z")
    found = whole(wait(agent().me.calendar_view.get(query))).value
    same([one.subject for one in found], ["review", "set by the human"])
    same(found[0].start.date_time[:16], "2026-12-01T11:00")
    same(raw("GET", "/v1.0/me/calendarView").status_code, 400)
    bad = {"Prefer": 'outlook.timezone="Nowhere"'}
    path = "/v1.0/me/calendarView?startDateTime=2026-12-01T00:00:00Z&endDateTime=2026-12-02T00:00:00Z"
    same(raw("GET", path, headers=bad).status_code, 400)
    wait(agent().me.events.by_event_id(first.id).delete())
    fails(agent().me.events.by_event_id(first.id).get(), 404, "ErrorItemNotFound")


@check
def a_series_is_shown_by_its_occurrences():
    body = {"subject": "daily", "start": {"dateTime": "2026-11-30T09:00:00", "timeZone": "UTC"},
            "end": {"dateTime": "2026-11-30T09:15:00", "timeZone": "UTC"},
            "recurrence": {"pattern": {"type": "daily", "interval": 1},
                           "range": {"type": "numbered", "startDate": "2026-11-30", "numberOfOccurrences": 3}}}
    made = raw("POST", "/v1.0/me/events", json=body).json()
    same(made["type"], "seriesMaster")
    from msgraph.generated.users.item.calendar_view.calendar_view_request_builder import CalendarViewRequestBuilder
    kind = CalendarViewRequestBuilder.CalendarViewRequestBuilderGetQueryParameters
    query = options(kind, start_date_time="2026-11-01T00:00:00Z", end_date_time="2026-12-31T00:00:00Z", top=50)
    seen = [one for one in whole(wait(agent().me.calendar_view.get(query))).value if one.subject == "daily"]
    same([one.start.date_time[:10] for one in seen], ["2026-11-30", "2026-12-01", "2026-12-02"])
    same({one.series_master_id for one in seen}, {made["id"]})
    whole(wait(agent().me.events.by_event_id(seen[1].id).get()))
    same(sum(one.subject == "daily" for one in whole(wait(agent().me.events.get())).value), 1)
    monthly = {**body, "recurrence": {"pattern": {"type": "absoluteMonthly", "interval": 1}, "range": {}}}
    same(raw("POST", "/v1.0/me/events", json=monthly).status_code, 400)


@check
def mail_is_searched_and_filtered():
    letter("quarterly report", "numbers inside")
    def found(query):
        return [one["subject"] for one in raw("GET", f"/v1.0/me/messages?{query}").json()["value"]]
    same(found('$search="numbers"'), ["quarterly report"])
    same(found("$filter=contains(subject,'quarterly') and isRead eq false"), ["quarterly report"])
    same(found("$filter=startswith(subject,'quarterly x')"), [])
    same(raw("GET", "/v1.0/me/messages?$search=x&$orderby=subject").status_code, 400)


@check
def a_batch_is_answered_part_by_part():
    HUMAN.fault(fault="throttle", retry_after=7, left=1, matching="GET /v1.0/me/presence")
    body = {"requests": [
        {"id": "1", "method": "GET", "url": "/me"},
        {"id": "2", "method": "GET", "url": "/me/presence"},
        {"id": "3", "method": "POST", "url": f"/chats/{STATE['chat']}/messages", "dependsOn": ["1"],
         "headers": {"Content-Type": "application/json"}, "body": {"body": {"content": "in a batch"}}},
        {"id": "4", "method": "GET", "url": "/me/nothing", "dependsOn": ["2"]},
    ]}
    answers = {one["id"]: one for one in raw("POST", "/v1.0/$batch", json=body).json()["responses"]}
    same({name: one["status"] for name, one in answers.items()}, {"1": 200, "2": 429, "3": 201, "4": 424})
    same(answers["2"]["headers"]["Retry-After"], "7")
    HUMAN.ctl("clear")
    for wrong in ([], [{"id": "1", "method": "GET", "url": "/me"}] * 2,
                  [{"id": str(n), "method": "GET", "url": "/me"} for n in range(21)],
                  [{"id": "1", "method": "GET", "url": "/me", "dependsOn": ["2"]}]):
        same(raw("POST", "/v1.0/$batch", json={"requests": wrong}).status_code, 400)


@check
def a_batch_of_the_sdk():
    from msgraph_core.requests.batch_request_content import BatchRequestContent
    from msgraph_core.requests.batch_request_item import BatchRequestItem

    info = human().me.to_get_request_information()
    content = BatchRequestContent()
    item = BatchRequestItem(request_information=info)
    content.add_request(item.id, item)
    answers = wait(human().batch.post(content))
    same(answers.responses[item.id].status, 200)


@check
def changes_are_announced():
    import http.server
    import urllib.parse

    seen, proved = [], []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
            token = query.get("validationToken", [""])[0]
            answer = token.encode() if token else b""
            (proved if token else seen).append(token or json.loads(body))
            self.send_response(200)
            self.send_header("content-type", "text/plain")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    from msgraph.generated.models.subscription import Subscription
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=30)

    def wanted(port, **more):
        return Subscription(
            change_type="created,updated", resource=f"/chats/{STATE['chat']}/messages",
            notification_url=f"http://127.0.0.1:{port}/hook", client_state="secret",
            **{"expiration_date_time": soon, **more})
    made = whole(wait(agent().subscriptions.post(wanted(server.server_port))))
    holds(proved, "the address was asked")
    HUMAN.say(STATE["chat"], "for the subscriber")
    until = time.time() + 10
    while not seen and time.time() < until:
        time.sleep(0.02)
    notice = seen[0]["value"][0]
    same((notice["subscriptionId"], notice["clientState"], notice["changeType"]), (made.id, "secret", "created"))
    fails(agent().subscriptions.post(wanted(1)), 400, "ValidationError")
    late = soon + datetime.timedelta(days=4)
    fails(agent().subscriptions.post(wanted(server.server_port, expiration_date_time=late)), 400, "InvalidRequest")
    day = soon + datetime.timedelta(hours=5)
    fails(agent().subscriptions.post(wanted(server.server_port, expiration_date_time=day)), 400, "InvalidRequest")
    whole(wait(agent().subscriptions.get()))
    wait(agent().subscriptions.by_subscription_id(made.id).delete())
    fails(agent().subscriptions.by_subscription_id(made.id).get(), 404)
    server.shutdown()


@check
def changes_of_a_calendar_come_by_delta():
    from msgraph.generated.users.item.calendar_view.delta.delta_request_builder import DeltaRequestBuilder
    kind = DeltaRequestBuilder.DeltaRequestBuilderGetQueryParameters
    window = {"start_date_time": "2027-05-01T00:00:00Z", "end_date_time": "2027-06-01T00:00:00Z"}
    prefer = {"Prefer": 'odata.maxpagesize=2, outlook.timezone="UTC"'}
    delta = agent().me.calendar_view.delta
    for number in range(5):
        HUMAN.ctl("meeting", "--user", ENV["AGENT_USER_ID"], "--subject", f"delta {number}",
                  "--start", "2027-05-03T10:00:00Z", "--end", "2027-05-03T11:00:00Z")
    page = whole(wait(delta.get(options(kind, prefer, **window))))
    found = list(page.value)
    while page.odata_next_link:
        page = whole(wait(delta.with_url(page.odata_next_link).get(options(None, prefer))))
        found += page.value
    same(sorted(one.subject for one in found), [f"delta {number}" for number in range(5)])
    wait(agent().me.events.by_event_id(found[0].id).delete())
    page = wait(delta.with_url(page.odata_delta_link).get(options(None, prefer)))
    same([one.id for one in page.value], [found[0].id])
    holds(page.value[0].additional_data.get("@removed"), page.value[0].additional_data)
    same(raw("GET", "/v1.0/me/calendarView/delta").status_code, 400)


@check
def a_day_taken_whole_is_the_same_everywhere():
    body = {"subject": "fair", "isAllDay": True,
            "start": {"dateTime": "2027-05-10T00:00:00", "timeZone": "Europe/Berlin"},
            "end": {"dateTime": "2027-05-12T00:00:00", "timeZone": "Europe/Berlin"}}
    made = raw("POST", "/v1.0/me/events", json=body, headers={"Prefer": 'outlook.timezone="Asia/Tokyo"'})
    same((made.status_code, made.json()["start"]["dateTime"][:16]), (201, "2027-05-10T00:00"))
    body["end"]["dateTime"] = "2027-05-12T08:00:00"
    same(raw("POST", "/v1.0/me/events", json=body).status_code, 400)


@check
def tenants_are_apart():
    from common import settings
    import sys
    second = settings(sys.argv[1] + ".second")
    holds(second["TENANT_ID"] != ENV["TENANT_ID"], "two tenants")
    same(raw("GET", f"/v1.0/users/{second['HUMAN_ID']}").status_code, 404)
    form = {"client_id": second["API_CLIENT_ID"], "client_secret": second["API_CLIENT_SECRET"],
            "grant_type": "client_credentials", "scope": f"{GRAPH}/.default"}
    same(requests.post(f"{ENV['AUTHORITY']}/oauth2/v2.0/token", data=form, timeout=20).json()["error"], "unauthorized_client")
    same(requests.post(f"{second['AUTHORITY']}/oauth2/v2.0/token", data=form, timeout=20).status_code, 200)


@check
def the_sign_in_log_names_the_agent():
    credential = device_credential()
    token = credential.get_token(f"{GRAPH}/AuditLog.Read.All").token
    query = ("?$filter=signInEventTypes/any(t: t eq 'nonInteractiveUser' or t eq 'servicePrincipal')"
             f" and appId eq '{ENV['AGENT_ID']}'&$top=5")
    found = raw("GET", f"/beta/auditLogs/signIns{query}", token=token,
                headers={"Prefer": "include-unknown-enum-members"}).json()["value"]
    agents = [one["agent"] for one in found]
    holds(any(one["agentSubjectType"] == "agentIDuser" for one in agents), agents)
    holds(all(one["parentAppId"] == ENV["BLUEPRINT_ID"] for one in agents), agents)
    same(raw("GET", f"/beta/auditLogs/signIns{query}").status_code, 403)


@check
def a_tenant_without_the_licence_has_no_sign_in_log():
    token = device_credential().get_token(f"{GRAPH}/AuditLog.Read.All").token
    HUMAN.ctl("premium", "off")
    answer = raw("GET", "/beta/auditLogs/signIns", token=token)
    same(answer.json()["error"]["code"], "Authentication_RequestFromNonPremiumTenantOrB2CTenant")
    HUMAN.ctl("premium", "on")
    same(raw("GET", "/beta/auditLogs/signIns", token=token).status_code, 200)


@check
def what_is_not_known_is_reported():
    same(raw("GET", "/v1.0/me/onenote/pages").status_code, 400)
    same(raw("GET", "/v2.0/me").status_code, 404)
    unknown = HUMAN.ctl("report", "unknown")["unknown"]
    holds("GET /v1.0/me/onenote/pages" in unknown, unknown)
    report = HUMAN.ctl("report", "permissions")
    calls = {one["operation"]: one for one in report["calls"]}
    same(calls["POST /chats/{id}/messages"]["least"], "ChatMessage.Send")
    holds("moreThanNeeded" in report and report["least"], report)


run(only=ONLY)
