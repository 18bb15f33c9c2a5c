"""Does the generated Python client submit a lead, list it, change it and opt its person out? It prints the answers."""

import json
import os
from base64 import b64encode

from leadclock_client import AuthenticatedClient
from leadclock_client.api.leads import caller_opt_out, list_leads, submit_lead, update_lead
from leadclock_client.models import (
    CallerOptOutFields,
    Lead,
    LeadResult,
    LeadsList,
    Problem,
    SubmitLeadFields,
    Tokens,
    UpdateLeadFields,
)

token, number = os.environ["TOKEN"], os.environ["NUMBER"]
client = AuthenticatedClient(
    base_url=os.environ["BASE"], token=b64encode(os.environ["KEY"].encode()).decode(), prefix="Basic", timeout=60.0
)


def lead_of(answer: object) -> Lead:
    if not isinstance(answer, LeadResult):
        raise TypeError(answer)
    return answer.lead


fields = SubmitLeadFields(
    lead_token=token, caller_id=number, time_zone="America/New_York", data=Tokens.from_dict({"first_name": "Ada"})
)
submitted = lead_of(submit_lead.sync(client=client, body=fields, idempotency_key="python-1"))
listed = list_leads.sync(client=client, per_page=10, columns=["id", "status"])
assert isinstance(listed, LeadsList)
changed = lead_of(update_lead.sync(str(submitted.id), client=client, body=UpdateLeadFields(email="ada@example.com")))
opted_out = lead_of(caller_opt_out.sync(number, client=client, body=CallerOptOutFields(lead_token=token)))
refused = submit_lead.sync(client=client, body=SubmitLeadFields(lead_token=token, caller_id="nobody"))
assert isinstance(refused, Problem)
print(  # noqa: T201 - the test reads it
    json.dumps(
        {
            "listed": submitted.id in [lead.id for lead in listed.leads],
            "total": listed.metadata.total_count,
            "email": changed.email,
            "status": opted_out.status,
            "code": refused.code,
            "fields": list(refused.errors.additional_properties),
        }
    )
)
