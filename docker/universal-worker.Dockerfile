# The image in which agents run: the four command-line agents at fixed versions, and what they work
# with. Build it once on every machine whose server keeps its agents in containers:
#
#     docker build -t universal-worker -f docker/universal-worker.Dockerfile docker
#
# The server brings the rest when it starts a container: the keeper that stands around the program, the
# `orchestrator` program, a home and a workspace. Where no registry can be reached,
# scripts/worker-image.sh makes an image of the machine's own programs instead.
FROM debian:13-slim

ARG CLAUDE=2.1.197
ARG CODEX=0.166.0
ARG GEMINI=0.61.0
ARG DROID=0.215.0

RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        bash ca-certificates curl git jq less make nodejs npm openssh-client patch procps python3 ripgrep unzip xz-utils \
    && rm -rf /var/lib/apt/lists/*

RUN npm install --global --no-audit --no-fund \
        "@anthropic-ai/claude-code@$CLAUDE" \
        "@openai/codex@$CODEX" \
        "@google/gemini-cli@$GEMINI" \
        "droid@$DROID" \
    && npm cache clean --force

# A server of user 1000 finds its user here; of another, its number is enough.
RUN useradd --uid 1000 --create-home --shell /bin/bash agent
USER agent
WORKDIR /workspace
