"""Which test exercises each parameter of the interface (leads, calls, impressions, jobs) on a running deployment?

`INTERFACE` is the interface as it was given: endpoint -> its parameters. `TESTS` names, for each, the
tests that send it and look at what it did. `python -m tests.api.table` prints both; a parameter without a test fails.
"""

from collections.abc import Mapping

LISTED = "page per_page created_at_from created_at_to fulltext time_zone columns root"

CALL_FILTERS = """
created_at_label offer_repeat_caller buyer_repeat_caller buyer_converted offer_converted either_converted in_progress
placed_on_hold has_recording buyer_conversion_duplicated_call offer_conversion_duplicated_call no_buyer token_key token_value
order order_dir number_id offer_id schedule_id traffic_source_id buyer_id buyer_group_ids ring_pool_id
provider_configuration_id id contact_id status ended_at_from ended_at_to
"""

NARROWING = " ".join(name for name in CALL_FILTERS.split() if name not in {"order", "order_dir"})

SUBMITTED_BY_BOTH = """
lead_token caller_id email contact_field_type schedule_callback_at schedule_callback_in_seconds update_all_matching_leads
apply_to assign_svc_number assign_sms_number lead_priority restart_schedule auto_format_nested_fields next_action_at
hours_to_expire max_contact_attempts data
"""

FIRED_FOR = "lead_id call_id created_at updated_at"

GROUP_MEMBERS = "buyer_ids add_buyer_ids remove_buyer_ids add_user_buyer_ids remove_user_buyer_ids"
GROUP = f"name paused reset_total_caps dial_buyers_type {GROUP_MEMBERS} tier"

MESSAGE = "content agent_status_id buyer_ids buyer_group_ids call_center_ids"
UNBLOCKING = "description blocked_at_from blocked_at_to request_ip last_contact_id"

INTERFACE: Mapping[str, str] = {
    "GET /api/v1/leads": f"""
        {LISTED} serializer created_at_label next_action_at_from next_action_at_to offer_id schedule_id contact_id
        traffic_source_id buyer_id status status_wait number email has_next_action buyer_converted offer_converted
        either_converted opt_out
    """,
    "GET /api/v1/leads/{id}": "id",
    "GET /api/v1/leads/{id}/buyer_is_available": "id",
    "GET /api/v1/leads/{lead_token}/{caller_number}/by_caller_number": "lead_token caller_number",
    "GET /api/v1/leads/new": "",
    "PUT /api/v1/leads/{id}": """
        id contact_field_type caller_id blocked opt_out email traffic_source_id next_action_at schedule_callback_at
        schedule_callback_in_seconds schedule_start schedule_stop move_to_another_schedule_id apply_to data
    """,
    "DELETE /api/v1/leads/{id}/id": "id",
    "GET /api/v1/leads/reports": f"category pivot {LISTED}",
    "POST /api/v1/leads": f"""
        {SUBMITTED_BY_BOTH} unblock_contact blocked expire_existing delete_existing update_only
        assign_trackdrive_number svc_assign_number
    """,
    "POST /api/v1/leads/create_or_update": SUBMITTED_BY_BOTH,
    "PUT /api/v1/leads/{id}/caller_opt_out": "lead_token",
    "GET /api/v1/leads/{id}/caller_opt_out": "lead_token",
    "POST /api/v1/leads/{id}/caller_remove": "lead_token",
    "DELETE /api/v1/leads/{id}/caller_remove": "lead_token",
    "GET /api/v1/leads/{id}/caller_remove": "lead_token",
    "PUT /api/v1/leads/{id}/caller_move_to_end_of_schedule": "lead_token",
    "POST /api/v1/leads/{id}/caller_move_to_end_of_schedule": "lead_token",
    "GET /api/v1/calls": f"serializer cursor {LISTED} {CALL_FILTERS}",
    "GET /api/v1/calls/{caller_number}/by_caller_number": "serializer caller_number per_page",
    "GET /api/v1/calls/live_calls": "serializer",
    "GET /api/v1/calls/reports": f"category {LISTED} {CALL_FILTERS}",
    "GET /api/v1/calls/stats/": f"group_by stat created_at_from created_at_to page {CALL_FILTERS}",
    "POST /api/v1/calls": "from to lead_id schedule_id offer_id serializer",
    "GET /api/v1/calls/{id}": "id serializer",
    "GET /api/v1/calls/{id}/events": "id",
    "POST /api/v1/calls/{id}": """
        id serializer post_call_tokens revenue add_revenue add_payout buyer_converted svc_buyer_id payout offer_converted
        svc_traffic_source_id contact_field_type fire_outgoing_webhook_ids manual_transcribe call_disposition_id
        agent_call_disposition_notes
    """,
    "POST /api/v1/calls/update_by_caller_id/{id}": """
        offer_token call_timeframe revenue add_revenue add_payout call_disposition_id agent_call_disposition_notes
        buyer_converted
    """,
    "POST /api/v1/calls/send_key_press": "id digits data",
    "DELETE /api/v1/calls/{id}": "id serializer",
    "GET /api/v1/buyer_fleets": f"{LISTED} order_dir",
    "GET /api/v1/buyer_fleets/{id}": "id",
    "POST /api/v1/buyer_fleets": "name description user_fleet_id",
    "PUT /api/v1/buyer_fleets/{id}": "id name description user_fleet_id",
    "DELETE /api/v1/buyer_fleets/{id}": "id",
    "GET /api/v1/buyer_groups": f"paused {LISTED} order order_dir",
    "GET /api/v1/buyer_groups/{id}": "id",
    "POST /api/v1/buyer_groups": GROUP,
    "PUT /api/v1/buyer_groups/{id}": f"id {GROUP}",
    "DELETE /api/v1/buyer_groups/{id}": "id",
    "GET /api/v1/collections/time_zone": "",
    "GET /api/v1/impressions": "cursor page per_page created_at_from created_at_to time_zone",
    "GET /api/v1/webhook_manual_fires": f"ids {LISTED}",
    "GET /api/v1/webhook_manual_fires/new": FIRED_FOR,
    "POST /api/v1/webhook_manual_fires": f"outgoing_webhook_id buyer_conversion_id {FIRED_FOR}",
    "GET /api/v1/webhook_manual_fires/{id}": "id",
    "GET /api/v1/unblock_contact_jobs": f"ids {LISTED}",
    "GET /api/v1/unblock_contact_jobs/new": UNBLOCKING,
    "POST /api/v1/unblock_contact_jobs": UNBLOCKING,
    "GET /api/v1/unblock_contact_jobs/{id}": "id",
    "DELETE /api/v1/unblock_contact_jobs/{id}": "id",
    "GET /api/v1/access_control_lists": f"ids {LISTED}",
    "GET /api/v1/access_control_lists/new": "",
    "POST /api/v1/access_control_lists": "name users_emails",
    "GET /api/v1/access_control_lists/{id}": "id",
    "PUT /api/v1/access_control_lists/{id}": "id name users_emails",
    "DELETE /api/v1/access_control_lists/{id}": "id",
    "GET /api/v1/agent_messages": f"ids {LISTED}",
    "GET /api/v1/agent_messages/new": "content agent_status_id",
    "POST /api/v1/agent_messages": MESSAGE,
    "GET /api/v1/agent_messages/{id}": "id",
    "PUT /api/v1/agent_messages/{id}": f"id {MESSAGE}",
    "DELETE /api/v1/agent_messages/{id}": "id",
    "GET /api/v1/agent_status_timestamps": LISTED,
}

_SUBMITTING = "tests/api/test_submission_parameters.py::"
_CHANGING = "tests/api/test_update_parameters.py::"
_CALLING = "tests/api/test_call_parameters.py::"
_LISTING = "tests/api/test_list_parameters.py::"
_HTTP = "tests/adapters/http/"
_CALLERS = f"{_HTTP}test_callers.py::test_each_method_of_an_action_does_it_and_looking_does_not"
_REPORTS = f"{_HTTP}test_reports.py::"
_CALLS = f"{_HTTP}test_calls.py::"
_NARROWS = "test_every_filter_of_calls_narrows_reports_and_statistics_as_it_does_the_list"
_ORDERED = "test_rows_of_reports_and_statistics_stand_in_the_order_asked_for"
_FLEETS = f"{_HTTP}test_fleets.py::"
_GROUPS = f"{_HTTP}test_buyer_groups.py::"
_GROUP_MADE = f"{_GROUPS}test_a_group_is_made_shown_changed_and_deleted"
_GROUP_RESET = f"{_GROUPS}test_the_total_of_a_group_is_counted_from_its_reset_on"
_JOBS = f"{_HTTP}test_unblock_jobs.py::"
_AGENTS = f"{_HTTP}test_agents.py::"
_TEAMS = f"{_HTTP}test_teams.py::"
_TEAM_MADE = f"{_TEAMS}test_a_team_is_made_shown_changed_listed_and_deleted"
_FIRES = f"{_HTTP}test_manual_fires.py::"
_CALL_LISTS = f"{_HTTP}test_call_lists.py::"

TESTS: Mapping[str, Mapping[str, str]] = {
    "GET /api/v1/leads": {
        f"{_HTTP}test_leads.py::test_lists_go_by_page_and_by_cursor": "page per_page root",
        f"{_HTTP}test_leads.py::test_columns_give_exactly_those_in_that_order": "columns",
        f"{_HTTP}test_leads.py::test_filters_choose": """
            created_at_from created_at_to time_zone created_at_label next_action_at_from status number has_next_action
            either_converted opt_out
        """,
        f"{_HTTP}test_lead_lists.py::test_text_is_found_in_names_numbers_addresses_and_tokens": "fulltext",
        f"{_HTTP}test_lead_lists.py::test_each_serializer_shows_its_own_columns": "serializer",
        f"{_HTTP}test_lead_lists.py::test_an_address_is_found_whatever_its_case": "email",
        f"{_HTTP}test_lead_lists.py::test_a_person_is_found_by_the_number_that_calls_show_for_them": "contact_id",
        f"{_LISTING}test_each_filter_of_leads_finds_the_one_lead_that_it_means": """
            offer_id schedule_id traffic_source_id buyer_id status_wait next_action_at_from next_action_at_to
            buyer_converted offer_converted either_converted opt_out has_next_action
        """,
    },
    "GET /api/v1/leads/{id}": {f"{_HTTP}test_leads.py::test_a_lead_has_every_column_of_the_interface": "id"},
    "GET /api/v1/leads/{id}/buyer_is_available": {
        f"{_HTTP}test_lead_lists.py::test_buyers_that_could_take_a_call_are_listed_and_why_others_cannot": "id"
    },
    "GET /api/v1/leads/{lead_token}/{caller_number}/by_caller_number": {
        f"{_HTTP}test_callers.py::test_a_number_is_understood_in_every_usual_spelling": "lead_token caller_number"
    },
    "GET /api/v1/leads/new": {f"{_HTTP}test_leads.py::test_a_new_lead_has_the_defaults_of_the_company": ""},
    "PUT /api/v1/leads/{id}": {
        f"{_HTTP}test_leads.py::test_a_lead_can_be_changed_in_many_ways_at_once": "id email next_action_at data",
        f"{_HTTP}test_leads.py::test_a_lead_can_be_opted_out_stopped_and_destroyed": "opt_out schedule_stop",
        f"{_HTTP}test_leads.py::test_a_changed_number_takes_the_lead_along": "caller_id",
        f"{_CHANGING}test_a_callback_is_promised_at_a_time_or_after_some_seconds": """
            schedule_callback_at schedule_callback_in_seconds
        """,
        f"{_CHANGING}test_a_lead_moves_to_another_schedule_and_begins_there": "move_to_another_schedule_id",
        f"{_CHANGING}test_an_offers_lead_starts_on_its_only_active_schedule": "schedule_start",
        f"{_CHANGING}test_an_ended_lead_is_enrolled_again_and_a_live_one_stays_as_it_is": "schedule_start",
        f"{_CHANGING}test_blocking_a_lead_and_naming_its_source_and_field_type": """
            blocked traffic_source_id contact_field_type
        """,
        f"{_HTTP}test_call_starts.py::test_data_goes_to_the_calls_of_a_lead_where_that_is_asked_for": "apply_to",
    },
    "DELETE /api/v1/leads/{id}/id": {f"{_HTTP}test_leads.py::test_a_lead_can_be_opted_out_stopped_and_destroyed": "id"},
    "GET /api/v1/leads/reports": {
        f"{_REPORTS}test_a_report_of_leads_is_what_a_recount_gives": "category created_at_from created_at_to time_zone",
        f"{_REPORTS}test_a_pivot_cuts_each_row_once_more": "pivot",
        f"{_REPORTS}test_pages_columns_and_bare_lists_are_those_of_every_list": "page per_page columns root",
        f"{_REPORTS}test_text_narrows_a_report_of_leads": "fulltext",
    },
    "POST /api/v1/leads": {
        f"{_SUBMITTING}test_who_and_where_the_person_is": "lead_token caller_id email contact_field_type data",
        f"{_SUBMITTING}test_a_callback_is_promised": "schedule_callback_at schedule_callback_in_seconds",
        f"{_SUBMITTING}test_every_lead_of_token_and_number_is_updated": "update_all_matching_leads",
        f"{_SUBMITTING}test_data_goes_to_the_calls_of_the_lead": "apply_to",
        f"{_SUBMITTING}test_a_number_is_blocked_and_unblocked": "blocked unblock_contact",
        f"{_SUBMITTING}test_numbers_are_assigned_round_robin": """
            assign_svc_number svc_assign_number assign_trackdrive_number assign_sms_number
        """,
        f"{_SUBMITTING}test_existing_leads_expire_or_are_deleted": "expire_existing delete_existing",
        f"{_SUBMITTING}test_only_a_live_lead_is_updated": "update_only",
        f"{_SUBMITTING}test_the_schedule_begins_again": "restart_schedule",
        f"{_SUBMITTING}test_nested_fields_are_found": "auto_format_nested_fields",
        f"{_SUBMITTING}test_when_and_how_long_a_lead_is_acted_on": """
            lead_priority next_action_at hours_to_expire max_contact_attempts
        """,
    },
    "POST /api/v1/leads/create_or_update": {
        f"{_SUBMITTING}test_who_and_where_the_person_is": "lead_token caller_id email contact_field_type data",
        f"{_SUBMITTING}test_a_callback_is_promised": "schedule_callback_at schedule_callback_in_seconds",
        f"{_SUBMITTING}test_every_lead_of_token_and_number_is_updated": "update_all_matching_leads",
        f"{_SUBMITTING}test_data_goes_to_the_calls_of_the_lead": "apply_to",
        f"{_SUBMITTING}test_numbers_are_assigned_round_robin": "assign_svc_number assign_sms_number",
        f"{_SUBMITTING}test_the_schedule_begins_again": "restart_schedule",
        f"{_SUBMITTING}test_nested_fields_are_found": "auto_format_nested_fields",
        f"{_SUBMITTING}test_when_and_how_long_a_lead_is_acted_on": """
            lead_priority next_action_at hours_to_expire max_contact_attempts
        """,
    },
    **{
        f"{method} /api/v1/leads/{{id}}/{action}": {_CALLERS: "lead_token"}
        for action, methods in {
            "caller_opt_out": ("PUT", "GET"),
            "caller_remove": ("POST", "DELETE", "GET"),
            "caller_move_to_end_of_schedule": ("PUT", "POST"),
        }.items()
        for method in methods
    },
    "GET /api/v1/calls": {
        f"{_CALL_LISTS}test_calls_go_by_cursor_unless_a_page_or_an_order_is_asked_for": "cursor page per_page",
        f"{_CALL_LISTS}test_filters_of_calls_choose": """
            created_at_label token_key token_value buyer_group_ids id in_progress status fulltext order order_dir
            ended_at_from
        """,
        f"{_CALL_LISTS}test_calls_are_shown_in_the_form_asked_for_and_as_a_file": "serializer columns",
        f"{_LISTING}test_each_filter_of_calls_finds_the_one_call_that_it_means": """
            created_at_from created_at_to time_zone root offer_repeat_caller buyer_repeat_caller buyer_converted
            offer_converted either_converted placed_on_hold has_recording buyer_conversion_duplicated_call
            offer_conversion_duplicated_call no_buyer number_id offer_id schedule_id traffic_source_id buyer_id ring_pool_id
            provider_configuration_id contact_id ended_at_to
        """,
    },
    "GET /api/v1/calls/{caller_number}/by_caller_number": {
        f"{_CALL_LISTS}test_live_calls_and_the_calls_of_a_person": "serializer caller_number per_page"
    },
    "GET /api/v1/calls/live_calls": {f"{_CALL_LISTS}test_live_calls_and_the_calls_of_a_person": "serializer"},
    "GET /api/v1/calls/reports": {
        f"{_REPORTS}test_a_report_of_calls_is_what_a_recount_gives": "category created_at_from created_at_to time_zone",
        f"{_REPORTS}test_pages_columns_and_bare_lists_are_those_of_every_list": "page per_page columns root",
        f"{_LISTING}{_NARROWS}": f"fulltext {NARROWING}",
        f"{_LISTING}{_ORDERED}": "order order_dir",
    },
    "GET /api/v1/calls/stats/": {
        f"{_REPORTS}test_a_statistic_is_a_column_of_the_report": "stat group_by created_at_from created_at_to",
        f"{_LISTING}{_NARROWS}": f"page {NARROWING}",
        f"{_LISTING}{_ORDERED}": "order order_dir",
    },
    "POST /api/v1/calls": {
        f"{_HTTP}test_call_starts.py::test_a_call_is_started_for_a_lead_and_is_initiated": "from to lead_id serializer",
        f"{_HTTP}test_call_starts.py::test_the_lead_is_made_where_the_number_has_none": "schedule_id offer_id",
    },
    "GET /api/v1/calls/{id}": {
        f"{_CALLS}test_a_call_is_shown_by_id_and_by_uuid_with_every_column": "id",
        f"{_CALLS}test_a_serializer_leaves_internal_ids_and_money_out": "serializer",
    },
    "GET /api/v1/calls/{id}/events": {f"{_CALLS}test_the_events_of_a_call_are_listed_oldest_first": "id"},
    "POST /api/v1/calls/{id}": {
        f"{_CALLS}test_every_parameter_of_an_update_takes_effect": """
            id post_call_tokens revenue add_revenue add_payout buyer_converted svc_buyer_id payout offer_converted
            svc_traffic_source_id contact_field_type fire_outgoing_webhook_ids manual_transcribe call_disposition_id
            agent_call_disposition_notes
        """,
        f"{_CALLS}test_a_serializer_leaves_internal_ids_and_money_out": "serializer",
        f"{_CALLS}test_a_call_is_transcribed_only_where_a_service_is_configured_and_a_recording_kept": "manual_transcribe",
    },
    "POST /api/v1/calls/update_by_caller_id/{id}": {
        f"{_CALLS}test_the_calls_of_a_number_and_offer_are_changed_together": """
            offer_token call_timeframe add_revenue buyer_converted
        """,
        f"{_CALLING}test_every_parameter_of_a_change_by_number_takes_effect": """
            offer_token call_timeframe revenue add_revenue add_payout call_disposition_id agent_call_disposition_notes
            buyer_converted
        """,
    },
    "POST /api/v1/calls/send_key_press": {
        f"{_HTTP}test_call_starts.py::test_a_call_is_started_for_a_lead_and_is_initiated": "id digits data"
    },
    "DELETE /api/v1/calls/{id}": {
        f"{_CALLS}test_a_deleted_call_is_gone_and_says_so": "id",
        f"{_CALLING}test_a_serializer_chooses_the_columns_of_every_answer_with_a_call": "serializer",
    },
    "GET /api/v1/buyer_fleets": {f"{_FLEETS}test_every_parameter_of_the_list_of_fleets_takes_effect": f"{LISTED} order_dir"},
    "GET /api/v1/buyer_fleets/{id}": {f"{_FLEETS}test_a_fleet_is_made_shown_changed_and_deleted": "id"},
    "POST /api/v1/buyer_fleets": {
        f"{_FLEETS}test_a_fleet_is_made_shown_changed_and_deleted": "name description user_fleet_id"
    },
    "PUT /api/v1/buyer_fleets/{id}": {
        f"{_FLEETS}test_a_fleet_is_made_shown_changed_and_deleted": "id name description user_fleet_id"
    },
    "DELETE /api/v1/buyer_fleets/{id}": {f"{_FLEETS}test_a_fleet_is_made_shown_changed_and_deleted": "id"},
    "GET /api/v1/buyer_groups": {
        f"{_GROUPS}test_every_parameter_of_the_list_of_groups_takes_effect": f"paused {LISTED} order order_dir",
        f"{_GROUPS}test_groups_are_listed_by_every_order_of_the_interface": "order order_dir",
    },
    "GET /api/v1/buyer_groups/{id}": {_GROUP_MADE: "id"},
    "POST /api/v1/buyer_groups": {
        _GROUP_MADE: f"name paused dial_buyers_type {GROUP_MEMBERS} tier",
        _GROUP_RESET: "reset_total_caps",
    },
    "PUT /api/v1/buyer_groups/{id}": {
        _GROUP_MADE: f"id name paused dial_buyers_type {GROUP_MEMBERS} tier",
        _GROUP_RESET: "reset_total_caps",
    },
    "DELETE /api/v1/buyer_groups/{id}": {_GROUP_MADE: "id"},
    "GET /api/v1/collections/time_zone": {f"{_HTTP}test_system.py::test_zones_are_listed_under_both_kinds_of_names": ""},
    "GET /api/v1/impressions": {
        f"{_HTTP}test_impressions.py::test_a_batch_of_five_hundred_is_taken_whole_and_listed_by_cursor_and_by_page": """
            cursor page per_page
        """,
        f"{_HTTP}test_impressions.py::test_spans_of_creation_narrow_the_list_in_the_zone_asked_for": """
            created_at_from created_at_to time_zone
        """,
    },
    "GET /api/v1/webhook_manual_fires": {f"{_FIRES}test_every_parameter_of_the_list_takes_effect": f"ids {LISTED}"},
    "GET /api/v1/webhook_manual_fires/new": {f"{_FIRES}test_a_built_firing_has_what_is_given_and_fires_nothing": FIRED_FOR},
    "POST /api/v1/webhook_manual_fires": {
        f"{_FIRES}test_a_webhook_is_fired_for_a_lead_and_shown_with_the_moments_of_its_sender": """
            outgoing_webhook_id lead_id created_at updated_at
        """,
        f"{_FIRES}test_a_webhook_is_fired_for_a_call": "call_id",
        f"{_FIRES}test_a_webhook_is_fired_for_a_conversion_alone_or_with_its_lead": "buyer_conversion_id",
    },
    "GET /api/v1/webhook_manual_fires/{id}": {
        f"{_FIRES}test_a_webhook_is_fired_for_a_lead_and_shown_with_the_moments_of_its_sender": "id"
    },
    "GET /api/v1/unblock_contact_jobs": {f"{_JOBS}test_jobs_are_listed_by_page_filter_and_column": f"ids {LISTED}"},
    "GET /api/v1/unblock_contact_jobs/new": {f"{_JOBS}test_a_built_job_has_the_defaults_and_what_is_given": UNBLOCKING},
    "POST /api/v1/unblock_contact_jobs": {
        f"{_JOBS}test_a_built_job_has_the_defaults_and_what_is_given": UNBLOCKING,
        f"{_JOBS}test_a_job_lifts_only_the_blocks_of_its_span": "blocked_at_from blocked_at_to",
    },
    "GET /api/v1/unblock_contact_jobs/{id}": {
        f"{_JOBS}test_a_job_lifts_every_block_of_its_company_and_says_when_it_is_done": "id"
    },
    "DELETE /api/v1/unblock_contact_jobs/{id}": {f"{_JOBS}test_a_deleted_job_is_gone_and_blocks_nobody_again": "id"},
    "GET /api/v1/access_control_lists": {f"{_TEAMS}test_every_parameter_of_the_list_of_teams_takes_effect": f"ids {LISTED}"},
    "GET /api/v1/access_control_lists/new": {_TEAM_MADE: ""},
    "POST /api/v1/access_control_lists": {_TEAM_MADE: "name users_emails"},
    "GET /api/v1/access_control_lists/{id}": {_TEAM_MADE: "id"},
    "PUT /api/v1/access_control_lists/{id}": {_TEAM_MADE: "id name users_emails"},
    "DELETE /api/v1/access_control_lists/{id}": {_TEAM_MADE: "id"},
    "GET /api/v1/agent_messages": {f"{_AGENTS}test_messages_are_listed_by_page_filter_and_column": f"ids {LISTED}"},
    "GET /api/v1/agent_messages/new": {
        f"{_AGENTS}test_a_message_is_built_made_shown_changed_and_deleted": "content agent_status_id"
    },
    "POST /api/v1/agent_messages": {
        f"{_AGENTS}test_a_message_is_built_made_shown_changed_and_deleted": "content",
        f"{_AGENTS}test_a_message_reaches_the_agents_that_it_is_for": MESSAGE,
    },
    "GET /api/v1/agent_messages/{id}": {f"{_AGENTS}test_a_message_is_built_made_shown_changed_and_deleted": "id"},
    "PUT /api/v1/agent_messages/{id}": {
        f"{_AGENTS}test_a_message_is_built_made_shown_changed_and_deleted": "id content",
        f"{_AGENTS}test_a_message_reaches_the_agents_that_it_is_for": MESSAGE,
    },
    "DELETE /api/v1/agent_messages/{id}": {f"{_AGENTS}test_a_message_is_built_made_shown_changed_and_deleted": "id"},
    "GET /api/v1/agent_status_timestamps": {f"{_AGENTS}test_every_parameter_of_the_log_of_statuses_takes_effect": LISTED},
}
"""Endpoint -> test -> the parameters that it exercises."""

LEAD_COLUMNS_GIVEN = """
id legacy_id type uuid created_at updated_at deleted_at user_updated_at routes_show_path routes_edit_path external_record_id
context_menu_name name caller_id email full_name contact_field_type expires_in country state_province zip_postal_code
time_zone sub_id offer_id schedule_id status human_status css_status has_next_action opt_out revenue payout offer_converted
buyer_converted traffic_source_id buyer_id lead_import_id remote_ip attempted_call_id connected_call_id
scheduled_callback_id call_buyer_conversion_id call_offer_conversion_id sms_number_id dial_number_id dial_tier
last_action_at first_action_at first_queued_at schedule_ended_at next_action_at last_call_at is_live schedule_trigger_type
blocked data
"""
"""Of a lead; `engine.views.lead_columns` says which rule fills each."""

CALL_COLUMNS_GIVEN = """
id legacy_id type uuid created_at updated_at deleted_at user_updated_at routes_show_path routes_edit_path external_record_id
lead_id contact_id offer_id schedule_id schedule_action_id traffic_source_id buyer_id buyer_group_id ring_pool_id number_id
provider_configuration_id provider_sid direction origin status sub_status outcome answered_by caller_number number_called
from_number country state city zip time_zone token_values revenue payout cost profit buyer_converted offer_converted
buyer_conversion_duplicated_call offer_conversion_duplicated_call buyer_repeat_caller offer_repeat_caller no_buyer
placed_on_hold in_progress hold_duration ring_duration talk_duration total_duration initiated_at ringing_at answered_at
buyer_answered_at ended_at hangup_cause hung_up_by has_recording recording_url transcription_status call_disposition_id
agent_call_disposition_notes agent_id attempt_number is_callback scheduled_callback_id dial_tier contact_field_type
"""
"""Of a call."""
