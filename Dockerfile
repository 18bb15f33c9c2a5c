# Which image runs every role and command? One, without a compiler, as a user without rights: `docker build -t leadclock .`
# Give it the role as the command: `docker run leadclock scheduler`. Every setting is a LEADCLOCK_… variable.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS build
WORKDIR /src
COPY deploy/requirements.lock deploy/requirements.lock
RUN python -m venv /opt/leadclock \
    && /opt/leadclock/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r deploy/requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY schemas schemas
COPY engine engine
COPY adapters adapters
COPY deploy/docs deploy/docs
RUN /opt/leadclock/bin/pip install --no-cache-dir --disable-pip-version-check --no-build-isolation --no-deps . \
    && /opt/leadclock/bin/leadclock --version \
    && find /opt/leadclock -name '*.a' -delete

FROM python:${PYTHON}-slim-bookworm
COPY --from=build /opt/leadclock /opt/leadclock
ENV PATH=/opt/leadclock/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    LEADCLOCK_HTTP_HOST=0.0.0.0 \
    LEADCLOCK_HEALTH_HOST=0.0.0.0 \
    LEADCLOCK_HEALTH_PORT=9090 \
    LEADCLOCK_STATE_DIR=/var/lib/leadclock
# A number, so that an orchestrator can see that it is not root. Snapshots may be lost: a volume only makes restarts faster.
RUN mkdir --mode=0700 /var/lib/leadclock && chown 10001:10001 /var/lib/leadclock
USER 10001:10001
WORKDIR /var/lib/leadclock
VOLUME /var/lib/leadclock
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
ENTRYPOINT ["leadclock"]
CMD ["--help"]
