"""Does the chart render what Kubernetes and KEDA take, and what each role needs to start?"""

from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from adapters.roles.kafka_security import find_security_faults
from adapters.roles.table import ROLES
from adapters.settings import SECRETS as SECRET_SETTINGS
from adapters.settings import Settings, load
from tests.kit.programs import KUBERNETES, ROOT, SECRETS, rendered, run, started

CHART = ROOT / "deploy" / "chart"
EXAMPLES = sorted((CHART / "examples").glob("*.yaml"))
KEDA = Path(__file__).with_name("keda")
TRIAL = CHART / "examples" / "trial.yaml"
MAIL = CHART / "examples" / "mail.yaml"
PRODUCTION = CHART / "examples" / "production.yaml"
OAUTH = CHART / "examples" / "oauth.yaml"
PROVIDERS = CHART / "examples" / "providers.yaml"

Manifest = dict[str, Any]


def of_kind(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in manifests if one["kind"] == kind}


def pod(manifest: Manifest) -> Manifest:
    found: Manifest = manifest["spec"]["template"]["spec"]
    return found


def container(manifest: Manifest) -> Manifest:
    [found] = pod(manifest)["containers"]
    assert isinstance(found, dict)
    return found


def environ(manifest: Manifest) -> dict[str, str]:
    """Return the variables of a container, with those of the Secret in place."""
    found = {}
    for variable in container(manifest)["env"]:
        name = variable["name"]
        assert name not in found, f"{name} is given twice"
        found[name] = variable.get("value", SECRETS.get(name))
        assert isinstance(found[name], str), variable
    return found


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((), "kafka.bootstrap is not set"),
        (("kafka.bootstrap=k:9092",), "secret.name is not set"),
        (("kafka.bootstrap=k:9092", "secret.name=s"), "gateways is empty: type which channels are served"),
    ],
)
def test_nothing_starts_until_brokers_secret_and_gateways_are_typed(values: tuple[str, ...], sentence: str) -> None:
    given = [argument for value in values for argument in ("--set", value)]
    result = run("helm", "template", "crm", CHART, "--kube-version", KUBERNETES, *given)
    assert result.returncode != 0
    assert sentence in result.stderr


@pytest.mark.parametrize(
    ("gateway", "sentence"),
    [
        ("{channels: [], sandbox: []}", "minItems"),
        ("{channels: [call]}", "sandbox"),
        ("{channels: [fax], sandbox: []}", "value must be one of 'call', 'sms', 'email', 'webhook'"),
        ("{channels: [webhook], sandbox: [call]}", "the sandbox names call, which is none of its channels"),
        ("{channels: [email], sandbox: []}", "serves email: set smtp.host, or name smtp among its providers"),
        ("{channels: [call], sandbox: [], providers: [twilio]}", "has providers: set publicUrl"),
    ],
)
def test_a_gateway_that_is_half_typed_is_refused(tmp_path: Path, gateway: str, sentence: str) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(f"kafka: {{bootstrap: 'k:9092'}}\nsecret: {{name: s}}\ngateways: {{one: {gateway}}}\n")
    result = run("helm", "template", "crm", CHART, "--kube-version", KUBERNETES, "-f", values)
    assert result.returncode != 0
    assert sentence in result.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
class TestExamples:
    def test_helm_finds_nothing_to_say(self, example: Path) -> None:
        result = run("helm", "lint", CHART, "--strict", "--kube-version", KUBERNETES, "-f", example)
        assert result.returncode == 0, result.stdout

    def test_kubernetes_takes_every_manifest(self, example: Path) -> None:
        manifests = rendered("-f", example)
        assert len(manifests) > 15
        for manifest in manifests:
            if not manifest["apiVersion"].startswith("keda.sh/"):
                kubernetes_validate.validate(manifest, KUBERNETES, strict=True)

    def test_every_process_starts_with_the_variables_that_it_gets(self, example: Path) -> None:
        roles = set()
        for name, manifest in of_kind(rendered("-f", example), "Deployment").items():
            [role] = container(manifest)["args"]
            settings = started(role, environ(manifest))
            roles.add(role)
            assert settings.health_host == "0.0.0.0", name  # noqa: S104 - of a pod
            assert settings.health_port == 9090, name
        assert roles == set(ROLES)

    def test_no_secret_is_written_into_a_manifest(self, example: Path) -> None:
        names = {f"LEADCLOCK_{name.upper()}" for name in SECRET_SETTINGS}
        for manifest in rendered("-f", example):
            if manifest["kind"] in {"Deployment", "Job"}:
                given = [variable for variable in container(manifest)["env"] if variable["name"] in names]
                assert all("secretKeyRef" in variable["valueFrom"] for variable in given)

    def test_every_pod_is_without_rights_and_every_deployment_has_a_budget(self, example: Path) -> None:
        manifests = rendered("-f", example)
        deployments = of_kind(manifests, "Deployment")
        assert deployments.keys() == of_kind(manifests, "PodDisruptionBudget").keys()
        for manifest in [*deployments.values(), *of_kind(manifests, "Job").values()]:
            assert pod(manifest)["securityContext"]["runAsNonRoot"] is True
            assert container(manifest)["securityContext"]["readOnlyRootFilesystem"] is True
        for manifest in deployments.values():
            probes = {name: container(manifest)[name]["httpGet"]["path"] for name in ("livenessProbe", "readinessProbe")}
            assert probes == {"livenessProbe": "/livez", "readinessProbe": "/readyz"}
            keys = [rule["topologyKey"] for rule in pod(manifest)["topologySpreadConstraints"]]
            assert keys == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]

    def test_a_gateway_has_longer_to_end_than_it_waits_for_its_providers(self, example: Path) -> None:
        found = [one for name, one in of_kind(rendered("-f", example), "Deployment").items() if "gateway" in name]
        assert found
        for manifest in found:
            drain = started("gateway", environ(manifest)).drain_seconds
            assert pod(manifest)["terminationGracePeriodSeconds"] == drain + 30 == 930

    def test_topics_and_tables_are_prepared_before_the_release_and_finished_after_it(self, example: Path) -> None:
        jobs = of_kind(rendered("-f", example), "Job")
        commands = {}
        for name, job in jobs.items():
            notes = job["metadata"]["annotations"]
            commands[name] = (container(job)["args"], notes["helm.sh/hook"], int(notes["helm.sh/hook-weight"]))
            assert load(environ=environ(job)).partitions >= 1
        assert commands == {
            "crm-topics": (["topics", "create"], "pre-install,pre-upgrade", -20),
            "crm-migrate-pre": (["db", "migrate", "--phase", "pre"], "pre-install,pre-upgrade", -10),
            "crm-migrate-post": (["db", "migrate", "--phase", "post"], "post-install,post-upgrade", 10),
        }


def test_variables_for_all_and_for_one_role_reach_them() -> None:
    deployments = of_kind(rendered("-f", PRODUCTION), "Deployment")
    scheduler, api = (started(role, environ(deployments[f"crm-{role}"])) for role in ("scheduler", "api"))
    assert (scheduler.log_level, api.log_level) == ("info", "info")
    assert (scheduler.kafka_session_seconds, api.kafka_session_seconds) == (20, Settings().kafka_session_seconds)
    assert api.trusted_proxies == ("10.0.0.0/8",)
    assert (api.kafka_security, api.kafka_ca_file) == ("SASL_SSL", "/etc/leadclock/kafka/ca.pem")


@pytest.mark.parametrize(
    ("example", "files"),
    [
        (PRODUCTION, {"KAFKA_CA_FILE", "POSTGRES_CA_FILE", "POSTGRES_CERTIFICATE_FILE", "POSTGRES_KEY_FILE"}),
        (OAUTH, {"KAFKA_CA_FILE", "KAFKA_CERTIFICATE_FILE", "KAFKA_KEY_FILE", "KAFKA_TOKEN_CA_FILE"}),
    ],
)
def test_every_file_that_a_setting_names_is_mounted(example: Path, files: set[str]) -> None:
    """In the jobs as well as in the roles."""
    manifests = rendered("-f", example)
    named = set()
    for manifest in [*of_kind(manifests, "Deployment").values(), *of_kind(manifests, "Job").values()]:
        mounted = {mount["mountPath"]: mount["name"] for mount in container(manifest)["volumeMounts"]}
        volumes = {volume["name"] for volume in pod(manifest)["volumes"]}
        for name, value in environ(manifest).items():
            if name.endswith("_FILE"):
                named.add(name.removeprefix("LEADCLOCK_"))
                assert mounted[str(Path(value).parent)] in volumes, name
    assert named == files


@pytest.mark.parametrize("example", [PRODUCTION, OAUTH])
def test_what_the_chart_sets_of_kafka_is_whole_and_all_of_it_has_an_effect(example: Path) -> None:
    for name, manifest in of_kind(rendered("-f", example), "Deployment").items():
        [role] = container(manifest)["args"]
        assert list(find_security_faults(started(role, environ(manifest)))) == [], name


@pytest.mark.parametrize(
    ("example", "parameters"),
    [
        (PRODUCTION, {"username", "password", "ca"}),
        (OAUTH, {"username", "password", "ca", "cert", "key", "oauthTokenEndpointUri", "scopes"}),
    ],
)
def test_keda_gets_the_login_where_it_looks_for_it(example: Path, parameters: set[str]) -> None:
    """From a TriggerAuthentication, whose variables are those of the Deployments that it scales."""
    manifests = rendered("-f", example)
    [login] = of_kind(manifests, "TriggerAuthentication").values()
    given = [*login["spec"]["env"], *login["spec"]["secretTargetRef"]]
    assert {one["parameter"] for one in given} == parameters
    deployments = of_kind(manifests, "Deployment")
    for scaled in of_kind(manifests, "ScaledObject").values():
        [trigger] = scaled["spec"]["triggers"]
        assert trigger["authenticationRef"] == {"name": login["metadata"]["name"]}
        variables = environ(deployments[scaled["spec"]["scaleTargetRef"]["name"]])
        assert all(one["name"] in variables for one in login["spec"]["env"])


def test_a_database_with_a_certificate_authority_is_checked() -> None:
    api = started("api", environ(of_kind(rendered("-f", PRODUCTION), "Deployment")["crm-api"]))
    assert "sslmode=verify-full" in api.postgres_dsn


def test_each_group_of_gateways_serves_its_own_channels() -> None:
    deployments = of_kind(rendered("-f", PRODUCTION), "Deployment")
    served = {
        name: (settings.channels, settings.sandbox, settings.smtp_host)
        for name, manifest in deployments.items()
        if "gateway" in name
        for settings in [started("gateway", environ(manifest))]
    }
    assert served == {
        "crm-gateway-mail": (("email",), (), "mail.example.com"),
        "crm-gateway-hooks": (("webhook",), (), None),
        "crm-gateway-rehearsal": (("call", "sms"), ("call", "sms"), None),
    }


def test_gateways_of_companies_with_mail_accounts_of_their_own_need_no_mail_server() -> None:
    deployments = of_kind(rendered("-f", PROVIDERS), "Deployment")
    gateway = started("gateway", environ(deployments["crm-gateway-calls"]))
    assert (gateway.providers, gateway.smtp_host) == (("twilio", "smtp"), None)


@pytest.mark.parametrize("example", [PRODUCTION, PROVIDERS])
def test_api_and_gateways_know_where_the_internet_reaches_the_api(example: Path) -> None:
    for name, manifest in of_kind(rendered("-f", example), "Deployment").items():
        [role] = container(manifest)["args"]
        assert started(role, environ(manifest)).public_url == "https://leads.example.com", name


BUCKET = {"bucket": "s3://acme-recordings/leadclock", "endpoint": "https://minio.example.com", "accessKey": "a"}


def test_api_and_gateways_keep_recordings_in_the_bucket_and_no_other_role_has_its_keys() -> None:
    given = [argument for name, value in BUCKET.items() for argument in ("--set", f"recordings.{name}={value}")]
    for name, manifest in of_kind(rendered("-f", MAIL, *given), "Deployment").items():
        [role] = container(manifest)["args"]
        settings = started(role, environ(manifest))
        found = settings.recordings_bucket, settings.recordings_endpoint, settings.recordings_access_key
        keeps = role in {"api", "gateway"}
        assert found == (tuple(BUCKET.values()) if keeps else ("", "", "")), name
        assert settings.recordings_secret_key == ("x" if keeps else ""), name


def test_a_role_of_aws_comes_by_the_service_account_of_the_pods() -> None:
    deployments = of_kind(rendered("-f", PROVIDERS), "Deployment")
    assert {pod(one)["serviceAccountName"] for one in deployments.values()} == {"leadclock-recordings"}
    api = started("api", environ(deployments["crm-api"]))
    assert (api.recordings_bucket, api.recordings_region) == ("s3://acme-recordings/leadclock", "eu-central-1")


def test_what_says_more_of_a_bucket_that_is_not_named_is_refused() -> None:
    result = run("helm", "template", "crm", CHART, "-f", MAIL, "--kube-version", KUBERNETES, "--set", "recordings.region=x")
    assert result.returncode != 0
    assert "recordings has no bucket" in result.stderr


def test_only_the_named_peers_reach_a_port_and_the_health_port_none_by_default() -> None:
    everything, api = of_kind(rendered("-f", MAIL), "NetworkPolicy").values()
    assert everything["spec"]["ingress"] == []
    assert api["spec"]["ingress"] == [{"ports": [{"port": 8080}]}]
    everything, api = of_kind(rendered("-f", PRODUCTION), "NetworkPolicy").values()
    [rule] = everything["spec"]["ingress"]
    assert (rule["ports"], len(rule["from"])) == ([{"port": 9090}], 1)
    [rule] = api["spec"]["ingress"]
    assert len(rule["from"]) == 1


def keda_objects(example: Path) -> list[Manifest]:
    return [one for one in rendered("-f", example) if one["apiVersion"].startswith("keda.sh/")]


def test_keda_takes_its_objects_and_they_watch_the_real_groups() -> None:
    manifests, others = (keda_objects(example) for example in (PRODUCTION, OAUTH))
    assert sorted(one["kind"] for one in manifests) == ["ScaledObject", "ScaledObject", "TriggerAuthentication"]
    for manifest in [*manifests, *others]:
        [version] = yaml.safe_load((KEDA / f"{manifest['kind'].lower()}s.yaml").read_text())["spec"]["versions"]
        jsonschema.validate(manifest, version["schema"]["openAPIV3Schema"])
    watched = set()
    deployments = of_kind(rendered("-f", PRODUCTION), "Deployment")
    for manifest in of_kind(manifests, "ScaledObject").values():
        [trigger] = manifest["spec"]["triggers"]
        watched.add((trigger["metadata"]["consumerGroup"], trigger["metadata"]["topic"]))
        assert manifest["spec"]["maxReplicaCount"] <= 24
        # Helm would set the number back at every upgrade.
        assert "replicas" not in deployments[manifest["spec"]["scaleTargetRef"]["name"]]["spec"]
    # As adapters/roles/context.py names them: app, topic prefix, role.
    assert watched == {
        ("leadclock.prod.scheduler", "prod.contacts.requests"),
        ("leadclock.prod.intake", "prod.leads.inbox"),
    }


def test_there_is_no_keda_object_without_autoscaling() -> None:
    assert not keda_objects(TRIAL)
