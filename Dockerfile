# For use in other CI systems. On GitHub use the action: a container would hide the job's toolchains from gates
# and hooks. `docker build .` builds from source; the target `prebuilt` takes programs from image/<architecture>.
FROM debian:bookworm-slim AS base
# Security fixes are wanted, so versions of packages are not pinned; the base image is.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bash ca-certificates git \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --create-home --uid 10001 architect
WORKDIR /workspace
ENV CI=true
ENTRYPOINT ["architect-ci"]
CMD ["--help"]

FROM base AS prebuilt
ARG TARGETARCH
COPY image/${TARGETARCH}/architect-ci /usr/local/bin/architect-ci
USER 10001

FROM rust:1.95-slim-bookworm AS build
# The grammars are C; everything else is Rust.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Cargo.toml Cargo.lock build.rs ./
COPY benches ./benches
COPY crates ./crates
COPY docs/schemas ./docs/schemas
COPY src ./src
RUN cargo build --profile dist --locked --bin architect-ci

FROM base
COPY --from=build /src/target/dist/architect-ci /usr/local/bin/architect-ci
USER 10001
