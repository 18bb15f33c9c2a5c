{{/* Which parts do several manifests share? Names, labels, the image, the variables of a role, and what must be typed. */}}

{{- define "leadclock.labels" -}}
app.kubernetes.io/name: leadclock
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "leadclock.selector" -}}
app.kubernetes.io/name: leadclock
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "leadclock.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* Fail with a sentence for each value that has no safe default. */}}
{{- define "leadclock.check" -}}
{{- $_ := required "kafka.bootstrap is not set: host:port of the brokers, with commas" .Values.kafka.bootstrap }}
{{- $_ := required "secret.name is not set: the Secret with the keys postgres-dsn and secret-key" .Values.secret.name }}
{{- if not .Values.gateways }}
{{- fail "gateways is empty: type which channels are served, and which of them by the sandbox (see values.yaml)" }}
{{- end }}
{{- if and (not .Values.recordings.bucket) (or .Values.recordings.endpoint .Values.recordings.region .Values.recordings.accessKey) }}
{{- fail "recordings has no bucket, so the rest of it has no effect" }}
{{- end }}
{{- range $name, $gateway := .Values.gateways }}
{{- range $channel := $gateway.sandbox }}
{{- if not (has $channel $gateway.channels) }}
{{- fail (printf "gateways.%s: the sandbox names %s, which is none of its channels" $name $channel) }}
{{- end }}
{{- end }}
{{- $providers := $gateway.providers | default list }}
{{- if and (has "email" $gateway.channels) (or $.Values.smtp.host (not (has "smtp" $providers))) }}
{{- $_ := required (printf "gateways.%s serves email: set smtp.host, or name smtp among its providers for the mail accounts of companies" $name) $.Values.smtp.host }}
{{- $_ := required (printf "gateways.%s serves email: set smtp.from" $name) $.Values.smtp.from }}
{{- end }}
{{- if and $providers (not $.Values.publicUrl) }}
{{- fail (printf "gateways.%s has providers: set publicUrl, where their vendors reach the API" $name) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The variables of every process. */}}
{{- define "leadclock.env" -}}
{{- if .Values.publicUrl }}
- {name: LEADCLOCK_PUBLIC_URL, value: {{ .Values.publicUrl | quote }}}
{{- end }}
- {name: LEADCLOCK_KAFKA_BOOTSTRAP, value: {{ .Values.kafka.bootstrap | quote }}}
- {name: LEADCLOCK_KAFKA_SECURITY, value: {{ .Values.kafka.security | quote }}}
{{- if contains "SASL" .Values.kafka.security }}
- {name: LEADCLOCK_KAFKA_MECHANISM, value: {{ .Values.kafka.mechanism | quote }}}
- {name: LEADCLOCK_KAFKA_USERNAME, value: {{ required "kafka.username is not set: the login of kafka.security" .Values.kafka.username | quote }}}
- name: LEADCLOCK_KAFKA_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .Values.secret.name }}, key: {{ .Values.secret.kafkaPassword }}}}
{{- end }}
{{- if eq .Values.kafka.mechanism "OAUTHBEARER" }}
- {name: LEADCLOCK_KAFKA_TOKEN_URL, value: {{ required "kafka.tokenUrl is not set: where OAUTHBEARER gets its tokens" .Values.kafka.tokenUrl | quote }}}
{{- if .Values.kafka.tokenScope }}
- {name: LEADCLOCK_KAFKA_TOKEN_SCOPE, value: {{ .Values.kafka.tokenScope | quote }}}
{{- end }}
{{- if .Values.kafka.tokenCaSecret }}
- {name: LEADCLOCK_KAFKA_TOKEN_CA_FILE, value: /etc/leadclock/kafka-token/ca.pem}
{{- end }}
{{- end }}
{{- if .Values.kafka.caSecret }}
- {name: LEADCLOCK_KAFKA_CA_FILE, value: /etc/leadclock/kafka/ca.pem}
{{- end }}
{{- if .Values.kafka.clientSecret }}
- {name: LEADCLOCK_KAFKA_CERTIFICATE_FILE, value: /etc/leadclock/kafka-client/tls.crt}
- {name: LEADCLOCK_KAFKA_KEY_FILE, value: /etc/leadclock/kafka-client/tls.key}
{{- end }}
- {name: LEADCLOCK_TOPIC_PREFIX, value: {{ .Values.topicPrefix | quote }}}
- {name: LEADCLOCK_APP, value: {{ .Values.app | quote }}}
{{- range $name, $value := .Values.env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{- define "leadclock.database" -}}
- name: LEADCLOCK_POSTGRES_DSN
  valueFrom: {secretKeyRef: {name: {{ .Values.secret.name }}, key: {{ .Values.secret.postgresDsn }}}}
{{- if .Values.postgres.sslmode }}
- {name: LEADCLOCK_POSTGRES_SSLMODE, value: {{ .Values.postgres.sslmode | quote }}}
{{- end }}
{{- if .Values.postgres.caSecret }}
- {name: LEADCLOCK_POSTGRES_CA_FILE, value: /etc/leadclock/postgres/ca.pem}
{{- end }}
{{- if .Values.postgres.clientSecret }}
- {name: LEADCLOCK_POSTGRES_CERTIFICATE_FILE, value: /etc/leadclock/postgres-client/tls.crt}
- {name: LEADCLOCK_POSTGRES_KEY_FILE, value: /etc/leadclock/postgres-client/tls.key}
{{- end }}
{{- end }}

{{- define "leadclock.secretKey" -}}
- name: LEADCLOCK_SECRET_KEY
  valueFrom: {secretKeyRef: {name: {{ .Values.secret.name }}, key: {{ .Values.secret.secretKey }}}}
{{- end }}

{{/* Where recordings are kept. */}}
{{- define "leadclock.recordings" -}}
{{- with .Values.recordings }}
- {name: LEADCLOCK_RECORDINGS_BUCKET, value: {{ .bucket | quote }}}
{{- if .endpoint }}
- {name: LEADCLOCK_RECORDINGS_ENDPOINT, value: {{ .endpoint | quote }}}
{{- end }}
{{- if .region }}
- {name: LEADCLOCK_RECORDINGS_REGION, value: {{ .region | quote }}}
{{- end }}
{{- if .accessKey }}
- {name: LEADCLOCK_RECORDINGS_ACCESS_KEY, value: {{ .accessKey | quote }}}
- name: LEADCLOCK_RECORDINGS_SECRET_KEY
  valueFrom: {secretKeyRef: {name: {{ $.Values.secret.name }}, key: {{ $.Values.secret.recordingsSecretKey }}}}
{{- end }}
{{- end }}
{{- end }}

{{- define "leadclock.podSecurity" -}}
{{- if .Values.serviceAccount }}
serviceAccountName: {{ .Values.serviceAccount }}
{{- end }}
automountServiceAccountToken: false   # what gives a role of AWS mounts a token of its own
enableServiceLinks: false   # else a Service called leadclock gives variables that are no settings
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "leadclock.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "leadclock.mounts" -}}
- {name: state, mountPath: /var/lib/leadclock}
- {name: tmp, mountPath: /tmp}
{{- if .Values.kafka.caSecret }}
- {name: kafka-ca, mountPath: /etc/leadclock/kafka, readOnly: true}
{{- end }}
{{- if .Values.kafka.clientSecret }}
- {name: kafka-client, mountPath: /etc/leadclock/kafka-client, readOnly: true}
{{- end }}
{{- if .Values.kafka.tokenCaSecret }}
- {name: kafka-token-ca, mountPath: /etc/leadclock/kafka-token, readOnly: true}
{{- end }}
{{- if .Values.postgres.caSecret }}
- {name: postgres-ca, mountPath: /etc/leadclock/postgres, readOnly: true}
{{- end }}
{{- if .Values.postgres.clientSecret }}
- {name: postgres-client, mountPath: /etc/leadclock/postgres-client, readOnly: true}
{{- end }}
{{- end }}

{{- define "leadclock.volumes" -}}
- {name: state, emptyDir: {}}
- {name: tmp, emptyDir: {}}
{{- if .Values.kafka.caSecret }}
- {name: kafka-ca, secret: {secretName: {{ .Values.kafka.caSecret }}}}
{{- end }}
{{- if .Values.kafka.clientSecret }}
- {name: kafka-client, secret: {secretName: {{ .Values.kafka.clientSecret }}}}
{{- end }}
{{- if .Values.kafka.tokenCaSecret }}
- {name: kafka-token-ca, secret: {secretName: {{ .Values.kafka.tokenCaSecret }}}}
{{- end }}
{{- if .Values.postgres.caSecret }}
- {name: postgres-ca, secret: {secretName: {{ .Values.postgres.caSecret }}}}
{{- end }}
{{- if .Values.postgres.clientSecret }}
- {name: postgres-client, secret: {secretName: {{ .Values.postgres.clientSecret }}}}
{{- end }}
{{- end }}

{{/* One Deployment and its PodDisruptionBudget. Takes root, name, role, replicas, resources, env, grace, variables. */}}
{{- define "leadclock.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  labels: {{- include "leadclock.labels" . | nindent 4 }}
spec:
  {{- if not .scaled }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "leadclock.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "leadclock.labels" . | nindent 8 }}
      annotations:
        prometheus.io/scrape: "true"
        prometheus.io/port: "9090"
        prometheus.io/path: /metrics
    spec:
      {{- include "leadclock.podSecurity" .root | nindent 6 }}
      terminationGracePeriodSeconds: {{ .grace }}
      topologySpreadConstraints:
        {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ $key }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "leadclock.selector" $ | nindent 14 }}
        {{- end }}
      containers:
        - name: {{ .role }}
          image: {{ include "leadclock.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [{{ .role }}]
          env:
            {{- include "leadclock.env" .root | nindent 12 }}
            - {name: LEADCLOCK_HEALTH_HOST, value: "0.0.0.0"}
            - {name: LEADCLOCK_HEALTH_PORT, value: "9090"}
            - {name: LEADCLOCK_STATE_DIR, value: /var/lib/leadclock}
            {{- if has .role (list "projector" "deliverer" "gateway" "api") }}
            {{- include "leadclock.database" .root | nindent 12 }}
            {{- end }}
            {{- if has .role (list "deliverer" "gateway" "api") }}
            {{- include "leadclock.secretKey" .root | nindent 12 }}
            {{- end }}
            {{- if and .root.Values.recordings.bucket (has .role (list "gateway" "api")) }}
            {{- include "leadclock.recordings" .root | nindent 12 }}
            {{- end }}
            {{- if eq .role "api" }}
            - {name: LEADCLOCK_HTTP_HOST, value: "0.0.0.0"}
            - {name: LEADCLOCK_HTTP_PORT, value: "8080"}
            {{- end }}
            {{- with .variables }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- range $name, $value := .env }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
          ports:
            - {name: health, containerPort: 9090}
            {{- if eq .role "api" }}
            - {name: http, containerPort: 8080}
            {{- end }}
          # A role waits for Kafka and PostgreSQL by itself: no probe restarts it for that.
          startupProbe: {httpGet: {path: /livez, port: health}, periodSeconds: 2, failureThreshold: 60}
          livenessProbe: {httpGet: {path: /livez, port: health}, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6}
          readinessProbe: {httpGet: {path: /readyz, port: health}, periodSeconds: 5, timeoutSeconds: 5}
          resources: {{- toYaml .resources | nindent 12 }}
          {{- include "leadclock.containerSecurity" .root | nindent 10 }}
          volumeMounts: {{- include "leadclock.mounts" .root | nindent 12 }}
      volumes: {{- include "leadclock.volumes" .root | nindent 8 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  labels: {{- include "leadclock.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "leadclock.selector" . | nindent 6 }}
{{- end }}

{{/* The variables of a group of gateways. Takes root, gateway. */}}
{{- define "leadclock.gatewayVariables" -}}
- {name: LEADCLOCK_CHANNELS, value: {{ join "," .gateway.channels | quote }}}
{{- if .gateway.sandbox }}
- {name: LEADCLOCK_SANDBOX, value: {{ join "," .gateway.sandbox | quote }}}
{{- end }}
{{- if .gateway.providers }}
- {name: LEADCLOCK_PROVIDERS, value: {{ join "," .gateway.providers | quote }}}
{{- end }}
- {name: LEADCLOCK_DRAIN_SECONDS, value: {{ .root.Values.drainSeconds | quote }}}
{{- if and (has "email" .gateway.channels) .root.Values.smtp.host }}
{{- with .root.Values.smtp }}
- {name: LEADCLOCK_SMTP_HOST, value: {{ .host | quote }}}
- {name: LEADCLOCK_SMTP_PORT, value: {{ .port | quote }}}
- {name: LEADCLOCK_SMTP_STARTTLS, value: {{ .starttls | quote }}}
- {name: LEADCLOCK_EMAIL_FROM, value: {{ .from | quote }}}
{{- if .username }}
- {name: LEADCLOCK_SMTP_USERNAME, value: {{ .username | quote }}}
- name: LEADCLOCK_SMTP_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $.root.Values.secret.name }}, key: {{ $.root.Values.secret.smtpPassword }}}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
