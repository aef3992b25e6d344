# For batch use in other CI systems. On GitHub use the action: a container would hide the job's
# toolchains from gates and hooks.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY src ./src
RUN cargo build --release --locked

FROM debian:bookworm-slim
# Security fixes are wanted, so versions of packages are not pinned; the base image is.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bash ca-certificates git patch \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --create-home --uid 10001 architect
COPY --from=build /src/target/release/architect-ci /usr/local/bin/architect-ci
USER 10001
WORKDIR /workspace
ENV CI=true
ENTRYPOINT ["architect-ci"]
CMD ["--help"]
