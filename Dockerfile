# The service in a container: only what it runs, as a user that owns nothing of it, on a root that may be read-only.

FROM node:26.10.0-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json .npmrc LICENSE ./
COPY packages/proof/package.json packages/proof/
COPY packages/client/package.json packages/client/
COPY packages/server/package.json packages/server/
COPY packages/web/package.json packages/web/
# Exactly what the lock file names, by its hashes. First with what builds the pages, then only what the service needs. The Node that
# the repository pins for clones is left out then: the image has it.
RUN npm ci
COPY scripts scripts
COPY packages packages
# The program is a bundle, which starts faster than its sources.
RUN node scripts/pages.mjs && node scripts/bundle.mjs program \
    && rm -rf scripts packages/*/src packages/server/bin packages/server/pages && npm ci --omit=dev --omit=optional
# Readable by the account that runs it, whatever umask the clone was made with.
RUN chmod -R a+rX,go-w /app

FROM node:26.10.0-trixie-slim
LABEL org.opencontainers.image.title="tallystick" \
      org.opencontainers.image.description="A self-hosted ledger for audit events: append-only, and provable to people who do not trust it" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# The heads file has a volume of its own, so that a restore of the data does not restore it too.
# The link is for administrators: docker compose exec tallystick tallystick doctor
RUN mkdir /data /heads && chown node:node /data /heads && chmod 700 /data /heads \
    && ln -s /app/program/bin/tallystick.mjs /usr/local/bin/tallystick
COPY --from=build /app /app
# Two arenas of malloc are enough for the threads; glibc has up to eight for each core (docs/decisions.md).
ENV MALLOC_ARENA_MAX=2 \
    NODE_ENV=production \
    NODE_COMPILE_CACHE=/tmp/tallystick \
    TALLYSTICK_HOST=0.0.0.0 \
    TALLYSTICK_PORT=8080 \
    TALLYSTICK_DATA=/data \
    TALLYSTICK_HEADS=/heads/heads
# The account `node`, as a number: Kubernetes does not know whether a name is root (runAsNonRoot).
USER 1000:1000
VOLUME ["/data", "/heads"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TALLYSTICK_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As many helper threads for V8 as there are cores, and not always four.
ENTRYPOINT ["node", "--v8-pool-size=0", "/app/program/bin/tallystick.mjs"]
CMD ["serve"]
