"""What does each operation do? Who calls it, what happens, what to know: one to three sentences for the documentation.

Operations of account records share their sentences by verb; some records say more.
"""

from collections.abc import Mapping

from adapters.http.exchange.exchange import Operation

BY_NAME: Mapping[str, str] = {
    "submit_lead": (
        "Producers submit a person by `lead_token`, with a number, an e-mail address or both. A live lead of the same token "
        "and contact is updated; otherwise a lead is created and starts its schedule. Fields without a name here become "
        "tokens of the lead."
    ),
    "create_or_update_lead": (
        "Submits a person as `POST /leads` does, but looks for a live lead on the whole offer. Such a lead is updated; "
        "otherwise one is created."
    ),
    "list_leads": (
        "Returns the leads of the key's company that match every filter. Sort them by `order`, or read all of them with "
        "`cursor`; `.csv` gives a file."
    ),
    "new_lead": "Returns a lead's fields with the company's defaults, for a form. Nothing is stored.",
    "show_lead": "Returns one lead with its state, counts, next action and tokens.",
    "buyer_is_available": (
        "Says which buyers could take a call of this lead now, and when the next one can. `reasons` gives for each other "
        "buyer why not: paused, closed, or a cap that is used up. Nothing is reserved."
    ),
    "show_lead_by_caller_number": (
        "Returns the newest live lead of a lead token and a number. Without a live one it returns the newest that ended."
    ),
    "update_lead": (
        "Changes the fields that are sent and plans the lead again. Conversions, callbacks, blocks and opt-outs are "
        "set here too; any other field becomes a token."
    ),
    "list_lead_bulk_jobs": (
        "Lists the bulk jobs of the company, the newest first, until 30 days after their end. A person who sees some leads "
        "sees only their own jobs."
    ),
    "create_lead_bulk_job": (
        "Changes every lead that matches `filter` now, as `PUT /leads/{id}` changes one: by the rights of its sender, and "
        "each once however often a process dies. Send `dry_run=true` first, then its `leads_count` as `leads_max`."
    ),
    "show_lead_bulk_job": "Returns one bulk job, with how many of its leads are done.",
    "list_lead_bulk_results": (
        "Lists the leads of a bulk job with what came of each; `state=refused` gives the refused ones with their reason."
    ),
    "cancel_lead_bulk_job": (
        "Sends no further lead of a bulk job; up to 100 that are on their way are still changed. What was changed stays "
        "changed."
    ),
    "list_lead_views": (
        "Lists the views of leads that the user saved, by their names. `refused` says which parameters of a view the list "
        "of leads would refuse now, such as a column that a team has hidden since."
    ),
    "save_lead_view": (
        "Saves filters, sorting and columns of the list of leads under a name, for this user alone: 50 views at most. A "
        "view with the same name is replaced. What the list would refuse is refused here."
    ),
    "delete_lead_view": "Deletes a view that the user saved; the leads are what they were.",
    "list_lead_imports": (
        "Lists the uploaded files of leads, the newest first, until 30 days after their end. A person who sees some leads "
        "sees only their own imports."
    ),
    "create_lead_import": (
        "Takes a file of leads as `leadclock leads import` does: each line is checked, and submitted once. `columns` says "
        "what each column becomes, `first_lead` is the first submission. The same file, mapping and token again is answered "
        "with the import that there is, and sends nothing."
    ),
    "show_lead_import": "Returns one import, with the line that it has come to.",
    "list_lead_import_errors": (
        "Lists each bad field of the lines of an import, the last line first. `.csv` gives them as a file."
    ),
    "cancel_lead_import": "Sends no further line of an import. What was sent stays sent, and its file is deleted.",
    "delete_lead": (
        "Deletes the lead and recalls commands that were not carried out. Attempts stay in the ledger of its number, "
        "because legal limits count them."
    ),
    "caller_opt_out": (
        "Opts a person out, from a link in a message or from your own page. Contact with this number or address stops "
        "at once, as far as the company says that an opt-out reaches. It cannot fail because of what is stored about "
        "the person; parameters of mail trackers are ignored."
    ),
    "caller_remove": (
        "Takes the person's lead off its schedule, or off its offer, without opting the person out. Commands that were not "
        "carried out are recalled."
    ),
    "caller_move_to_end_of_schedule": (
        "Skips the rest of the schedule: the lead goes on with its end steps. `keep_callback` keeps a callback that was "
        "promised."
    ),
    "list_calls": (
        "Returns the calls of the key's company that match every filter. Sort them by `order`, or read all of them with "
        "`cursor`; `.csv` gives a file."
    ),
    "list_live_calls": "Returns the calls that are ringing or connected now.",
    "list_calls_by_caller_number": "Returns the newest calls from or to a person's number.",
    "report_leads": (
        "Adds up leads by a category, and across by a pivot, over a span of dates. Give `time_zone` to cut days and weeks "
        "there. A report with too many groups is refused before it is computed."
    ),
    "report_channels": (
        "Counts the leads whose next action is due, those of them that are late, and those whose command is under way, on "
        "each channel that the company's schedules use. A promised call is a call, a question to a veto hook a webhook; the "
        "channel null is that of steps that contact nobody."
    ),
    "report_outcomes": (
        "Counts the calls, texts, e-mails and webhooks whose outcome was recorded in a span, each once, by its newest "
        "outcome in it: a text that was accepted and then not delivered has failed. Calls that came in are not counted. "
        "Outcomes are kept as long as the timelines of leads."
    ),
    "report_steps": (
        "Follows the newest leads of a schedule from step to step, each since it entered, and counts a lead once at a step, "
        "by its last visit there. A lead that waits is at the step after the wait, where it is planned. Leads that moved to "
        "another schedule are not among them."
    ),
    "report_calls": (
        "Adds up calls by a category, and across by a pivot, over a span of dates. Give `time_zone` to cut days and weeks "
        "there. A report with too many groups is refused before it is computed."
    ),
    "stats_of_calls": "Returns one figure of calls for each value of an attribute, sorted by the value or by the figure.",
    "start_call": (
        "Calls a number now and puts its lead on the offer or schedule. The legal hours and caps of the person's place are "
        "checked; a refusal says which rule keeps the call back."
    ),
    "make_call": (
        "Calls a lead now, or a number, and puts nobody on a schedule. The legal hours and caps of the person's place are "
        "checked; a refusal says which rule keeps the call back."
    ),
    "receive_call": (
        "Gateways report here that a person calls one of the company's numbers, and each later state of the call. "
        "Each report is whole in itself; repeating it changes nothing."
    ),
    "update_calls_by_caller_id": (
        "Updates calls of a person on an offer, found by number. Takes the fields of `POST /calls/{id}`."
    ),
    "update_call": (
        "Changes money, conversions, disposition and tokens of a call. A disposition that its schedule waits for moves the "
        "lead on."
    ),
    "send_key_press": (
        "Sends DTMF tones to the person of a call that is in progress, of either direction. Where its carrier cannot, it is "
        "refused (`not_supported`), and so is a call that came by a gateway of yours."
    ),
    "show_call": "Returns one call with its state, durations, money and tokens.",
    "list_call_events": (
        "Returns what happened to a call, oldest first: legs, reports of the provider, changes and webhooks."
    ),
    "play_recording": (
        "Returns the recording of a call as a file; `Range` gives a part of it. While it is still at the vendor the answer "
        "is 503: ask again."
    ),
    "delete_recording": (
        "Deletes the recording of a call, and the call refers to it no more. `confirm` must be `delete`: no other copy is "
        "kept here."
    ),
    "show_recording_link": (
        "Returns an address at which the recording is heard without a key until `expires_at`. When it is used, its maker "
        "must still be allowed to hear the recording."
    ),
    "show_transcription": (
        "Returns what was said on a call, once `manual_transcribe` has asked for it. `text` is null until `status` says "
        "completed."
    ),
    "delete_call": (
        "Deletes a call: lists and reports leave it out, and its revenue is taken back from the lead. Its attempt "
        "stays in the ledger of the number, because legal limits count it."
    ),
    "receive_text": (
        "Gateways report here that a person texted one of the company's numbers. Opt-outs in English and Spanish are "
        "recognised and act at once; an unclear text holds further contact until somebody has looked. `meaning` says "
        "how the text was read."
    ),
    "list_contacts": (
        "Lists contacts by descending id: a contact is a number or address, across all its leads. A CSV file has them all."
    ),
    "show_contact": (
        "Returns one contact by number, e-mail address, uuid or id, with what was decided about it. Its leads and calls are "
        "listed by `contact_id`."
    ),
    "list_opt_out_reviews": (
        "Lists the people of whom a text may be an opt-out, with the text. Nothing is sent to them for a day, or until "
        "somebody has decided."
    ),
    "decide_opt_out_review": (
        "Decides what a doubtful text is: an opt-out acts as any other and ends live leads; else contact goes on at once. "
        "The history of the contact says who decided."
    ),
    "caller_block": (
        "Blocks a person, whether they have leads or not: live leads end as `blocked`, later ones are stored with that "
        "status, and calls from them are refused. A repeat changes nothing."
    ),
    "caller_unblock": "Lifts the block of a person. Nothing resumes by itself, and an opt-out stays as it is.",
    "create_session": (
        "Opens a session for a user of the company that the host serves, or that `company_id` names; its `token` is sent as "
        "`Authorization: Bearer`. It ends after an hour without use, and after 12 hours. Whatever is wrong, the answer is "
        "the same; after 5 attempts in a row of one user, and 50 of one address, each waits longer."
    ),
    "show_session": "Returns the session that the request is sent with.",
    "delete_session": "Ends the session that the request is sent with. Other sessions of the user go on.",
    "change_own_password": "Sets another password. All sessions of the user end: sign in again with the new one.",
    "begin_second_factor": (
        "Returns the seed for an authenticator app, once. Nothing changes until a code of it is sent with `PUT`; until then "
        "a second `POST` gives another seed."
    ),
    "create_invitation": (
        "Makes a link with which the person sets a password: a new user becomes active by it, one who is there has another "
        "password from then on. It is good once, and a further invitation replaces it. It is e-mailed where the deployment "
        "has a mail server and a public address; else, and where the server does not take it, the answer shows it once."
    ),
    "accept_invitation": (
        "Sets the password of the user of an invitation, whose token the link has behind its `#`. The link is used up; the "
        "user signs in with `POST /sessions`. Whatever is wrong with a token, the answer is the same."
    ),
    "list_access_tokens": "Lists the keys that act for the user, with when each was used last.",
    "create_access_token": (
        "Makes a token that acts with the teams of the user, for programs of the user's own. Send it as `Authorization: "
        "Bearer`. It is shown once, ends in a year at most, and is out of use while the user is disabled."
    ),
    "delete_access_token": "Deletes a token of the user; it is out of use at once.",
    "finish_second_factor": "Asks for a code at each sign-in from now on. All sessions of the user end: sign in again.",
    "list_suppression_entries": (
        "Lists who is on a suppression list, with the source and expiry of each entry, by descending id. A CSV file has all."
    ),
    "add_suppression_entries": (
        "Puts up to 500 numbers or addresses on a suppression list, or changes the terms of those that are on it. One bad "
        "entry, and none is stored. `decided_count` of the `accepted_count` hold already; the others do in a moment."
    ),
    "remove_suppression_entries": (
        "Takes up to 500 numbers or addresses off a suppression list. Nothing resumes: later submissions are accepted again."
    ),
    "import_suppression_entries": (
        "Puts the people of a CSV file on a suppression list, such as one that was exported. Good lines are taken, `errors` "
        "says what is wrong with the others; a repeat of a file changes nothing. `decided_count` of the `accepted_count` "
        "hold already; the others do in a moment."
    ),
    "list_audit_logs": "Lists the changes of account records, the newest first: who made each, with which key, from where.",
    "list_agent_status_timestamps": "Lists when each agent had which status, the newest first.",
    "set_agent_status": "Sets the status of an agent and logs it. A status that the agent has already changes nothing.",
    "list_messages_of_agent": (
        "Returns the newest messages for an agent that the agent has not acknowledged. `/events` tells of new ones."
    ),
    "send_agent_heartbeat": (
        "Says that the page of an agent is open. After the first one, an agent whose page is silent for 30 s goes offline: "
        "that is logged as a change of status. A heartbeat never sets a status; setting one counts as a heartbeat."
    ),
    "record_impressions_of_page": (
        "Stores impressions that a browser posts from a page of yours, with the public half of a key whose `origins` have "
        "the origin of the page. Browsers of other origins are refused, by the preflight already. `ip` and `user_agent` "
        "are those of the request."
    ),
    "follow_agent": (
        "Tells what changes for an agent: the agent's status, messages for the agent, and which of them were acknowledged. "
        "With `Accept: text/event-stream` the answer is a stream of server-sent events that stays open; it resumes behind "
        "the header `Last-Event-ID`, begins with `ready` (or with `reset` where too much was missed: read the agent and "
        "its messages again), and ends when its key is revoked. Otherwise the answer has the events behind "
        "`last_event_id`."
    ),
    "acknowledge_agent_message": "Says that an agent has read a message: it is not shown to the agent again.",
    "create_subscription": (
        "Asks for events: each is posted to `url`, signed as Standard Webhooks say. A URL that leads to a private address "
        "is refused, unless the operator allows its network."
    ),
    "create_provider_configuration": (
        "Says by which account with a provider calls, texts or e-mails are carried out. Its settings are checked; its "
        "secrets are encrypted before they are stored, and no answer shows them."
    ),
    "list_subscription_deliveries": "Lists the last 30 days' events of a subscription, the newest first, with their state.",
    "show_subscription_delivery": "Returns one event as it is sent, with every attempt and what the receiver answered.",
    "replay_subscription": (
        "Sends events of a span again, under their `webhook-id`s, also those that were delivered. At most 100,000 at once."
    ),
    "enable_subscription": "Sends to a subscription again that was disabled since its receiver failed. What waits goes out.",
    "list_scheduled_callbacks": (
        "Lists the calls that are promised and not yet made, by descending id of their leads. With a `callback_status`, "
        "`agent_id`, `promised_by`, `lead_id` or a span of `promised_at` it lists the records instead, the newest first: "
        "also of those that are over, and whose leads have ended. A CSV file has all."
    ),
    "report_scheduled_callbacks": (
        "Counts what became of promised calls by agent, day or another category, and by a second one across the columns: "
        "`kept` were placed at most 5 minutes after their instant, `late` after that, `missed` never. The agent is the "
        "owner, else the one who promised."
    ),
    "create_scheduled_callback": (
        "Promises a live lead a call, in place of one that was promised before. The steps of its schedule that contact the "
        "person wait for it; it is made within the hours of the law."
    ),
    "show_scheduled_callback": "Returns one promised call, also one that is over: `callback_status` says how it went.",
    "move_scheduled_callback": (
        "Promises another time or another owner; what is left out stays. One that was made, cancelled or replaced meanwhile "
        "is not found."
    ),
    "delete_scheduled_callback": "Cancels a promised call and returns it; the schedule of the lead goes on.",
    "list_kept_submissions": (
        "Lists what senders without a key brought for stored live leads, the newest first: at most ten of a person. It has "
        "changed nothing. A CSV file has all."
    ),
    "accept_kept_submission": (
        "Updates the lead with what was kept beside it, as the user of the key, and returns it. A `schedule_callback_at` to "
        "come is promised."
    ),
    "discard_kept_submission": "Discards what was kept beside a lead, and returns the lead, which is unchanged.",
    "list_buyer_conversions": (
        "Lists conversions for buyers, the newest first: one of each call or lead that converted, also those that were "
        "taken back. `amount` is the revenue of the call as it is now."
    ),
    "show_buyer_conversion": "Returns one conversion for a buyer.",
    "list_offer_conversions": (
        "Lists conversions for the traffic sources of offers, the newest first: one of each call or lead that converted, "
        "also those that were taken back. `amount` is the payout of the call as it is now."
    ),
    "show_offer_conversion": "Returns one conversion for the traffic source of an offer.",
    "list_webhook_manual_fires": "Lists webhooks that were fired by hand, the newest first, each with what came of it.",
    "build_webhook_manual_fire": "Returns a firing as it would be, for a lead or a call. Nothing is fired.",
    "create_webhook_manual_fire": (
        "Fires an outgoing webhook once for a lead or a call, whatever its schedule does. It is answered when the delivery "
        "is ordered; `outcome` says later what came of it."
    ),
    "show_webhook_manual_fire": "Returns one firing by hand, with what came of its delivery.",
    "list_webhook_logs": (
        "Lists the attempts of the last 30 days to post outgoing webhooks, the newest first: of steps, of calls and of "
        "firings by hand. `detail` is the start of the answer, in which secrets of the webhook are masked."
    ),
    "show_webhook_log": "Returns one attempt to post an outgoing webhook.",
    "list_circuits": (
        "Lists the endpoints of the company that gateways spare now, because they failed several times in a row: hosts of "
        "webhooks, and its accounts with providers where the key may read those. One that is not listed is used. Gateways "
        "report them every 15 seconds."
    ),
    "list_impressions": (
        "Lists impressions by cursor, the newest first, or by page. They are shown for 30 days. A CSV file has all of them."
    ),
    "record_impressions": (
        "Records that a visitor saw a page: one impression, or up to 500 as `impressions`, of which all are stored or none. "
        "It is answered when they are durable; the list shows them a moment later, and no number is held for the visitor. "
        "A repeat with the same uuids, or with the same Idempotency-Key, changes nothing."
    ),
    "why_lead": (
        "Says whether a lead was, or will be, contacted at an instant. If not, it names the rule that keeps it back "
        "and when that ends."
    ),
    "report_queues": (
        "Counts the leads that are due and wait for a line to a buyer or for an agent, by step and by what their queue "
        "waits for: a line, or the reset of a cap. With it comes how many calls of the step began in the last hour."
    ),
    "forecast_leads": (
        "Simulates the company's waiting leads on the engine's own code. It returns per hour what will be due, which leads "
        "will expire without contact, and where caps keep leads back. Nothing is stored or contacted."
    ),
    "forecast_schedule_change": (
        "Simulates the waiting leads of a schedule to their next contact, as it is and with other hours, spacing or "
        "attempts, and returns who comes earlier, who no longer expires, and what holds the others. Nothing is stored or "
        "contacted, and caps of buyers and groups are not judged. It needs the scope `schedule:read` as well."
    ),
    "list_lead_events": (
        "Returns what was decided of a lead, oldest first, each with its decision and the rules of law that moved a plan, "
        "and the hours in which the lead may not be called or texted. It is what a timeline shows."
    ),
    "show_calling_hours": (
        "Returns for each state of the United States when calls or texts are open on the day of `at`, the rows of law that "
        "hold there and their sources, the company's own rows included. Where a state has several zones, all must be open: "
        "so it is planned for somebody of whom only the state is known."
    ),
    "preview_lead_map": "Returns what a sample of a post would become by a lead map. Nothing is stored.",
    "preview_schedule": (
        "Simulates a schedule for one made-up lead and returns each action with its time and reasons. Nothing is stored or "
        "contacted."
    ),
    "publish_schedule": (
        "Makes the draft of a schedule its present version. Leads keep the version that they started on, unless `migrate` "
        "takes them along."
    ),
    "list_schedule_versions": "Returns the published versions of a schedule, newest first.",
    "show_company": "Returns the settings of the key's company.",
    "update_company": (
        "Changes the company's settings. A pause holds every contact until it is lifted; opt-outs are taken meanwhile."
    ),
    "show_request": (
        "Returns what came of a request that was answered with 202: the answer that it would have had, or 202 again "
        "while it is not decided. Results are kept for 24 hours."
    ),
    "list_time_zones": "Returns every name of a time zone that is accepted, with its IANA name.",
    "livez": "Says that the process runs. Kafka and PostgreSQL are not asked.",
    "readyz": "Says whether the process can serve, else what it waits for. Channels that the sandbox serves are named.",
    "startupz": "Says whether the process has started. Orchestrators ask it before the other two.",
    "create_schedule": (
        "Creates a schedule and publishes it, unless `draft` is true. A step that is never reached, a loop without a "
        "wait, or a channel that no gateway serves is refused by name."
    ),
    "update_schedule": (
        "Changes a schedule and publishes a new version, unless `draft` is true. Leads keep the version that they "
        "started on, unless `migrate` takes them along."
    ),
    "create_key": "Creates an API key. Its private half is in this answer only; the server stores a hash of it.",
    "delete_key": "Revokes an API key. It stops working as soon as the processes have read the change.",
    "create_outgoing_webhook": (
        "Creates a webhook that steps of a schedule can post to. A URL that leads to a private address is refused, "
        "unless the operator allows its network."
    ),
}

_OF_RECORDS: Mapping[str, str] = {
    "list": "Returns a page of records, without deleted ones.",
    "build": "Returns the defaults of its fields, for a form.",
    "create": "Creates a record, or names every wrong field and stores nothing.",
    "show": "Returns one record, by its internal id or uuid.",
    "update": "Changes the sent fields. With `If-Match`, another change meanwhile refuses it.",
    "delete": "Leaves it out of lists and new decisions; its past stays in the audit log.",
}


def describe(operation: Operation) -> str:
    """Return the sentences of an operation. Raises `KeyError` for one that has none."""
    own = BY_NAME.get(operation.name)
    return _OF_RECORDS[operation.name.partition("_")[0]] if own is None else own
