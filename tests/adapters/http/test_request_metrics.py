"""Is a path that is logged free of whatever would tell who was meant, or let somebody in?"""

from adapters.http.exchange.request_metrics import PATH_LENGTH_MAX, mask_path


def test_paths_are_masked() -> None:
    for path, shown in [
        ("/api/v1/leads/+13055550142/caller_remove", "/api/v1/leads/***42/caller_remove"),
        ("/api/v1/leads/%2B13055550142/caller_remove", "/api/v1/leads/***42/caller_remove"),
        ("/api/v1/leads/lt_x/3055550142/by_caller_number", "/api/v1/leads/***/***42/by_caller_number"),
        ("/api/v1/leads/ann@example.com/caller_opt_out", "/api/v1/leads/***@example.com/caller_opt_out"),
        ("/api/v1/leads/lt_Qx7-_a/3055550142/by_caller_numbers", "/api/v1/leads/***/***42/by_caller_numbers"),
        ("/recordings/MPkWzRyQEuCikQW5gEOM0A1iRV0ojBUAIQZQonKR4Nl47nm5", "/recordings/***"),
        ("/unsubscribe/MPkWzRyQEuCikQW5gEOM0A1iRV0ojBUAIQZQonKR4Nl47nm5", "/unsubscribe/***"),
        ("/api/v1/keys/sk_Qx7-_a", "/api/v1/keys/***"),
        ("/api/v1/" + "a" * 60_000, "/api/v1/" + "a" * (PATH_LENGTH_MAX - 8)),
        ("/api/v1/leads/1024", "/api/v1/leads/1024"),
        ("/api/v1/leads/01a1fe05-3740-83d4-a15b-86e5615588cd", "/api/v1/leads/01a1fe05-3740-83d4-a15b-86e5615588cd"),
    ]:
        assert mask_path(path) == shown
